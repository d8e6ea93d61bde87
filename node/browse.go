package node

import (
	"time"

	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/queue"
)

// browse reads on in the queue: after open, and when memory had no room for all that
// is ready. Recovery is this, beside new work, and nothing else (paper §4).
func (c *core) browse(now time.Time) {
	if !c.browsing {
		return
	}
	entries, more, err := c.store.BrowseFrom(c.id(), c.after, browseChunk)
	if err != nil {
		c.fail(err)
		return
	}
	for _, found := range entries {
		c.after = found.Entry
		e := c.table.Get(found.Entry)
		c.census.found(found, e)
		if e == nil {
			c.load(queue.Delivery{Entry: found.Entry, Messages: found.Messages}, now)
		} else if e.Phase == instancetable.Waiting {
			c.consider(e, now)
		}
	}
	if !more {
		c.browsing = false
		c.census.complete = true
		c.table.Scanned()
	}
}

// browseAgain lets the browse begin anew.
func (c *core) browseAgain() {
	c.browsing, c.after = true, message.Entry{}
	c.starts.browse()
	c.census.restart()
}
