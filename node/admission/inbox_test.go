package admission

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A message is taken only from who may send it (invariant 11). Any other is set aside with its
// reason, in the transaction that takes the others, and the site is told of it once it is on disk.
func TestWhatMayNotBeSentIsSetAside(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*message.Message)
		reason string
	}{
		"another node's":   {func(m *message.Message) { m.Activity = "there" }, "B: activity there of two-sites@1 is not hosted at A"},
		"source elsewhere": {func(m *message.Message) { m.Source = "beyond" }, "B: activity beyond of two-sites@1 is hosted at C, and the message came from B"},
		"unknown source":   {func(m *message.Message) { m.Source = "nobody" }, "B: two-sites@1 has no activity nobody"},
		"another's start":  {func(m *message.Message) { m.Source, m.Origin = processtable.Source, "C" }, "B: activity source of two-sites@1 is hosted at C, and the message came from B"},
		"a record":         {func(m *message.Message) { m.Kind, m.Control, m.Data = message.KindRecord, 0, 0 }, "B: a message of this kind never leaves its node"},
		"a snapshot":       {func(m *message.Message) { m.Kind, m.Control, m.Data = message.KindSnapshot, 0, 0 }, "B: a message of this kind never leaves its node"},
		"a notice of an instance that was not started here": {func(m *message.Message) {
			m.Kind, m.Activity, m.Origin, m.Control, m.Data = message.KindNotice, processtable.Sink, "A", 0, 0
		}, "B: it tells of an error in an instance of two-sites@1 that was started at A, but A did not start it"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, true)
			bad, good := w.connector(), w.connector()
			tc.change(&bad)
			w.sends("B", bad, good)
			w.wantAside(tc.reason)
			if len(w.stored(bad)) != 0 || len(w.stored(good)) != 1 {
				t.Errorf("stored: %v of what may not be sent, %v of the other", w.stored(bad), w.stored(good))
			}
			if last := w.taken[len(w.taken)-1]; len(last.Put) != 1 || last.Put[0].From != "B" || len(last.Refuse) != 1 {
				t.Errorf("the site is told of %+v", last)
			}
		})
	}
}

// Where the store is not the site's first, an instance that it does not know may be started again
// (S4): its notices wait for that.
func TestANoticeOfWhatTheStoreHasLost(t *testing.T) {
	w := newWorld(t, true)
	w.anew = true
	m := w.to(message.KindNotice)
	m.Instance, m.Origin, m.Source, m.Activity = uuid.Must(uuid.NewV7()), "A", "there", processtable.Sink
	w.sends("B", m)
	w.wantAside()
	if len(w.stored(m)) != 1 {
		t.Error("it is not there")
	}
}

// Invariant 11, N3: a table is taken up at the very moment at which a message is judged that had
// no right to come. It is refused, or waits and is judged then; it is never taken unjudged.
func TestATableThatComesWhileAMessageIsJudged(t *testing.T) {
	w := newWorld(t, false)
	bad := w.connector()
	bad.Source = "beyond" // of C
	asked := 0
	w.asked = func() {
		if asked++; asked == 2 { // after the first look at what is here
			w.asked = nil
			w.giveTable("C")
		}
	}
	w.sends("B", bad)
	w.asked = nil
	if w.Queue.ParkedCount(w.table.Process) > 0 {
		w.giveTable("C")
		w.unpark()
	}
	w.wantAside("B: activity beyond of two-sites@1 is hosted at C, and the message came from B")
	if found := w.stored(bad); len(found) > 0 {
		t.Errorf("it is taken: %+v", found)
	}
}

