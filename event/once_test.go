package event

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fmqm/message"
)

// receiver is a receive whose round is under way, at most; what it is given it takes, or puts back since it is over.
type receiver struct {
	number int
	given  []message.Message
	ended  bool
}

// E2, E3, E5: whatever happens between any two transactions, with all forgotten and read again after each of them: each
// event is received once, by one receive; what was put back has its old place, so that no younger one goes before it; and
// none is lost.
func TestEachEventIsReceivedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		var receivers []*receiver
		received := map[string]int{}
		sent := 0
		deliver := func() {
			for _, m := range w.given {
				r := receivers[m.Instance[15]-1]
				r.given = append(r.given, m)
			}
			w.given = nil
		}
		step := func() bool { // one transaction, of what the store has, in any order
			e := w.meets.Decide(w.state(t, func(all []message.Message) []message.Message {
				if len(all) == 0 {
					return all
				}
				return rapid.Permutation(all).Draw(t, "order")
			}), w.now)
			if e.Waits() {
				return false
			}
			w.carryOut(t, e)
			w.oldestFirst(t)
			deliver()
			return true
		}
		act := func(r *receiver) { // the transaction of a receive: it ends with its first, or is over
			if r.ended = true; len(r.given) > 0 && rapid.Bool().Draw(t, "takes") {
				e, err := message.DecodeEvent(r.given[0].Body)
				if err != nil {
					t.Fatal(err)
				}
				received[e.ID]++
				r.given = r.given[1:]
			} else {
				one := receive(r.number)
				w.put(over(one.Token()))
			}
		}
		back := func(r *receiver) { // what comes for a receive that has ended
			for _, m := range r.given {
				e, err := message.DecodeEvent(m.Body)
				if err != nil {
					t.Fatal(err)
				}
				w.put(e.Back("B"))
			}
			r.given = nil
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				sent++
				w.put(w.event(fmt.Sprint("e", sent)))
			case 1:
				if sent > 0 { // somebody repeats one, which its node knows
					m := w.event(fmt.Sprint("e", rapid.IntRange(1, sent).Draw(t, "repeat")))
					_, kept := w.store[m.Key()]
					if _, taken := w.store[message.Key{Kind: message.KindPast, Source: m.Source}]; !kept && !taken {
						t.Fatalf("%s is not known any more", m.Source)
					}
				}
			case 2:
				receivers = append(receivers, &receiver{number: len(receivers) + 1})
				w.put(wait(len(receivers)))
			case 3, 4:
				step()
			default:
				if len(receivers) == 0 {
					continue
				}
				if r := rapid.SampledFrom(receivers).Draw(t, "receive"); r.ended {
					back(r)
				} else if len(r.given) > 0 || rapid.Bool().Draw(t, "gives up") {
					act(r)
				}
			}
		}
		for again := true; again; {
			again = step()
			for _, r := range receivers {
				if r.ended && len(r.given) > 0 {
					back(r)
					again = true
				}
			}
		}
		for _, r := range receivers { // those that are left end with what they have
			for _, m := range r.given {
				e, _ := message.DecodeEvent(m.Body)
				received[e.ID]++
			}
		}
		for n := range sent {
			id := fmt.Sprint("e", n+1)
			kept := 0
			for k, m := range w.store {
				if e, err := message.DecodeEvent(m.Body); k.Kind == message.KindEvent && err == nil && e.ID == id {
					kept++
				}
			}
			if received[id]+kept != 1 {
				t.Fatalf("%s was received %d times, and is kept %d times", id, received[id], kept)
			}
		}
	})
}

// oldestFirst: of what was given just now none is younger than what is left.
func (w *world) oldestFirst(t *rapid.T) {
	for _, g := range w.given {
		given, err := message.DecodeEvent(g.Body)
		if err != nil {
			t.Fatal(err)
		}
		for k, m := range w.store {
			left, err := message.DecodeEvent(m.Body)
			if k.Kind != message.KindEvent || err != nil {
				continue
			}
			order := m.Arrival
			if left.Arrival != (message.Arrival{}) {
				order = left.Arrival
			}
			if order.Compare(given.Arrival) < 0 {
				t.Fatalf("%s was given, and %s, which came before it, is left", given.ID, left.ID)
			}
		}
	}
}
