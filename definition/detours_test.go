package definition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/processtable"
)

// showN6 writes what a table has of N6: detours as "x: control; data", resolvers as
// "by N: x y".
func showN6(t *processtable.Table) []string {
	words := func(all []processtable.ActivityID) string {
		var out []string
		for _, a := range all {
			out = append(out, string(a))
		}
		return strings.Join(out, " ")
	}
	out := []string{}
	for _, d := range t.Detours {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s: %s; %s", d.Activity, words(d.OutControl), words(d.OutData)), "; "))
	}
	for _, r := range t.Resolvers {
		out = append(out, fmt.Sprintf("by %s: %s", r.Node, words(r.Activities)))
	}
	return out
}

// N6: the compiler says where a dead path passes around a node, and in the table of
// where it leads, from whom that may come.
func TestN6Detours(t *testing.T) {
	for _, tc := range []struct {
		name, activities, rest string
		want                   map[string][]string // by node; nodes without are not named
	}{
		{"a chain over four sites", "a: A, b: B, c: C, d: D", "control: [a -> b, b -> c, c -> d]", map[string][]string{
			// a comes after source, which is never FALSE.
			"A": {"b: c", "c: d", "d: sink", "by B: d", "by C: d"}, // sink is at A
			"B": {"c: d", "d: sink"},
			"C": {"d: sink", "by A: b"},
			"D": {"by A: c", "by B: c"},
		}},
		{"data connectors of what dies", "a: A, b: B, c: C, d: D", "control: [a -> b, b -> c, a -> d, c -> d]\ndata:\n  - b -> d: {n: n}\n  - b -> sink", map[string][]string{
			"A": {"b: c; d sink", "c: d"},
			"B": {"c: d"},
			"C": {"by A: b"},
			"D": {"by A: b c", "by B: c"},
		}},
		{"two predecessors", "a: A, b: B, c: C", "control: [a -> b, a -> c, b -> c]", map[string][]string{
			"A": {"b: c"},
			"C": {"by A: b"},
		}},
		{"a start condition that FALSE fulfils", "a: A, b: B, c: C", "control: [a -> b, b -> c]\nstarts: [A]\n#START b: '!a'", map[string][]string{
			"B": {"c: sink"},
			"A": {"by B: c"},
		}},
		{"a chain that comes back", "a: A, b: B, c: A, d: C", "control: [a -> b, b -> c, c -> d]", map[string][]string{
			"A": {"b: c", "d: sink", "by B: d"},
			"B": {"c: d", "d: sink"},
			"C": {"by B: c"},
		}},
		{"all at one site", "a: A, b: A, c: A", "control: [a -> b, b -> c]", map[string][]string{}},
		{"several origins", "a: A, b: B", "starts: [A, C]\ncontrol: [a -> b]", map[string][]string{
			"A": {"b: sink"},
			"C": {"by A: b"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start := map[string]string{}
			if _, rest, ok := strings.Cut(tc.rest, "#START "); ok {
				name, condition, _ := strings.Cut(rest, ": ")
				start[name] = ", start: " + condition
			}
			var b strings.Builder
			b.WriteString("process: p\nversion: 1\nstructures:\n  S: {n: int}\noutput: S\nactivities:\n")
			for pair := range strings.SplitSeq(tc.activities, ", ") {
				name, node, _ := strings.Cut(pair, ": ")
				fmt.Fprintf(&b, "  %s: {node: %s, program: p, input: S, output: S%s}\n", name, node, start[name])
			}
			got := map[string][]string{}
			for _, table := range compileOne(t, b.String()+tc.rest+"\n").Tables {
				if table.Format != 2 {
					t.Errorf("the table of %s has format %d", table.Node, table.Format)
				}
				if shown := showN6(table); len(shown) > 0 {
					got[string(table.Node)] = shown
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("detours and resolvers (-want +got):\n%s", d)
			}
		})
	}
}

// N6: a node sends on another's behalf only what the receiver's table lets it: both are
// of one compilation. Drawn are processes of one or two predecessors for each activity.
func TestN6EveryDetourIsAllowedWhereItLeads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 14).Draw(t, "activities")
		var b strings.Builder
		b.WriteString("process: p\nversion: 1\nstructures:\n  S: {n: int}\nactivities:\n")
		for i := range n {
			fmt.Fprintf(&b, "  t%d: {node: N%d, program: p, input: S, output: S}\n", i, rapid.IntRange(0, 4).Draw(t, "node"))
		}
		b.WriteString("control:\n")
		for i := 1; i < n; i++ {
			from := rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 1, min(i, rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "most")), rapid.ID[int]).Draw(t, "from")
			for _, f := range from {
				fmt.Fprintf(&b, "  - t%d -> t%d\n", f, i)
			}
		}
		ps, ds := Load("test.yaml", []byte(b.String()))
		if HasErrors(ds) {
			t.Fatalf("%v\n%s", ds, b.String())
		}
		c, err := Compile(ps[0])
		if err != nil {
			t.Fatal(err)
		}
		may, claimed := map[string]bool{}, map[string]bool{}
		for _, table := range c.Tables {
			for _, r := range table.Resolvers {
				for _, a := range r.Activities {
					may[fmt.Sprintf("%s for %s to %s", r.Node, a, table.Node)] = true
				}
			}
			for _, d := range table.Detours {
				for _, to := range slices.Concat(d.OutControl, d.OutData) {
					node, _ := table.NodeOf(processtable.RowID{Name: to})
					if node == processtable.Origin {
						node = table.Starts[0]
					}
					if node != table.Node {
						claimed[fmt.Sprintf("%s for %s to %s", table.Node, d.Activity, node)] = true
					}
				}
			}
		}
		if d := cmp.Diff(may, claimed); d != "" {
			t.Fatalf("what may be sent on behalf, and what is (-may +is):\n%s\n%s", d, b.String())
		}
	})
}

