package link_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"fmqm/link"
)

// 200,000 items wait for a peer that comes back: they are streamed at full rate, in
// memory that does not grow with them.
func TestLongQueueIsStreamedInBoundedMemory(t *testing.T) {
	const n = 200_000
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	a.store.Put(0, slices.Repeat([]string{strings.Repeat("x", 200)}, n)...)
	b.store.KeepNothing = true
	b.run(b.options("A", nil))
	a.run(a.options("B", a.dialer(b)))
	a.untilState(link.StateConnected)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.store.UntilAccepted(t, 0, n/2+1)
	runtime.GC()
	runtime.ReadMemStats(&during)
	a.store.UntilTrimmed(t, 0)
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 24<<20 {
		t.Fatalf("the heap grew by %d bytes", grown)
	}
}

// BenchmarkItems carries items of 200 bytes over loopback, from an outbox in memory
// to an inbox in memory.
func BenchmarkItems(b *testing.B) {
	x, y := pair(b, false)
	y.store.KeepNothing = true
	payloads := slices.Repeat([]string{strings.Repeat("x", 200)}, b.N)
	b.SetBytes(200)
	b.ResetTimer()
	x.store.Put(0, payloads...)
	x.store.UntilTrimmed(b, 0)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
}

// BenchmarkRoundTrip is one item there and its acknowledgement back.
func BenchmarkRoundTrip(b *testing.B) {
	x, y := pair(b, false)
	y.store.KeepNothing = true
	for b.Loop() {
		x.store.Put(0, "one")
		x.store.UntilTrimmed(b, 0)
	}
}

// BenchmarkQuery is one question and its answer.
func BenchmarkQuery(b *testing.B) {
	x, _ := pair(b, false)
	for b.Loop() {
		if _, err := x.link.Query(b.Context(), "status", []byte("7")); err != nil {
			b.Fatal(err)
		}
	}
}
