package event

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fmqm/message"
)

// A line is a set in the order of arrival, whatever comes and goes, in which order.
func TestALineIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line
		model := map[id]placed{}
		number := rapid.Map(rapid.IntRange(0, 3*block), func(n int) id { return id{byte(n), byte(n >> 8)} })
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0, 1:
				first, many := rapid.IntRange(0, 3*block).Draw(t, "first"), rapid.IntRange(1, 2*block).Draw(t, "many")
				for n := first; n < first+many; n++ {
					p := placed{order: message.Arrival{Commit: uint64(n * 7 % 1000)}, id: id{byte(n), byte(n >> 8)}, body: "b"}
					l.add(p)
					model[p.id] = p
				}
			case 2:
				for _, i := range rapid.SliceOfN(number, 1, block).Draw(t, "gone") {
					l.remove(i)
					delete(model, i)
				}
			}
			want := make([]placed, 0, len(model))
			for _, p := range model {
				want = append(want, p)
			}
			slices.SortFunc(want, func(a, b placed) int { return a.compare(&b) })
			var got []placed
			for w := (walk{line: &l}); ; {
				p := w.next()
				if p == nil {
					break
				}
				got = append(got, *p)
			}
			if !slices.Equal(got, want) || l.len() != len(want) || l.bytes != len(want) {
				t.Fatalf("it has %d of %d bytes, want %d", len(got), l.bytes, len(want))
			}
			for i := range want {
				if p := l.get(want[i].id); p == nil || *p != want[i] {
					t.Fatalf("%v is not found", want[i].id)
				}
			}
			if c := l.clone(); len(want) > 0 {
				c.remove(want[0].id)
				if !l.has(want[0].id) {
					t.Fatal("a clone changes it")
				}
			}
		}
	})
}

// What one event costs that comes to an entry and is given to a receive does not grow with how many wait there: the
// yardstick is the entry where one waits.
func BenchmarkOneEvent(b *testing.B) {
	for _, many := range []int{1, 1_000, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", many), func(b *testing.B) {
			w := newWorld()
			s := w.meets.Empty(entry)
			arrived := uint64(0)
			fold := func(m message.Message) {
				arrived++
				m.Arrival = message.Arrival{Commit: arrived}
				if err := w.meets.Fold(s, m); err != nil {
					b.Fatal(err)
				}
			}
			next := func(n int) message.Message {
				r := receive(1)
				r.Taker.Instance[0], r.Taker.Instance[1], r.Taker.Instance[2], r.Taker.Instance[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
				return message.Message{Header: message.ToMeeting("B", entry, r.Token(), message.KindWait), Body: message.EncodeWait(r)}
			}
			for n := range many {
				fold(next(n))
			}
			sender := receive(9).Taker
			for n := 0; b.Loop(); n++ {
				sender.Iteration = n + 1
				m, _, err := Keep((&message.Event{Name: "paid", Key: "J-7", Shape: shape, Node: "B", Sender: &sender}).Message("B"), "B", dayLong, noon)
				if err != nil {
					b.Fatal(err)
				}
				fold(m)
				e := w.meets.Decide(s, noon)
				if len(e.Put) != 1 {
					b.Fatalf("%d messages are put", len(e.Put))
				}
				s.Forget(e.Takes)
				fold(next(many + n))
			}
			b.ReportMetric(float64(s.Bytes())/float64(many), "bytes/wait")
		})
	}
}
