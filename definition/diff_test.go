package definition

import (
	"fmt"
	"strings"
	"testing"
)

const diffed = `process: order
version: 1
structures:
  Order: {item: string, amount: double}
  Part: {amount: double}
input: Order
activities:
  enter: {node: A, program: enter, input: Order, output: Order}
  check:
    activities:
      look: {node: B, program: look, input: Part, output: Part}
    data: [source -> look, look -> sink]
    node: B
    input: Part
    output: Part
  ship: {node: C, program: ship, input: Order}
control:
  - enter -> check: amount > 100
  - enter -> ship: otherwise
data:
  - source -> enter
  - enter -> check
  - enter -> ship
`

func loaded(t *testing.T, text string) *Process {
	t.Helper()
	all, diagnostics := Load("f", []byte(text))
	if HasErrors(diagnostics) || len(all) != 1 {
		t.Fatalf("%d processes, %v", len(all), diagnostics)
	}
	return all[0]
}

// What two definitions have otherwise is told by kind, name and key; layout, order and comments are nothing.
func TestDiff(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"process: order", "# a comment\nprocess: order", ""},
		{"version: 1", "version: 2", ""},
		{"program: enter", "program: type", "activity enter program changed: enter => type"},
		{"node: C, program: ship", "node: D, program: ship", "activity ship node changed: C => D"},
		{"amount > 100", "amount > 200", `control enter -> check condition changed: amount > 100 => amount > 200`},
		{"program: look,", "program: look, retry: {attempts: 3},", "activity check/look retry.attempts changed: 1 => 3"},
		{
			"  Order: {item: string, amount: double}", "  Order: {item: string, amount: double, note: string}",
			"process input (shape) changed: {item: string, amount: double} => {item: string, amount: double, note: string}\n" +
				"structure Order.note added: string\n" +
				"data enter -> ship mappings changed: item: item, amount: amount => item: item, amount: amount, note: note\n" +
				"data source -> enter mappings changed: item: item, amount: amount => item: item, amount: amount, note: note",
		},
		{
			"  Order: {item: string, amount: double}", "  Order: {amount: double, item: string}",
			"process input (shape) changed: {item: string, amount: double} => {amount: double, item: string}\n" +
				"structure Order order changed: item, amount => amount, item\n" +
				"data enter -> ship mappings changed: item: item, amount: amount => amount: amount, item: item\n" +
				"data source -> enter mappings changed: item: item, amount: amount => amount: amount, item: item",
		},
		{"  - enter -> ship\n", "  - enter -> ship: {item: item}\n", "data enter -> ship mappings changed: item: item, amount: amount => item: item"},
		{"control:", "  late: {node: C, program: late}\ncontrol:\n  - ship -> late", "activity late added: late at C\ncontrol ship -> late added: always"},
	} {
		if !strings.Contains(diffed, c.old) {
			t.Fatalf("the definition has no %q", c.old)
		}
		before, after := loaded(t, diffed), loaded(t, strings.Replace(diffed, c.old, c.new, 1))
		if got := told(t, before, after); got != c.want {
			t.Errorf("%q: told\n%s\nwant\n%s", c.new, got, c.want)
		}
		if back := told(t, after, before); (back == "") != (c.want == "") {
			t.Errorf("%q: back it is told %q", c.new, back)
		}
	}
}

func told(t *testing.T, before, after *Process) string {
	t.Helper()
	all, err := Diff(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range all {
		line := strings.Join(strings.Fields(strings.Join([]string{d.Kind, d.Name, d.Key, d.Change}, " ")), " ") + ": "
		switch d.Change {
		case DiffAdded:
			line += d.After
		case DiffRemoved:
			line += d.Before
		default:
			line += d.Before + " => " + d.After
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// The part of a file that defines a process means the same alone, whatever stands around it.
func TestTextOf(t *testing.T) {
	other := func(name string) string {
		return fmt.Sprintf("# of %s\nprocess: %s\nversion: 1\nactivities: {a: {node: A, program: p}}\n", name, name)
	}
	for text, want := range map[string][]string{
		other("one"):                                         {other("one")},
		"---\n" + other("one"):                               {other("one")},
		other("one") + "---\n" + other("two"):                {other("one"), other("two")},
		other("one") + "...\n---\n" + other("two") + "...\n": {other("one"), other("two")},
		other("one") + "--- # begins here\n" + other("two"):  {other("one"), other("two")},
	} {
		all, diagnostics := Load("f", []byte(text))
		if HasErrors(diagnostics) || len(all) != len(want) {
			t.Fatalf("%q: %d processes, %v", text, len(all), diagnostics)
		}
		for i, p := range all {
			part, err := TextOf([]byte(text), p)
			if err != nil || string(part) != want[i] {
				t.Errorf("%q: of %s %q, %v", text, p.Name, part, err)
			}
			hash, err := HashOf(p, false)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := IsOf(loaded(t, string(part)), hash.String()); !same || err != nil {
				t.Errorf("%q: the part of %s is another definition, %v", text, p.Name, err)
			}
		}
	}
}
