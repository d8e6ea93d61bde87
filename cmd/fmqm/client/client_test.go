package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/fmqm/client"
	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // so that tables do not depend on where the test runs
	goleak.VerifyTestMain(m)
}

const id = "0197c0de-0000-7000-8000-000000000001"

var at = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// result is what a command line comes to.
type result struct {
	code     int
	out, err string
}

// fmqm runs a command line against the node at to.
func fmqm(to, stdin string, args ...string) result {
	var out, err bytes.Buffer
	env := func(name string) string {
		if name == "FMQM_TO" {
			return to
		}
		return ""
	}
	code := client.Main(append([]string{"fmqm"}, args...), cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &err, Env: env})
	return result{code, out.String(), err.String()}
}

func want(t *testing.T, what string, got, want result) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.AllowUnexported(result{})); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func fullStatus() api.Status {
	rc, none := int64(3), int64(0)
	i, _ := api.ParseInstance(id)
	return api.Status{
		Instance: i, Process: "purchase-order@1", State: api.InstanceRunning, InError: 1, Started: at,
		Activities: []api.Activity{
			{Activity: "receive", Node: "A", State: api.ActivityTerminated, Iterations: 1, RC: &none, Started: at, Ended: at.Add(time.Second), Output: json.RawMessage(`{"amount":5}`)},
			{Activity: "credit", Node: "B", State: api.ActivityInError, Iterations: 2, RC: &rc, Reason: "return code 3", Started: at},
			{Activity: "reject", Node: "D", State: api.ActivityUnknown},
		},
		Unreachable: []api.Unreachable{{Node: "C"}, {Node: "D", LastHeard: at}},
	}
}

const fullTable = `instance     0197c0de-0000-7000-8000-000000000001
process      purchase-order@1
state        running, activities in error: 1
started      2025-06-01 12:00:00
unreachable  C (never heard since the daemon started), D (last heard 2025-06-01 12:00:00)

ACTIVITY  NODE  STATE       ITERATIONS  RC  STARTED              ENDED                REASON
receive   A     terminated  1           0   2025-06-01 12:00:00  2025-06-01 12:00:01
credit    B     in-error    2           3   2025-06-01 12:00:00  -                    return code 3
reject    D     unknown     -           -   -                    -
`

const fullJSONL = `{"instance":"0197c0de-0000-7000-8000-000000000001","process":"purchase-order@1","state":"running","in_error":1,"started":"2025-06-01T12:00:00Z","activities":[` +
	`{"activity":"receive","node":"A","state":"terminated","iterations":1,"rc":0,"started":"2025-06-01T12:00:00Z","ended":"2025-06-01T12:00:01Z","output":{"amount":5}},` +
	`{"activity":"credit","node":"B","state":"in-error","iterations":2,"rc":3,"reason":"return code 3","started":"2025-06-01T12:00:00Z"},` +
	`{"activity":"reject","node":"D","state":"unknown"}],"unreachable":[{"node":"C"},{"node":"D","last_heard":"2025-06-01T12:00:00Z"}]}` + "\n"

// start PROCESS[@VERSION] [--input JSON|@FILE|-] [--key K] [-n COUNT] [--wait]

func TestStatus(t *testing.T) {
	to := apitest.Serve(t, &apitest.Backend{OnStatus: func(_ context.Context, i api.InstanceID, _ api.StatusRequest) (api.Status, error) {
		if i.String() != id {
			return api.Status{}, errors.New("another instance")
		}
		return fullStatus(), nil
	}})
	for _, line := range []string{"status " + id, "status -o table " + id, "status " + id + " -o table"} {
		want(t, line, fmqm(to, "", strings.Fields(line)...), result{0, fullTable, ""})
	}
	want(t, "jsonl", fmqm(to, "", "status", id, "-o=jsonl"), result{0, fullJSONL, ""})
	r := fmqm(to, "", "status", id, "-o", "json")
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(r.out)); err != nil || compact.String() != strings.TrimSpace(fullJSONL) || strings.Count(r.out, "\n") < 20 {
		t.Errorf("json: %v\n%s", err, r.out)
	}
}

// list [--all]

