package instancetable

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/message"
	"fmqm/navigator"
)

// Two tables with one budget stay within it together, down to one entry each.
func TestTablesShareABudget(t *testing.T) {
	size := (&navigator.State{}).Bytes()
	shared := NewBudget(4 * size)
	tables := []*Table{New(Limits{Entries: 100, Bytes: 100 * size, Shared: shared}), New(Limits{Entries: 100, Bytes: 100 * size, Shared: shared})}
	add := func(table *Table, n int) {
		for range n {
			key := message.Entry{Instance: uuid.New(), Activity: "a"}
			table.Add(&Entry{Key: key, State: &navigator.State{Entry: key}})
		}
	}
	add(tables[0], 10)
	if got := tables[0].Len(); got != 4 {
		t.Fatalf("%d entries, the budget is for 4", got)
	}
	add(tables[1], 10)
	if got := tables[1].Len(); got != 1 {
		t.Fatalf("%d entries in the second table, the first one has used the budget", got)
	}
	add(tables[0], 1)
	if used := shared.used.Load(); used > int64(4*size) {
		t.Fatalf("%d bytes used of %d", used, 4*size)
	}
}
