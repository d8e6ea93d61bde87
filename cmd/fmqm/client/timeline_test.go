package client_test

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/fmqm/client"
	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/cli/clitest"
)

// story is an order over four sites, with everything that can happen to an activity.
func story() []api.HistoryEvent {
	rc, zero := int64(1), int64(0)
	return []api.HistoryEvent{
		{Clock: 1, Time: at, Node: "A", Activity: "source", Event: api.EventStarted},
		{Clock: 2, Time: at.Add(time.Second), Node: "A", Activity: "receive", Event: api.EventTerminated, Iteration: 1, Attempt: 1, RC: &zero},
		{Clock: 3, Time: at.Add(2 * time.Second), Node: "B", Activity: "credit", Event: api.EventIterated, Iteration: 1, RC: &rc},
		{Clock: 4, Time: at.Add(3 * time.Second), Node: "B", Activity: "credit", Event: api.EventFailed, Iteration: 2, Attempt: 1, Reason: "exit status 1"},
		{Clock: 5, Time: at.Add(4 * time.Second), Node: "B", Activity: "credit", Event: api.EventInError, Iteration: 2, Attempt: 2, Reason: "the program wrote what is not its output container: unknown member \"aproved\": it is spelled otherwise\n\x1b[2Jhere"},
		{Clock: 6, Time: at.Add(13 * time.Hour), Node: "B", Activity: "credit", Event: api.EventRetried},
		{Clock: 7, Time: at.Add(13*time.Hour + time.Second), Node: "B", Activity: "credit", Event: api.EventTerminated, Iteration: 2, Attempt: 3, RC: &zero},
		{Clock: 8, Time: at.Add(13*time.Hour + time.Second), Node: "D", Activity: "reject", Event: api.EventSkipped},
		{Clock: 9, Time: at.Add(13*time.Hour + 2*time.Second), Node: "headquarters-of-the-company", Activity: "ship", Event: "newer"},
		{Clock: 10, Time: at.Add(13*time.Hour + 2*time.Second), Node: "B", Scope: "parcels#1", Activity: "pack", Event: api.EventBegun, Iteration: 1},
		{Clock: 11, Time: at.Add(13*time.Hour + 2*time.Second), Node: "B", Scope: "parcels#1", Activity: "pack", Event: api.EventReturned, Iteration: 1},
		{Clock: 12, Time: at.Add(13*time.Hour + 2*time.Second), Node: "A", Activity: "sink", Event: api.EventEnded},
	}
}

// onTerminal runs a command whose standard output is a terminal.
func onTerminal(t *testing.T, width int, to string, env map[string]string, args ...string) (shown, talk string, code int) {
	t.Helper()
	terminal, read := clitest.Terminal(t, width)
	var talked bytes.Buffer
	code = client.Main(append([]string{"fmqm"}, args...), cli.Streams{
		In: strings.NewReader(""), Out: terminal, Err: &talked,
		Env: func(name string) string {
			if name == "FMQM_TO" {
				return to
			}
			return env[name]
		},
	})
	return read(), talked.String(), code
}

const inColumns = `          A                 B                 D                 headquarters-of~
2025-06-01
12:00:00  ● started
12:00:01  ✓ receive
12:00:02                    ↻ credit once more, rc 1
12:00:03                    ↻ credit failed, will be tried again, iteration 2
                              └ exit status 1
12:00:04                    ✗ credit in error, iteration 2, attempt 2
                              └ the program wrote what is not its output
                                container: unknown member "aproved": it is spelled
                                otherwise \x1b[2Jhere
2025-06-02
01:00:00                    → credit retried
01:00:01                    ✓ credit, iteration 2, attempt 3
01:00:01                                      · reject skipped
01:00:02                                                        → ship newer
01:00:02                    ● parcels#1/pack iteration 1 begun
01:00:02                    ✓ parcels#1/pack iteration 1 returned
01:00:02  ● ended
`