func TestList(t *testing.T) {
	var asked []api.ListRequest
	ids := make([]api.InstanceID, 3)
	for i := range ids {
		ids[i], _ = api.ParseInstance(id[:35] + string(rune('1'+i)))
	}
	to := apitest.Serve(t, &apitest.Backend{OnList: func(_ context.Context, r api.ListRequest) (api.ListAnswer, error) {
		asked = append(asked, r)
		switch {
		case !r.All:
			return api.ListAnswer{}, nil
		case r.Next == "":
			return api.ListAnswer{Instances: []api.Instance{
				{Instance: ids[0], Process: "p@1", State: api.InstanceRunning, Started: at}, {Instance: ids[1], Process: "p@1", State: api.InstanceFinished, Started: at, Ended: at, Origin: "B"},
			}, More: true, Next: "there", Unreachable: []api.Unreachable{{Node: "C"}}}, nil
		}
		return api.ListAnswer{Instances: []api.Instance{{Instance: ids[2], Process: "long-name@12", Key: "monday", State: api.InstanceInError, Started: at}}}, nil
	}})
	want(t, "list", fmqm(to, "", "list"), result{0, "", "nothing is under way; --all lists what has ended\n"})
	const away = "unreachable: C (never heard since the daemon started): instances that were started there are missing here\n"
	want(t, "list --all", fmqm(to, "", "list", "--all"), result{0, `INSTANCE                              PROCESS       STATE     STARTED              ENDED                ORIGIN  KEY
0197c0de-0000-7000-8000-000000000001  p@1           running   2025-06-01 12:00:00  -                    -       -
0197c0de-0000-7000-8000-000000000002  p@1           finished  2025-06-01 12:00:00  2025-06-01 12:00:00  B       -
0197c0de-0000-7000-8000-000000000003  long-name@12  in-error  2025-06-01 12:00:00  -                    -       monday
`, away})
	want(t, "json of nothing", fmqm(to, "", "list", "-o", "json"), result{0, "[]\n", "nothing is under way; --all lists what has ended\n"})
	r := fmqm(to, "", "list", "-o", "json", "--all")
	var array []api.Instance
	if err := json.Unmarshal([]byte(r.out), &array); err != nil || len(array) != 3 {
		t.Errorf("json: %v\n%s", err, r.out)
	}
	r = fmqm(to, "", "list", "--all", "-o", "jsonl")
	if first := `{"instance":"` + id + `","process":"p@1","state":"running","started":"2025-06-01T12:00:00Z"}` + "\n"; !strings.HasPrefix(r.out, first) || strings.Count(r.out, "\n") != 3 {
		t.Errorf("jsonl\n%s", r.out)
	}
	if asked[2].Next != "there" || asked[2].Limit != api.MaxPage || !asked[2].Everywhere {
		t.Errorf("the second page was asked for with %+v", asked[2])
	}
	r = fmqm(to, "", "list", "--all", "--limit", "2", "-o", "jsonl")
	if strings.Count(r.out, "\n") != 2 || r.err != "there are more: --limit says how many are listed, --after goes on behind the last of them\n"+away {
		t.Errorf("with a limit: %+v", r)
	}
	asked = nil
	want(t, "filtered", fmqm(to, "", "list", "--here", "--in-error", "--process", "p@2", "--since", "2025-06-01T12:00:00Z", "--state", "in-error", "--limit", "7"),
		result{0, "", "no instance fits --state in-error --process p@2 --since 2025-06-01T12:00:00Z --in-error\n"})
	if d := cmp.Diff([]api.ListRequest{{State: api.InstanceInError, Process: "p@2", InError: true, Since: at, Limit: 7}}, asked); d != "" {
		t.Errorf("filters (-want +got):\n%s", d)
	}
}

// watch INSTANCE · history INSTANCE

var events = []api.HistoryEvent{
	{Clock: 1, Time: at, Node: "A", Activity: "source", Event: api.EventStarted},
	{Clock: 7, Time: at, Node: "B", Activity: "credit", Event: api.EventInError, Iteration: 2, Attempt: 3, RC: new(int64), Reason: "two\nlines"},
}

const eventsJSONL = `{"clock":1,"time":"2025-06-01T12:00:00Z","node":"A","activity":"source","event":"started"}
{"clock":7,"time":"2025-06-01T12:00:00Z","node":"B","activity":"credit","event":"in-error","iteration":2,"attempt":3,"rc":0,"reason":"two\nlines"}
`

