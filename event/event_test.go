package event

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

var (
	shape   = container.Fingerprint(container.Empty)
	entry   = message.MeetingOf("paid", shape, "J-7")
	noon    = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	dayLong = 24 * time.Hour
)

// world is an entry of the queue of B as the store has it: transactions are carried out at once.
type world struct {
	meets   behaviour.Behaviour
	store   map[message.Key]message.Message
	timers  map[behaviour.Timer]bool
	arrived uint64
	given   []message.Message // put into entries of receives
	now     time.Time
}

func newWorld() *world {
	return &world{
		meets: NewQueue("B").Activity(processtable.RowID{Name: processtable.EventMeets}),
		store: map[message.Key]message.Message{}, timers: map[behaviour.Timer]bool{}, now: noon,
	}
}

func (w *world) put(m message.Message) {
	w.arrived++
	m.Arrival = message.Arrival{Commit: w.arrived}
	w.store[m.Key()] = m
}

// event is what somebody at A sends under an identifier.
func (w *world) event(id string) message.Message {
	m, timer, err := Keep((&message.Event{Name: "paid", Key: "J-7", Shape: shape, Node: "A", ID: id, Sent: noon}).Message("B"), "A", dayLong, w.now)
	if err != nil {
		panic(err)
	}
	w.timers[behaviour.Timer{Name: timer.Name, Due: timer.Due}] = true
	return m
}

// receive is the n-th execution that waits.
func receive(n int) message.Wait {
	return message.Wait{Name: "paid", Key: "J-7", Clock: 5, Since: noon, Taker: message.Parent{
		Process: processtable.ProcessID{Name: "repair", Version: 1}, Node: "B", Instance: uuid.UUID{0: 1, 15: byte(n)}, Activity: "arrival", Iteration: 1,
	}}
}

func wait(n int) message.Message {
	w := receive(n)
	return message.Message{Header: message.ToMeeting("B", entry, w.Token(), message.KindWait), Body: message.EncodeWait(w)}
}

func over(token processtable.ActivityID) message.Message {
	return message.Message{Header: message.ToMeeting("B", entry, token, message.KindOver)}
}

// state folds what the store has, in an order.
func (w *world) state(t interface{ Fatal(...any) }, order func([]message.Message) []message.Message) behaviour.State {
	s := w.meets.Empty(entry)
	var all []message.Message
	for _, m := range w.store {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b message.Message) int { return a.Arrival.Compare(b.Arrival) })
	for _, m := range order(all) {
		if err := w.meets.Fold(s, m); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func asTheyCame(all []message.Message) []message.Message { return all }

// settle decides until nothing follows, each time from the store as a recovery does.
func (w *world) settle(t interface{ Fatal(...any) }) {
	for range 1000 {
		e := w.meets.Decide(w.state(t, asTheyCame), w.now)
		if e.Waits() {
			return
		}
		w.carryOut(t, e)
	}
	t.Fatal("decisions follow without end")
}

func (w *world) carryOut(t interface{ Fatal(...any) }, e behaviour.Effects) {
	for _, k := range e.Takes {
		if _, there := w.store[k]; !there {
			t.Fatal("it takes what is not there: ", k)
		}
		delete(w.store, k)
	}
	for _, timer := range e.Untimed {
		delete(w.timers, behaviour.Timer{Name: timer.Name, Due: timer.Due})
	}
	for _, timer := range e.Timers {
		w.timers[behaviour.Timer{Name: timer.Name, Due: timer.Due}] = true
	}
	for _, m := range e.Put {
		if m.Entry() == entry && m.OfEvents() {
			w.put(m)
		} else {
			w.given = append(w.given, m)
		}
	}
}

// pass lets time pass: of the timers that are due the messages come.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for timer := range w.timers {
		if !timer.Due.After(w.now) {
			delete(w.timers, timer)
			w.put(message.Message{Header: message.Header{
				Queue: message.Queue{Process: processtable.EventQueue, Node: "B"}, Instance: entry.Instance, Activity: entry.Activity,
				Kind: message.KindDue, Source: processtable.ActivityID(timer.Name), Number: message.DueNumber(timer.Due),
			}})
		}
	}
}

