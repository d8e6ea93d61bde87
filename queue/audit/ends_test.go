package audit_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// counting is an engine that counts what is read by key.
type counting struct {
	store.Engine
	gets int
}

func (e *counting) Get(key []byte) ([]byte, error) {
	e.gets++
	return e.Engine.Get(key)
}

// at is an instance that was started so many milliseconds after 1970.
func at(ms int64, rest byte) message.InstanceID {
	return message.InstanceID{byte(ms >> 40), byte(ms >> 32), byte(ms >> 24), byte(ms >> 16), byte(ms >> 8), byte(ms), 0x70, 0, 0x80, 15: rest}
}

// end is a record that ends an entry.
func end(e message.Entry) record.AuditRecord {
	return record.AuditRecord{
		Process: processtable.ProcessID{Name: "p", Version: 1}, Instance: e.Instance, Scope: e.Scope, Activity: e.Activity, Origin: "B",
		Event: record.EventTerminated, Time: time.Unix(1, 0),
	}
}

type endsSite struct {
	t      *testing.T
	disk   *memory.Disk
	engine *counting
	*queue.Manager
}

func (s *endsSite) open() {
	s.t.Helper()
	disk, err := s.disk.Open(memory.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.engine = &counting{Engine: disk}
	if s.Manager, err = queue.Open(s.engine, queue.Options{Node: "A"}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *endsSite) again() {
	s.t.Helper()
	if err := s.Close(context.Background()); err != nil {
		s.t.Error(err)
	}
	s.open()
}

// ended says whether an entry has, and how many reads that took.
func (s *endsSite) ended(e message.Entry) (has bool, reads int) {
	s.t.Helper()
	before := s.engine.gets
	_, has, err := s.Ended(e)
	if err != nil {
		s.t.Error(err)
	}
	return has, s.engine.gets - before
}

func newEndsSite(t *testing.T) *endsSite {
	s := &endsSite{t: t, disk: memory.NewDisk("A")}
	s.open()
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// N7: whether an entry has ended is known of new instances without reading the store: of those
// above all that the store had when it was opened.
func TestOfNewInstancesNoEndIsRead(t *testing.T) {
	s := newEndsSite(t)
	a := func(i message.InstanceID) message.Entry { return message.Entry{Instance: i, Activity: "a"} }
	keyed := message.InstanceID{6: 0x80, 8: 0x80, 15: 1} // a UUIDv8 says no time
	for _, step := range []struct {
		of    message.Entry
		reads bool
	}{{a(at(1000, 1)), false}, {a(at(1000, 2)), false}, {a(keyed), true}} {
		if has, reads := s.ended(step.of); has || reads > 0 != step.reads {
			t.Errorf("in an empty store, %v: %t, %d reads", step.of, has, reads)
		}
	}
	submit(t, s.Manager, &record.Tx{Audit: []record.AuditRecord{end(a(at(1000, 2))), end(a(keyed))}})
	other := message.Entry{Instance: at(1000, 2), Activity: "b"}
	for _, e := range []message.Entry{a(at(1000, 2)), a(keyed)} {
		if has, _ := s.ended(e); !has {
			t.Errorf("%v: it has not ended", e)
		}
	}
	if has, reads := s.ended(other); has || reads > 0 {
		t.Errorf("another activity of the instance: %t, %d reads", has, reads)
	}

	s.again()
	if has, _ := s.ended(a(at(1000, 2))); !has {
		t.Error("after a restart it has not ended")
	}
	for _, step := range []struct {
		of    message.Entry
		reads bool
	}{{a(at(1000, 1)), true}, {other, true}, {a(at(1000, 3)), false}, {a(at(1001, 0)), false}} {
		if has, reads := s.ended(step.of); has || reads > 0 != step.reads {
			t.Errorf("after a restart, %v: %t, %d reads", step.of, has, reads)
		}
	}
}

// S4: retention leaves of an instance that every entry of it has ended, also such as never were here.
func TestEndsBesideRetention(t *testing.T) {
	s := newEndsSite(t)
	e := message.Entry{Instance: at(1000, 1), Activity: "a"}
	submit(t, s.Manager, &record.Tx{Audit: []record.AuditRecord{end(e)}})
	tx, _, err := s.Forget(audit.Forget{Instance: e.Instance, Time: time.Unix(2, 0), Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s.Manager, tx)
	for range 2 {
		for _, e := range []message.Entry{e, {Instance: e.Instance, Activity: "b"}, {Instance: e.Instance, Scope: "s", Activity: "b"}} {
			if has, _ := s.ended(e); !has {
				t.Errorf("%v: it has not ended", e)
			}
		}
		if has, reads := s.ended(message.Entry{Instance: at(1000, 2), Activity: "a"}); has || reads > 0 {
			t.Errorf("a new instance: %t, %d reads", has, reads)
		}
		s.again()
	}
}

// Invariant 14: identifiers of any time and kind, in any order, and restarts: what has ended is never
// taken not to have.
func TestEndsInAnyOrder(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) message.Entry {
		id := at(rapid.Int64Range(0, 1<<48-1).Draw(t, "ms")&rapid.SampledFrom([]int64{3, 1<<48 - 1}).Draw(t, "mask"), rapid.Byte().Draw(t, "rest"))
		if rapid.Bool().Draw(t, "keyed") {
			id[6] = 0x80
		}
		return message.Entry{
			Instance: id, Scope: message.Scope(rapid.SampledFrom([]string{"", "s"}).Draw(t, "scope")),
			Activity: rapid.SampledFrom([]processtable.ActivityID{"a", "b", processtable.Source, processtable.Sink}).Draw(t, "activity"),
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		s := newEndsSite(t)
		has := map[message.Entry]bool{}
		r.Repeat(map[string]func(*rapid.T){
			"end": func(r *rapid.T) {
				e := entry.Draw(r, "entry")
				a := end(e)
				if e.Scope == "" && e.Activity == processtable.Source {
					a.Event = record.EventStarted
				} else if e.Scope == "" && e.Activity == processtable.Sink {
					a.Event = record.EventEnded
				}
				submit(t, s.Manager, &record.Tx{Audit: []record.AuditRecord{a}})
				has[e] = true
			},
			"again": func(*rapid.T) { s.again() },
			"ask": func(r *rapid.T) {
				e := entry.Draw(r, "entry")
				if got, _ := s.ended(e); got != has[e] {
					r.Errorf("%v has ended: %t, and %t is told", e, has[e], got)
				}
			},
			"": func(r *rapid.T) {
				for e := range has {
					if got, _ := s.ended(e); !got {
						r.Fatalf("%v is taken not to have ended", e)
					}
				}
			},
		})
	})
}

// More ends than are remembered one by one: the horizon moves up to the newest of them.
func TestMoreEndsThanAreRemembered(t *testing.T) {
	var x audit.Ends
	id := func(n int) message.Entry { return message.Entry{Instance: at(int64(n), 0), Activity: "a"} }
	const many = audit.EndsCrowded * 3
	for n := range many {
		x.Add(id(n))
	}
	for n := range many {
		if x.None(id(n)) {
			t.Fatalf("entry %d of %d is taken not to have ended", n, many)
		}
	}
	unknown := 0
	for n := range 1000 {
		if !x.None(id(many + n)) {
			unknown++
		}
	}
	if unknown > 400 { // one in four at most, in the mean
		t.Errorf("%d of 1,000 new entries are looked for in the store", unknown)
	}
	if later := uuid.Must(uuid.NewV7()); !audit.Timed(later) {
		t.Errorf("%s is not taken for one that grows with time", later)
	}
}
