package navigator

import (
	"fmt"
	"testing"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// BenchmarkChainStep is what navigation costs one step of a chain of noop activities:
// fold its message, decide, conclude. Target: below 10 µs.
func BenchmarkChainStep(b *testing.B) {
	x := newModel(b, "a", "x", "y").control("a -> x", "x -> y: _RC == 0").data("a -> x: n = n, text = text", "x -> y: n = n, text = text").activity("x")
	m := from(b, x, "a", message.True, `{"n": 4, "text": "a small container"}`)
	r := ran(b, 0, `{"n": 4, "text": "a small container"}`)
	b.ReportAllocs()
	for b.Loop() {
		s := &State{Basis: behaviour.Basis{Entry: m.Entry()}}
		if err := x.Fold(s, m); err != nil {
			b.Fatal(err)
		}
		if e := x.Decide(s, noon); e.Invoke == nil {
			b.Fatal("it is not invoked")
		}
		if e := x.Conclude(s, r, noon); !e.Ends {
			b.Fatal("it does not end")
		}
	}
}

// BenchmarkFoldOfManySources is what it costs to fold all that comes to an activity with so
// many connectors into it: for each of them the same.
func BenchmarkFoldOfManySources(b *testing.B) {
	for _, n := range []int{500, 1000, 2000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			names := make([]processtable.ActivityID, n+1)
			for i := range n {
				names[i] = processtable.ActivityID(fmt.Sprintf("a%d", i))
			}
			names[n] = "x"
			m := newModel(b, names...)
			for _, a := range names[:n] {
				m.control(string(a) + " -> x")
			}
			x := m.activity("x")
			all := make([]message.Message, n)
			for i, a := range names[:n] {
				all[i] = from(b, x, a, message.True, "")
			}
			for b.Loop() {
				s := &State{}
				for i := range all {
					if err := x.Fold(s, all[i]); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
		})
	}
}
