package definition

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/condition"
	"fmqm/processtable"
)

const chosen = `
process: p
version: 1
structures: {S: {n: int}}
input: S
activities:
  a: {node: A, program: p}
  b: {node: B, program: p}
  c: {node: C, program: p}
  d: {node: D, program: p, start: source && !a}
control:
  - source -> a: n > 1
  - source -> b: otherwise
  - a -> d
  - source -> d
`

// control replaces the control connectors of a definition.
func control(text string, connectors ...string) string {
	head, _, _ := strings.Cut(text, "control:\n")
	return head + "control:\n  - " + strings.Join(connectors, "\n  - ") + "\n"
}

// What is so without being written changes nothing where it is written: not a byte, not the hash.
func TestWhatIsImpliedCompilesAlike(t *testing.T) {
	plain := strings.Replace(chosen, ", start: source && !a", "", 1)
	want := compileOne(t, control(plain, "a -> b", "b -> d"))
	got := compileOne(t, control(plain, "source -> c", "a -> b", "source -> a", "b -> d"))
	if want.Manifest.Format != processtable.FlowMarkFormat || want.Hash != got.Hash || !slices.EqualFunc(want.Encoded, got.Encoded, bytes.Equal) {
		t.Errorf("format %d, %s; with what is implied format %d, %s", want.Manifest.Format, want.Hash, got.Manifest.Format, got.Hash)
	}
}

// The connectors out of source are rows of source's: first those that are written, then those that
// are implied. What they lead to is hosted where it may be started.
func TestSourceLeadsWhereItIsTold(t *testing.T) {
	c := compileOne(t, chosen)
	table := c.at(t, "A")
	if diff := cmp.Diff([]processtable.NodeID{"A", "B", "C", "D"}, table.Starts); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	source := table.Activity(processtable.RowID{Name: processtable.Source})
	var got []string
	for _, k := range source.OutControl {
		text := string(k.To)
		if k.Condition != nil {
			text += ": " + k.Condition.Text
			if _, err := condition.Load(*k.Condition, condition.Scope{Members: source.Output}); err != nil {
				t.Error(err)
			}
		}
		if k.Otherwise {
			text += ": otherwise"
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"a: n > 1", "b: otherwise", "d", "c"}, got); diff != "" {
		t.Errorf("out of source (-want +got):\n%s", diff)
	}
	d := c.at(t, "D").Activity(processtable.RowID{Name: "d"})
	for _, tc := range []struct{ a, source, want bool }{{false, true, true}, {true, true, false}, {false, false, false}} {
		if got := d.Start.Eval([]bool{tc.a, tc.source}); got != tc.want {
			t.Errorf("a %v, source %v: d starts: %v", tc.a, tc.source, got)
		}
	}
	// N6: what source alone leads to is not passed around, nor what it leads to beside others.
	for _, table := range c.Tables {
		if len(table.Detours)+len(table.Resolvers) > 0 {
			t.Errorf("%s has %v, %v", table.Node, table.Detours, table.Resolvers)
		}
	}
}

// The lowest format that can say a process is written, and a lower one that is asked for refused, with
// what it does not have.
func TestWhatNeedsFormat5(t *testing.T) {
	const text = "process: p\nversion: 1\nactivities:\n  a: {node: A, program: p}\n  b: {node: A, program: p}\n  c: {node: A, program: p}\n"
	const source = "control connectors out of source beside others, or with a condition"
	for _, tc := range []struct {
		what, text, needs string
	}{
		{"a plain process", text, ""},
		{"a connector that is implied", control(text, "source -> a"), ""},
		{"one with a start condition", control(strings.Replace(text, "program: p", "program: p, start: any", 1), "source -> a"), ""},
		{"a condition out of source", control(text, "source -> a: 1 == 1"), source},
		{"source beside others", control(text, "b -> a", "source -> a"), source},
		{"the first match", control(strings.Replace(text, "program: p", "program: p, choice: first_match", 1), "a -> b", "a -> c"), "choice: first_match"},
		{"a block", strings.Replace(text, "program: p", "activities: {x: {node: A, program: p}}", 1), "blocks"},
		{"a choice in a block", strings.Replace(text, "program: p", "activities: {x: {node: A, program: p}}, control: [source -> x: 1 == 1]", 1), "blocks"},
	} {
		p := loadOne(t, tc.text)
		want := processtable.FlowMarkFormat
		if tc.needs != "" {
			want = processtable.BlockFormat
		}
		if c, err := Compile(p); err != nil || c.Manifest.Format != want {
			t.Errorf("%s: format %d, %v; want %d", tc.what, c.Manifest.Format, err, want)
		}
		_, err := CompileWith(p, CompileOptions{TableFormat: processtable.FlowMarkFormat})
		switch {
		case tc.needs == "" && err != nil:
			t.Errorf("%s: %v", tc.what, err)
		case tc.needs != "" && (err == nil || !strings.Contains(err.Error(), "table format 2 has no "+tc.needs+": ")):
			t.Errorf("%s: %v", tc.what, err)
		}
	}
}

