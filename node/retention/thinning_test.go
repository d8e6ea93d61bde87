package retention

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// Whatever is offered, the oldest behind the floor are kept, in order.
func TestOldestCandidates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.SliceOf(rapid.Custom(func(t *rapid.T) candidate {
			return candidate{last: rapid.Int64Range(1, 20).Draw(t, "last"), instance: uuid.UUID{rapid.Byte().Draw(t, "instance")}}
		})).Draw(t, "candidates")
		o := oldest{limit: rapid.IntRange(1, 10).Draw(t, "limit"), floor: candidate{last: rapid.Int64Range(0, 10).Draw(t, "floor")}}
		for _, c := range drawn {
			o.offer(c)
		}
		var want []candidate
		for _, c := range drawn {
			if o.floor == (candidate{}) || o.floor.compare(c) < 0 {
				want = append(want, c)
			}
		}
		slices.SortFunc(want, candidate.compare)
		want = want[:min(len(want), o.limit)]
		if got := o.sorted(); !slices.Equal(got, want) {
			t.Fatalf("%v, expected %v", got, want)
		}
	})
}
