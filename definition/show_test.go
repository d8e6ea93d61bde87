package definition

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"fmqm/processtable"
)

// The example of the paper's section 3.4: six activities over the nodes A, B, C and D.
// t1 and t2 are at A, t4 is at B and leads to t5 at C and t6 at D, with control and
// with data.
const section34 = `
process: order
version: 1
structures:
  Order: {item: string, amount: double}
input: Order
activities:
  t1: {node: A, program: enter,   input: Order, output: Order}
  t2: {node: A, program: check,   input: Order, output: Order}
  t3: {node: B, program: reserve, input: Order, output: Order}
  t4: {node: B, program: approve, input: Order, output: Order, exit: _RC == 0, start: any}
  t5: {node: C, program: ship,    input: Order}
  t6: {node: D, program: bill,    input: Order}
control:
  - t1 -> t2
  - t1 -> t3: amount > 100
  - t2 -> t4
  - t3 -> t4
  - t4 -> t5: amount > 0
  - t4 -> t6: otherwise
data:
  - source -> t1
  - t1 -> t2
  - t1 -> t3: {item: item}
  - t2 -> t4
  - t4 -> t5
  - t4 -> t6
`

func row(t *testing.T, shown []ShownTable, node, activity string) ShownActivity {
	t.Helper()
	for _, table := range shown {
		for _, a := range table.Activities {
			if table.Node == node && a.Activity == activity {
				return a
			}
		}
	}
	t.Fatalf("node %s has no row for %s", node, activity)
	return ShownActivity{}
}

func TestTablesSayWhatSection34Says(t *testing.T) {
	shown := shownOf(compileOne(t, section34).Tables)

	// "There it finds the name of the next activities, T5 and T6, and the queues to
	// which it has to send the messages, Q_C,0 and Q_D,0."
	t4 := row(t, shown, "B", "t4")
	control := []ShownConnector{
		{To: "t5", Queue: "Q_C,0", Condition: "amount > 0"},
		{To: "t6", Queue: "Q_D,0", Condition: "otherwise"},
	}
	if d := cmp.Diff(control, t4.OutControl); d != "" {
		t.Errorf("Out.CC of t4 (-want +got):\n%s", d)
	}
	// "In the column Out.DC of the T4 entry ... there are two activities indicated, T5
	// and T6, and their queues, Q_C,0 and Q_D,0."
	data := []ShownConnector{{To: "t5", Queue: "Q_C,0"}, {To: "t6", Queue: "Q_D,0"}}
	if d := cmp.Diff(data, t4.OutData); d != "" {
		t.Errorf("Out.DC of t4 (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"t2", "t3"}, t4.InControl); d != "" || t4.Start != "any" || t4.Exit != "_RC == 0" {
		t.Errorf("In.CC of t4 %v, start %q, exit %q", t4.InControl, t4.Start, t4.Exit)
	}
	// "T2 Q_A,0 - outgoing control connector of node A - means that there is a control
	// connector between T1 and T2 ... such node is A, reachable through queue Q_A,0."
	t1 := row(t, shown, "A", "t1")
	if want := (ShownConnector{To: "t2", Queue: "Q_A,0"}); t1.OutControl[0] != want {
		t.Errorf("Out.CC of t1: %v, want %v", t1.OutControl[0], want)
	}
	// §3.2: "t1, FILTER".
	t3 := row(t, shown, "B", "t3")
	if d := cmp.Diff([]ShownFilter{{From: "t1", Filter: []string{"item"}}}, t3.InData); d != "" {
		t.Errorf("In.DC of t3 (-want +got):\n%s", d)
	}
	// Each node has only the activities that execute there; the process starts at A.
	var hosted []string
	for _, table := range shown {
		for _, a := range table.Activities {
			hosted = append(hosted, table.Node+":"+a.Activity)
		}
	}
	want := "A:source A:t1 A:t2 A:sink B:t3 B:t4 C:t5 D:t6"
	if got := strings.Join(hosted, " "); got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
}

// golden compares with a file; run with UPDATE=1 to write it anew.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// Where a line has too few characters for a table, it is a list of the same.
func TestShowOnANarrowTerminal(t *testing.T) {
	var s Shown
	for _, table := range compileOne(t, section34).Tables {
		s.Add(table)
	}
	text := s.Text(60)
	golden(t, "testdata/section34.narrow.show", text)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, " ") && utf8.RuneCountInString(line) > 61 {
			t.Errorf("%d characters: %s", utf8.RuneCountInString(line), line)
		}
	}
	if s.Text(1000) != s.Text(0) {
		t.Error("with room for all, it is another text")
	}
}

