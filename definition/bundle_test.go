package definition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/container"
	"fmqm/processtable"
)

// rowsOf gives the rows of a name in a node's table, the one that its connectors lead to first.
func rowsOf(c *Compiled, node, name string) []*processtable.Activity {
	var all []*processtable.Activity
	for _, t := range c.Tables {
		for _, a := range t.Activities {
			if string(t.Node) == node && string(a.Name) == name {
				all = append(all, a)
			}
		}
	}
	return all
}

// What an activity is, is that of one execution; the bundle has the connectors, the call the deadline, and
// what is done there is in the table of each node of `of` (N20, N21).
func TestN21RowsOfABundleOfCalls(t *testing.T) {
	c := compileOne(t, testdata(t, "stock-night.yaml"))
	rows := rowsOf(c, "office", "count")
	if len(rows) != 2 {
		t.Fatalf("office has %d rows of count, want bundle and call", len(rows))
	}
	bundle, call := rows[0], rows[1]
	if bundle.Kind != processtable.KindBundle || bundle.Bundle.Member != "shop" || bundle.Bundle.Parallel != 40 || len(bundle.OutControl) != 3 || bundle.Deadline != nil || bundle.Continues {
		t.Errorf("the bundle is %+v", bundle)
	}
	if got, want := container.Shape(bundle.Input), "{day: string, until: timestamp, shop: [string]}"; got != want {
		t.Errorf("the bundle takes %s, want %s", got, want)
	}
	if got, want := container.Shape(bundle.Output), "{_RESULTS: [Count], _ERRORS: [string], _COUNT: int, _DONE: int, _FAILED: int}"; got != want {
		t.Errorf("the bundle gives %s, want %s: what nothing reads is not collected", got, want)
	}
	if call.Kind != processtable.KindCall || call.Call.Node.Text != "shop" || len(call.Call.Of) != 12 || call.Deadline == nil || !call.Continues || call.Row().Begun != 1 {
		t.Errorf("the call is %+v", call)
	}
	for _, node := range call.Call.Of {
		work := rowsOf(c, string(node), "count")
		if len(work) != 1 || work[0].Kind != processtable.KindProgram || work[0].Row().Begun != 2 || work[0].Retry.Attempts != 5 || work[0].Deadline != nil {
			t.Fatalf("%s has the rows %+v", node, work)
		}
	}
	if got := c.Manifest.Format; got != processtable.BundleFormat {
		t.Errorf("table format %d", got)
	}
	if _, err := CompileWith(loadOne(t, testdata(t, "stock-night.yaml")), CompileOptions{TableFormat: processtable.ModelFormat}); err == nil || !strings.Contains(err.Error(), "table format 6 has no for_each") {
		t.Errorf("in a lower format: %v", err)
	}
}

const lines = `
process: lines
version: 1
structures:
  Order: {lines: [Line]}
  Line:  {item: string, tries: int}
input: Order
activities:
  line:
    node: A
    for_each: _STRUCT
    input: Line
    output: Line
    exit: tries > 1
    max_iterations: 7
    activities:
      pick: {node: B, program: pick, for_each: item, parallel: 10, input: Picks, output: Line}
      pack: {node: A, program: pack, at: {node: item, of: [A, B]}, input: Line, output: Line}
    control:
      - pick -> pack
    data:
      - source -> pack
      - pack -> sink
      - pick -> sink: {tries: _COUNT}
  next: {node: A, process: other, for_each: item, parallel: 3, input: Line}
  last: {node: A, process: other}
control:
  - line -> next: _FAILED == 0
  - next -> last: _DONE > 0
data:
  - source -> line: {_STRUCT: lines}
  - line -> line: {tries: tries}
`

// What is inside of a block for each element is inside of both, the bundle and the block.
func TestN21ABlockForEachElement(t *testing.T) {
	c := compileOne(t, strings.Replace(lines, "input: Picks", "input: Line", 1))
	rows := rowsOf(c, "A", "line")
	if len(rows) != 2 || rows[1].Kind != processtable.KindBlock || len(rows[1].Feedback) != 1 || rows[1].Exit == nil || rows[1].MaxIterations != 7 || rows[0].MaxIterations != 0 {
		t.Fatalf("the rows of line are %+v", rows)
	}
	elements, iterations := processtable.Composite{Activity: "line", Elements: true}, processtable.Composite{Activity: "line", Iterations: 7}
	pick := rowsOf(c, "B", "pick")
	if diff := cmp.Diff([]processtable.Composite{elements, iterations, {Activity: "pick", Elements: true}}, pick[1].Path); diff != "" {
		t.Errorf("path of one pick:\n%s", diff)
	}
	packs := append(rowsOf(c, "A", "pack"), rowsOf(c, "B", "pack")...)
	if len(packs) != 3 || packs[0].Kind != processtable.KindCall || packs[1] == packs[2] {
		t.Errorf("the rows of pack are %v", packs)
	}
	for _, table := range c.Tables {
		if table.Children != 4 {
			t.Errorf("%s counts %d instances that are begun at once, want 3 and 1", table.Node, table.Children)
		}
		if len(table.Workers) != 1 || table.Workers[0].Each {
			t.Errorf("%s has the workers %+v", table.Node, table.Workers)
		}
	}
}