const inALine = `2025-06-01
12:00:00  A  * started
12:00:01  A  + receive
12:00:02  B  ~ credit once more, rc 1
12:00:03  B  ~ credit failed, will be tried again, iteration 2
            \ exit status 1
12:00:04  B  ! credit in error, iteration 2, attempt 2
            \ the program wrote what is not its
              output container: unknown member
              "aproved": it is spelled otherwise
              \x1b[2Jhere
2025-06-02
01:00:00  B  > credit retried
01:00:01  B  + credit, iteration 2, attempt 3
01:00:01  D  - reject skipped
01:00:02  headquarters-of-the-company  > ship newer
01:00:02  B  * parcels#1/pack iteration 1 begun
01:00:02  B  + parcels#1/pack iteration 1 returned
01:00:02  A  * ended
`

// On a terminal history shows a line for each event, in the column of its site; where
// the columns do not fit, the site stands in the line. Nothing of it steers the terminal.
func TestHistoryOnATerminal(t *testing.T) {
	to := apitest.Serve(t, &apitest.Backend{OnHistory: func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error) {
		return api.HistoryAnswer{Events: story()}, nil
	}})
	plain := map[string]string{"NO_COLOR": "1", "LANG": "de_DE.UTF-8"}
	shown, talk, code := onTerminal(t, 82, to, plain, "history", id)
	if d := cmp.Diff(inColumns, shown); d != "" || talk != "" || code != 0 {
		t.Errorf("exit %d, %q (-want +got):\n%s", code, talk, d)
	}
	shown, _, _ = onTerminal(t, 50, to, map[string]string{"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, "history", id)
	if d := cmp.Diff(inALine, shown); d != "" {
		t.Errorf("narrow (-want +got):\n%s", d)
	}
	if shown, _, _ := onTerminal(t, 80, to, plain, "history", id, "-o", "jsonl"); !strings.HasPrefix(shown, `{"clock":1,`) {
		t.Errorf("-o jsonl on a terminal:\n%s", shown)
	}
}

// Colours: what died is grey, what is in error red; none of them with NO_COLOR.
func TestColoursOfATimeline(t *testing.T) {
	to := apitest.Serve(t, &apitest.Backend{OnHistory: func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error) {
		return api.HistoryAnswer{Events: story()}, nil
	}})
	shown, _, _ := onTerminal(t, 82, to, map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}, "history", id)
	for _, want := range []string{"\x1b[2m· reject skipped\x1b[0m", "\x1b[31m✗ credit in error", "\x1b[32m✓ receive\x1b[0m", "\x1b[33m↻ credit once more"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	if plain := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(shown, ""); plain != inColumns {
		t.Errorf("without its colours it is another text (-want +got):\n%s", cmp.Diff(inColumns, plain))
	}
}

// watch knows the sites before their first event, and goes on without that.
func TestWatchOnATerminal(t *testing.T) {
	b := &apitest.Backend{
		OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) {
			return api.Status{Process: "p@1", Activities: []api.Activity{{Node: "A"}, {Node: "B"}, {Node: "D"}, {Node: "B"}}}, nil
		},
		OnWatch: func(_ context.Context, _ api.InstanceID, event func(api.HistoryEvent) error) error {
			for _, e := range story()[:2] {
				if err := event(e); err != nil {
					return err
				}
			}
			return event(story()[7])
		},
	}
	to := apitest.Serve(t, b)
	plain := map[string]string{"LANG": "C.UTF-8"}
	const want = `          A               B               D
2025-06-01
12:00:00  ● started
12:00:01  ✓ receive
2025-06-02
01:00:01                                  · reject skipped
`
	shown, talk, code := onTerminal(t, 60, to, plain, "watch", id)
	if d := cmp.Diff(want, shown); d != "" || code != 0 || !strings.HasPrefix(talk, "p@1  ") {
		t.Errorf("exit %d, %q (-want +got):\n%s", code, talk, d)
	}
	b.OnStatus = nil
	shown, _, code = onTerminal(t, 60, to, plain, "watch", id)
	if code != 0 || !strings.HasPrefix(shown, "          A\n2025-06-01\n") || !strings.Contains(shown, "          A                        D\n") {
		t.Errorf("without knowing the sites: exit %d\n%s", code, shown)
	}
}

