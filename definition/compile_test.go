package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

func loadOne(t testing.TB, text string) *Process {
	t.Helper()
	ps, ds := Load("test.yaml", []byte(text))
	if HasErrors(ds) || len(ps) != 1 {
		t.Fatalf("Load: %d processes, %v", len(ps), ds)
	}
	return ps[0]
}

func compileOne(t testing.TB, text string) *Compiled {
	t.Helper()
	c, err := Compile(loadOne(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func purchaseOrder(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/purchase-order.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (c *Compiled) at(t testing.TB, node processtable.NodeID) *processtable.Table {
	t.Helper()
	for _, table := range c.Tables {
		if table.Node == node {
			return table
		}
	}
	t.Fatalf("no table for node %s", node)
	return nil
}

func names(t *processtable.Table) string {
	var all []string
	for _, a := range t.Activities {
		all = append(all, string(a.Name))
	}
	return strings.Join(all, " ")
}

// Every node gets the activities that it hosts; where an instance may start, source
// first and sink last (N1).
func TestTablesHoldWhatTheirNodeNeeds(t *testing.T) {
	c := compileOne(t, purchaseOrder(t))
	got := map[string]string{}
	for _, table := range c.Tables {
		got[string(table.Node)] = names(table)
		if len(table.Roster) != 5 || table.Definition != c.Hash {
			t.Errorf("table of %s: roster %v, definition %s", table.Node, table.Roster, table.Definition)
		}
	}
	want := map[string]string{"A": "source receive stock sink", "B": "credit", "C": "ship", "D": "reject"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("activities by node (-want +got):\n%s", d)
	}
}

func TestANodeThatOnlyStartsGetsATable(t *testing.T) {
	c := compileOne(t, `
process: p
version: 1
starts: [Office, A]
activities:
  a: {node: A, program: p}
`)
	if got := names(c.at(t, "Office")); got != "source sink" {
		t.Errorf("the start node hosts %s, want source sink", got)
	}
	if got := names(c.at(t, "A")); got != "source a sink" {
		t.Errorf("node A hosts %s, want source a sink", got)
	}
}

// N1: source leads to what has no predecessors, without conditions; what has no
// successors leads to sink, which lives at the instance's origin.
func TestSourceAndSinkAreAdded(t *testing.T) {
	a := compileOne(t, purchaseOrder(t)).at(t, "A")
	source, sink := a.Activity(processtable.RowID{Name: processtable.Source}), a.Activity(processtable.RowID{Name: processtable.Sink})
	if d := cmp.Diff([]processtable.OutControl{{To: "receive", Node: "A"}}, source.OutControl); d != "" {
		t.Errorf("source's control connectors (-want +got):\n%s", d)
	}
	if !container.SameType(source.Output, a.Input) || !container.SameType(sink.Input, a.Output) {
		t.Errorf("source gives %s, sink takes %s", source.Output, sink.Input)
	}
	if d := cmp.Diff([]processtable.InControl{{From: "ship"}, {From: "reject"}}, sink.InControl); d != "" {
		t.Errorf("sink's control connectors (-want +got):\n%s", d)
	}
	for _, connectors := range [][]bool{{false, false}, {true, false}, {true, true}} {
		if !sink.Start.Eval(connectors) {
			t.Errorf("sink does not run when its connectors are %v", connectors)
		}
	}
	ship := compileOne(t, purchaseOrder(t)).at(t, "C").Activity(processtable.RowID{Name: "ship"})
	if d := cmp.Diff([]processtable.OutControl{{To: processtable.Sink, Node: processtable.Origin}}, ship.OutControl); d != "" {
		t.Errorf("ship's control connectors (-want +got):\n%s", d)
	}
	if len(ship.OutData) != 1 || ship.OutData[0].To != processtable.Sink || ship.OutData[0].Node != processtable.Origin {
		t.Errorf("ship's data connectors: %v", ship.OutData)
	}
	receive := a.Activity(processtable.RowID{Name: "receive"})
	if len(receive.InData) != 1 || receive.InData[0].From != processtable.Source {
		t.Errorf("receive's data connectors: %v", receive.InData)
	}
}

// A start condition becomes a tree over the incoming connectors; here against the
// truth table of what was written.
func TestStartConditions(t *testing.T) {
	for _, tc := range []struct {
		start string
		want  func(a, b, c bool) bool
	}{
		{"all", func(a, b, c bool) bool { return a && b && c }},
		{"any", func(a, b, c bool) bool { return a || b || c }},
		{"{at_least: 2}", func(a, b, c bool) bool { return a && b || a && c || b && c }},
		{`"(b && c) || a"`, func(a, b, c bool) bool { return b && c || a }},
		{`"c && !a"`, func(a, b, c bool) bool { return c && !a }},
	} {
		t.Run(tc.start, func(t *testing.T) {
			z := compileOne(t, fmt.Sprintf(`
process: p
version: 1
activities:
  a: {node: A, program: p}
  b: {node: A, program: p}
  c: {node: A, program: p}
  z: {node: Z, program: p, start: %s}
control: [c -> z, a -> z, b -> z]
`, tc.start)).at(t, "Z").Activity(processtable.RowID{Name: "z"})
			if d := cmp.Diff([]processtable.InControl{{From: "c"}, {From: "a"}, {From: "b"}}, z.InControl); d != "" {
				t.Fatalf("incoming connectors are not in file order:\n%s", d)
			}
			for bits := range 8 {
				a, b, c := bits&1 != 0, bits&2 != 0, bits&4 != 0
				if got := z.Start.Eval([]bool{c, a, b}); got != tc.want(a, b, c) {
					t.Errorf("a=%v b=%v c=%v: starts = %v", a, b, c, got)
				}
			}
		})
	}
}

const loop = `
process: p
version: 1
structures:
  S: {n: int, done: bool}
input: S
activities:
  a:
    node: A
    program: work
    input: S
    output: S
    exit: done || _RC == 3
    max_iterations: 7
    again: {after: 2s, max: 8s}
    retry: {attempts: 5, backoff: 3s, max_backoff: 9s}
data:
  - source -> a
  - a -> a: {n: n}
`

// The feedback of a loop is no connector: nothing has to wait for it.
func TestFeedbackIsNoConnector(t *testing.T) {
	a := compileOne(t, loop).at(t, "A").Activity(processtable.RowID{Name: "a"})
	if len(a.InData) != 1 || len(a.OutData) != 0 {
		t.Errorf("data connectors: in %v, out %v", a.InData, a.OutData)
	}
	if len(a.Feedback) != 1 || a.Feedback[0].Source != "n" {
		t.Errorf("feedback: %v", a.Feedback)
	}
	if a.Exit == nil || a.Exit.Text != "done || _RC == 3" || !a.RCIsData {
		t.Errorf("exit %v, _RC is data: %v", a.Exit, a.RCIsData)
	}
	if a.MaxIterations != 7 || a.Again != (processtable.Backoff{After: 2e9, Max: 8e9}) ||
		a.Retry != (processtable.Retry{Attempts: 5, Backoff: processtable.Backoff{After: 3e9, Max: 9e9}}) {
		t.Errorf("max_iterations %d, again %v, retry %v", a.MaxIterations, a.Again, a.Retry)
	}
}

// What a node gets, it can load: conditions over the output container.
func TestCompiledConditionsLoad(t *testing.T) {
	for _, table := range compileOne(t, purchaseOrder(t)).Tables {
		for _, a := range table.Activities {
			scope := condition.Scope{Members: a.Output, RC: true}
			for _, c := range a.OutControl {
				if c.Condition == nil {
					continue
				}
				if _, err := condition.Load(*c.Condition, scope); err != nil {
					t.Errorf("%s -> %s: %v", a.Name, c.To, err)
				}
			}
		}
	}
}

func TestCompileIsReproducible(t *testing.T) {
	first := compileOne(t, purchaseOrder(t))
	for range 5 {
		again := compileOne(t, purchaseOrder(t))
		if !slices.EqualFunc(first.Encoded, again.Encoded, bytes.Equal) || first.Hash != again.Hash {
			t.Fatal("the same file gives other bytes")
		}
	}
}

func TestManifest(t *testing.T) {
	c := compileOne(t, purchaseOrder(t))
	got, err := json.Marshal(c.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for i, hosted := range []string{`"receive","stock"`, `"credit"`, `"ship"`, `"reject"`} {
		sum := sha256.Sum256(c.Encoded[i])
		node := string("ABCD"[i])
		tables = append(tables, fmt.Sprintf(`{"node":%q,"file":"purchase-order@1.%s.table","sha256":%q,"bytes":%d,"activities":[%s]}`,
			node, node, hex.EncodeToString(sum[:]), len(c.Encoded[i]), hosted))
	}
	want := fmt.Sprintf(`{"process":"purchase-order","version":1,"table_format":2,"definition":%q,"tables":[%s]}`, c.Hash, strings.Join(tables, ","))
	if string(got) != want {
		t.Errorf("manifest\n%s\nwant\n%s", got, want)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(p *Process)
		want   string
	}{
		{"unknown source", func(p *Process) { p.Control[0].Source = "nobody" }, "compile purchase-order@1: control connector nobody -> credit: there is no such activity"},
		{"unknown end of data", func(p *Process) { p.Data[0].Target = "nobody" }, "data connector source -> nobody: there is no such activity"},
		{"start expression", func(p *Process) { p.Activities[3].Start.Text = "nobody" }, `activity ship: start condition "nobody": `},
		{"start kind", func(p *Process) { p.Activities[3].Start.Kind = 0 }, "activity ship: start condition of kind 0"},
		{"a table that is not whole", func(p *Process) { p.Starts = nil }, "no node may start it"},
		{"too large", func(p *Process) {
			p.Control[0].Condition.Checked.Expr = make([]byte, processtable.MaxEncoded)
		}, "compile purchase-order@1: the table of node A takes 8390000 bytes: use at most 8388426: host fewer activities at A, map fewer members, or split the process"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := loadOne(t, purchaseOrder(t))
			tc.change(p)
			if _, err := Compile(p); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Compile: %v\nwant %s", err, tc.want)
			}
		})
	}
	if _, err := Compile(nil); err == nil {
		t.Error("Compile(nil) gave no error")
	}
}

// wide gives a process of n activities in layers, each with m connectors into it.
func wide(n, m int) string {
	var b strings.Builder
	b.WriteString("process: wide\nversion: 1\nstructures:\n  S: {n: int, x: double}\ninput: S\nactivities:\n")
	for i := range n {
		fmt.Fprintf(&b, "  t%d: {node: N%d, program: work, input: S, output: S}\n", i, i%8)
	}
	b.WriteString("control:\n")
	for i := m; i < n; i++ {
		for j := range m {
			fmt.Fprintf(&b, "  - t%d -> t%d: n > %d\n", i-1-j, i, j)
		}
	}
	b.WriteString("data:\n")
	for i := 1; i < n; i++ {
		from := fmt.Sprintf("t%d", i-1)
		if i < m {
			from = "source"
		}
		fmt.Fprintf(&b, "  - %s -> t%d\n", from, i)
	}
	return b.String()
}

func BenchmarkLoad2000Activities(b *testing.B) {
	text := []byte(wide(2000, 5))
	for b.Loop() {
		if _, ds := Load("wide.yaml", text); HasErrors(ds) {
			b.Fatal(ds)
		}
	}
}

func BenchmarkCompile2000Activities(b *testing.B) {
	p := loadOne(b, wide(2000, 5))
	for b.Loop() {
		if _, err := Compile(p); err != nil {
			b.Fatal(err)
		}
	}
}
