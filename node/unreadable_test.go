package node

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/node/tables"
	"fmqm/processtable"
	"fmqm/queue/record"
)

var errUnreadable = errors.New("input/output error")

// nthRead is a disk of which one read fails.
type nthRead struct{ left atomic.Int64 }

func (f *nthRead) Read([]byte) error {
	if f.left.Add(-1) == 0 {
		return errUnreadable
	}
	return nil
}

func (*nthRead) Commit(uint64, *store.Batch) memory.Fate { return memory.Fate{Takes: time.Microsecond} }

func (*nthRead) Committed(uint64, *store.Batch) {}

// Invariant 8: a node whose store cannot be read says so when it is opened, whichever read it is.
func TestANodeThatCannotReadItsStoreSaysSo(t *testing.T) {
	disk := memory.NewDisk("A")
	open := func(read int) (*Node, error) {
		faults := new(nthRead)
		faults.left.Store(int64(read))
		engine, err := disk.Open(memory.Options{Faults: faults})
		if err != nil {
			t.Fatal(err)
		}
		return Open(Options{Name: "A", Engine: engine})
	}
	n, err := open(0)
	if err != nil {
		t.Fatal(err)
	}
	compiled := definitiontest.Compile(t, pressed, definition.CompileOptions{})
	at := slices.IndexFunc(compiled.Tables, func(table *processtable.Table) bool { return table.Node == "A" })
	p, _, err := n.tables.Judge(compiled.Encoded[at], false)
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	if err := n.commit(t.Context(), &record.Tx{Tables: []record.TableRecord{tables.Record(p, compiled.Encoded[at])}}); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	opened := 0
	for read := 1; opened < 10; read++ { // until it reads less than that; some reads are beside the opening
		disk.Crash(true) // whoever could not be opened has gone
		n, err := open(read)
		switch {
		case err == nil:
			opened++
			_ = n.Stop(t.Context()) // it may have failed since
		case !errors.Is(err, errUnreadable):
			t.Errorf("read %d fails, and it says: %v", read, err)
		}
	}
}
