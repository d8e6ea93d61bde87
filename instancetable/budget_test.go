package instancetable

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/message"
)

// Tables with one budget stay within it together. One that has used it up does not
// leave the others without room: each has its share, and what it adds beyond that goes.
func TestTablesShareABudget(t *testing.T) {
	size := entryBytes + (&keyState{}).Bytes()
	for what, shared := range map[string]*Budget{"entries": NewBudget(4, 100*size), "bytes": NewBudget(100, 4*size)} {
		t.Run(what, func(t *testing.T) { shareFour(t, shared, size) })
	}
}

func shareFour(t *testing.T, shared *Budget, size int) {
	table := func() *Table { return New(Limits{Entries: 100, Bytes: 100 * size, Shared: shared}) }
	parked, beside, unused := table(), table(), table()
	add := func(table *Table, n int) {
		for range n {
			table.Add(NewEntry(message.Entry{Instance: uuid.New(), Activity: "a"}, keys{}))
		}
	}
	expect := func(what string, ofParked, ofBeside, listed, sharing int) {
		t.Helper()
		if a, b := parked.Len(), beside.Len(); a != ofParked || b != ofBeside || unused.Len() != 0 {
			t.Fatalf("%s: %d and %d entries, want %d and %d", what, a, b, ofParked, ofBeside)
		}
		if e, b := shared.usedEntries.Load(), shared.usedBytes.Load(); e != int64(listed) || b != int64(listed*size) {
			t.Fatalf("%s: %d entries and %d bytes used, want %d and %d", what, e, b, listed, listed*size)
		}
		if got := shared.tables.Load(); got != int64(sharing) {
			t.Fatalf("%s: %d tables share it, want %d", what, got, sharing)
		}
	}
	add(parked, 10)
	expect("one table has the whole budget", 4, 0, 4, 1)
	add(beside, 10)
	expect("the second has half of it, although it is spent", 4, 2, 6, 2)
	add(parked, 1)
	expect("the first is down to its half when it adds", 2, 2, 4, 2)
	beside.All(func(e *Entry) bool {
		beside.SetPhase(e, Running)
		return true
	})
	expect("what is in execution takes nothing of it", 2, 2, 2, 1)
	add(parked, 10)
	expect("and leaves it to the others", 4, 2, 4, 1)
}
