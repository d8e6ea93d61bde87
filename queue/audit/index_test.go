package audit_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

var (
	noon      = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	processes = []processtable.ProcessID{{Name: "p", Version: 1}, {Name: "p", Version: 2}, {Name: "pq", Version: 1}}
)

const indexed = 12 // instances that there may be

// indexSite is a store in which instances start, end, come to be in error, and are killed with.
type indexSite struct {
	*queue.Manager
	t       *rapid.T
	disk    *memory.Disk
	process [indexed]processtable.ProcessID
	parents [indexed]int            // 0: none
	found   [indexed]map[string]any // members that it is found by
}

func newIndexSite(t *rapid.T) *indexSite {
	s := &indexSite{t: t, disk: memory.NewDisk("A")}
	for n := 1; n < indexed; n++ {
		s.process[n] = rapid.SampledFrom(processes).Draw(t, "process")
		s.parents[n] = rapid.IntRange(0, n-1).Draw(t, "parent")
		s.found[n] = drawnValues(t, s.process[n].Version)
	}
	s.open(memory.Options{})
	return s
}

func (s *indexSite) open(o memory.Options) {
	engine, err := s.disk.Open(o)
	if err == nil {
		s.Manager, err = queue.Open(engine, queue.Options{Node: "A"})
	}
	if err == nil { // as among many
		s.BoundSearches(rapid.IntRange(1, 5).Draw(s.t, "looks"), rapid.IntRange(0, 3).Draw(s.t, "least"), rapid.IntRange(0, 6).Draw(s.t, "most"))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *indexSite) close() { _ = s.Close(context.Background()) }

func idOf(n int) message.InstanceID { return message.InstanceID{15: byte(n)} }

// startedAt is not in the order of identifiers, and not the same for all.
func startedAt(n int) time.Time { return noon.Add(time.Duration(n*7%5) * time.Second) }

func (s *indexSite) submit(tx *record.Tx) error {
	done := make(chan error, 1)
	tx.Done = func(err error) { done <- err }
	s.Submit(tx)
	return <-done
}

func (s *indexSite) start(n int) record.AuditRecord {
	a := record.AuditRecord{Time: startedAt(n), Instance: idOf(n), Process: s.process[n], Origin: "A", Activity: processtable.Source, Event: record.EventStarted, Search: searchedOf(s.found[n])}
	if p := s.parents[n]; p != 0 {
		a.Parent = &message.Parent{Instance: idOf(p), Process: s.process[p], Node: "A", Activity: "call"}
	}
	return a
}

func (s *indexSite) end(n int, event record.Event) record.AuditRecord {
	return record.AuditRecord{Time: noon, Clock: 2, Instance: idOf(n), Process: s.process[n], Origin: "A", Activity: processtable.Sink, Event: event}
}

func (s *indexSite) notice(n int, activity string, cleared bool) message.Message {
	return message.Message{
		Header: message.Header{
			Queue: message.Queue{Process: s.process[n], Node: "A"}, Instance: idOf(n), Origin: "A",
			Activity: processtable.Sink, Source: processtable.ActivityID(activity), Kind: message.KindNotice,
		},
		Body: message.EncodeNotice(message.Notice{Error: "no van", Cleared: cleared}),
	}
}

// notices gives what lies at the sink of an instance.
func (s *indexSite) notices(n int) (all []message.Message) {
	all, err := s.Browse(s.process[n], message.Entry{Instance: idOf(n), Activity: processtable.Sink})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// step does something that may happen to an instance.
func (s *indexSite) step() {
	n := rapid.IntRange(1, indexed-1).Draw(s.t, "instance")
	_, ended, known, err := s.Instance(idOf(n))
	if err != nil {
		s.t.Fatal(err)
	}
	tx := &record.Tx{}
	switch what := rapid.SampledFrom([]string{"start", "start", "start", "end", "error", "error", "clear", "forget", "at once"}).Draw(s.t, "what"); {
	case (what == "start" || what == "at once") && !known && (s.parents[n] == 0 || s.has(s.parents[n])):
		tx.Audit = append(tx.Audit, s.start(n))
		if what == "at once" { // it has nothing but what is decided at once
			tx.Audit = append(tx.Audit, s.end(n, record.EventEnded))
			s.takeNotices(tx, n)
		}
	case what == "end" && known && ended == nil:
		tx.Audit = append(tx.Audit, s.end(n, rapid.SampledFrom([]record.Event{record.EventEnded, record.EventStopped}).Draw(s.t, "event")))
		s.takeNotices(tx, n)
	case (what == "error" || what == "clear") && ended == nil: // also before its start: a peer may tell of what was lost
		tx.Put = append(tx.Put, s.notice(n, rapid.SampledFrom([]string{"a", "b"}).Draw(s.t, "activity"), what == "clear"))
	case what == "forget" && ended != nil && !s.forgotten(n) && !slices.Contains(s.parents[:], n):
		if tx, _, err = s.Forget(audit.Forget{Instance: idOf(n), Time: noon, Limit: 10}); err != nil {
			s.t.Fatal(err)
		}
	default:
		return
	}
	if err := s.submit(tx); err == nil {
		return
	}
	s.close() // it was killed
	s.disk.Crash(false)
	s.open(memory.Options{})
}

// takeNotices: the end of sink removes all that lies in its entry, also what came before the instance was started.
func (s *indexSite) takeNotices(tx *record.Tx, n int) {
	take := record.Consume{Process: s.process[n], Entry: message.Entry{Instance: idOf(n), Activity: processtable.Sink}}
	for _, m := range s.notices(n) {
		take.Keys = append(take.Keys, m.Key())
	}
	if len(take.Keys) > 0 {
		tx.Consume = append(tx.Consume, take)
	}
}

func (s *indexSite) has(n int) bool {
	_, _, known, err := s.Instance(idOf(n))
	if err != nil {
		s.t.Fatal(err)
	}
	return known
}

// scanned gives what a list has by reading all records there are.
func (s *indexSite) scanned(o audit.ListOptions, terms []wanted) (all []audit.Place) {
	inError := map[int]bool{}
	for n := 1; n < indexed; n++ {
		for _, m := range s.notices(n) {
			if body, err := message.DecodeNotice(m.Body); err != nil || body.Cleared {
				continue
			}
			for at := n; at != 0 && s.has(at); at = s.parents[at] {
				inError[at] = true
			}
		}
	}
	for n := 1; n < indexed; n++ {
		started, ended, known, err := s.Instance(idOf(n))
		if err != nil {
			s.t.Fatal(err)
		}
		state := audit.Running
		switch {
		case !known, s.forgotten(n):
			continue
		case ended != nil && ended.Event == record.EventStopped:
			state = audit.Stopped
		case ended != nil:
			state = audit.Finished
		}
		p := audit.Place{Started: started.Time, Instance: idOf(n)}
		listed := cmp.Or(o.States, audit.Running)&state != 0
		if o.InError {
			listed = ended == nil && inError[n]
		}
		switch {
		case !listed, !holdAll(terms, s.found[n]), o.Process.Name != "" && o.Process.Name != started.Process.Name, o.Process.Version != 0 && o.Process.Version != started.Process.Version,
			!o.Since.IsZero() && p.Started.Before(o.Since), !o.Until.IsZero() && !p.Started.Before(o.Until):
		default:
			all = append(all, p)
		}
	}
	slices.SortFunc(all, audit.Place.Compare)
	if o.Oldest {
		slices.Reverse(all)
	}
	return all
}

func (s *indexSite) forgotten(n int) bool {
	_, removed, err := s.Removed(idOf(n))
	if err != nil {
		s.t.Fatal(err)
	}
	return removed
}

// paged gives a list page by page.
func (s *indexSite) paged(o audit.ListOptions) (all []audit.Place) {
	for range 10 * indexed {
		if len(o.Search) > 0 && rapid.Bool().Draw(s.t, "early") {
			found, err := s.Search(o, nil)
			if err != nil {
				s.t.Fatal(err)
			}
			if all = append(all, found.Places...); found.More {
				o.Below = found.Next
			} else if len(found.Places) == o.Limit {
				o.Below = found.Places[o.Limit-1]
			} else {
				return all
			}
			continue
		}
		page, err := s.Places(o)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		o.Below = page[len(page)-1]
	}
	s.t.Fatalf("the list does not end: %v", all)
	return nil
}

func (s *indexSite) same(when string) {
	o := audit.ListOptions{
		States: audit.States(rapid.IntRange(0, int(audit.AllStates)).Draw(s.t, "states")), InError: rapid.IntRange(0, 3).Draw(s.t, "in error") == 0,
		Process: rapid.SampledFrom(append([]processtable.ProcessID{{}, {Name: "p"}, {Name: "p"}, {Name: "p"}, {Name: "none"}}, processes...)).Draw(s.t, "of"),
		Oldest:  rapid.Bool().Draw(s.t, "oldest"), Limit: rapid.IntRange(1, 5).Draw(s.t, "limit"),
	}
	if rapid.Bool().Draw(s.t, "bounded") {
		o.Since = startedAt(rapid.IntRange(1, 5).Draw(s.t, "since"))
		o.Until = startedAt(rapid.IntRange(1, 5).Draw(s.t, "until"))
	}
	s.compare(when, o, nil)
	if o.Process.Name != "" {
		terms := rapid.SliceOfN(rapid.Custom(drawnTerm), 1, 2).Draw(s.t, "terms")
		for i := range terms {
			o.Search = append(o.Search, terms[i].term())
		}
		s.compare(when, o, terms)
	}
}

// compare compares the pages of a list, and how many there are, with what a scan finds.
func (s *indexSite) compare(when string, o audit.ListOptions, terms []wanted) {
	fromMemory := s.FromStore()
	s.compareOnce(when+", from the store", o, terms)
	fromMemory()
	s.compareOnce(when, o, terms)
}

func (s *indexSite) compareOnce(when string, o audit.ListOptions, terms []wanted) {
	want := s.scanned(o, terms)
	if got := s.paged(o); fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Fatalf("%s: %+v\ngot  %v\nwant %v", when, o, got, want)
	}
	counted := 0
	for c := o; ; {
		n, err := s.CountInstances(c, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		if counted += n.Running + n.Finished + n.Stopped; !n.More {
			break
		}
		c.Below = n.Next
	}
	if counted != len(want) {
		s.t.Fatalf("%s: %+v: counted %d, want %d", when, o, counted, len(want))
	}
}

// A page of a list is what reading everything would give: whatever happened, after kills, and where the index was made
// of the records of a store of format 2.
func TestTheIndexIsWhatTheRecordsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newIndexSite(t)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "kill") == 0 {
				s.close()
				s.open(memory.Options{Faults: &memory.Killed{In: rapid.IntRange(1, 6).Draw(t, "in"), Kept: rapid.Bool().Draw(t, "kept")}})
			}
			s.step()
		}
		s.same("as it is")
		s.close()
		s.disk.Crash(false)
		s.withoutIndex()
		s.open(memory.Options{})
		defer s.close()
		s.same("made again")
	})
}

// withoutIndex makes the store one of format 2, which had no index.
func (s *indexSite) withoutIndex() {
	engine, err := s.disk.Open(memory.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	b := &store.Batch{}
	b.Put(record.KeyFormat, record.New(record.KeyFormat, 2))
	for _, class := range []byte{record.ClassListed, record.ClassSearch} {
		err = errors.Join(err, engine.Scan(store.ScanOptions{Prefix: []byte{class}, KeysOnly: true}, func(key, _ []byte) bool {
			b.Ops = append(b.Ops, store.Op{Key: slices.Clone(key)})
			return true
		}))
	}
	if err = errors.Join(err, engine.Commit(engine.Last()+1, b), engine.Close()); err != nil {
		s.t.Fatal(err)
	}
}
