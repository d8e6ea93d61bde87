package node

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/processtable"
)

// believing is a node A that has the table of trust, at which an instance may be started at
// S or T, and what it is told of one.
type believing struct {
	*testing.T
	a *Node
	s *gathering
}

func newBelieving(t *testing.T) *believing {
	t.Helper()
	w := inboxWorldOf(t, orders, true)
	w.add(trust)
	return &believing{T: t, a: w.a, s: &gathering{
		node: w.a, g: &gathered{self: "A", id: uuid.Must(uuid.NewV7()), reports: map[string]instanceReport{}},
		asked: map[processtable.NodeID]*asking{},
	}}
}

func (b *believing) tells(node processtable.NodeID, r instanceReport) {
	b.s.asked[node] = &asking{pending: true}
	b.s.take(reply[instanceReport]{Node: node, Answer: r})
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
	lie := instanceReport{
		Known: true, Process: "trust@1", Origin: "S", State: api.InstanceFinished, Key: "forged", Output: json.RawMessage(`"forged"`),
		Roster: []api.Place{{Activity: "b", Node: "M"}, {Activity: "c", Node: "nowhere"}}, Notices: []string{"d"},
		Activities: []api.Activity{
			{Activity: "m", Node: "M", State: api.ActivityRunning},
			{Activity: "b", Node: "B", State: api.ActivityTerminated},
			{Activity: "b", Node: "M", State: api.ActivitySkipped},
			{Activity: "nothing", Node: "M", State: api.ActivitySkipped},
		},
		Heard:  []string{"b", "nothing"},
		Waits:  []waiting{{Activity: "c", For: []string{"a"}, Held: "by M"}},
		Events: []api.HistoryEvent{{Activity: "m", Node: "B", Event: api.EventFailed}, {Activity: "b", Node: "B", Event: api.EventTerminated}, {Activity: "sink", Node: "S", Event: api.EventEnded}, {Activity: "c", Node: "C", Event: api.EventPassed}},
	}
	b.tells("A", instanceReport{})
	b.tells("M", lie)
	got := b.s.g.status()
	want := map[string]string{"a@A": "unknown", "b@B": "unknown", "c@C": "unknown", "d@S": "unknown", "m@M": "running"}
	if diff := cmp.Diff(want, states(got)); diff != "" {
		t.Errorf("activities:\n%s", diff)
	}
	if got.State != api.InstanceUnknown || got.Key != "" || got.Output != nil || got.InError != 0 || got.Process != "trust@1" {
		t.Errorf("%+v", got)
	}
	if len(b.s.g.waits()) != 0 {
		t.Errorf("waits: %+v", b.s.g.waits())
	}
	events := b.s.g.history().Events
	if len(events) != 2 || events[0].Node != "M" || events[1].Node != "M" || events[0].Event == api.EventTerminated || events[1].Event == api.EventTerminated {
		t.Errorf("history: %+v", events)
	}
	b.tells("S", instanceReport{Known: true, Process: "trust@1", Origin: "S", State: api.InstanceRunning, Notices: []string{"d"}})
	if got = b.s.g.status(); got.State != api.InstanceRunning || got.InError != 1 {
		t.Errorf("with the origin: %+v", got)
	}
}

// What a node says of a process in which it has no part, or of an origin that cannot be one,
// is nothing; and of what this node knows itself nobody says otherwise.
func TestWhoIsBelievedAboutAnInstance(t *testing.T) {
	report := func(process, origin string) instanceReport {
		r := instanceReport{Known: true, Process: process, Origin: origin}
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
		"a stranger to the process": {tell: func(b *believing) { b.tells("X", report("trust@1", "S")) }},
		"no process":                {tell: func(b *believing) { b.tells("M", report("trust", "S")) }},
		"an origin that cannot be one": {
			tell: func(b *believing) { b.tells("M", report("trust@1", "M")) }, process: "trust@1", state: api.InstanceUnknown,
		},
		"the origin itself": {
			tell: func(b *believing) { b.tells("S", report("trust@1", "S")) }, process: "trust@1", origin: "S", state: api.InstanceFinished,
		},
		"two who say that they are the origin": {
			tell:    func(b *believing) { b.tells("S", report("trust@1", "S")); b.tells("T", report("trust@1", "T")) },
			process: "trust@1", origin: "S", state: api.InstanceUnknown, contest: true,
		},
		"one says so, and this node knows better": {
			tell: func(b *believing) {
				b.tells("A", report("trust@1", "T"))
				b.tells("S", report("trust@1", "S"))
				b.tells("T", report("trust@1", "T"))
			},
			process: "trust@1", origin: "T", state: api.InstanceFinished,
		},
		"another process, and this node knows better": {
			tell:    func(b *believing) { b.tells("A", report("trust@1", "")); b.tells("C", report("orders@1", "C")) },
			process: "trust@1", state: api.InstanceUnknown,
		},
		"another process": {
			tell:    func(b *believing) { b.tells("S", report("trust@1", "S")); b.tells("C", report("orders@1", "C")) },
			process: "trust@1", origin: "S", state: api.InstanceFinished, dispute: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBelieving(t)
			tc.tell(b)
			g := b.s.g
			if g.process != tc.process || g.origin != tc.origin || (g.other != "") != tc.dispute || (g.contested != "") != tc.contest {
				t.Fatalf("process %q, origin %q, also %q and %q", g.process, g.origin, g.other, g.contested)
			}
			if g.process != "" && g.status().State != tc.state {
				t.Errorf("%+v", g.status())
			}
		})
	}
}

// Where the table of a process is not here, nothing is done by what others say of it: a
// roster of theirs would name the sites that are sent something.
func TestNothingIsDoneByAForeignRoster(t *testing.T) {
	w := inboxWorldOf(t, orders, true)
	if w.a.hasTable("trust@1") || !w.a.hasTable("orders@1") {
		t.Fatal("which tables are here")
	}
	b := &gathering{
		node: w.a, g: &gathered{self: "A", reports: map[string]instanceReport{}},
		asked: map[processtable.NodeID]*asking{"M": {pending: true}},
	}
	b.take(reply[instanceReport]{Node: "M", Answer: instanceReport{
		Known: true, Process: "trust@1", Origin: "M", State: api.InstanceRunning, Started: time.Now(), Roster: []api.Place{{Activity: "x", Node: "nowhere"}},
	}})
	if len(b.g.roster) != 1 {
		t.Fatalf("it is not shown: %+v", b.g)
	}
}