func TestWatch(t *testing.T) {
	var end error
	to := apitest.Serve(t, &apitest.Backend{OnWatch: func(_ context.Context, _ api.InstanceID, event func(api.HistoryEvent) error) error {
		for _, e := range events {
			if err := event(e); err != nil {
				return err
			}
		}
		return end
	}})
	want(t, "table", fmqm(to, "", "watch", id), result{0, `CLOCK  TIME                 NODE   ACTIVITY    EVENT       ITERATION  ATTEMPT  RC     REASON
1      2025-06-01 12:00:00  A      source      started     -          -        -
7      2025-06-01 12:00:00  B      credit      in-error    2          3        0      two lines
`, ""})
	want(t, "jsonl", fmqm(to, "", "watch", "-o", "jsonl", id), result{0, eventsJSONL, ""})
	end = api.Errorf(api.CodeUnreachable, "try again", "the node stops")
	want(t, "an error on the way", fmqm(to, "", "watch", "-o", "jsonl", id), result{5, eventsJSONL, "fmqm: the node stops: try again\n"})
}

func TestHistory(t *testing.T) {
	to := apitest.Serve(t, &apitest.Backend{OnHistory: func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error) {
		return api.HistoryAnswer{Events: events, Unreachable: []api.Unreachable{{Node: "C", LastHeard: at}}}, nil
	}})
	const missing = "unreachable: C (last heard 2025-06-01 12:00:00): what they know is missing here\n"
	want(t, "table", fmqm(to, "", "history", id), result{0, `CLOCK  TIME                 NODE  ACTIVITY  EVENT     ITERATION  ATTEMPT  RC  REASON
1      2025-06-01 12:00:00  A     source    started   -          -        -
7      2025-06-01 12:00:00  B     credit    in-error  2          3        0   two lines
`, missing})
	want(t, "jsonl", fmqm(to, "", "history", id, "-o", "jsonl"), result{0, eventsJSONL, missing})
}

// nodes

func TestNodes(t *testing.T) {
	to := apitest.Serve(t, &apitest.Backend{OnNodes: func(context.Context) (api.NodesAnswer, error) {
		return api.NodesAnswer{Nodes: []api.Node{{Node: "A", State: api.NodeSelf}, {Node: "B", State: "connecting", LastHeard: at, Waiting: 12, Reason: "connection refused"}}}, nil
	}})
	want(t, "table", fmqm(to, "", "nodes"), result{0, `NODE  STATE       LAST HEARD           WAITING  REASON
A     self        -                    0
B     connecting  2025-06-01 12:00:00  12       connection refused
`, ""})
	want(t, "jsonl", fmqm(to, "", "nodes", "-o", "jsonl"), result{0, `{"node":"A","state":"self","waiting":0}
{"node":"B","state":"connecting","last_heard":"2025-06-01T12:00:00Z","waiting":12,"reason":"connection refused"}
`, ""})
}

// why INSTANCE

func TestWhy(t *testing.T) {
	answer := api.WhyAnswer{State: api.InstanceRunning, Waits: []api.Wait{
		{Activity: "ship", Node: "C", State: api.ActivityWaiting, For: "credit to resolve credit -> ship", At: "B", Since: at, LastHeard: at},
		{Activity: "stock", Node: "A", State: api.ActivityReady, For: "a place: check-stock runs 4 times", At: "A", Since: at, Heard: true},
		{Activity: "reject", Node: "D", State: api.ActivityUnknown, For: "an answer of D", At: "D"},
	}}
	to := apitest.Serve(t, &apitest.Backend{OnWhy: func(context.Context, api.InstanceID, api.WhyRequest) (api.WhyAnswer, error) { return answer, nil }})
	want(t, "table", fmqm(to, "", "why", id), result{0, `ACTIVITY  NODE  STATE    WHY                                AT  SINCE                REACHABLE
ship      C     waiting  credit to resolve credit -> ship   B   2025-06-01 12:00:00  not since 2025-06-01 12:00:00
stock     A     ready    a place: check-stock runs 4 times  A   2025-06-01 12:00:00  yes
reject    D     unknown  an answer of D                     D   -                    no
`, ""})
	if r := fmqm(to, "", "why", id, "-o", "jsonl"); !strings.HasPrefix(r.out, `{"activity":"ship","node":"C","state":"waiting","for":"credit to resolve credit -> ship","at":"B","since":"2025-06-01T12:00:00Z","heard":false,"last_heard":"2025-06-01T12:00:00Z"}`+"\n") {
		t.Errorf("jsonl\n%s", r.out)
	}
	answer = api.WhyAnswer{State: api.InstanceFinished}
	want(t, "nothing", fmqm(to, "", "why", id), result{0, "", "nothing waits: the instance is finished\n"})
}

