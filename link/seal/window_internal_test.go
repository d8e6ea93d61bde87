package seal

import (
	"testing"

	"pgregory.net/rapid"
)

// The window is a set of the numbers seen, of which those that are too old are never
// asked for again.
func TestWindowAgainstASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		seen := map[uint64]bool{}
		var top uint64
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			var n uint64
			switch near := rapid.Uint64Range(0, 2*Window).Draw(t, "near"); rapid.IntRange(0, 3).Draw(t, "where") {
			case 0:
				n = top + 1
			case 1:
				n = top + near
			case 2:
				n = top - min(near, top)
			default:
				n = top - min(near%130, top)
			}
			if n == 0 {
				continue
			}
			want := !seen[n] && (n > top || top-n < Window)
			if got := w.fresh(n); got != want {
				t.Fatalf("fresh(%d) = %v with the newest %d", n, got, top)
			}
			if want {
				w.mark(n)
				seen[n], top = true, max(top, n)
			}
		}
	})
}

func TestWindowAtTheEndOfNumbers(t *testing.T) {
	var w window
	for _, n := range []uint64{1, 1<<64 - 2, 1<<64 - 1, 1<<64 - Window} {
		if !w.fresh(n) {
			t.Errorf("%d is not fresh", n)
		}
		w.mark(n)
		if w.fresh(n) {
			t.Errorf("%d is fresh twice", n)
		}
	}
	if w.fresh(1<<64 - 1 - Window) {
		t.Error("a number behind the window is fresh")
	}
}
