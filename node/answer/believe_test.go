package answer

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
)

// orders is a process that begins at C, trusting one at S or T.
const (
	orders = `
process: orders
version: 1
starts: [C]
activities:
  pack: {node: A, program: p}
  check: {node: B, program: p}
control: [check -> pack]
`
	trusting = `
process: trust
version: 1
starts: [S, T]
activities:
  a: {node: A, program: x}
  b: {node: B, program: x}
  c: {node: C, program: x}
  d: {node: S, program: x}
  m: {node: M, program: x, start: any}
control: [a -> b, a -> c, b -> d, c -> m, a -> m]
`
)

// believing is what A, which has the tables of both, is told of an instance.
type believing struct {
	*testing.T
	s *gathering
}

func newBelieving(t *testing.T) *believing {
	t.Helper()
	w := newWorld(t)
	w.takeUp(orders)
	w.takeUp(trusting)
	return &believing{T: t, s: &gathering{
		of: w.Answers, g: report.NewGathered("A", uuid.Must(uuid.NewV7())),
		asked: map[processtable.NodeID]*asking{},
	}}
}

func (b *believing) tells(node processtable.NodeID, r report.Report) {
	b.s.asked[node] = &asking{pending: true}
	b.s.take(question.Reply[report.Report]{Node: node, Answer: r})
}

func states(s api.Status) map[string]string {
	out := map[string]string{}
	for _, a := range s.Activities {
		out[a.Activity+"@"+a.Node] = string(a.State)
	}
	return out
}

// A report speaks for what the node that gave it hosts, by the table of the one who asks,
// and for the state of an instance only where that was started. All else is ignored.
func TestAReportSpeaksForItsNodeOnly(t *testing.T) {
	b := newBelieving(t)
	lie := report.Report{
		Known: true, Process: "trust@1", Origin: "S", State: api.InstanceFinished, Key: "forged", Output: json.RawMessage(`"forged"`),
		Roster: []api.Place{{Activity: "b", Node: "M"}, {Activity: "c", Node: "nowhere"}}, Notices: []string{"d"},
		Activities: []api.Activity{
			{Activity: "m", Node: "M", State: api.ActivityRunning},
			{Activity: "b", Node: "B", State: api.ActivityTerminated},
			{Activity: "b", Node: "M", State: api.ActivitySkipped},
			{Activity: "nothing", Node: "M", State: api.ActivitySkipped},
		},
		Heard:  []string{"b", "nothing"},
		Waits:  []report.Waiting{{Activity: "c", For: []string{"a"}, Held: "by M"}},
		Events: []api.HistoryEvent{{Activity: "m", Node: "B", Event: api.EventFailed}, {Activity: "b", Node: "B", Event: api.EventTerminated}, {Activity: "sink", Node: "S", Event: api.EventEnded}, {Activity: "c", Node: "C", Event: api.EventPassed}},
	}
	b.tells("A", report.Report{})
	b.tells("M", lie)
	got := b.s.g.Status()
	want := map[string]string{"a@A": "unknown", "b@B": "unknown", "c@C": "unknown", "d@S": "unknown", "m@M": "running"}
	if diff := cmp.Diff(want, states(got)); diff != "" {
		t.Errorf("activities:\n%s", diff)
	}
	if got.State != api.InstanceUnknown || got.Key != "" || got.Output != nil || got.InError != 0 || got.Process != "trust@1" {
		t.Errorf("%+v", got)
	}
	if len(b.s.g.Waits()) != 0 {
		t.Errorf("waits: %+v", b.s.g.Waits())
	}
	events := b.s.g.History().Events
	if len(events) != 2 || events[0].Node != "M" || events[1].Node != "M" || events[0].Event == api.EventTerminated || events[1].Event == api.EventTerminated {
		t.Errorf("history: %+v", events)
	}
	b.tells("S", report.Report{Known: true, Process: "trust@1", Origin: "S", State: api.InstanceRunning, Notices: []string{"d"}})
	if got = b.s.g.Status(); got.State != api.InstanceRunning || got.InError != 1 {
		t.Errorf("with the origin: %+v", got)
	}
}

// What a node says of a process in which it has no part, or of an origin that cannot be one,
// is nothing; and of what this node knows itself nobody says otherwise.
func TestWhoIsBelievedAboutAnInstance(t *testing.T) {
	says := func(process, origin string) report.Report {
		r := report.Report{Known: true, Process: process, Origin: origin}
		if origin != "" {
			r.State = api.InstanceFinished
		}
		return r
	}
	for name, tc := range map[string]struct {
		tell    func(*believing)
		process string
		origin  string
		state   api.InstanceState
		dispute bool
		contest bool
	}{
		"a stranger to the process": {tell: func(b *believing) { b.tells("X", says("trust@1", "S")) }},
		"no process":                {tell: func(b *believing) { b.tells("M", says("trust", "S")) }},
		"an origin that cannot be one": {
			tell: func(b *believing) { b.tells("M", says("trust@1", "M")) }, process: "trust@1", state: api.InstanceUnknown,
		},
		"the origin itself": {
			tell: func(b *believing) { b.tells("S", says("trust@1", "S")) }, process: "trust@1", origin: "S", state: api.InstanceFinished,
		},
		"two who say that they are the origin": {
			tell:    func(b *believing) { b.tells("S", says("trust@1", "S")); b.tells("T", says("trust@1", "T")) },
			process: "trust@1", origin: "S", state: api.InstanceUnknown, contest: true,
		},
		"one says so, and this node knows better": {
			tell: func(b *believing) {
				b.tells("A", says("trust@1", "T"))
				b.tells("S", says("trust@1", "S"))
				b.tells("T", says("trust@1", "T"))
			},
			process: "trust@1", origin: "T", state: api.InstanceFinished,
		},
		"another process, and this node knows better": {
			tell:    func(b *believing) { b.tells("A", says("trust@1", "")); b.tells("C", says("orders@1", "C")) },
			process: "trust@1", state: api.InstanceUnknown,
		},
		"another process": {
			tell:    func(b *believing) { b.tells("S", says("trust@1", "S")); b.tells("C", says("orders@1", "C")) },
			process: "trust@1", origin: "S", state: api.InstanceFinished, dispute: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBelieving(t)
			tc.tell(b)
			g := b.s.g
			if g.Process != tc.process || g.Origin != tc.origin || (g.Other != "") != tc.dispute || (g.Contested != "") != tc.contest {
				t.Fatalf("process %q, origin %q, also %q and %q", g.Process, g.Origin, g.Other, g.Contested)
			}
			if g.Process != "" && g.Status().State != tc.state {
				t.Errorf("%+v", g.Status())
			}
		})
	}
}