// got says which event each receive was given, in the order in which they were.
func (w *world) got(t interface{ Fatal(...any) }) (all []string) {
	for _, m := range w.given {
		e, err := message.DecodeEvent(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s to %d", e.ID, m.Instance[15]))
	}
	return all
}

func (w *world) expect(t *testing.T, want ...string) {
	t.Helper()
	w.settle(t)
	if got := w.got(t); !slices.Equal(got, want) {
		t.Errorf("given was %q, want %q", got, want)
	}
}

func (w *world) count(kind message.Kind) (n int) {
	for k := range w.store {
		if k.Kind == kind {
			n++
		}
	}
	return n
}

// E2: the event that came first goes to the receive that has waited longest, whichever came before the other.
func TestTheOldestMeetTheOldest(t *testing.T) {
	w := newWorld()
	for _, id := range []string{"a", "b"} {
		w.put(w.event(id))
	}
	w.settle(t)
	for n := range 3 {
		w.put(wait(n))
	}
	w.expect(t, "a to 0", "b to 1")
	w.put(w.event("c"))
	w.expect(t, "a to 0", "b to 1", "c to 2")
	if n := w.count(message.KindWait) + w.count(message.KindEvent); n > 0 {
		t.Errorf("%d messages are left", n)
	}
}

// E4: an event that was taken is remembered, so that a repeat is none, as long as it would have been kept.
func TestARepeatIsNone(t *testing.T) {
	w := newWorld()
	w.put(w.event("a"))
	w.put(wait(0))
	w.expect(t, "a to 0")
	w.put(wait(1))
	w.put(w.event("a"))
	w.expect(t, "a to 0")
	w.pass(dayLong + time.Second)
	w.settle(t)
	if n := w.count(message.KindPast) + w.count(message.KindDue); n > 0 || len(w.timers) > 0 {
		t.Fatalf("%d messages and the timers %v are left", n, w.timers)
	}
	w.put(w.event("a"))
	w.expect(t, "a to 0", "a to 1")
}

// E4: what an activity of the same node has sent comes once, and costs nothing once it was taken.
func TestWhatIsSentHereIsNotRemembered(t *testing.T) {
	w := newWorld()
	sender := receive(9).Taker
	m, timer, err := Keep((&message.Event{Name: "paid", Key: "J-7", Shape: shape, Node: "B", Sender: &sender}).Message("B"), "B", dayLong, noon)
	if err != nil {
		t.Fatal(err)
	}
	w.timers[behaviour.Timer{Name: timer.Name, Due: timer.Due}] = true
	w.put(m)
	w.put(wait(0))
	w.settle(t)
	if len(w.given) != 1 || len(w.store) > 0 || len(w.timers) > 0 {
		t.Errorf("%d were given, %v is left, with the timers %v", len(w.given), w.store, w.timers)
	}
}

// E2, E5: an event that is put back has its old place, and is no repeat of itself.
func TestWhatIsPutBackIsFirst(t *testing.T) {
	w := newWorld()
	w.put(w.event("a"))
	w.put(w.event("b"))
	w.put(wait(0))
	w.expect(t, "a to 0")
	back, err := message.DecodeEvent(w.given[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	back.Taker = nil
	m := back.Message("B")
	if _, timer, err := Keep(m, "A", dayLong, w.now); err != nil {
		t.Fatal(err)
	} else {
		w.timers[behaviour.Timer{Name: timer.Name, Due: timer.Due}] = true
	}
	w.put(m)
	w.settle(t)
	w.put(wait(1))
	w.put(wait(2))
	w.expect(t, "a to 0", "a to 1", "b to 2")
	w.put(w.event("a"))
	w.expect(t, "a to 0", "a to 1", "b to 2")
}

// E6: a receive that is over waits no more, also where it was given an event before.
func TestAWaitGoes(t *testing.T) {
	w := newWorld()
	first, second := receive(0), receive(1)
	w.put(wait(0))
	w.put(wait(1))
	w.put(over(first.Token()))
	w.put(w.event("a"))
	w.expect(t, "a to 1")
	w.put(over(second.Token()))
	w.expect(t, "a to 1")
	if n := w.count(message.KindOver) + w.count(message.KindWait); n > 0 {
		t.Errorf("%d messages are left", n)
	}
}

// E7: what is too old is set aside, and goes when it has been there as long again: nothing of it is left.
func TestWhatIsTooOldGoes(t *testing.T) {
	w := newWorld()
	w.put(w.event("a"))
	w.settle(t)
	w.pass(dayLong)
	w.settle(t)
	w.pass(dayLong - time.Second)
	if w.settle(t); w.count(message.KindPast) != 1 {
		t.Fatalf("before its time there are %v", w.store)
	}
	w.pass(time.Second)
	if w.settle(t); len(w.store) > 0 || len(w.timers) > 0 {
		t.Errorf("left are %v, and the timers %v", w.store, w.timers)
	}
}

// E7: what is too old is set aside, and no receive takes it; an operator drops it.
func TestTooOld(t *testing.T) {
	w := newWorld()
	m := w.event("a")
	w.put(m)
	w.settle(t)
	w.pass(dayLong)
	w.put(wait(0))
	w.expect(t)
	if w.count(message.KindPast) != 1 || w.count(message.KindEvent) != 0 {
		t.Fatalf("there are %v", w.store)
	}
	w.put(w.event("a")) // a repeat does not make it young
	w.expect(t)
	w.put(over(m.Source))
	w.expect(t)
	if w.count(message.KindPast) != 0 || w.count(message.KindOver) != 0 {
		t.Errorf("there are %v", w.store)
	}
}

// An operator drops an event that waits.
func TestAnEventIsDropped(t *testing.T) {
	w := newWorld()
	m := w.event("a")
	w.put(m)
	w.settle(t)
	w.put(over(m.Source))
	w.settle(t)
	w.put(wait(0))
	w.expect(t)
	if len(w.timers) > 0 {
		t.Errorf("the timers %v are left", w.timers)
	}
}

// E1, E2: whatever order an entry is read in, and however often, the same is decided; each event goes to one
// receive at most, and the other way round; none is left where one waits.
func TestAnyOrderMeets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		sent, waited := map[string]bool{}, map[int]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				id := fmt.Sprint("e", rapid.IntRange(0, 12).Draw(t, "event"))
				sent[id] = true
				w.put(w.event(id))
			case 2, 3:
				n := rapid.IntRange(0, 12).Draw(t, "receive")
				if !waited[n] {
					waited[n] = true
					w.put(wait(n))
				}
			case 4:
				r := receive(rapid.IntRange(0, 12).Draw(t, "over"))
				if waited[int(r.Taker.Instance[15])] {
					w.put(over(r.Token()))
				}
			case 5:
				w.settle(t)
			case 6:
				shuffled := func(all []message.Message) []message.Message {
					if len(all) == 0 {
						return all
					}
					return append(rapid.Permutation(all).Draw(t, "order"), rapid.SliceOf(rapid.SampledFrom(all)).Draw(t, "again")...)
				}
				one, other := w.meets.Decide(w.state(t, asTheyCame), w.now), w.meets.Decide(w.state(t, shuffled), w.now)
				if !sameEffects(&one, &other) {
					t.Fatalf("in another order it decides\n%+v\n%+v", other, one)
				}
			}
		}
		w.settle(t)
		events, receives := map[string]bool{}, map[byte]bool{}
		for _, m := range w.given {
			e, err := message.DecodeEvent(m.Body)
			if err != nil {
				t.Fatal(err)
			}
			if events[e.ID] || receives[m.Instance[15]] || !sent[e.ID] {
				t.Fatalf("given was %q", w.got(t))
			}
			events[e.ID], receives[m.Instance[15]] = true, true
		}
		if w.count(message.KindEvent) > 0 && w.count(message.KindWait) > 0 || w.count(message.KindOver) > 0 {
			t.Fatalf("left are %v", w.store)
		}
	})
}

