package world_test

import (
	"testing"

	"fmqm/sim/world"
)

// N20, N21, invariant 7: a distributed run of bundles and calls is the interpreter's, given which elements had
// returned before the rest was left.
func TestN21BundlesAreTheInterpretersRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		holds(t, calm(seed, world.Bundling, 10))
	}
}