func TestShowDrawsFigure5(t *testing.T) {
	golden(t, "testdata/section34.show", Show(compileOne(t, section34).Tables))
}

func TestShowOfSeveralProcesses(t *testing.T) {
	one, two := compileOne(t, section34), compileOne(t, purchaseOrder(t))
	tables := []*processtable.Table{one.at(t, "A"), two.at(t, "A"), one.at(t, "B")}
	var numbers []string
	for _, s := range shownOf(tables) {
		numbers = append(numbers, s.Process+" "+s.Queue)
	}
	want := []string{"order@1 Q_A,0", "purchase-order@1 Q_A,1", "order@1 Q_B,0"}
	if d := cmp.Diff(want, numbers); d != "" {
		t.Errorf("processes and queues (-want +got):\n%s", d)
	}
	text := Show(tables)
	for _, line := range []string{"process 0 is order@1\n", "process 1 is purchase-order@1\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("the legend has no line %q:\n%s", line, text)
		}
	}
	if Show(nil) != "" {
		t.Error("no tables are shown as something")
	}
}

// The keys are API.
func TestShownAsJSON(t *testing.T) {
	b, err := json.Marshal(row(t, shownOf(compileOne(t, section34).Tables), "B", "t4"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"activity":"t4","program":"approve","start":"any","in_control":["t2","t3"],` +
		`"out_control":[{"to":"t5","queue":"Q_C,0","condition":"amount \u003e 0"},{"to":"t6","queue":"Q_D,0","condition":"otherwise"}],` +
		`"in_data":[{"from":"t2","filter":["item","amount"]}],` +
		`"out_data":[{"to":"t5","queue":"Q_C,0"},{"to":"t6","queue":"Q_D,0"}],"input":"Order","output":"Order","exit":"_RC == 0"}`
	if string(b) != want {
		t.Errorf("row as JSON\n%s\nwant\n%s", b, want)
	}
}

// §3.2: "Input data template, where the type of the input data is specified", and the same
// for the output.
func TestTablesShowInputAndOutputTemplates(t *testing.T) {
	compiled := compileOne(t, `
process: templates
version: 1
structures:
  Unused: {x: int}
  Line:  {item: string, price: {type: double, default: 9.5}}
  Order: {customer: {type: string, default: "a\u202Eb"}, lines: [Line], count: {type: int, default: 0}}
  Reply: {ok: bool}
input: Order
activities:
  a: {node: A, program: p, input: Order, output: Reply}
  b: {node: B, program: p, input: Reply}
control:
  - a -> b
data:
  - source -> a
  - a -> b
`)
	shown := shownOf(compiled.Tables)
	if a := row(t, shown, "A", "a"); a.Input != "Order" || a.Output != "Reply" {
		t.Errorf("templates of a: %q and %q", a.Input, a.Output)
	}
	if b := row(t, shown, "B", "b"); b.Input != "Reply" || b.Output != "" {
		t.Errorf("templates of b: %q and %q", b.Input, b.Output)
	}
	text := Show(compiled.Tables)
	for _, want := range []string{
		"| b, Q_B,0 | Order | Reply  |      |",
		`Order is {customer: string = "a\u202eb", lines: [Line], count: int}` + "\nLine is {item: string, price: double = 9.5}\nReply is {ok: bool}\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	b, err := json.Marshal(shown[1].Structures)
	if want := `[{"structure":"Reply","members":[{"member":"ok","type":"bool"}]}]`; err != nil || string(b) != want {
		t.Errorf("structures at B: %s, want %s", b, want)
	}
}

func TestStartConditionsAreShownAsWritten(t *testing.T) {
	for start, want := range map[string]string{
		"all":                     "all",
		"any":                     "any",
		"{at_least: 2}":           "at_least 2",
		`"a && b && c"`:           "all",
		`"(a && b) || c"`:         "(a && b) || c",
		`"a && (b || !c)"`:        "a && (b || !c)",
		`"!(a || b) && (b && c)"`: "!(a || b) && b && c",
	} {
		z := row(t, shownOf(compileOne(t, `
process: p
version: 1
activities:
  a: {node: A, program: p}
  b: {node: A, program: p}
  c: {node: A, program: p}
  z: {node: Z, program: p, start: `+start+`}
control: [a -> z, b -> z, c -> z]
`).Tables), "Z", "z")
		if z.Start != want {
			t.Errorf("start: %s is shown as %q, want %q", start, z.Start, want)
		}
	}
}

func shownOf(tables []*processtable.Table) []ShownTable {
	var s Shown
	for _, t := range tables {
		s.Add(t)
	}
	return s.Tables
}
