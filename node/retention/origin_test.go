package retention

import (
	"testing"

	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/processtable"
	"fmqm/queue/audit"
)

// R40, N16: an instance is over here when all has ended that this node has of it: of what is at the origin, if it was
// started here.
func TestR40WhatIsAtTheOriginEndsThere(t *testing.T) {
	table := definitiontest.TablesOf(t, `
process: p
version: 1
starts: [A, B]
activities:
  note: {node: _ORIGIN, program: p}
  pack: {node: A, program: p}
  round: {node: _ORIGIN, activities: {look: {node: A, program: p}, file: {node: _ORIGIN, program: p}}}
`, definition.CompileOptions{})["A"]
	for _, tc := range []struct {
		origin processtable.NodeID
		ended  []processtable.ActivityID
		want   bool
	}{
		{"B", []processtable.ActivityID{"pack"}, true},
		{"B", nil, false},
		{"A", []processtable.ActivityID{"pack"}, false},
		{"A", []processtable.ActivityID{"note", "pack", "round"}, true},
	} {
		if got := allEnded(table, "A", &audit.Size{Origin: tc.origin, Ended: tc.ended}); got != tc.want {
			t.Errorf("of an instance of %s, with %v ended, all has: %t", tc.origin, tc.ended, got)
		}
	}
}