// sameEffects compares all but the order of what is taken.
func sameEffects(a, b *behaviour.Effects) bool {
	keys := func(e *behaviour.Effects) map[message.Key]bool {
		all := map[message.Key]bool{}
		for _, k := range e.Takes {
			all[k] = true
		}
		return all
	}
	x, y := keys(a), keys(b)
	if len(x) != len(y) || len(a.Put) != len(b.Put) || len(a.Untimed) != len(b.Untimed) {
		return false
	}
	for k := range x {
		if !y[k] {
			return false
		}
	}
	for i := range a.Put {
		if a.Put[i].Entry() != b.Put[i].Entry() || a.Put[i].Key() != b.Put[i].Key() || string(a.Put[i].Body) != string(b.Put[i].Body) {
			return false
		}
	}
	return true
}

// What a state remembers follows what transactions take, without being read anew.
func TestAStateFollowsItsTransactions(t *testing.T) {
	w := newWorld()
	s := w.meets.Empty(entry)
	fold := func(m message.Message) {
		w.put(m)
		if err := w.meets.Fold(s, w.store[m.Key()]); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 5 {
		fold(w.event(fmt.Sprint("e", n)))
	}
	for n := range 3 {
		fold(wait(n))
	}
	e := w.meets.Decide(s, w.now)
	before := len(w.store)
	w.carryOut(t, e)
	s.Forget(e.Takes)
	for _, m := range e.Put {
		if m.OfEvents() {
			if err := w.meets.Fold(s, w.store[m.Key()]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := s.(*State); got.events.len() != 2 || got.waits.len() != 0 || len(got.past) != 3 || before != 8 {
		t.Errorf("it has %d events, %d waits, remembers %d, of %d messages", got.events.len(), got.waits.len(), len(got.past), before)
	}
	if e := w.meets.Decide(s, w.now); !e.Waits() {
		t.Errorf("it decides once more: %+v", e)
	}
}
