package admission

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// other is what B says in the second place of the connector that it has resolved.
func (w *world) other(m message.Message) message.Message {
	w.t.Helper()
	m.Body = w.amount(8)
	return m
}

const saidBefore = "B: it contradicts an earlier message from there for here, and the earlier one counts"

// Invariants 2 and 4: what comes of a connector a second time and says something else
// replaces nothing, also within one transaction. The same once more is no cause for alarm, and
// what has come keeps its place in the order of arrival (N11).
func TestWhatComesFirstCounts(t *testing.T) {
	for name, send := range map[string]func(*world, ...message.Message){
		"one by one": func(w *world, all ...message.Message) {
			for _, m := range all {
				w.sends("B", m)
			}
		},
		"at once": func(w *world, all ...message.Message) { w.sends("B", all...) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, true)
			first := w.connector()
			dead := first
			dead.Control, dead.Data, dead.Body = message.False, message.DataAbsent, nil
			send(w, first)
			came := w.stored(first)[0].Arrival
			send(w, first, first, w.other(first), dead)
			w.wantAside(saidBefore, saidBefore)
			if found := w.stored(first); len(found) != 1 || string(found[0].Body) != string(first.Body) || found[0].Control != message.True {
				t.Errorf("the store has %+v, want the first", found)
			} else if came == (message.Arrival{}) || found[0].Arrival != came {
				t.Errorf("it came as %v, and repeats have made it %v", came, found[0].Arrival)
			}
		})
	}
}

// The same of messages that wait for their table.
func TestWhatComesFirstCountsAmongWhatWaits(t *testing.T) {
	w := newWorld(t, false)
	first := w.connector()
	w.sends("B", first, w.other(first), first)
	w.giveTable("B")
	w.unpark()
	w.wantAside(saidBefore)
	if found := w.stored(first); len(found) != 1 || string(found[0].Body) != string(first.Body) {
		t.Errorf("the store has %+v, want the first", found)
	}
}

// A record of a dead path says more than the same message without it (N6): it is put in its place.
func TestWhatSaysMoreIsPut(t *testing.T) {
	w := newWorld(t, true)
	dead := w.connector()
	dead.Activity, dead.Control, dead.Data, dead.Body = "alone", message.False, message.DataNone, nil
	passed := dead
	passed.OnBehalf, passed.Onward = "A", true
	w.sends("B", dead)
	w.sends("B", passed, dead)
	w.wantAside()
	w.sends("B", dead) // once more, by who has lost his store
	w.wantAside()
	if found := w.stored(dead); len(found) != 1 || !found[0].Onward || found[0].OnBehalf != "A" {
		t.Errorf("the store has %+v, want what says that the path was passed on", found)
	}
}

// Of an activity that no connector alone skips nothing can say that the path was passed on: it would
// take the place of the connector's own message, and be refused when it is folded.
func TestWhatSaysTooMuchIsNotPut(t *testing.T) {
	w := newWorld(t, true)
	dead := w.connector()
	dead.Control, dead.Data, dead.Body = message.False, message.DataAbsent, nil
	passed := dead
	passed.OnBehalf, passed.Onward = "A", true
	w.sends("B", dead)
	w.sends("B", passed)
	w.wantAside("B: it says that what leads out of here was resolved, and no connector alone skips here in the table of two-sites@1 here")
	if found := w.stored(dead); len(found) != 1 || found[0].Onward {
		t.Errorf("the store has %+v, want the connector's own message", found)
	}
}

// Two lanes bring it at the same moment: one of the two counts, in memory and in the store.
func TestOneOfTwoThatComeAtOnceCounts(t *testing.T) {
	w := newWorld(t, true)
	const many = 50
	var payloads [record.Lanes][][]byte
	var all []message.Message
	for range many {
		m := w.connector()
		all = append(all, m)
		for lane := range payloads {
			m.Lane = message.Lane(lane)
			encoded, err := message.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			payloads[lane] = append(payloads[lane], append([]byte{record.PayloadWhole}, encoded...))
			m = w.other(m)
		}
	}
	var batches []link.Batch
	for lane, p := range payloads {
		batches = append(batches, w.batch("B", message.Lane(lane), p...))
	}
	var done sync.WaitGroup
	for _, b := range batches {
		done.Add(1)
		go w.Inbox("B").Accept(b, func(err error) {
			if err != nil {
				t.Error(err)
			}
			done.Done()
		})
	}
	done.Wait()
	if got := strings.Count(strings.Join(w.reasons(), "\n"), saidBefore); got != many {
		t.Errorf("%d are set aside, want one of each two: %q", got, w.reasons())
	}
	for _, m := range all {
		found := w.stored(m)
		if len(found) != 1 {
			t.Fatalf("the store has %d of one connector", len(found))
		}
		id := message.Entry{Instance: m.Instance, Activity: "here"}
		if e, err := w.Queue.Message(w.table.Process, id, message.Key{Kind: message.KindConnector, Source: processtable.ActivityID("there")}); err != nil || e == nil {
			t.Errorf("by its key: %v, %v", e, err)
		}
	}
	if len(w.arrivals.puts) > 0 {
		t.Errorf("%d are still about to be put", len(w.arrivals.puts))
	}
}

