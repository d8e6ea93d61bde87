package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/cli"
)

const logged = `
process: logged
version: 1
structures:
  In:  {text: string, all: [string]}
  One: {one: string}
input: In
starts: [A]
activities:
  fails: {node: B, program: loud, input: In, retry: {attempts: 2, backoff: 1ms, max_backoff: 1ms}}
  box:
    node: A
    input: In
    activities:
      count: {node: B, program: loud, for_each: one, input: One, on_rc: continue}
      quiet: {node: A, program: echo}
    data:
      - source -> count: {one: all}
data:
  - source -> fails
  - source -> box
`

// What programs have written is told by the site where they ran, also to who asks at another site, after a
// restart, of one element, one attempt, or all; nothing of it steers the terminal, and none of it is in
// the reach of other users.
func TestLogs(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(logged)
	id := s.begin("logged", `{"text": "x", "all": ["a", "b"]}`)
	s.until("A", id, "fails", "in-error")
	s.until("A", id, "box", "terminated")

	fails := s.must("A", "logs", id, "fails")
	heads := regexp.MustCompile(`(?m)^==> (.*), begun .* after [0-9.]+m?s <==$`).FindAllStringSubmatch(fails, -1)
	if len(heads) != 2 || heads[0][1] != "fails at B, program loud, attempt 1" || heads[1][1] != "fails at B, program loud, attempt 2" {
		t.Fatalf("fails:\n%s", fails)
	}
	if strings.Count(fails, ", return code 3 after ") != 2 || strings.Count(fails, "<==\nfirst\nbad \\x1b[31mword\n") != 2 {
		t.Errorf("fails:\n%s", fails)
	}
	for args, want := range map[string][]string{
		"fails --attempt 2": {"fails 2"},
		"fails --limit 1":   {"fails 2"},
		"box#1/count[1]":    {"box#1/count[1] 1"},
		"count --attempt 1": {"box#1/count[0] 1", "box#1/count[1] 1"},
		"box":               {"box#1/count[0] 1", "box#1/count[1] 1"},
		"quiet":             nil,
		"--limit 1000":      {"box#1/count[0] 1", "box#1/count[1] 1", "fails 1", "fails 2"},
	} {
		if got := s.logs("A", append([]string{id}, strings.Fields(args)...)...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if r := s.fmqm("A", "logs", id, "fails", "--limit", "1"); !strings.Contains(r.err, "there are older attempts") {
		t.Errorf("of one of two: %q", r.err)
	}
	if r := s.fmqm("A", "logs", id, "quiet"); r.code != 0 || r.out != "" || !strings.Contains(r.err, "nothing is kept that a program of quiet has written") {
		t.Errorf("of who has written nothing: %+v", r)
	}
	for args, code := range map[string]int{
		"nowhere": cli.ExitNotFound, "fails --attempt 0": cli.ExitUsage, "fails --limit 0": cli.ExitUsage, "fails --limit 1001": cli.ExitUsage, "fails[2]": cli.ExitUsage,
	} {
		if r := s.fmqm("A", append([]string{"logs", id}, strings.Fields(args)...)...); r.code != code || r.out != "" {
			t.Errorf("%s: exit %d, want %d; said %q", args, r.code, code, r.err)
		}
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "store-B", "logs", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %q, %v", files, err)
	}
	for _, name := range append(files, filepath.Dir(files[0])) {
		if info, err := os.Stat(name); err != nil || info.Mode()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}

	s.stop("B")
	if r := s.fmqm("A", "logs", id, "fails"); r.code != cli.ExitUnreachable || !strings.Contains(r.err, "unreachable: B") {
		t.Errorf("without B: %+v", r)
	}
	s.start("B")
	s.until("A", id, "fails", "in-error")
	s.wait("the logs after a restart", func() bool { return fmt.Sprint(s.logs("A", id, "fails")) == "[fails 1 fails 2]" })
}

// logs gives whose attempts are shown, sorted.
func (s *sites) logs(site string, args ...string) (all []string) {
	s.Helper()
	r := s.fmqm(site, append(append([]string{"logs"}, args...), "-o", "json")...)
	if r.code != 0 {
		s.Logf("logs %q: exit %d: %s", args, r.code, r.err)
		return nil
	}
	var list []api.AttemptLog
	if err := json.Unmarshal([]byte(r.out), &list); err != nil {
		s.Fatalf("logs %q: %v\n%s", args, err, r.out)
	}
	for _, l := range list {
		if l.Node != "B" || l.RC == nil || *l.RC != 3 || l.Text != "first\nbad \x1b[31mword" || l.Program != "loud" || l.Ended.Before(l.Started) {
			s.Errorf("%+v", l)
		}
		all = append(all, fmt.Sprintf("%s %d", api.Shown(l.Scope, l.Activity), l.Attempt))
	}
	slices.Sort(all)
	return all
}

// What is left out, runs, was repeated or could not be run is said; nothing that a node sends steers the
// terminal.
func TestLogsInWords(t *testing.T) {
	at, rc := time.Date(2026, 3, 1, 10, 0, 0, 0, time.Local), int64(0)
	var asked api.LogsRequest
	to := apitest.Serve(t, &apitest.Backend{OnLogs: func(_ context.Context, _ api.InstanceID, r api.LogsRequest) (api.LogsAnswer, error) {
		asked = r
		return api.LogsAnswer{Process: "p@1", More: true, Unreachable: []api.Unreachable{{Node: "C"}}, Logs: []api.AttemptLog{
			{Node: "B", Scope: "documents#2", Activity: "check", Program: "x", Iteration: 3, Run: 2, Attempt: 4, Started: at, Ended: at.Add(1500 * time.Millisecond), RC: &rc, Skipped: 70, Text: "a\x1b[1m\n\nb"},
			{Node: "B\n", Activity: "a", Program: "x", Iteration: 1, Attempt: 1, Started: at, Ended: at, Error: "killed\nby SIGTERM", Text: "c"},
			{Node: "B", Activity: "a", Program: "x", Iteration: 1, Attempt: 2, Started: at},
		}}, nil
	}})
	begun := cli.Time(at)
	want(t, "table", fmqm(to, "", "logs", id, "a", "--attempt", "2", "--limit", "7"), result{0, `==> documents#2/check at B, program x, iteration 3, run 2, attempt 4, begun ` + begun + `, return code 0 after 1.5s <==
[70 bytes before this are not kept]
a\x1b[1m

b

==> a at B , program x, attempt 1, begun ` + begun + `, failed after 0s: killed by SIGTERM <==
c

==> a at B, program x, attempt 2, begun ` + begun + `, runs <==
[nothing so far]
`, "unreachable: C (never heard since the daemon started): what they know is missing here\nthere are older attempts: name one activity, or write a higher --limit (up to 1000)\n"})
	if asked != (api.LogsRequest{Activity: "a", Attempt: 2, Limit: 7}) {
		t.Errorf("asked %+v", asked)
	}
}