// L6: tables of format 1 can be made, without N6; the definition is the same (N3).
func TestTableFormat1(t *testing.T) {
	p := loadOne(t, purchaseOrder(t))
	newest, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	old, err := CompileWith(p, CompileOptions{TableFormat: 1})
	if err != nil {
		t.Fatal(err)
	}
	if old.Hash != newest.Hash || old.Manifest.Format != 1 || newest.Manifest.Format != 2 {
		t.Errorf("hash %s and %s, format %d and %d", old.Hash, newest.Hash, old.Manifest.Format, newest.Manifest.Format)
	}
	detours := 0
	for i, table := range old.Tables {
		if table.Format != 1 || len(table.Detours)+len(table.Resolvers) > 0 || processtable.FormatOf(old.Encoded[i]) != 1 {
			t.Errorf("table of %s: format %d, %v", table.Node, table.Format, showN6(table))
		}
		detours += len(newest.Tables[i].Detours)
	}
	if detours == 0 {
		t.Error("the process has no detours in format 2 either: it shows nothing")
	}
	for _, format := range []int{-1, 3} {
		if _, err := CompileWith(p, CompileOptions{TableFormat: format}); err == nil || !strings.Contains(err.Error(), "this version writes 1 to 2") {
			t.Errorf("format %d: %v", format, err)
		}
	}
}

// A chain as long as a process can be, over many nodes, costs neither depth nor time.
func TestN6LongChains(t *testing.T) {
	const n = 3000
	var b strings.Builder
	b.WriteString("process: p\nversion: 1\nactivities:\n")
	for i := range n {
		fmt.Fprintf(&b, "  t%d: {node: N%d, program: p}\n", i, i%8)
	}
	b.WriteString("control:\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "  - t%d -> t%d\n", i-1, i)
	}
	for _, table := range compileOne(t, b.String()).Tables {
		if hosted := n / 8; len(table.Detours) < n-hosted-10 || len(table.Resolvers) < 6 {
			t.Errorf("%s: %d detours, %d resolvers", table.Node, len(table.Detours), len(table.Resolvers))
		}
	}
}

// The JSON keys of show are API.
func TestShownDetours(t *testing.T) {
	shown := shownOf(compileOne(t, section34).Tables)
	want := []ShownDetour{{
		Activity: "t3", Node: "B", OutControl: []ShownConnector{{To: "t4", Queue: "Q_B,0"}}, OutData: []ShownConnector{},
	}}
	if d := cmp.Diff(want, shown[0].Detours); d != "" {
		t.Errorf("A's detours (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]ShownResolver{{Node: "A", Activities: []string{"t3"}}}, shown[1].Resolvers); d != "" {
		t.Errorf("B's resolvers (-want +got):\n%s", d)
	}
}
