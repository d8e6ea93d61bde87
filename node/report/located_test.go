package report

import (
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

const twoOrigins = `
process: p
version: 1
starts: [A, B]
activities:
  note: {node: _ORIGIN, program: p}
  ask:  {node: C, program: p}
  each: {node: _ORIGIN, program: p, input: Job, for_each: shop}
control: [note -> ask]
structures: {Job: {shop: string}, Jobs: {shops: [string]}}
input: Jobs
data:
  - source -> each: {shop: shops}
`

// preparedAt is the process at a node.
func preparedAt(t *testing.T, node processtable.NodeID) behaviour.Process {
	t.Helper()
	p, err := navigator.Prepare(definitiontest.TablesOf(t, twoOrigins, definition.CompileOptions{})[node], nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// R40: a node tells of what is at the origin in an instance that it has started; in another one it has none of that.
func TestR40WhoTellsOfWhatIsAtTheOrigin(t *testing.T) {
	for origin, want := range map[processtable.NodeID]string{"A": "note each", "B": ""} {
		started := record.AuditRecord{Activity: processtable.Source, Event: record.EventStarted, Origin: origin, Process: processtable.ProcessID{Name: "p", Version: 1}}
		f := Facts{
			Self: "A", Process: preparedAt(t, "A"), Known: true, View: &audit.InstanceView{Events: []record.AuditRecord{started}},
			Held: func(*processtable.Activity, []processtable.NodeID) string { return "" },
		}
		var told []string
		r := f.Report(Question{Scopes: []string{""}})
		for _, a := range r.Activities {
			told = append(told, a.Activity)
		}
		if got := strings.Join(told, " "); got != want {
			t.Errorf("of an instance of %s A tells of %q, want %q", origin, got, want)
		}
		if r.Roster[0].Node != string(origin) || r.Roster[1].Node != "C" {
			t.Errorf("of an instance of %s the roster is %+v", origin, r.Roster)
		}
	}
}

// R40, invariant 11: where an activity at the origin is follows from where the instance was started, as this node knows
// it, or as is told as long as it does not; and who says that of itself and is not it, is not believed.
func TestR40WhereWhatIsAtTheOriginIs(t *testing.T) {
	table := preparedAt(t, "C").Table()
	says := func(node string, origin string) Report {
		r := Report{
			Known: origin != "", Process: "p@1", Origin: origin, State: api.InstanceRunning, Roster: RosterOf(table, processtable.NodeID(origin)),
			Activities: []api.Activity{{Activity: "note", State: api.ActivityRunning}},
		}
		for i := range r.Roster {
			r.Roster[i].Each = r.Roster[i].Activity == "each"
		}
		r, believed := r.Believed(processtable.NodeID(node), table)
		if !believed {
			t.Fatalf("%s is not believed", node)
		}
		return r
	}
	g := NewGathered("C", api.InstanceID{1})
	g.Asked.Scopes = []string{""}
	g.Add("C", says("C", ""))
	if a := g.Status().Activities[0]; !g.Unlocated() || a.Node != processtable.OriginWord || a.State != api.ActivityUnknown {
		t.Errorf("before anybody knows it is %+v", a)
	}
	if nodes := g.Nodes(nobody); len(nodes) != 1 || nodes[0] != "C" {
		t.Errorf("the nodes to ask are %v", nodes)
	}
	g.Add("A", says("A", "A"))
	g.Add("B", says("B", "A"))
	a := g.Status().Activities
	if g.Unlocated() || a[0].Node != "A" || a[0].State != api.ActivityRunning || a[2].Node != "A" || !g.Roster[2].Each {
		t.Errorf("A has started it, and note is %+v, the roster %+v", a[0], g.Roster)
	}

	g = NewGathered("C", api.InstanceID{1})
	g.Asked.Scopes = []string{""}
	g.Add("C", says("C", "A"))
	g.Add("B", says("B", "B"))
	if a := g.Status().Activities[0]; a.Node != "A" || a.State != api.ActivityUnknown {
		t.Errorf("C knows that A has started it, B says that it has, and note is %+v", a)
	}
}

func nobody(processtable.NodeID) bool { return false }

// N20: of the nodes that may do the work of a call those are asked at which it is under way, as its home says; all, where
// that does not answer, of the history, and once something was suspended.
func TestNodesOfCalls(t *testing.T) {
	roster := []api.Place{{Activity: "count", Node: "office", Each: true, At: []string{"s1", "s2", "s3"}}}
	report := Report{Known: true, Process: "stock@1", Origin: "office", Roster: roster, Activities: []api.Activity{
		{Activity: "count", Node: "office", Kind: api.KindBundle, State: api.ActivityRunning},
		{Scope: "count[0]", Activity: "count", Node: "office", At: "s1", State: api.ActivityTerminated},
		{Scope: "count[1]", Activity: "count", Node: "office", At: "s2", State: api.ActivityRunning},
	}}
	office := func(n processtable.NodeID) bool { return n == "office" }
	for name, tc := range map[string]struct {
		q      Question
		silent func(processtable.NodeID) bool
		marks  []Suspending
		want   []processtable.NodeID
	}{
		"of what goes on":              {Question{Scopes: []string{""}}, nobody, nil, []processtable.NodeID{"office", "s2"}},
		"of all that there is":         {Question{Tree: &Page{}}, nobody, nil, []processtable.NodeID{"office", "s2"}},
		"home does not answer":         {Question{Scopes: []string{""}}, office, nil, []processtable.NodeID{"office", "s1", "s2", "s3"}},
		"of what has happened in them": {Question{History: true}, nobody, nil, []processtable.NodeID{"office", "s1", "s2", "s3"}},
		"it was suspended":             {Question{Scopes: []string{""}}, nobody, make([]Suspending, 1), []processtable.NodeID{"office", "s1", "s2", "s3"}},
	} {
		g := NewGathered("office", message.InstanceID{1})
		g.Asked, report.Marks = tc.q, tc.marks
		g.Add("office", report)
		got := g.Nodes(tc.silent)
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if g := NewGathered("office", message.InstanceID{1}); len(g.Workers()) > 0 {
		t.Error("nobody has told of any")
	}
}