// A status says who has started an instance, as --starter of a list takes it.
func TestStatusSaysWhoHasStartedIt(t *testing.T) {
	to := apitest.Serve(t, &apitest.Backend{OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) {
		return api.Status{Started: at, StartedBy: "alice at A"}, nil
	}})
	if r := fmqm(to, "", "status", id); !strings.Contains(r.out, "started      2025-06-01 12:00:00\nstarted by   alice at A\n") {
		t.Errorf("printed\n%s", r.out)
	}
}

// What nodes leave out of answers that are too large is said, beside data and not in it.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	more := []string{"B", "C"}
	to := apitest.Serve(t, &apitest.Backend{
		OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) {
			return api.Status{More: more}, nil
		},
		OnHistory: func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error) {
			return api.HistoryAnswer{More: more}, nil
		},
		OnWhy: func(context.Context, api.InstanceID, api.WhyRequest) (api.WhyAnswer, error) {
			return api.WhyAnswer{More: more}, nil
		},
	})
	const said = "the answer of B, C is over 3 MiB; ask there for large outputs, the oldest events and long reasons\n"
	if r := fmqm(to, "", "status", id); !strings.Contains(r.out, "left out     "+said) {
		t.Errorf("status: %+v", r)
	}
	for _, command := range []string{"history", "why"} {
		if r := fmqm(to, "", command, id); !strings.Contains(r.err, "left out: "+said) {
			t.Errorf("%s: %+v", command, r)
		}
	}
	if r := fmqm(to, "", "status", id, "-o", "json"); !strings.Contains(r.out, `"more": [`) && !strings.Contains(r.out, `"more":[`) {
		t.Errorf("status -o json: %s", r.out)
	}
}

// retry INSTANCE ACTIVITY [--output JSON] · terminate INSTANCE