// The order of the connectors out of an activity has a meaning only where the first match is taken.
func TestTheOrderOfAChoiceChangesTheHash(t *testing.T) {
	const text = `
process: p
version: 1
structures: {S: {n: int}}
activities:
  a: {node: A, program: p, output: S}
  b: {node: A, program: p}
  c: {node: A, program: p}
`
	first := strings.Replace(text, "output: S", "output: S, choice: first_match", 1)
	one, two := []string{"a -> b: n > 1", "a -> c: n > 2"}, []string{"a -> c: n > 2", "a -> b: n > 1"}
	hash := func(text string, connectors []string) string {
		return hashOf(t, loadOne(t, control(text, connectors...)))
	}
	switch {
	case hash(text, one) != hash(text, two):
		t.Error("without a choice the order has a meaning")
	case hash(first, one) == hash(first, two):
		t.Error("with one it has none")
	case hash(first, one) == hash(text, one):
		t.Error("the choice itself has none")
	}
	a := compileOne(t, control(first, two...)).at(t, "A").Activity(processtable.RowID{Name: "a"})
	if !a.FirstMatch || a.OutControl[0].To != "c" {
		t.Errorf("its row is %+v", a)
	}
}

// Where one choice has hundreds of ways, what is before a condition is looked at up to a limit, and
// nothing is said of the rest.
func TestALongChoiceIsTakenAsItIs(t *testing.T) {
	text := strings.Replace(choice(1, 400, true), "output: S}", "output: S, choice: first_match}", 1)
	if _, diagnostics := Load("test.yaml", []byte(text)); len(diagnostics) > 0 {
		t.Errorf("%d diagnostics, such as %v", len(diagnostics), diagnostics[0])
	}
}

// A choice is shown where its connectors are, and drawn where it is made.
func TestAChoiceIsShown(t *testing.T) {
	text := strings.NewReplacer("a: {node: A, program: p}", "a: {node: A, program: p, choice: first_match}", ", start: source && !a", "").Replace(chosen)
	p := loadOne(t, control(text, "source -> a: n > 1", "source -> b: otherwise", "a -> c: _RC == 1", "a -> d: _RC == 2"))
	c, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	var shown Shown
	for _, table := range c.Tables {
		shown.Add(table)
	}
	source, a := row(t, shown.Tables, "A", "source"), row(t, shown.Tables, "A", "a")
	if want := []ShownConnector{{"a", "Q_A,0", "n > 1"}, {"b", "Q_B,0", "otherwise"}}; !cmp.Equal(want, source.OutControl) || source.Choice != "" {
		t.Errorf("source: %+v", source)
	}
	if a.Choice != "first_match" || !strings.Contains(shown.Text(0), "the first of") {
		t.Errorf("a: %+v\n%s", a, shown.Text(0))
	}
	svg, err := SVG(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, drawn := range []struct{ picture, choice, condition string }{
		{Dot(p), `a\np\nchoice: first_match`, `"source" -> "a" [label="n > 1"]`},
		{Mermaid(p), "a: p: choice: first#95;match", `source -->|"n #62; 1"| a_a`},
		{svg, "choice: first_match", "n &gt; 1"},
		{svg, "<title>a at node A, program p, choice: first_match</title>", "n &gt; 1"},
	} {
		if !strings.Contains(drawn.picture, drawn.choice) || !strings.Contains(drawn.picture, drawn.condition) {
			t.Errorf("want %s and %s in\n%s", drawn.choice, drawn.condition, drawn.picture)
		}
	}
}