// A table that cannot be taken is set aside, and its sender can be told why; one of another process
// than its message says is none.
func TestATableThatIsNotTaken(t *testing.T) {
	w := newWorld(t, false)
	m := w.to(message.KindTable)
	m.Body = []byte("no table")
	other := w.to(message.KindTable)
	other.Queue.Process.Name, other.Body = "other", w.encoded
	w.sends("B", m, other)
	w.wantAside("B: ", "B: it carries a table of two-sites@1, and says that it is of other@1")
	if len(w.refused) != 2 || len(w.up) != 0 {
		t.Errorf("refused: %v; taken up: %v", w.refused, w.up)
	}
}

// N3: one name and version is one definition, also where a peer brings two at once: the first counts,
// on disk and in memory. The same table once more is no cause for alarm.
func TestTwoDefinitionsOfOneVersionAtOnce(t *testing.T) {
	w := newWorld(t, false)
	first := w.to(message.KindTable)
	first.Body = w.encoded
	other := first
	var err error
	other.Body, err = processtable.Encode(definitiontest.TablesOf(t, strings.Replace(twoSites, "program: p", "program: q", 1), definition.CompileOptions{})["A"])
	if err != nil {
		t.Fatal(err)
	}
	w.sends("B", first, first, other)
	if bound, _ := w.Queue.Bound(w.table.Process); bound != w.table.Definition || w.up[w.table.Process].Table().Definition != bound {
		t.Errorf("the store has the definition %s, and %s is taken up; want %s", bound, w.up[w.table.Process].Table().Definition, w.table.Definition)
	}
	if w.wantAside("B: another table of two-sites@1 came before it: raise the version"); len(w.refused) != 1 {
		t.Errorf("refused: %v", w.refused)
	}
}

// N3: an upload stores a table while a peer brings one of the same version. What was first counts, in
// its bytes; the peer's is accepted beside it, or set aside where it is another definition.
func TestATableThatComesWhileAnUploadStoresOne(t *testing.T) {
	of := func(text string, format int) record.TableRecord {
		table := definitiontest.TablesOf(t, text, definition.CompileOptions{TableFormat: format})["A"]
		encoded, err := processtable.Encode(table)
		if err != nil {
			t.Fatal(err)
		}
		return record.TableRecord{Process: table.Process, Definition: table.Definition, Encoded: encoded}
	}
	uploaded := of(twoSites, 1)
	for _, tc := range []struct {
		name    string
		brought record.TableRecord
		aside   []string
	}{
		{"the same definition", of(twoSites, 0), nil},
		{"another definition", of(strings.Replace(twoSites, "program: p", "program: q", 1), 0), []string{"B: two-sites@1 is bound to another definition"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if bytes.Equal(tc.brought.Encoded, uploaded.Encoded) {
				t.Fatal("the two are the same bytes")
			}
			w := newWorld(t, false)
			m := w.to(message.KindTable)
			m.Body = tc.brought.Encoded
			encoded, err := message.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			b := w.batch("B", m.Lane, append([]byte{record.PayloadWhole}, encoded...))
			stored, accepted := task.NewAnswer[error](w.Scheduler), task.NewAnswer[error](w.Scheduler)
			w.Queue.Submit(&record.Tx{Put: []message.Message{w.marker(uuid.Must(uuid.NewV7()), "A")}, Done: func(error) {
				// The committer has told this, and begins with nothing before it returns: neither
				// of the two finds the other's table.
				w.Queue.Submit(&record.Tx{Tables: []record.TableRecord{uploaded}, Done: stored.Give})
				w.Inbox("B").Accept(b, accepted.Give)
			}})
			for _, answer := range []*task.Answer[error]{stored, accepted} {
				if err, _, gone := answer.Wait(t.Context()); err != nil || gone != nil {
					t.Fatal(err, gone)
				}
			}
			w.wantAside(tc.aside...)
			if found, _, _, err := w.Queue.Table(w.table.Process); err != nil || !bytes.Equal(found, uploaded.Encoded) {
				t.Errorf("the store has not what was uploaded: %v", err)
			}
			if got := w.Queue.Accepted("B", m.Lane).Number; got != 1 {
				t.Errorf("accepted up to %d", got)
			}
		})
	}
}