// The definition hash is of the meaning (N3): what nothing reads, the order of nodes and the names of sets are not
// in it.
func TestHashOfBundlesAndCalls(t *testing.T) {
	text := testdata(t, "stock-night.yaml")
	const want = "0234f858658cc65481017166b399a2bc8d6c9ca226a76a6103d82403c6ed6c64"
	if got := hashOf(t, loadOne(t, text)); got != want {
		t.Errorf("the definition hash of stock-night is %s, want %s", got, want)
	}
	for what, same := range map[string]string{
		"sets written out": strings.NewReplacer("of: shops}", "of: [s02, s01, s03, s04, s05, s06, s07, s08, s09, s10, s11, s12]}",
			"nodes:\n  shops: [s01, s02, s03, s04, s05, s06, s07, s08, s09, s10, s11, s12]\n", "").Replace(text),
		"another order": strings.Replace(text, "shops: [s01, s02", "shops: [s02, s01", 1),
	} {
		if same == text || hashOf(t, loadOne(t, same)) != want {
			t.Errorf("%s: another hash, or nothing is changed", what)
		}
	}
	seen := map[string]string{want: "as it is"}
	for _, other := range [][2]string{
		{"parallel: 40", "parallel: 41"},
		{"    parallel: 40\n", ""},
		{"    on_error: continue ", "    until: _FAILED > 3\n    on_error: continue "},
		{"    on_error: continue ", "    failed: counted < 0\n    on_error: continue "},
		{"s11, s12]", "s11]"},
		{"node: shop, of", "node: day, of"},
		{"failed: _FAILED}\n  - report", "failed: _DONE}\n  - report"},
	} {
		changed := strings.Replace(text, other[0], other[1], 1)
		h := hashOf(t, loadOne(t, changed))
		if was, ok := seen[h]; ok || changed == text {
			t.Errorf("%q has the hash of %q", other[1], was)
		}
		seen[h] = other[1]
	}
}

// Each element and each call is a frame of a scope, of which there are 16 (N10).
func TestN10BundlesAndCallsAreNestedSoDeep(t *testing.T) {
	nested := func(blocks int, last string) string {
		text := "process: deep\nversion: 1\nstructures: {S: {x: string, l: [string]}}\ninput: S\nactivities:\n"
		indent := "  "
		for i := range blocks {
			text += fmt.Sprintf("%sb%d:\n%[1]s  node: A\n%[1]s  input: S\n%[1]s  for_each: x\n%[1]s  activities:\n", indent, i)
			indent += "    "
		}
		return text + indent + last + "\n"
	}
	for blocks, deep := range map[int]int{7: 0, 8: 17} {
		got := errorsOf(nested(blocks, "a: {node: A, program: p, input: S, for_each: x}"))
		if (len(got) > 0) != (deep > 0) || deep > 0 && !strings.Contains(got[0], fmt.Sprintf("a is nested %d deep: use at most 16 blocks, `for_each` and `at` inside one another", deep)) {
			t.Errorf("%d blocks: %v", blocks, got)
		}
	}
	if got := errorsOf(nested(7, "a: {node: A, program: p, input: S, for_each: x, at: {node: x, of: [B]}}")); len(got) > 0 {
		t.Error(got)
	}
	if got := errorsOf(nested(9, "a: {node: A, program: p}")); len(got) == 0 || !strings.Contains(got[0], "the block b8 is nested 18 deep") {
		t.Error(got)
	}
}

// Names of nodes may be long, and there may be many: the tables are held to their limits.
func TestN20ManyNodesOfACall(t *testing.T) {
	nodes := make([]string, 300)
	for i := range nodes {
		nodes[i] = fmt.Sprintf("site-%03d", i)
	}
	c := compileOne(t, "process: p\nversion: 1\nnodes: {all: ["+strings.Join(nodes, ", ")+"]}\nstructures: {S: {x: string}}\ninput: S\nactivities:\n  a: {node: A, program: p, input: S, at: {node: x, of: all}}\ndata: [source -> a]\n")
	if len(c.Tables) != 301 {
		t.Errorf("%d tables", len(c.Tables))
	}
	for _, m := range c.Manifest.Tables {
		if !slices.Contains(m.Activities, "a") {
			t.Errorf("%s hosts %v", m.Node, m.Activities)
		}
	}
}

func TestBundlesAreShownAndDrawn(t *testing.T) {
	c := compileOne(t, testdata(t, "stock-night.yaml"))
	golden(t, "testdata/stock-night.show", Show(c.Tables[:3]))
	p := loadClean(t, testdata(t, "stock-night.yaml"))
	golden(t, "testdata/stock-night.dot", Dot(p))
	golden(t, "testdata/stock-night.mermaid", Mermaid(p))
	golden(t, "testdata/stock-night.svg", svgOf(t, p))
}

// The process for each line of an order, and what it begins, have no diagnostic together.
func TestAnOrderIsPackedLineByLine(t *testing.T) {
	processes, diagnostics := Load("order.yaml", []byte(testdata(t, "order.yaml")))
	if len(diagnostics) > 0 || len(processes) != 2 {
		t.Fatal(diagnostics)
	}
	c, err := Compile(processes[0])
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/order.show", Show(c.Tables))
	golden(t, "testdata/order.mermaid", Mermaid(processes[0]))
}