func TestRetryAndTerminate(t *testing.T) {
	var asked api.RetryRequest
	ended := ""
	to := apitest.Serve(t, &apitest.Backend{
		OnRetry: func(_ context.Context, _ api.InstanceID, r api.RetryRequest) (api.Word, error) {
			asked = r
			return api.Word{Result: api.WordDone}, nil
		},
		OnTerminate: func(_ context.Context, i api.InstanceID, r api.TerminateRequest) error {
			ended = i.String() + r.Process + r.Reason
			return nil
		},
		OnWhy: func(_ context.Context, i api.InstanceID, r api.WhyRequest) (api.WhyAnswer, error) {
			return api.WhyAnswer{Instance: i, State: api.InstanceUnknown, Waits: []api.Wait{{Activity: "near", Node: "A", For: "a start of " + r.Process}}}, nil
		},
		OnList: func(_ context.Context, r api.ListRequest) (api.ListAnswer, error) {
			return api.ListAnswer{Instances: []api.Instance{{Instance: api.InstanceID{1}, Process: r.Process + "@2", State: r.State, Origin: "A"}}}, nil
		},
	})
	for _, tc := range []struct {
		line   []string
		output string
	}{
		{[]string{"retry", id, "credit"}, ""},
		{[]string{"retry", id, "credit", "--output", `{"approved": true}`}, `{"approved":true}`},
		{[]string{"retry", "--output", "-", id, "credit"}, `{"from":"stdin"}`},
	} {
		want(t, strings.Join(tc.line, " "), fmqm(to, `{"from": "stdin"}`, tc.line...), result{0, "", "credit goes on; see fmqm status " + id + "\n"})
		if asked.Activity != "credit" || string(asked.Output) != tc.output {
			t.Errorf("%v: asked for %+v", tc.line, asked)
		}
	}
	want(t, "retry in a scope", fmqm(to, "", "retry", id, "documents#2/pick/credit"), result{0, "", "documents#2/pick/credit goes on; see fmqm status " + id + "\n"})
	if asked.Scope != "documents#2/pick" || asked.Activity != "credit" {
		t.Errorf("asked for %+v", asked)
	}
	const word = "01890000-0000-7000-8000-000000000001"
	if fmqm(to, "", "retry", id, "credit"); asked.Asked || asked.Word != (api.WordID{}) {
		t.Errorf("a new retry asked for %+v", asked)
	}
	if fmqm(to, "", "retry", id, "credit", "--word", word); !asked.Asked || asked.Word.String() != word { // never for a new one
		t.Errorf("a retry that was queued asked for %+v", asked)
	}
	want(t, "terminate", fmqm(to, "", "terminate", id), result{0, "", id + " is being terminated; see fmqm status " + id + "\n"})
	want(t, "terminate, as JSON", fmqm(to, "", "terminate", id, "-o", "json"), result{0, "{}\n", id + " is being terminated; see fmqm status " + id + "\n"})
	if ended != id {
		t.Errorf("terminated %q", ended)
	}
	// One of several processes that have an instance under the identifier, as somebody says.
	want(t, "terminate, of a process", fmqm(to, "", "terminate", id, "--process", "p@2"),
		result{0, "", id + " of p@2 is being terminated; see fmqm why " + id + " --process p@2\n"})
	if ended != id+"p@2" {
		t.Errorf("terminated %q", ended)
	}
	// Whoever terminates says why, of one or of many.
	if fmqm(to, "", "terminate", id, "--reason", " ordered twice"); ended != id+" ordered twice" {
		t.Errorf("terminated %q", ended)
	}
	if fmqm(to, "", "terminate", "--state", "in-error", "--process", "p", "--reason", " ordered twice", "--yes"); ended != (api.InstanceID{1}).String()+" ordered twice" {
		t.Errorf("terminated %q", ended)
	}
	if r := fmqm(to, "", "why", id, "--process", "p@2"); !strings.Contains(r.out, "a start of p@2") {
		t.Errorf("why: %+v", r)
	}
	if r := fmqm(to, "", "terminate", "--state", "unknown", "--process", "p", "--yes"); r.code != 0 || ended != (api.InstanceID{1}).String()+"p@2" {
		t.Errorf("terminated %q: %+v", ended, r)
	}
}

// A retry that is queued is no failure. What is said of it is enough to ask later what has come of
// it: that line, typed as it is, asks for this retry.
func TestARetryIsQueued(t *testing.T) {
	const word = "01890000-0000-7000-8000-000000000001"
	var asked api.RetryRequest
	to := apitest.Serve(t, &apitest.Backend{OnRetry: func(_ context.Context, i api.InstanceID, r api.RetryRequest) (api.Word, error) {
		asked = r
		return api.Word{
			Instance: i, Scope: r.Scope, Activity: r.Activity, Word: "retry", ID: uuid.MustParse(word),
			Result: api.WordQueued, Reason: "B was not heard since noon\x1b[2J", Node: "B",
		}, nil
	}})
	again := "fmqm retry " + id + " d#2/credit --word " + word
	says := "queued: B was not heard since noon\\x1b[2J: B retries d#2/credit as soon as it hears of it; for what has come of it, ask again with: " + again + "\n"
	want(t, "queued", fmqm(to, "", "retry", id, "d#2/credit", "--reason", "a new disk"), result{0, "", says})
	if asked.Reason != "a new disk" || asked.Asked {
		t.Errorf("asked for %+v", asked)
	}
	want(t, "asked again", fmqm(to, "", strings.Fields(again)[1:]...), result{0, "", says})
	if asked.Scope != "d#2" || asked.Activity != "credit" || asked.Word.String() != word || !asked.Asked {
		t.Errorf("asked again for %+v", asked)
	}
	r := fmqm(to, "", "retry", id, "d#2/credit", "-o", "json")
	var told api.Word
	if err := json.Unmarshal([]byte(r.out), &told); err != nil || r.code != 0 || told.Result != api.WordQueued || told.ID.String() != word || told.Node != "B" {
		t.Errorf("as JSON: %v, %+v", err, r)
	}
	want(t, "no word", fmqm(to, "", "retry", id, "credit", "--word", "credit"),
		result{2, "", "fmqm: --word: \"credit\" is not the identifier of a word: an answer that said \"queued\" has it\n"})
}

