package definition

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/container"
)

// loadClean loads one process that must have no diagnostics at all.
func loadClean(t *testing.T, text string) *Process {
	t.Helper()
	processes, diagnostics := Load("test.yaml", []byte(text))
	for _, d := range diagnostics {
		t.Error(d.Text([]byte(text)))
	}
	if len(processes) != 1 {
		t.Fatalf("%d processes", len(processes))
	}
	return processes[0]
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPurchaseOrder(t *testing.T) {
	p := loadClean(t, testdata(t, "purchase-order.yaml"))

	member := func(name string, k container.Kind) container.Member {
		return container.Member{Name: name, Type: container.Scalar(k)}
	}
	order := container.NewStructure("Order", []container.Member{
		member("customer", container.String), member("item", container.String),
		member("quantity", container.Int), member("amount", container.Double),
	})
	credit := container.NewStructure("Credit", []container.Member{
		member("approved", container.Bool), {Name: "limit", Type: container.Scalar(container.Double), Default: 0.0},
	})
	parcel := container.NewStructure("Parcel", []container.Member{
		member("tracking", container.String),
		{Name: "order", Type: order},
		{Name: "lines", Type: container.NewList(container.Scalar(container.String))},
	})
	at := func(line, column int) Pos { return Pos{"test.yaml", line, column} }
	activity := func(line int, name, node, program string, input, output *container.Type, start Start) *Activity {
		a := &Activity{
			Pos: at(line, 3), Name: name, Node: node, Program: program, Input: input, Output: output,
			Start: start, MaxIterations: 10_000, AgainAfter: time.Second, AgainMax: time.Minute,
			RetryAttempts: 1, RetryBackoff: time.Second, RetryMax: time.Minute,
		}
		if start.Kind == 0 {
			a.Start = Start{Kind: StartAll, Pos: a.Pos}
		}
		return a
	}
	receive := activity(15, "receive", "A", "receive-order", order, order, Start{})
	check := activity(16, "credit", "B", "check-credit", order, credit, Start{})
	check.RCIsData = true // its exit condition reads _RC
	stock := activity(22, "stock", "A", "check-stock", order, order, Start{})
	ship := activity(23, "ship", "C", "ship", order, parcel,
		Start{Kind: StartExpression, Text: "stock && (credit || receive)", Written: "stock && (credit || receive)", Pos: at(23, 75)})
	reject := activity(24, "reject", "D", "reject", order, container.Empty, Start{Kind: StartAny, Pos: at(24, 61)})
	reject.NoOutput = true
	same := func(line int, t *container.Type) []Mapping {
		var all []Mapping
		for i, m := range t.Members {
			all = append(all, Mapping{
				Pos: at(line, 5), From: container.Path{i}, To: container.Path{i}, Type: m.Type, Source: m.Name, Target: m.Name,
			})
		}
		return all
	}
	want := &Process{
		Pos: at(1, 10), Name: "purchase-order", Version: 1,
		Description: "Order, credit check, stock, shipment and invoice, over four sites.",
		Structures:  []*container.Type{order, credit, parcel}, Input: order, Output: parcel, Starts: []string{"A"},
		Graph: Graph{
			Activities: []*Activity{receive, check, stock, ship, reject},
			Control: []*Control{
				{Pos: at(27, 5), Source: "receive", Target: "credit"},
				{Pos: at(28, 5), Source: "receive", Target: "stock"},
				{Pos: at(29, 5), Source: "receive", Target: "ship"},
				{Pos: at(30, 5), Source: "credit", Target: "ship"},
				{Pos: at(31, 5), Source: "credit", Target: "reject", Otherwise: true},
				{Pos: at(32, 5), Source: "stock", Target: "ship"},
				{Pos: at(33, 5), Source: "stock", Target: "reject", Otherwise: true},
			},
			Data: []*Data{
				{Pos: at(36, 5), Source: "source", Target: "receive", Mappings: same(36, order)},
				{Pos: at(37, 5), Source: "receive", Target: "credit", Mappings: same(37, order)},
				{Pos: at(38, 5), Source: "receive", Target: "reject", Mappings: []Mapping{
					{Pos: at(38, 25), From: container.Path{1}, To: container.Path{1}, Type: order.Members[1].Type, Source: "item", Target: "item"},
					{Pos: at(38, 37), From: container.Path{3}, To: container.Path{3}, Type: order.Members[3].Type, Source: "amount", Target: "amount"},
				}},
				{Pos: at(39, 5), Source: "stock", Target: "ship", Mappings: same(39, order)},
				{Pos: at(40, 5), Source: "ship", Target: "sink", Mappings: same(40, parcel)},
			},
		},
	}
	wantConditions := []string{
		"exit credit 21:11 _RC == 0",
		"receive -> credit 27:24 amount > 1000",
		"receive -> ship 29:22 amount <= 1000",
		"credit -> ship 30:21 approved",
		"stock -> ship 32:20 quantity > 0",
	}
	if diff := cmp.Diff(wantConditions, conditionsOf(p)); diff != "" {
		t.Error(diff)
	}
	withoutConditions(p)
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

// conditionsOf shows the conditions of a process with their places.
func conditionsOf(p *Process) []string {
	var all []string
	show := func(what string, c *Condition) {
		if c != nil {
			all = append(all, fmt.Sprintf("%s %d:%d %s", what, c.Pos.Line, c.Pos.Column, c.Checked.Text))
		}
	}
	for _, a := range p.Activities {
		show("exit "+a.Name, a.Exit)
	}
	for _, c := range p.Control {
		show(c.Source+" -> "+c.Target, c.Condition)
	}
	return all
}

// withoutConditions takes the conditions out, whose compiled form is for the
// condition room to test.
func withoutConditions(p *Process) {
	for _, a := range p.Activities {
		a.Exit = nil
	}
	for _, c := range p.Control {
		c.Condition = nil
	}
}

// Whatever a process can say, in one.
const everything = `
process: every-thing
version: 3
structures:
  Try: {n: {type: int, default: 7}, rc: int, part: Part, parts: [Part]}
  Part: {name: string, size: {type: double, default: 2}}
input: Part
output: Try
starts: [A, Z-1]
activities:
  a:
    node: A
    program: run-it
    input: Try
    output: Try
    exit: !(n < 3)
    max_iterations: 5
    again: {after: 2s, max: 3s}
    retry: {attempts: 4, backoff: 500ms, max_backoff: 2m}
    on_rc: error
    description: tries
  b: {node: B, program: p, input: Try, output: Try, on_rc: continue, exit: _RC < 9, again: {after: 2m}}
  c: {node: B, empty: true, input: Try, output: Try, start: {at_least: 2}}
  d: {node: C, program: p, input: Part, start: a && !b, retry: {attempts: 2, backoff: 5m}}
control:
  - a -> b: part.size == 2 && n > 1
  - a -> c: _RC == 0
  - b->c: _RC > 0
  - a -> d
  - b -> d: otherwise
data:
  - source -> a: {part: part_of}
  - a -> a
  - a -> b: {n: rc, part.name: part.name, rc: _RC, parts: parts}
  - c -> sink
  - b -> c: {part: part, part.size: part.size}
  - a -> d: {size: part.size}
`

func TestEveryKey(t *testing.T) {
	p := loadClean(t, strings.Replace(everything, "{part: part_of}", "{part.name: name}", 1))
	if diff := cmp.Diff([]string{"A", "Z-1"}, p.Starts); diff != "" {
		t.Error(diff)
	}
	a, b, c, d := p.Activities[0], p.Activities[1], p.Activities[2], p.Activities[3]
	type settings struct {
		After, Max, Backoff, BackoffMax time.Duration
		Iterations, Attempts            int
		OnRC                            OnRC
		RCIsData, Empty, NoOutput       bool
		Start                           StartKind
		N                               int
	}
	of := func(a *Activity) settings {
		return settings{
			a.AgainAfter, a.AgainMax, a.RetryBackoff, a.RetryMax, a.MaxIterations, a.RetryAttempts,
			a.OnRC, a.RCIsData, a.Empty, a.NoOutput, a.Start.Kind, a.Start.N,
		}
	}
	s, m := time.Second, time.Minute
	want := []settings{
		{2 * s, 3 * s, s / 2, 2 * m, 5, 4, OnRCError, false, false, false, StartAll, 0},
		{2 * m, 2 * m, s, m, 10_000, 1, OnRCContinue, true, false, false, StartAll, 0},
		{s, m, s, m, 10_000, 1, OnRCDefault, false, true, false, StartAtLeast, 2},
		{s, m, 5 * m, 5 * m, 10_000, 2, OnRCDefault, false, false, true, StartExpression, 0},
	}
	if diff := cmp.Diff(want, []settings{of(a), of(b), of(c), of(d)}); diff != "" {
		t.Error(diff)
	}
	if a.Exit.Checked.Text != "!(n < 3)" || a.Description != "tries" || d.Start.Text != "a && !b" {
		t.Errorf("exit %q, description %q, start %q", a.Exit.Checked.Text, a.Description, d.Start.Text)
	}
	var mappings []string
	for _, d := range p.Data {
		for _, m := range d.Mappings {
			mappings = append(mappings, fmt.Sprintf("%s %s=%s %v=%v %v %s", d.Target, m.Target, m.Source, m.To, m.From, m.RC, m.Type))
		}
	}
	wantMappings := []string{
		"a part.name=name [2 0]=[0] false string",
		"a n=n [0]=[0] false int", "a rc=rc [1]=[1] false int", "a part=part [2]=[2] false Part", "a parts=parts [3]=[3] false [Part]",
		"b n=rc [0]=[1] false int", "b part.name=part.name [2 0]=[2 0] false string", "b rc=_RC [1]=[] true int", "b parts=parts [3]=[3] false [Part]",
		"sink n=n [0]=[0] false int", "sink rc=rc [1]=[1] false int", "sink part=part [2]=[2] false Part", "sink parts=parts [3]=[3] false [Part]",
		"c part=part [2]=[2] false Part", "c part.size=part.size [2 1]=[2 1] false double",
		"d size=part.size [1]=[2 1] false double",
	}
	if diff := cmp.Diff(wantMappings, mappings); diff != "" {
		t.Error(diff)
	}
	try, part := p.Structures[0], p.Structures[1]
	if try.Members[0].Default != int64(7) || part.Members[1].Default != 2.0 || try.Members[2].Type != part {
		t.Errorf("structures %+v", p.Structures)
	}
}

// RCIsData: own exit or transition conditions or a mapping out of it read _RC.
func TestWhoReadsRC(t *testing.T) {
	const text = `
process: p
version: 1
structures: {S: {n: int}}
activities:
  a: {node: A, program: p%s}
  b: {node: A, program: p, input: S, exit: _RC == 0}
control:
  - a -> b%s
data:
  - a -> b: {n: %s}
`
	for _, test := range []struct {
		keys, condition, member string
		want                    bool
	}{
		{", output: S", "", "n", false}, // that its successor reads its own is nothing to it
		{", output: S", ": _RC == 1", "n", true},
		{", output: S, exit: _RC < 2", "", "n", true},
		{"", "", "_RC", true},
		{", on_rc: error", "", "_RC", false},
	} {
		p := loadClean(t, fmt.Sprintf(text, test.keys, test.condition, test.member))
		if got := p.Activities[0].RCIsData; got != test.want {
			t.Errorf("%+v: RCIsData %v", test, got)
		}
	}
}

func TestDefaultStarts(t *testing.T) {
	p := loadClean(t, `
process: p
version: 1
activities:
  a: {node: B, program: p}
  b: {node: A, program: p}
  c: {node: C, program: p}
  d: {node: B, program: p}
control:
  - a -> c
`)
	if diff := cmp.Diff([]string{"B", "A"}, p.Starts); diff != "" {
		t.Error(diff)
	}
}

// Line ends, a byte order mark and characters of several bytes do not move places.
func TestPlacesAreInCharacters(t *testing.T) {
	const text = "\uFEFFprocess: p # ä\r\nversion: 1\r\nactivities:\r\n" +
		"  a: {description: \"ä€😀\", node: ä, program: p}\r\n"
	_, diagnostics := Load("test.yaml", []byte(text))
	if len(diagnostics) != 1 || diagnostics[0].Line != 4 || diagnostics[0].Column != 33 {
		t.Fatal(diagnostics)
	}
	want := "    " + `  a: {description: "ä€😀", node: ä, program: p}` + "\n    " + strings.Repeat(" ", 32) + "^\n"
	if got := diagnostics[0].Text([]byte(text)); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
}

func TestEncoding(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"process: p\nversion: \xff1\n", `test.yaml:2:10: error: byte 0xff is not UTF-8: save the file as UTF-8
    version: ` + "\uFFFD1\n             ^\n"},
		{"\x85\x01\x00", "test.yaml:1:1: error: this is not a text file: name a file with a process definition, which is YAML\n    \uFFFD\uFFFD\uFFFD\n    ^\n"},
		{"\xff\xfep\x00", "test.yaml:1:1: error: the file is UTF-16: save it as UTF-8\n    \uFFFD\uFFFDp\uFFFD\n    ^\n"},
		{"process: \x1b[31mp\n", `test.yaml:1:10: error: character U+001B is not allowed in YAML: remove it, or write it as "\u001B" in double quotes
    process: ` + "\uFFFD[31mp\n             ^\n"},
	} {
		_, diagnostics := Load("test.yaml", []byte(test.text))
		if len(diagnostics) != 1 {
			t.Errorf("%q: %v", test.text, diagnostics)
			continue
		}
		if got := diagnostics[0].Text([]byte(test.text)); got != test.want || diagnostics[0].Code != codeEncoding {
			t.Errorf("got\n%swant\n%s", got, test.want)
		}
	}
}

// The stand-in for "!" gives way where the text has that character itself.
func TestPrivateCharacters(t *testing.T) {
	p := loadClean(t, "process: p\nversion: 1\ndescription: \uE000 \uE001\nactivities: {a: {node: A, program: p, exit: !(_RC > 0)}}\n")
	if p.Description != "\uE000 \uE001" || p.Activities[0].Exit.Checked.Text != "!(_RC > 0)" {
		t.Errorf("%q %q", p.Description, p.Activities[0].Exit.Checked.Text)
	}
}
