package queuetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/mailbox"
	"fmqm/queue/record"
)

// testAllOrNone: a transaction that is refused for any reason leaves nothing behind.
func testAllOrNone(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	here, there := msg("A", 1, "a", "b"), msg("B", 1, "a", "c")
	table := record.TableRecord{Process: procP, Definition: defP, Encoded: []byte("table")}
	s.must(&record.Tx{Put: []message.Message{here}, Tables: []record.TableRecord{table}})
	if err := s.BindIncarnation("B", record.Incarnation{7}); err != nil {
		t.Fatal(err)
	}
	mb := s.Mailbox(procP)
	dirty := msg("A", 2, "a", "b")
	s.must(put(dirty))

	whole := func() *record.Tx {
		return &record.Tx{
			Consume: []record.Consume{consume(here)},
			Put:     []message.Message{msg("A", 1, "b", "d"), there, msg("A", 3, "a", "b", noise(100_000, 1)...)},
			Timers:  []record.Timer{{Due: noon, Process: procP, Entry: here.Entry()}},
			Audit:   []record.AuditRecord{{Instance: instance(1), Activity: "b", Event: record.EventTerminated}},
			Tables:  []record.TableRecord{{Process: procQ, Definition: defP}},
			Accept:  &record.Accept{Peer: "B", Incarnation: record.Incarnation{7}, Number: 1, Count: 1, Hash: record.Hash{1}},
			Refuse:  []record.Refused{{Reason: "r"}},
		}
	}
	tooLarge := make([]message.Message, 60_000) // too small to be staged
	for i := range tooLarge {
		tooLarge[i] = msg("A", 100+i, "a", "b", noise(100, byte(i))...)
	}
	before := s.dump()
	for _, tc := range []struct {
		name   string
		change func(*record.Tx)
		want   error
	}{
		{"stale", func(tx *record.Tx) { tx.Consume = append(tx.Consume, take(dirty).Consume...) }, commit.ErrStale},
		{"stale without removing", func(tx *record.Tx) {
			tx.Consume = append(tx.Consume, record.Consume{Process: procP, Entry: dirty.Entry()})
		}, commit.ErrStale},
		{"bound", func(tx *record.Tx) {
			tx.Tables = append(tx.Tables, record.TableRecord{Process: procP, Definition: processtable.DefinitionHash{9}})
		}, commit.ErrBound},
		{"too large", func(tx *record.Tx) { tx.Put = append(tx.Put, tooLarge...) }, commit.ErrTooLarge},
		{"link number", func(tx *record.Tx) { tx.Accept.Number = 2 }, commit.ErrOutOfOrder},
		{"link hash", func(tx *record.Tx) { tx.Accept.Before = record.Hash{1} }, commit.ErrOutOfOrder},
		{"link incarnation", func(tx *record.Tx) { tx.Accept.Incarnation = record.Incarnation{8} }, commit.ErrOutOfOrder},
		{"unknown peer", func(tx *record.Tx) { tx.Accept.Peer = "C" }, commit.ErrOutOfOrder},
		{"message", func(tx *record.Tx) { tx.Put[0].Activity = "not a name" }, message.ErrFormat},
		{"message for a peer", func(tx *record.Tx) { tx.Put[1].Kind = 0 }, message.ErrFormat},
		{"large message for a peer", func(tx *record.Tx) { tx.Put[1].Kind, tx.Put[1].Body = 0, noise(100_000, 1) }, message.ErrFormat},
		{"node", func(tx *record.Tx) { tx.Put[1].Queue.Node = processtable.Origin }, message.ErrFormat},
		{"audit without an instance", func(tx *record.Tx) { tx.Audit[0].Instance = message.InstanceID{} }, nil},
		{"audit without an activity", func(tx *record.Tx) { tx.Audit[0].Activity = "" }, nil},
		{"audit of an unknown event", func(tx *record.Tx) { tx.Audit[0].Event = 99 }, nil},
		{"part", func(tx *record.Tx) { tx.Accept.Parts = []record.Part{{First: 1, Index: -1}} }, nil},
		{"message to refuse", func(tx *record.Tx) { tx.Refuse[0].Message = make([]byte, message.MaxEncoded+1) }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tx := whole()
			tc.change(tx)
			err := s.try(tx)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if after := s.dump(); after != before {
				t.Errorf("it left something behind:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
	s.must(whole())
	if s.dump() == before {
		t.Error("the transaction changed nothing")
	}
	var came []message.Entry
	for len(came) < 4 { // one of the first put, two messages of what was not refused, and its timer in a transaction of its own
		for _, d := range next(mb) {
			came = append(came, d.Entry)
		}
	}
	if !slices.Contains(came, here.Entry()) {
		t.Errorf("the timer of %v did not come: %v", here.Entry(), came)
	}
}

// testStale: a transaction counts only on what its owner has taken.
func testStale(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	first, second, other := msg("A", 1, "a", "c"), msg("A", 1, "b", "c"), msg("A", 1, "a", "d")
	mb := s.Mailbox(procP)
	s.must(put(first, other))
	next(mb)
	s.must(put(second))
	if err := s.try(take(first)); !errors.Is(err, commit.ErrStale) {
		t.Fatalf("decided without the second message: %v", err)
	}
	s.must(take(other)) // nothing new came for it
	s.wantStored(first.Entry(), first, second)
	if got := next(mb); len(got) != 1 || len(got[0].Messages) != 1 {
		t.Fatalf("deliveries %v", got)
	}
	s.must(take(first, second))
	s.wantStored(first.Entry())
}

// testTwoConsumers: of two transactions for one entry of which the second was submitted before the
// first was on disk, the second is refused. Both are submitted while the committer tells of a third, so
// neither can be written before both are there.
func testTwoConsumers(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	m := msg("A", 1, "a", "b")
	const rounds = 50
	for range rounds {
		s.must(put(m))
		var results [2]chan error // of a group, what was refused is told first
		for i := range results {
			results[i] = make(chan error, 1)
		}
		before := put(msg("A", 2, "a", "c"))
		before.Done = func(err error) {
			if err != nil {
				t.Errorf("the transaction before them: %v", err)
			}
			for i := range results {
				tx := take(m)
				tx.Put = []message.Message{msg("B", i, "b", "c")}
				tx.Done = func(err error) { results[i] <- err }
				s.Submit(tx)
			}
		}
		s.Submit(before)
		if first, second := <-results[0], <-results[1]; first != nil || !errors.Is(second, commit.ErrStale) {
			t.Fatalf("results %v, %v", first, second)
		}
	}
	if got := s.Transmission("B").Last(0).Number; got != rounds {
		t.Errorf("%d messages went out, want %d", got, rounds)
	}
	s.must(take(m)) // once it was reported, the entry is free again
}

func testMailbox(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	mb := s.Mailbox(procP)
	if got := mb.Take(10); len(got) != 0 {
		t.Fatalf("an empty mailbox gives %v", got)
	}
	// First come, first served, by entry; what comes for an entry joins it.
	b1, b2, c1, d1 := msg("A", 1, "x", "b", 1), msg("A", 1, "y", "b"), msg("A", 1, "x", "c"), msg("A", 1, "x", "d")
	for _, m := range []message.Message{b1, c1, b2, d1} {
		s.must(put(m))
	}
	got := next2(mb, 2)
	if len(got) != 2 || got[0].Entry != b1.Entry() || got[1].Entry != c1.Entry() {
		t.Fatalf("deliveries %v", got)
	}
	sameMessages(t, got[0].Messages, []message.Message{b1, b2})
	sameMessages(t, got[1].Messages, []message.Message{c1})
	got = next2(mb, 2) // it wakes again for what was left
	if len(got) != 1 || got[0].Entry != d1.Entry() {
		t.Fatalf("deliveries %v", got)
	}
	// Other processes, and other nodes, have their own.
	q := msg("A", 1, "x", "b")
	q.Queue.Process = procQ
	s.must(put(q, msg("B", 1, "x", "b")))
	if got := mb.Take(10); len(got) != 0 {
		t.Errorf("deliveries of another process: %v", got)
	}
	if again := s.Mailbox(procP); again.Wake() != mb.Wake() {
		t.Error("a process has two mailboxes")
	}
}

func next2(mb *mailbox.Reader, limit int) []record.Delivery {
	rung(mb.Wake())
	return mb.Take(limit)
}

// testLateReader: what came before anybody asked for the mailbox only lies in the
// store, and stands in nobody's way.
func testLateReader(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	before, after := msg("A", 1, "a", "c"), msg("A", 1, "b", "c")
	s.must(put(before))
	mb := s.Mailbox(procP)
	if got := mb.Take(10); len(got) != 0 {
		t.Errorf("the mailbox has what came before: %v", got)
	}
	s.wantStored(before.Entry(), before)
	s.must(put(after))
	sameMessages(t, next(mb)[0].Messages, []message.Message{after})
	s.must(take(before, after))
}

// testReplacing: a second message with the same key replaces the first.
func testReplacing(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	m := kind(msg("A", 1, "", "b", 1), message.KindSnapshot)
	s.must(put(m))
	m.Body, m.Clock = []byte{2}, 7
	s.must(put(m))
	s.wantStored(m.Entry(), m)
	later := m
	later.Body = []byte{3}
	s.must(put(m, later))
	s.wantStored(m.Entry(), later)
	tx := take(later)
	tx.Put = []message.Message{m}
	s.must(tx) // removing comes first
	s.wantStored(m.Entry(), m)
	s.reopen()
	s.wantStored(m.Entry(), m)
}

// testBrowsing: entries come whole and in the order of their keys, whatever the names.
func testBrowsing(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	scoped := msg("A", 1, "a", "b")
	scoped.Scope = "block/1"
	messages := []message.Message{
		msg("A", 1, "a", "b"), msg("A", 1, "c", "b"), kind(msg("A", 1, "", "b"), message.KindSnapshot),
		msg("A", 1, "a", "b1"), msg("A", 1, "a", "ba"), scoped,
		msg("A", 2, "a", "b"), kind(msg("A", 2, "b", processtable.Sink), message.KindNotice),
		msg("A", 3, "a", processtable.Sink),
	}
	records := []message.Message{
		kind(msg("A", 2, processtable.Source, processtable.Sink), message.KindRecord),
		kind(msg("A", 4, processtable.Source, processtable.Sink), message.KindRecord),
	}
	other := msg("A", 1, "a", "b")
	other.Queue.Process = procQ
	shuffled := slices.Concat(messages, records, []message.Message{other, msg("B", 1, "a", "b")})
	slices.Reverse(shuffled)
	s.must(put(shuffled...))

	s.wantStored(messages[0].Entry(), messages[0:3]...)
	s.wantStored(messages[7].Entry(), records[0], messages[7]) // by kind
	s.wantStored(records[1].Entry(), records[1])
	s.wantStored(entry(9, "b"))
	for n, want := range map[int][]message.Message{
		1: messages[0:6], 2: {messages[6], messages[7], records[0]}, 3: {messages[8]}, 4: {records[1]}, 5: nil,
	} {
		got, err := s.BrowseInstance(procP, instance(n))
		if err != nil {
			t.Fatal(err)
		}
		sameMessages(t, got, want)
		var entries []message.Entry
		for i := range want {
			if e := want[i].Entry(); !slices.Contains(entries, e) {
				entries = append(entries, e)
			}
		}
		if got, err := s.Entries(procP, instance(n)); err != nil || !slices.Equal(got, entries) {
			t.Errorf("entries of %d: %v, %v, want %v", n, got, err, entries)
		}
	}
	want := [][]message.Message{
		messages[0:3], messages[3:4], messages[4:5], messages[5:6], messages[6:7],
		{records[0], messages[7]},
		messages[8:9],
	}
	for _, limit := range []int{1, 2, 3, 100} {
		t.Run(fmt.Sprintf("%d at a time", limit), func(t *testing.T) {
			var after message.Entry
			for at := 0; ; {
				found, more, err := s.BrowseFrom(procP, after, limit)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range found {
					if e.Entry != want[at][0].Entry() {
						t.Fatalf("entry %d is %v", at, e.Entry)
					}
					sameMessages(t, e.Messages, want[at])
					after = e.Entry
					at++
				}
				if more != (at < len(want)) {
					t.Fatalf("after %d of %d entries more is %v", at, len(want), more)
				}
				if !more {
					return
				}
			}
		})
	}
}

func testRecordsAndMarkers(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	var records []message.Message
	for n := range 5 {
		r := kind(msg("A", n, processtable.Source, processtable.Sink, byte(n)), message.KindRecord)
		records = append(records, r)
		s.must(put(r, msg("A", n, "a", "b"), msg("A", n, "a", processtable.Sink)))
	}
	check := func(want []message.Message) {
		t.Helper()
		var after message.InstanceID
		var got []message.Message
		for more := true; more; {
			found, m, err := s.Records(procP, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			got, more = append(got, found...), m
			after = got[len(got)-1].Instance
		}
		sameMessages(t, got, want)
	}
	check(records)
	other, plain := kind(msg("A", 5, "a", processtable.Sink), message.KindRecord), msg("A", 5, "a", processtable.Sink)
	s.must(put(other, plain)) // a behaviour may give a record another source
	got, err := s.Browse(procP, other.Entry())
	if err != nil {
		t.Fatal(err)
	}
	sameMessages(t, got, []message.Message{plain, other})
	s.must(take(other))
	s.must(take(records[1]))
	check(slices.Delete(slices.Clone(records), 1, 2))

	marker := kind(msg("A", 2, "", ""), message.KindMarker)
	none := func(n int) {
		t.Helper()
		if got, err := s.Marker(procP, instance(n)); got != nil || err != nil {
			t.Errorf("marker of instance %d: %v, %v", n, got, err)
		}
	}
	none(2)
	s.must(put(marker))
	for range 2 {
		got, err := s.Marker(procP, instance(2))
		if err != nil || got == nil {
			t.Fatalf("marker: %v, %v", got, err)
		}
		sameMessages(t, []message.Message{*got}, []message.Message{marker})
		none(3)
		s.reopen()
	}
	s.must(take(marker))
	none(2)
}

// testMarkedRecords: who reads a queue is told, after the store was opened, of an instance that has
// a marker and nothing else than its record, which a browse does not find; and of no other.
func testMarkedRecords(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	for n := range 3 {
		s.must(put(kind(msg("A", n, processtable.Source, processtable.Sink), message.KindRecord)))
	}
	s.must(put(kind(msg("A", 1, "", ""), message.KindMarker)))
	s.must(put(kind(msg("A", 7, "", ""), message.KindMarker))) // it has ended
	s.reopen()
	got := next(s.Mailbox(procP))
	want := message.Entry{Instance: instance(1), Activity: processtable.Sink}
	if len(got) != 1 || got[0].Entry != want || len(got[0].Messages) != 0 {
		t.Errorf("delivered %v, want %v without messages", got, want)
	}
}

// markerReads counts how often markers are read.
type markerReads struct {
	store.Engine
	count atomic.Int64
}

func (e *markerReads) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	if len(o.Prefix) > 1 && o.Prefix[0] == 'k' {
		e.count.Add(1)
	}
	return e.Engine.Scan(o, visit)
}

// testMarkersCostOthersNothing: whether an instance has a marker is known without a
// read for nearly all that have none, also after the store was opened again.
func testMarkersCostOthersNothing(t *testing.T, open storetest.Open) {
	var reads *markerReads
	s := newSite(t, func(dir string) (store.Engine, error) {
		e, err := open(dir)
		reads = &markerReads{Engine: e}
		return reads, err
	})
	s.must(put(kind(msg("A", 1, "", ""), message.KindMarker)))
	others := func() int64 {
		before := reads.count.Load()
		for range 1000 {
			if m, err := s.Marker(procP, uuid.New()); m != nil || err != nil {
				t.Fatal(m, err)
			}
		}
		return reads.count.Load() - before
	}
	for _, what := range []string{"put", "opened"} {
		if what == "opened" {
			s.reopen()
		}
		for rounds := 0; others() > 10; rounds++ { // until it is known what the store had
			if rounds == 1000 {
				t.Fatalf("%s: each of 1,000 others costs a read", what)
			}
		}
		if m, err := s.Marker(procP, instance(1)); m == nil || err != nil {
			t.Errorf("%s: marker %v, %v", what, m, err)
		}
	}
}

// testPending: a version is pending until it is said to be current; while all of a name are, the first is current.
func testPending(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	first, second := processtable.ProcessID{Name: "p", Version: 1}, processtable.ProcessID{Name: "p", Version: 2}
	stored := func(id processtable.ProcessID) record.TableRecord {
		return record.TableRecord{Process: id, Definition: defP, Encoded: []byte("table"), Pending: true}
	}
	here := func(when, want string) {
		t.Helper()
		for range 2 {
			var current []string
			for _, id := range []processtable.ProcessID{first, second} {
				if s.IsCurrent(id) {
					current = append(current, id.String())
				}
			}
			if got := fmt.Sprintf("%v current, %v pending", current, s.Pending()); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
			s.reopen()
		}
	}
	s.must(&record.Tx{Tables: []record.TableRecord{stored(first)}})
	s.must(&record.Tx{Tables: []record.TableRecord{stored(second)}})
	here("stored", "[p@1] current, [p@1 p@2] pending")
	s.must(&record.Tx{Current: []processtable.ProcessID{first}})
	here("the first is current", "[p@1] current, [p@2] pending")
	s.must(&record.Tx{Tables: []record.TableRecord{stored(first)}}) // it is here: nothing changes
	here("the first comes again", "[p@1] current, [p@2] pending")
	s.must(&record.Tx{Current: []processtable.ProcessID{second, second}})
	here("the second is current", "[p@1 p@2] current, [] pending")
	s.must(&record.Tx{Tables: []record.TableRecord{{Process: procQ, Definition: defP}}, Current: []processtable.ProcessID{procQ}})
	if s.IsPending(procQ) {
		t.Error("what is stored as current is pending")
	}
}

func testTables(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	if _, _, found, err := s.Table(procP); found || err != nil {
		t.Errorf("table before any was stored: %v, %v", found, err)
	}
	rec := record.TableRecord{Process: procP, Definition: defP, Encoded: []byte("first")}
	tx := func(r record.TableRecord) *record.Tx { return &record.Tx{Tables: []record.TableRecord{r}} }
	s.must(tx(rec))
	again := rec
	again.Encoded = []byte("compiled again")
	s.must(tx(again)) // the same definition: nothing changes
	other := rec
	other.Definition = processtable.DefinitionHash{9}
	err := s.try(tx(other))
	if !errors.Is(err, commit.ErrBound) || !strings.Contains(err.Error(), "table of p@1: this name and version belong to another definition: raise the version") {
		t.Errorf("another definition: %v", err)
	}
	s.must(tx(record.TableRecord{Process: procQ, Definition: other.Definition}))
	for range 2 {
		encoded, hash, found, err := s.Table(procP)
		if err != nil || !found || hash != defP || string(encoded) != "first" {
			t.Errorf("table %q of %v, %v, %v", encoded, hash, found, err)
		}
		if all := s.Tables(); len(all) != 2 || all[procP] != defP || all[procQ] != other.Definition {
			t.Errorf("tables %v", all)
		}
		s.reopen()
	}
}
