package node

import (
	"testing"

	"fmqm/api"
)

// Metrics say how many items of a node's worklists nobody has, and how many somebody has.
func TestMetricsOfWorkItems(t *testing.T) {
	o := newOffering(t)
	counts := func(k *keeper) [2]int {
		s, err := k.Stats()
		o.a.must(err)
		return [2]int{s.Offered, s.Claimed}
	}
	if there := counts(o.b); there != [2]int{1, 0} {
		t.Errorf("offered and claimed, before: %v", there)
	}
	o.a.must(o.say(api.WorkClaim, "eve"))
	o.hear(api.ItemClaimed)
	if there := counts(o.b); there != [2]int{0, 1} {
		t.Errorf("offered and claimed, after: %v", there)
	}
}
