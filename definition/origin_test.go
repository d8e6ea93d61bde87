package definition

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/processtable"
)

const atOrigin = `
process: order
version: 1
structures:
  S: {n: int, shop: string}
input: S
output: S
starts: [X, Y]
events: {paid: {}}
activities:
  note:  {node: _ORIGIN, program: p, input: S, output: S}
  round:
    node: _ORIGIN
    activities:
      look: {node: C, program: p}
      file: {node: _ORIGIN, program: p}
    control: [look -> file]
  visit: {node: _ORIGIN, program: p, input: S, at: {node: shop, of: [C]}}
  tell:  {node: C, send: {event: paid, to: _ORIGIN}}
  pack:  {node: C, program: p}
  last:  {node: _ORIGIN, program: p}
control:
  - note -> round
  - note -> pack: n > 1
  - pack -> tell
  - tell -> last
data:
  - source -> note
  - source -> visit
`

// N20, R40: every node of starts has the rows of what is at the origin, with what is added to them; a connector leads to
// the origin, wherever that is.
func TestR40RowsAtTheOrigin(t *testing.T) {
	c := compileOne(t, atOrigin)
	for _, table := range c.Tables {
		var rows []string
		for _, a := range table.Activities {
			rows = append(rows, strings.TrimPrefix(string(a.Inside())+"/"+string(a.Name), "/"))
			for _, k := range a.OutControl {
				if home, _ := table.NodeOf(processtable.RowID{Name: k.To, Inside: a.Inside()}); k.Node != home {
					t.Errorf("%s: %s leads to %s at %s, which is at %s", table.Node, a.Name, k.To, k.Node, home)
				}
			}
		}
		want := []string{"source", "note", "round", "round/source", "round/sink", "round/file", "visit", "last", "sink"}
		if table.Node == "C" {
			want = []string{"round/look", "visit/visit", "tell", "pack"}
		}
		if d := cmp.Diff(want, rows); d != "" {
			t.Errorf("rows of %s (-want +got):\n%s", table.Node, d)
		}
		if table.Format != processtable.BundleFormat {
			t.Errorf("%s has format %d", table.Node, table.Format)
		}
	}
	if got := c.Manifest.Tables[1]; got.Node != "X" || !slices.Equal(got.Activities, []string{"note", "round", "file", "visit", "last"}) {
		t.Errorf("the manifest has %+v", got)
	}
	if len(c.Tables) != 3 {
		t.Errorf("%d tables, want those of C, X and Y", len(c.Tables))
	}
}

// N6, R40: what is at the origin passes dead paths around others, as the origin and nobody else; nobody passes one
// around what is there.
func TestN6DetoursAtTheOrigin(t *testing.T) {
	got := map[string][]string{}
	for _, table := range compileOne(t, atOrigin).Tables {
		got[string(table.Node)] = showN6(table)
	}
	// Behind pack, which note begins, comes tell, and behind that last, which is no detour of C.
	want := map[string][]string{"C": {"by @origin: pack"}, "X": {"tell: last", "pack: tell", "by @origin: tell"}, "Y": {"tell: last", "pack: tell", "by @origin: tell"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("detours and resolvers (-want +got):\n%s", d)
	}
}

// Only format 7 has them; what else is of the file has the bytes that it had.
func TestTheOriginNeedsFormat7(t *testing.T) {
	const plain = "process: p\nversion: 1\nstarts: [A]\nactivities:\n  a: {node: _ORIGIN, program: p}\n"
	for format, want := range map[int]string{
		0: "", 7: "",
		6: "table format 6 has no node: _ORIGIN: leave it out, and upgrade the sites of the process to a version that reads format 7",
		2: "table format 2 has no node: _ORIGIN",
	} {
		_, err := CompileWith(loadOne(t, plain), CompileOptions{TableFormat: format})
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("format %d: %v", format, err)
		}
	}
	fixed := loadOne(t, strings.ReplaceAll(plain, OriginNode, "A"))
	if c := compileOne(t, strings.ReplaceAll(plain, OriginNode, "A")); c.Manifest.Format != processtable.FlowMarkFormat {
		t.Errorf("without it format %d", c.Manifest.Format)
	}
	if hashOf(t, fixed) == hashOf(t, loadOne(t, plain)) {
		t.Error("the hash does not say where the activity is")
	}
}

// A start is held to the longest name that its origin may have.
func TestTheOriginIsCountedAsALongName(t *testing.T) {
	if got := nameBytes("a", processtable.Origin); got != processtable.MaxName {
		t.Errorf("an activity at the origin counts %d bytes", got)
	}
	if got := nameBytes("a", "office"); got != 6 {
		t.Errorf("one at office counts %d bytes", got)
	}
}

// For people: the table says of which instances a row is, the drawing where the activity is.
func TestTheOriginIsShown(t *testing.T) {
	c := compileOne(t, atOrigin)
	shown := Show(c.Tables)
	for _, want := range []string{
		"note is here for instances that were started here", "visit is here for instances that were started here; is done at shop, one of C",
		"tell sends paid, to _ORIGIN", "_ORIGIN may send so for pack", "note, Q_origin,0",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the tables do not say %q:\n%s", want, shown)
		}
	}
	if dot := Dot(loadOne(t, atOrigin)); !strings.Contains(dot, "node _ORIGIN") {
		t.Errorf("the drawing does not say where note is:\n%s", dot)
	}
}
