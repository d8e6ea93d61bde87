package node

import (
	"testing"

	"fmqm/api"
)

// N27: a claim costs two durable writes, the word and what follows from it, and two more where another site offers the item: that it is
// claimed is told there, and to the process thread.
func TestN27WhatAClaimCosts(t *testing.T) {
	o := newOffering(t)
	before := o.writes()
	o.a.must(o.say(api.WorkClaim, "eve"))
	o.hear(api.ItemClaimed)
	if home, there := o.a.queue.Stats().Commits-before[0], o.b.queue.Stats().Commits-before[1]; home != 2 || there != 2 {
		t.Errorf("it cost %d durable writes at home and %d where it was claimed", home, there)
	}
}

func (o *offering) writes() [2]uint64 {
	return [2]uint64{o.a.queue.Stats().Commits, o.b.queue.Stats().Commits}
}