// Every command hands on what the node answers, with its exit code, and prints no data.
func TestExitCodesOfEveryCommand(t *testing.T) {
	var answer error
	to := apitest.Serve(t, &apitest.Backend{
		OnStart: func(context.Context, api.StartRequest) (api.Status, error) { return api.Status{}, answer },
		OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) {
			return api.Status{}, answer
		},
		OnList: func(context.Context, api.ListRequest) (api.ListAnswer, error) { return api.ListAnswer{}, answer },
		OnHistory: func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error) {
			return api.HistoryAnswer{}, answer
		},
		OnWatch: func(context.Context, api.InstanceID, func(api.HistoryEvent) error) error { return answer },
		OnWhy: func(context.Context, api.InstanceID, api.WhyRequest) (api.WhyAnswer, error) {
			return api.WhyAnswer{}, answer
		},
		OnLogs: func(context.Context, api.InstanceID, api.LogsRequest) (api.LogsAnswer, error) {
			return api.LogsAnswer{}, answer
		},
		OnRetry:     func(context.Context, api.InstanceID, api.RetryRequest) (api.Word, error) { return api.Word{}, answer },
		OnTerminate: func(context.Context, api.InstanceID, api.TerminateRequest) error { return answer },
		OnNodes:     func(context.Context) (api.NodesAnswer, error) { return api.NodesAnswer{}, answer },
		OnDead: func(context.Context, api.RefusedRequest) (api.RefusedAnswer, error) {
			return api.RefusedAnswer{}, answer
		},
	})
	absent := "unix:" + t.TempDir() + "/absent.sock"
	lines := []string{"start p", "status " + id, "list", "watch " + id, "history " + id, "logs " + id + " credit", "nodes", "why " + id, "retry " + id + " credit", "terminate " + id, "dead list"}
	for _, line := range lines {
		for code, exit := range map[api.Code]int{api.CodeFailed: 1, api.CodeUsage: 2, api.CodeNotFound: 3, api.CodeRefused: 4, api.CodeUnreachable: 5} {
			answer = api.Errorf(code, "do that", "it is so")
			want(t, line+", "+string(code), fmqm(to, "", strings.Fields(line)...), result{exit, "", "fmqm: it is so: do that\n"})
		}
		r := fmqm(absent, "", strings.Fields(line)...)
		want(t, line+" without a daemon", r, result{5, "", "fmqm: no daemon here: there is no socket " + absent + ": start fmqmd, or name another node with --to (or FMQM_TO)\n"})
		if r := fmqm("nowhere", "", append(strings.Fields(line), "--to", absent)...); r.code != 5 {
			t.Errorf("%s: --to does not stand above FMQM_TO: %+v", line, r)
		}
	}
}

