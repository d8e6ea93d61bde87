package definition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/processtable"
)

const filing = `
process: filing
version: 1
structures:
  Case:  {id: string, sum: double, parts: [string]}
  Wide:  {parts: [string], note: string, sum: double, id: string}
  File:  {case: Case, wide: Wide, tried: Case}
input: Case
output: File
activities:
  a: {node: A, program: p, input: Case, output: Case}
  b: {node: B, program: p, input: File, output: Case, exit: sum > 5}
control:
  - a -> b
data:
  - source -> a
  - a -> b: {case: _STRUCT, wide: _STRUCT}
  - b -> b: {tried: _STRUCT}
  - source -> sink: {case: _STRUCT}
  - b -> sink: {tried: _STRUCT}
`

// A whole container is written out: nothing that is compiled, and no hash, knows that it
// was not written member by member.
func TestAWholeContainerIsWrittenOut(t *testing.T) {
	out := func(member string) string {
		return "{" + strings.ReplaceAll("M.id: id, M.sum: sum, M.parts: parts", "M", member) + "}"
	}
	long := strings.NewReplacer(
		"{case: _STRUCT, wide: _STRUCT}", strings.TrimSuffix(out("case"), "}")+", "+strings.TrimPrefix(out("wide"), "{"),
		"{tried: _STRUCT}", out("tried"), "{case: _STRUCT}", out("case")).Replace(filing)
	if strings.Contains(long, wholeContainer) {
		t.Fatal(long)
	}
	sameTables(t, filing, long)
}

// What is declared of several sources is said to nobody but `check`.
func TestLastWinsChangesNoTable(t *testing.T) {
	two := strings.Replace(filing, "- b -> sink: {tried: _STRUCT}", "- b -> sink: {case: _STRUCT}", 1)
	sameTables(t, two, strings.Replace(two, "output: File\n", "output: File\nlast_wins: [case]\n", 1))
}

func sameTables(t *testing.T, a, b string) {
	t.Helper()
	x, y := compileOne(t, a), compileOne(t, b)
	if len(x.Tables) != 2 || len(y.Tables) != len(x.Tables) {
		t.Fatalf("%d and %d tables", len(x.Tables), len(y.Tables))
	}
	for i := range x.Tables {
		if diff := cmp.Diff(encoded(t, x.Tables[i]), encoded(t, y.Tables[i])); diff != "" {
			t.Errorf("the table of %s differs:\n%s", x.Tables[i].Node, diff)
		}
	}
}

func encoded(t *testing.T, table *processtable.Table) []byte {
	t.Helper()
	b, err := processtable.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