// list says of a running instance how many of its activities are in error.
func TestListShowsErrorsOfRunningInstances(t *testing.T) {
	i, _ := api.ParseInstance(id)
	to := apitest.Serve(t, &apitest.Backend{OnList: func(context.Context, api.ListRequest) (api.ListAnswer, error) {
		return api.ListAnswer{Instances: []api.Instance{{Instance: i, Process: "p@1", State: api.InstanceRunning, InError: 2, Started: at}}}, nil
	}})
	want(t, "table", fmqm(to, "", "list"), result{0, `INSTANCE                              PROCESS  STATE                 STARTED              ENDED  ORIGIN  KEY
0197c0de-0000-7000-8000-000000000001  p@1      running (2 in error)  2025-06-01 12:00:00  -      -       -
`, ""})
	want(t, "jsonl", fmqm(to, "", "list", "-o", "jsonl"), result{0, `{"instance":"` + id + `","process":"p@1","state":"running","in_error":2,"started":"2025-06-01T12:00:00Z"}` + "\n", ""})
}

// The manual page, made of the help, renders.
func TestManPage(t *testing.T) {
	if text := clitest.ManText(t, cli.ManPage(client.App())); !strings.Contains(text, "fmqm why INSTANCE") || !strings.Contains(text, "--key KEY") {
		t.Errorf("the manual page is not whole:\n%s", text)
	}
}

// The columns are those of the process, in its order, whichever site did something first.
func TestHistoryHasAColumnForEachSiteOfTheProcess(t *testing.T) {
	to := apitest.Serve(t, &apitest.Backend{
		OnHistory: func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error) {
			return api.HistoryAnswer{Events: story()}, nil
		},
		OnStatus: func(_ context.Context, i api.InstanceID, _ api.StatusRequest) (api.Status, error) {
			return api.Status{Instance: i, Process: "p@1", Activities: []api.Activity{{Activity: "reject", Node: "D"}, {Activity: "ship", Node: "C"}}}, nil
		},
	})
	shown, talk, _ := onTerminal(t, 100, to, map[string]string{"NO_COLOR": "1"}, "history", id)
	if head, _, _ := strings.Cut(shown, "\n"); strings.Join(strings.Fields(head), " ") != "D C A B headquarters-of~" || talk != "p@1  "+id+"\n" {
		t.Errorf("%q, %q", head, talk)
	}
}

// On a terminal of 80 columns a status does not break its lines: times of the day on
// which the instance was started stand without it.
func TestStatusOnATerminal(t *testing.T) {
	zero := int64(0)
	to := apitest.Serve(t, &apitest.Backend{OnStatus: func(_ context.Context, i api.InstanceID, _ api.StatusRequest) (api.Status, error) {
		return api.Status{Instance: i, Process: "p@1", State: api.InstanceFinished, Started: at, Ended: at.Add(13 * time.Hour), Activities: []api.Activity{
			{Activity: "receive", Node: "A", State: api.ActivityTerminated, Iterations: 1, RC: &zero, Started: at, Ended: at.Add(time.Second)},
			{Activity: "ship", Node: "C", State: api.ActivityTerminated, Iterations: 1, RC: &zero, Started: at.Add(time.Minute), Ended: at.Add(13 * time.Hour)},
		}}, nil
	}})
	shown, _, code := onTerminal(t, 80, to, map[string]string{"NO_COLOR": "1"}, "status", id)
	const rows = `
ACTIVITY  NODE  STATE       ITERATIONS  RC  STARTED   ENDED
receive   A     terminated  1           0   12:00:00  12:00:01
ship      C     terminated  1           0   12:01:00  2025-06-02 01:00:00
`
	if code != 0 || !strings.HasSuffix(shown, rows) {
		t.Errorf("exit %d:\n%s", code, shown)
	}
}
