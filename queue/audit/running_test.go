package audit_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// noProcesses is of a site that has none: lists of what runs do not ask for it.
type noProcesses struct{}

func (noProcesses) All() []processtable.ProcessID      { return nil }
func (noProcesses) Tabled(processtable.ProcessID) bool { return false }

// What runs is the same in memory as in the store, whatever is written before the store is read, while it is, and after;
// also if what is written before was read with it.
func TestWhatRunsIsInMemoryAsInTheStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engine, err := memory.NewDisk("A").Open(memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		started := func(n int) record.Standing {
			return record.Standing{Process: processes[n%len(processes)], Started: startedAt(n)}
		}
		write := func(q *audit.Queue, told bool) {
			n := rapid.IntRange(1, 9).Draw(t, "instance")
			b := &store.Batch{}
			key := record.AppendListedKey(nil, record.ListedRunning, started(n), idOf(n))
			other := record.AppendListedKey(nil, record.ListedFinished, started(n), idOf(n))
			if rapid.Bool().Draw(t, "starts") {
				b.Put(key, record.End(record.Begin(nil)))
				record.Seal(key, b.Ops[0].Value)
			} else {
				b.Delete(key)
				b.Put(other, record.End(record.Begin(nil)))
				record.Seal(other, b.Ops[1].Value)
			}
			if err := engine.Commit(engine.Last()+1, b); err != nil {
				t.Fatal(err)
			}
			if told {
				q.Written(b.Ops)
			}
		}
		steps := func(q *audit.Queue, told bool) {
			for range rapid.IntRange(0, 9).Draw(t, "steps") {
				write(q, told)
			}
		}
		steps(nil, false)
		q, err := audit.New(engine, func(err error) error { return err }, noProcesses{})
		if err != nil {
			t.Fatal(err)
		}
		steps(q, true) // before the store is read
		reading := true
		if err := q.LoadRunning(func() bool {
			if reading {
				write(q, true)
				reading = rapid.Bool().Draw(t, "on")
			}
			return false
		}); err != nil {
			t.Fatal(err)
		}
		steps(q, true)
		for _, of := range append([]processtable.ProcessID{{}, {Name: "p"}, {Name: "none"}}, processes...) {
			for _, oldest := range []bool{false, true} {
				o := audit.ListOptions{Process: of, Oldest: oldest, Limit: 100}
				inMemory, err := q.Places(o)
				if err != nil {
					t.Fatal(err)
				}
				back := q.FromStore()
				inStore, err := q.Places(o)
				back()
				if err != nil || fmt.Sprint(inMemory) != fmt.Sprint(inStore) {
					t.Fatalf("%+v: in memory %v, in the store %v, %v", o, inMemory, inStore, err)
				}
			}
		}
	})
}

// meanwhile is a store in which something happens while a list is read: before its view of the store, or after.
type meanwhile struct {
	store.Engine
	before, after func()
}

func (m meanwhile) View(read func(store.Reader) error) error {
	m.before()
	return m.Engine.View(func(r store.Reader) error {
		m.after()
		return read(r)
	})
}

// A list that is read while an instance ends has it, once.
func TestWhatEndsWhileItIsListedStandsOnce(t *testing.T) {
	for _, before := range []bool{false, true} {
		engine, err := memory.NewDisk("A").Open(memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var q *audit.Queue
		write := func(running, finished bool) {
			b := &store.Batch{}
			for l, stands := range map[record.Listed]bool{record.ListedRunning: running, record.ListedFinished: finished} {
				key := record.AppendListedKey(nil, l, record.Standing{Process: processes[0], Started: noon}, idOf(1))
				if !stands {
					b.Delete(key)
					continue
				}
				value := record.End(record.Begin(nil))
				record.Seal(key, value)
				b.Put(key, value)
			}
			if err := engine.Commit(engine.Last()+1, b); err != nil {
				t.Fatal(err)
			}
			q.Written(b.Ops)
		}
		none := func() {}
		ends := func() { write(false, true) }
		m := &meanwhile{engine, none, none}
		if q, err = audit.New(m, func(err error) error { return err }, noProcesses{}); err != nil {
			t.Fatal(err)
		}
		if err := q.LoadRunning(func() bool { return false }); err != nil {
			t.Fatal(err)
		}
		write(true, false)
		if before {
			m.before = ends
		} else {
			m.after = ends
		}
		all, err := q.Places(audit.ListOptions{States: audit.AllStates, Process: processes[0]})
		if want := []audit.Place{{Started: noon, Instance: idOf(1)}}; err != nil || !slices.EqualFunc(all, want, func(x, y audit.Place) bool { return x.Compare(y) == 0 }) {
			t.Errorf("it ends before the view of the store: %t: %v, %v", before, all, err)
		}
		_ = engine.Close()
	}
}