// Who ends an instance first, as of some origin, is not pushed aside by who says another one: not
// on disk, not in one transaction, and not among what waited for a table together.
func TestTheFirstOfTwoMarkersCounts(t *testing.T) {
	const otherwise = "C: it says that its instance was started at C, and a marker that came before says at B: retry it once something of the instance has come"
	id := uuid.Must(uuid.NewV7())
	for name, send := range map[string]func(w *world, b, c message.Message){
		"one by one": func(w *world, b, c message.Message) {
			w.giveTable("B")
			w.sends("C", b)
			w.sends("C", c)
		},
		"at once": func(w *world, b, c message.Message) {
			w.giveTable("B")
			w.sends("C", b, c)
		},
		"both have waited": func(w *world, b, c message.Message) {
			w.sends("C", b)
			w.sends("C", c)
			w.giveTable("B")
			w.unpark()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			w.unnamed = true // or C could bring none of B's
			send(w, w.marker(id, "B"), w.marker(id, "C"))
			w.wantAside(otherwise)
			there, err := w.Queue.Marker(w.table.Process, id)
			if err != nil || there == nil || there.Origin != "B" {
				t.Errorf("the marker is %+v (%v), want the first", there, err)
			}
		})
	}
}

// One marker of an origin counts for the peer that has brought it; more say no more.
func TestMarkersThatSayNoMore(t *testing.T) {
	w := newWorld(t, true)
	m := w.marker(uuid.Must(uuid.NewV7()), "B")
	w.sends("B", m, m)
	w.sends("B", m)
	w.wantAside()
	if u := w.Queue.Usage("B"); u.Marks != 1 {
		t.Errorf("one instance was ended, and %+v is counted", u)
	}
}

// A peer may bring thousands of messages at once, and repeat each. What a transaction puts under a key is
// known by its place, and not searched for; also where the first of the key was not put.
func TestWhatATransactionPutsIsKnownByItsPlace(t *testing.T) {
	w := newWorld(t, true)
	m, between := w.connector(), w.connector()
	tx := w.begin(&record.Tx{})
	defer tx.end()
	expect := func(what string, put *message.Message, again bool) {
		t.Helper()
		if found, claimed, err := tx.claim(arrivalOf(&m)); found != put || claimed != again || err != nil {
			t.Fatalf("%s: %v, %t, %v", what, found, claimed, err)
		}
	}
	expect("the first", nil, false)
	tx.tx.Put = append(tx.tx.Put, between)
	expect("the first was not put", nil, true)
	tx.tx.Put = append(tx.tx.Put, m)
	expect("the second was", &tx.tx.Put[1], true)
	tx.tx.Put = append(tx.tx.Put, w.connector())
	expect("and is where it was", &tx.tx.Put[1], true)
	if len(tx.keys) != 1 {
		t.Errorf("%d keys are to be given back, of one", len(tx.keys))
	}
}

// N7: where an instance of another process with the same identifier was started says nothing of this one.
func TestAMarkerBesideAnInstanceOfAnotherProcess(t *testing.T) {
	w := newWorld(t, true)
	id := uuid.Must(uuid.NewV7())
	if err := w.Commit(t.Context(), &record.Tx{Audit: []record.AuditRecord{{
		Process: processtable.ProcessID{Name: "other", Version: 1}, Instance: id, Activity: "x", Origin: "C", Event: record.EventTerminated, Time: time.Unix(1, 0),
	}}}); err != nil {
		t.Fatal(err)
	}
	w.sends("B", w.marker(id, "B"))
	w.wantAside()
	if marker, err := w.Queue.Marker(w.table.Process, id); err != nil || marker == nil || marker.Origin != "B" {
		t.Errorf("the marker here: %+v, %v", marker, err)
	}
}