// What is typed wrong is exit 2 and asks no node.
func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.json")
	if err := os.WriteFile(large, bytes.Repeat([]byte(" 1"), 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		line []string
		want string
	}{
		{[]string{"start"}, "PROCESS[@VERSION] is missing: see fmqm start --help"},
		{[]string{"start", "a b"}, `process "a b": this is not a name: write NAME or NAME@VERSION`},
		{[]string{"start", "p@0"}, `process "p@0": "0" is not a version`},
		{[]string{"start", "p", "q"}, `"q" is one argument too many`},
		{[]string{"start", "p", "-n", "0"}, "-n 0: write a number from 1 to 1000000"},
		{[]string{"start", "p", "--key", ""}, "--key is empty: write what is unique to this instance"},
		{[]string{"start", "p", "--input", ""}, "--input is empty: write a JSON object such as"},
		{[]string{"start", "p", "--input", "{"}, `--input:1:2: not JSON: unexpected end of JSON input: write an object such as '{"customer": "ann"}', @FILE or -`},
		{[]string{"start", "p", "--input", "[1]"}, "--input: not a JSON object"},
		{[]string{"start", "p", "--input", "@" + dir + "/absent"}, "--input: " + dir + "/absent: cannot be read: no such file or directory"},
		{[]string{"start", "p", "--input", "@" + large}, "--input: over 8388608 bytes: pass a reference"},
		{[]string{"start", "p", "--wiat"}, "fmqm start has no flag --wiat: did you mean --wait?"},
		{[]string{"start", "p", "-o", "yaml"}, "-o yaml: no such format"},
		{[]string{"status"}, "INSTANCE is missing: see fmqm status --help"},
		{[]string{"status", "17"}, `"17" is not the identifier of an instance: write it as start and list print it`},
		{[]string{"list", "x"}, `"x" is one argument too many`},
		{[]string{"retry", id}, "ACTIVITY is missing: see fmqm retry --help"},
		{[]string{"retry"}, "INSTANCE is missing: see fmqm retry --help; or select instances with --process"},
		{[]string{"retry", "--yes"}, "INSTANCE is missing"},
		{[]string{"retry", id, "credit", "--in-error"}, "retry: name INSTANCE and ACTIVITY, or select instances with flags, not both"},
		{[]string{"retry", "--in-error", "--output", "{}"}, "--output is for one activity"},
		{[]string{"terminate"}, "INSTANCE is missing"},
		{[]string{"terminate", "--limit", "3", "--yes"}, "INSTANCE is missing"},
		{[]string{"terminate", "--state", "running", "--yes"}, "--state running means everything"},
		{[]string{"terminate", "--state", "finished"}, "--state finished: what has ended has nothing left to terminate"},
		{[]string{"terminate", id, "--process", "p"}, "terminate: name INSTANCE, or select"},
		{[]string{"terminate", "--process", "", "--yes"}, "--process is empty: write which instances are meant, or leave it out"},
		{[]string{"retry", "--in-error", "--since", ""}, "--since is empty"},
		{[]string{"list", "--state", ""}, "--state is empty"},
		{[]string{"list", "--limit", "x"}, `--limit "x": write a whole number: see fmqm list --help`},
		{[]string{"list", "--state", "inerror"}, "--state inerror: write running, suspended, in-error, finished, terminated or unknown"},
		{[]string{"list", "--state", "unknown", "--since", "2h"}, "--state unknown: what waits for no start has neither a time nor an error, nor a parent: leave out --since, --in-error and --parent"},
		{[]string{"terminate", "--state", "unknown", "--in-error", "--yes"}, "--state unknown: what waits for no start has neither"},
		{[]string{"list", "--since", "yesterday"}, "--since yesterday: write a time, such as"},
		{[]string{"list", "--limit", "0"}, "--limit 0: write 1 or more"},
		{[]string{"retry", "17", "credit"}, `"17" is not the identifier of an instance`},
		{[]string{"retry", id, "credit", "--output", "true"}, "--output: not a JSON object"},
		{[]string{"terminate", "17"}, `"17" is not the identifier of an instance`},
		{[]string{"nodes", "--to", "b"}, `--to: "b" is not the address of a node`},
		{[]string{"refused", "x"}, `fmqm refused has no command "x": there are list`},
		{[]string{"stats"}, `fmqm has no command "stats": did you mean status?`},
		{[]string{"stauts", id}, `fmqm has no command "stauts": did you mean status?`},
		{[]string{"--to", "b", "nodes"}, `--to: "b" is not the address of a node`},
		{[]string{"--input", "{}", "nodes"}, "fmqm nodes has no flag --input"},
		{[]string{"--wiat", "start", "p"}, "fmqm has no flag --wiat before its command"},
		{[]string{"nodes", "-oyaml"}, "-o yaml: no such format"},
	} {
		r := fmqm("unix:/absent", "", tc.line...)
		if r.code != cli.ExitUsage || r.out != "" || !strings.HasPrefix(r.err, "fmqm: "+tc.want) {
			t.Errorf("%v: %+v\nwant %s", tc.line, r, tc.want)
		}
	}
}

func TestEveryCommandHasHelpWithExamplesThatWork(t *testing.T) {
	for _, missing := range cli.CheckHelp(client.App()) {
		t.Error(missing)
	}
	clitest.Pages(t, "../../..", func(page string) ([]string, int) { return cli.CheckPage(client.App(), page) })
	clitest.Commands(t, "../../..", client.App())
	r := fmqm("", "", "help")
	for _, command := range []string{"start", "status", "list", "watch", "history", "nodes", "why", "retry", "terminate", "refused"} {
		if !strings.Contains(r.out, "\n  "+command+" ") {
			t.Errorf("help does not name %s:\n%s", command, r.out)
		}
	}
}