// A message comes while the table of its process is on disk and not taken up yet: it is judged again
// until it is, which costs next to nothing however long that takes.
func TestAMessageWaitsForATableToBeTakenUp(t *testing.T) {
	in := task.NewWorld(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	by, asked, ended := in.NewSite(0), 0, false
	const takes, looks = 10 * time.Second, 300
	by.Go(func() {
		defer func() { ended = true }()
		w := worldOn(t, by, memory.Options{By: by})
		p, _, err := w.Judge(w.encoded, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(context.Background(), &record.Tx{Tables: []record.TableRecord{{Process: w.table.Process, Definition: w.table.Definition, Encoded: w.encoded}}}); err != nil {
			t.Fatal(err)
		}
		w.asked = func() { asked++ }
		by.AfterFunc(takes, func() { w.Install(p) })
		m := w.connector()
		w.sends("B", m)
		if len(w.stored(m)) != 1 || in.Elapsed() < takes {
			t.Errorf("%d are taken, after %v", len(w.stored(m)), in.Elapsed())
		}
		if err := w.Queue.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for !ended && asked < looks && in.Step() {
	}
	if !ended || asked < 2 {
		t.Errorf("ended %t, judged %d times in %v; %v", ended, asked, in.Elapsed(), in.Failure())
	}
}

// A batch without items is the link's mistake, and changes nothing.
func TestABatchWithoutItems(t *testing.T) {
	w := newWorld(t, true)
	var got error
	w.Inbox("B").Accept(w.batch("B", message.LaneData), func(err error) { got = err })
	if got == nil || !strings.Contains(got.Error(), "accept from B: there is no item") {
		t.Errorf("done with %v", got)
	}
}

// lockWatch is the disk of a site where one task runs at a time: a lock that is held while something
// is read is held by who reads.
type lockWatch struct {
	t     *testing.T
	w     *world
	reads int
}

func (l *lockWatch) Commit(uint64, *store.Batch) memory.Fate { return memory.Fate{} }
func (l *lockWatch) Committed(uint64, *store.Batch)          {}

func (l *lockWatch) Read([]byte) error {
	if l.w == nil {
		return nil
	}
	l.reads++
	if !l.w.arrivals.mu.TryLock() {
		l.t.Error("the lock of arrivals is held while the store is read")
		return nil
	}
	l.w.arrivals.mu.Unlock()
	return nil
}

// The committer ends arrivals, and never waits for a disk that somebody reads (invariant 8).
func TestNoLockIsHeldWhileTheStoreIsRead(t *testing.T) {
	in := task.NewWorld(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	by, watch, ended := in.NewSite(0), &lockWatch{t: t}, false
	by.Go(func() {
		defer func() { ended = true }()
		w := worldOn(t, by, memory.Options{By: by, Faults: watch})
		watch.w = w
		first := w.connector()
		id := uuid.Must(uuid.NewV7())
		w.sends("B", first, w.other(first))
		w.giveTable("B")
		w.unpark()
		w.sends("B", first)
		w.sends("B", w.marker(id, "B"))
		w.sends("B", w.marker(id, "B"))
		if err := w.Queue.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for !ended && in.Step() {
	}
	if !ended || watch.reads == 0 {
		t.Fatalf("ended %t, after %d reads; %v", ended, watch.reads, in.Failure())
	}
}

// word is a word that an operator at B asks of the activity here.
func (w *world) word() message.Message {
	word := message.Word{ID: message.WordID(uuid.Must(uuid.NewV7())), Wish: message.WishRetry, Operator: "alice", Site: "B", Reply: true, Asked: time.Unix(5, 0).UTC()}
	m := w.to(message.KindWord)
	m.Instance, m.Activity, m.Lane, m.Number, m.Body = uuid.Must(uuid.NewV7()), "here", word.Lane(), message.WordNumber(word.ID), message.EncodeWord(word)
	return m
}

// Words that come at once are ruled one beside the other: what their answers may take is bounded.
func TestWordsAreRuledBesideThoseThatComeWithThem(t *testing.T) {
	w := newWorld(t, true)
	w.ruling = command.Ruling{Word: true}
	w.sends("B", w.word(), w.word())
	asked := w.word()
	answer := asked.Header.Reply("B", message.Answer{Result: message.WordRefused})
	w.ruling = command.Ruling{Reply: &answer}
	w.sends("B", w.word(), w.word(), w.word())
	w.ruling = command.Ruling{Aside: "there is no room"}
	w.sends("B", w.word(), w.word())
	if want := []int{0, 1, 0, 1, 2, 0, 0}; !slices.Equal(w.beside, want) {
		t.Errorf("ruled beside %v answers, want %v", w.beside, want)
	}
}

// What becomes of a word is its room's to rule: it is put, set aside, or answered. But one with the
// identifier of a word that lies here, and which says something else, does not take its place; the
// room is told of what is put, and only of that.
func TestWordsAreTakenAsIsRuled(t *testing.T) {
	w := newWorld(t, true)
	m := w.word()
	w.ruling = command.Ruling{Aside: "nobody asked"}
	w.sends("B", m)
	w.wantAside("B: nobody asked")
	answer := m.Header.Reply("B", message.Answer{Word: message.WordID(uuid.Must(uuid.NewV7())), Result: message.WordRefused, Text: "no", Time: time.Unix(6, 0).UTC()})
	stored := 0
	w.ruling = command.Ruling{Reply: &answer, Stored: func() { stored++ }}
	w.sends("B", m, m) // the second is a repeat, by its claim
	if n, _ := w.Queue.Transmission("B").Size(); n != 1 || stored != 1 || len(w.stored(m)) != 0 {
		t.Errorf("%d answers wait for B, %d are told, and %d words lie here", n, stored, len(w.stored(m)))
	}
	stored = 0
	w.ruling = command.Ruling{Word: true, Stored: func() { stored++ }}
	w.sends("B", m)
	w.sends("B", m)
	other := m
	other.Body = w.word().Body
	w.sends("B", other)
	w.wantAside("B: nobody asked", "B: a word with its identifier lies here for here, and says something else: the earlier one counts")
	if len(w.stored(m)) != 1 || stored != 1 {
		t.Errorf("%d words lie here, and %d are told", len(w.stored(m)), stored)
	}
}

// An answer becomes a line of history, of which who waits is told once it is on disk; what another
// transaction takes at the same moment is ruled again after that.
func TestAnAnswerBecomesHistory(t *testing.T) {
	w := newWorld(t, true)
	m := w.word()
	m.Kind, m.Lane = message.KindAnswer, message.LaneControl
	stored := task.NewAnswer[int](w.Scheduler)
	line := record.AuditRecord{Process: w.table.Process, Instance: m.Instance, Origin: "C", Activity: "here", Event: record.EventAnswered, Reason: "B has done it"}
	w.ruling = command.Ruling{Line: &line, Stored: func() {
		history, err := w.Queue.History(m.Instance)
		if err != nil {
			t.Error(err)
		}
		stored.Give(len(history))
	}}
	other := w.begin(&record.Tx{})
	if _, _, err := other.claim(arrivalOf(&m)); err != nil {
		t.Fatal(err)
	}
	encoded, err := message.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	done := task.NewAnswer[error](w.Scheduler)
	w.Inbox("B").Accept(w.batch("B", m.Lane, append([]byte{record.PayloadWhole}, encoded...)), done.Give)
	other.end()
	if err, _, gone := done.Wait(t.Context()); err != nil || gone != nil {
		t.Fatal(err, gone)
	}
	if n, _, err := stored.Wait(t.Context()); n != 1 || err != nil {
		t.Errorf("when it was told there were %d lines (%v)", n, err)
	}
}
