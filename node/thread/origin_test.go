package thread

import (
	"slices"
	"testing"

	"fmqm/message"
	"fmqm/processtable"
)

// R40, invariant 11: whether a block has begun is for this node to know where it is the block's home in that instance: of a
// block at the origin, where the instance was started here, as its messages say.
func TestR40WhatABlockAtTheOriginBeginsWith(t *testing.T) {
	w := openWorld(t, `
process: p
version: 1
starts: [A, Z]
activities:
  outer:
    node: A
    activities:
      inner:
        node: _ORIGIN
        activities:
          x: {node: A, program: x}
`, 1)
	m := w.site("A").machine
	x := message.Entry{Instance: identifier(1), Scope: "outer#1/inner#1", Activity: "x"}
	for _, tc := range []struct {
		origin processtable.NodeID
		scope  message.Scope
		around []processtable.ActivityID
	}{
		{"A", "outer#1/inner#1", []processtable.ActivityID{"inner", "outer"}},
		{"Z", "outer#1", []processtable.ActivityID{"outer"}},
	} {
		got, here := m.birth(x, tc.origin)
		if got.scope != tc.scope || !here {
			t.Errorf("of an instance of %s it waits for %q to begin (%v), want %q", tc.origin, got.scope, here, tc.scope)
		}
		var around []processtable.ActivityID
		for _, b := range got.blocks(m, tc.origin) {
			around = append(around, b.Activity)
		}
		if !slices.Equal(around, tc.around) {
			t.Errorf("of an instance of %s the blocks around that live here are %v, want %v", tc.origin, around, tc.around)
		}
	}
	if _, here := m.birth(message.Entry{Instance: identifier(1), Activity: "outer"}, "Z"); here {
		t.Error("what Z has started begins here")
	}
}
