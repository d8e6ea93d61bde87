package definition

import (
	"slices"
	"strings"
	"testing"

	"fmqm/processtable"
)

const searched = `
process: claim
version: 1
structures:
  Person: {name: string}
  Claim: {id: string, number: int, customer: Person}
input: Claim
starts: [A, C]
search: [id, customer.name]
activities:
  check: {node: A, program: check, input: Claim}
  ship: {node: B, program: ship}
control:
  - check -> ship
data:
  - source -> check
`

// Only nodes where instances are started have by which members they are found, and all tables have the lowest format that
// says it; a lower one is refused.
func TestSearchIsInTheTablesOfStarts(t *testing.T) {
	p := loadOne(t, searched)
	for asked, refusal := range map[int]string{0: "", 9: "", 8: "table format 8 has no search: leave it out", 10: "there is no table format 10"} {
		found := map[processtable.NodeID][]string{}
		_, err := CompileEach(p, CompileOptions{TableFormat: asked}, func(table *processtable.Table, _ []byte) error {
			found[table.Node] = table.Search
			if table.Format != processtable.SearchFormat {
				t.Errorf("the table of %s has format %d", table.Node, table.Format)
			}
			return nil
		})
		switch {
		case refusal == "" && err != nil, refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)):
			t.Errorf("format %d: %v", asked, err)
		case refusal == "" && (!slices.Equal(found["A"], []string{"id", "customer.name"}) || !slices.Equal(found["C"], found["A"]) || found["B"] != nil):
			t.Errorf("format %d: %v", asked, found)
		}
	}
	if p := loadOne(t, strings.Replace(searched, "search: [id, customer.name]\n", "", 1)); needsSearchFormat(p) != "" {
		t.Error("a process without search needs its format")
	}
}

// The order of the members is no meaning; which they are is, and Diff says it.
func TestSearchIsMeaning(t *testing.T) {
	p, other := loadOne(t, searched), loadOne(t, strings.Replace(searched, "[id, customer.name]", "[customer.name, id]", 1))
	if hashOf(t, p) != hashOf(t, other) {
		t.Error("the order of the members changes the hash")
	}
	other = loadOne(t, strings.Replace(searched, "[id, customer.name]", "[id, number]", 1))
	changes, err := Diff(p, other)
	if err != nil || len(changes) != 1 || changes[0].Key != "search" || !strings.Contains(changes[0].Before, "customer.name") || !strings.Contains(changes[0].After, "number") {
		t.Errorf("%+v, %v", changes, err)
	}
}

// show says by what instances are found, where they are started.
func TestSearchIsShown(t *testing.T) {
	var s Shown
	_, err := CompileEach(loadOne(t, searched), CompileOptions{}, func(table *processtable.Table, _ []byte) error {
		s.Add(table)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text := s.Text(0)
	for _, want := range []string{"what is started at A is found by id, customer.name\n", "what is started at C is found by id, customer.name\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "started at B") {
		t.Errorf("nothing is started at B:\n%s", text)
	}
}
