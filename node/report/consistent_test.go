package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue/audit"
)

// What an answer may claim of two activities, a at A and b at B after it, as A, where the
// instance was started, and B tell it.
func TestCut(t *testing.T) {
	type said struct {
		state   api.ActivityState
		heard   string // activities of others, whose messages have come
		anew    bool
		removed bool
	}
	for _, c := range []struct {
		name     string
		instance api.InstanceState
		a, b     said
		want     string // of a, and of b
		behind   string
	}{
		{"both tell the same", api.InstanceRunning, said{state: "terminated"}, said{state: "running", heard: "a"}, "terminated, running", ""},
		{"nothing has come yet", api.InstanceRunning, said{state: "terminated"}, said{state: "inactive"}, "terminated, inactive", ""},
		{"b works on what a, asked before, had not ended", api.InstanceRunning, said{state: "running"}, said{state: "running", heard: "a"}, "unknown: B says that it has ended; A knows the instance only up to clock 3, running", "A"},
		{"b waits beside the end", api.InstanceFinished, said{state: "terminated"}, said{state: "waiting", heard: "a"}, "terminated, unknown: A says that it has ended; B knows the instance only up to clock 7", "B"},
		{"all have ended", api.InstanceFinished, said{state: "terminated"}, said{state: "skipped"}, "terminated, skipped", ""},
		{"an operator has ended it: b has not heard", api.InstanceTerminated, said{state: "terminated"}, said{state: "running", heard: "a"}, "terminated, running", ""},
		{"b has lost its store", api.InstanceFinished, said{state: "terminated"}, said{state: "inactive", anew: true}, "terminated, unknown: A says that it has ended; B lost the record with its store", ""},
		{"a has lost its store, and b has not", api.InstanceRunning, said{state: "inactive", anew: true}, said{state: "running", heard: "a"}, "unknown: B says that it has ended; A lost the record with its store, running", ""},
		{"b has lost its store, and does it again", api.InstanceFinished, said{state: "terminated"}, said{state: "running", anew: true}, "terminated, running", ""},
		{"retention has removed it", api.InstanceFinished, said{state: "terminated"}, said{state: "unknown", removed: true}, "terminated, unknown", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &Gathered{Self: "A", Origin: "A", Process: "p@1", Reports: map[string]Report{}, Roster: []api.Place{{Activity: "a", Node: "A"}, {Activity: "b", Node: "B"}}}
			for node, s := range map[string]said{"A": c.a, "B": c.b} {
				r := Report{
					Known: true, Process: "p@1", Roster: g.Roster, Clock: map[string]uint64{"A": 3, "B": 7}[node], Heard: strings.Fields(s.heard), Anew: s.anew,
					Activities: []api.Activity{{Activity: strings.ToLower(node), Node: node, State: s.state}, {Activity: "x", Node: node, State: "running"}},
				}
				if s.removed {
					r.Removed = time.Unix(1, 0)
				}
				if node == "A" {
					r.State = c.instance
				}
				g.Add(node, r)
			}
			var got []string
			for _, a := range g.Status().Activities {
				got = append(got, strings.TrimSuffix(string(a.State)+": "+a.Reason, ": "))
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), c.want)
			}
			var behind []string
			for _, node := range g.Behind() {
				behind = append(behind, string(node))
			}
			if strings.Join(behind, " ") != c.behind {
				t.Errorf("behind are %v, want %q", behind, c.behind)
			}
			if clocks := g.read().clocks(); (len(clocks) > 0) != strings.Contains(c.want, "it has ended") {
				t.Errorf("clocks %+v", clocks)
			}
		})
	}
}

const begins = `
process: p
version: 1
structures: {Job: {shop: string}, Jobs: {shops: [string], shop: string}}
input: Jobs
activities:
  a: {node: B, program: p}
  plain: {node: C, program: p}
  each: {node: C, program: p, input: Job, for_each: shop}
  call: {node: C, program: p, input: Job, at: {node: shop, of: [C, D]}}
control: [a -> plain, a -> each, a -> call]
data:
  - source -> each: {shop: shops}
  - source -> call: {shop: shop}
`

// N1, N6, N20, N21: the instance has finished, and its origin has passed a dead path around C, which has not
// heard of that. A bundle and a call are told of there like any other activity: C is behind with them, although
// what they would have begun is nowhere.
func TestBundlesAndCallsHaveEndedWithTheirInstance(t *testing.T) {
	tables := definitiontest.TablesOf(t, begins, definition.CompileOptions{})
	p, err := navigator.Prepare(tables["C"], nil)
	if err != nil {
		t.Fatal(err)
	}
	c := Facts{
		Self: "C", Process: p, View: &audit.InstanceView{},
		Held: func(*processtable.Activity, []processtable.NodeID) string { return "" },
	}
	for name, q := range map[string]Question{"the top": {Scopes: []string{""}}, "a page of all": {Tree: &Page{Limit: 100}}} {
		g := NewGathered("B", api.InstanceID{1})
		g.Asked = q
		g.Add("B", Report{
			Known: true, Process: "p@1", Origin: "B", Roster: RosterOf(tables["B"], "B"), State: api.InstanceFinished, Clock: 5,
			Activities: []api.Activity{{Activity: "a", Node: "B", State: api.ActivityTerminated}},
		})
		r, believed := c.Report(q).Believed("C", tables["B"])
		if !believed {
			t.Fatal("C is not believed")
		}
		g.Add("C", r)
		if got, want := shown(g.Status().Activities), "a terminated, plain unknown, each unknown, call unknown"; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if behind := g.Behind(); !slices.Equal(behind, []processtable.NodeID{"C"}) {
			t.Errorf("%s: behind are %v, want C", name, behind)
		}
	}
}

// Since when something waits is told on every line of why, however little is known.
func TestWhySaysSinceWhen(t *testing.T) {
	heard, started := time.Unix(1_900_000_000, 0).UTC(), time.Unix(1_800_000_000, 0).UTC()
	g := &Gathered{Instance: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")}
	for _, c := range []struct {
		name string
		s    api.Status
		want time.Time
	}{
		{"its node is not heard", api.Status{Started: started, Unreachable: []api.Unreachable{{Node: "B", LastHeard: heard}}}, heard},
		{"nobody has told", api.Status{Started: started}, started},
		{"nor when the instance was started: its identifier says", api.Status{}, time.UnixMilli(0x01890a5dac96).UTC()},
	} {
		if got := g.since(&c.s, api.Activity{Node: "B"}); !got.Equal(c.want) {
			t.Errorf("%s: since %s, want %s", c.name, got, c.want)
		}
	}
}
