package navigator

import (
	"testing"

	"fmqm/message"
)

// BenchmarkChainStep is what navigation costs one step of a chain of noop activities:
// fold its message, decide, conclude. Target: below 10 µs.
func BenchmarkChainStep(b *testing.B) {
	x := newModel(b, "a", "x", "y").control("a -> x", "x -> y: _RC == 0").data("a -> x: n = n, text = text", "x -> y: n = n, text = text").activity("x")
	m := from(b, x, "a", message.True, `{"n": 4, "text": "a small container"}`)
	r := ran(b, 0, `{"n": 4, "text": "a small container"}`)
	b.ReportAllocs()
	for b.Loop() {
		s := &State{Entry: m.Entry()}
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
