package world

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Totals are of many worlds.
type Totals struct {
	Worlds, Events, Recoveries, Broken int
	Elapsed                            time.Duration // virtual time
	Met                                map[string]int
	hash                               [16]byte // of all of them, in whatever order they ran
}

// Add counts a world.
func (t *Totals) Add(r *Report) {
	t.Worlds++
	t.Events += r.Events
	t.Recoveries += r.Recoveries
	t.Elapsed += r.Elapsed
	if t.Met == nil {
		t.Met = map[string]int{}
	}
	for what, n := range r.Met {
		t.Met[what] += n
	}
	of := sha256.Sum256(fmt.Appendf(nil, "%d %s", r.Plan.Seed, r.Hash))
	for i := range t.hash {
		t.hash[i] ^= of[i]
	}
	if r.Broken != nil {
		t.Broken++
	}
}

// String gives the figures of worlds that took so long.
func (t *Totals) String(took time.Duration) string {
	return fmt.Sprintf("%d worlds (%.0f a minute), %d events, %d recoveries, %.1f virtual hours (%.2f a second), %d broken\nhash %x",
		t.Worlds, float64(t.Worlds)/took.Minutes(), t.Events, t.Recoveries, t.Elapsed.Hours(), t.Elapsed.Hours()/took.Seconds(), t.Broken, t.hash)
}

// Weather tells what of it had an effect, and how often. Of frames it counts those with messages,
// but for those that were slow or stalled.
func (t *Totals) Weather() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.Met)) {
		fmt.Fprintf(&b, ", %s %d", what, t.Met[what])
	}
	return strings.TrimPrefix(b.String(), ", ")
}

// ShrunkStory tells the smallest world that breaks the same invariant as the one that a
// report is of.
func ShrunkStory(r *Report, asks int) string {
	small := Shrink(r.Plan, asks, func(p Plan) bool {
		again := Run(p, Options{})
		return again.Broken != nil && again.Broken.Invariant == r.Broken.Invariant
	})
	return Story(Run(small, Options{Lines: true}))
}
