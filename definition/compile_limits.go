package definition

import (
	"fmt"

	"fmqm/processtable"
)

// tableTooLarge and tablesTooLarge are the limits that only compiling can find.
type tableTooLarge struct {
	node        processtable.NodeID
	bytes, most int
}

func (e *tableTooLarge) Error() string { return e.message() + ": " + e.remedy() }

func (e *tableTooLarge) message() string {
	return fmt.Sprintf("the table of node %s takes %d bytes", e.node, e.bytes)
}

func (e *tableTooLarge) remedy() string {
	return fmt.Sprintf("use at most %d: host fewer activities at %s, map fewer members, or split the process", e.most, e.node)
}

type tablesTooLarge struct{ nodes, fit, most int }

func (e *tablesTooLarge) Error() string { return e.message() + ": " + e.remedy() }

func (e *tablesTooLarge) message() string {
	return fmt.Sprintf("the tables of %d nodes take over %d bytes together", e.nodes, e.most)
}

func (e *tablesTooLarge) remedy() string {
	return fmt.Sprintf("the tables of %d nodes fit: each names every activity and every node in `starts`: name fewer nodes, or split the process", e.fit)
}

type scopeTooLong struct {
	block processtable.ActivityID
	bytes int
}

func (e *scopeTooLong) Error() string { return e.message() + ": " + e.remedy() }

func (e *scopeTooLong) message() string {
	return fmt.Sprintf("what says where an activity inside of the block %s is may take %d bytes", e.block, e.bytes)
}

func (e *scopeTooLong) remedy() string {
	return fmt.Sprintf("use at most %d: shorten the names of the blocks around it", processtable.MaxScope)
}

type startTooLarge struct {
	block             processtable.ActivityID // empty: it is the process's source
	activities, bytes int
}

func (e *startTooLarge) Error() string { return e.message() + ": " + e.remedy() }

func (e *startTooLarge) message() string {
	source := "source"
	if e.block != "" {
		source = fmt.Sprintf("source of the block %s", e.block)
	}
	return fmt.Sprintf("%s is joined with %d activities, and what names them at the start takes %d bytes", source, e.activities, e.bytes)
}

func (e *startTooLarge) remedy() string {
	return fmt.Sprintf("use at most %d, where each activity takes its name, that of its node and %d bytes: shorten the names, or begin with a few empty activities that lead to these",
		maxStart, startEach)
}

// maxStart is how many bytes a start may take to name what source is joined with. One record of
// the audit has all of it (N16), beside up to 32 KiB of other things, and a store takes records
// below 1 MiB.
const maxStart = 1_000_000

// nameBytes is how long the name of an activity's node may be: who starts the process may have any.
func nameBytes(to processtable.ActivityID, node processtable.NodeID) int {
	if node == processtable.Origin && to != processtable.Sink {
		return processtable.MaxName
	}
	return len(node)
}

// startEach is what an activity takes there beside its name and that of its node: marks and
// lengths, and its number in the link.
const startEach = 16

// checkStart holds what source is joined with to maxStart. What has other activities before it has
// too few of them for that.
func (c *graph) checkStart() error {
	joined := map[processtable.ActivityID]bool{}
	bytes := 0
	add := func(to processtable.ActivityID, node processtable.NodeID) {
		if !joined[to] {
			joined[to] = true
			bytes += len(to) + nameBytes(to, node) + startEach
		}
	}
	for _, o := range c.source.OutControl {
		add(o.To, o.Node)
	}
	for _, o := range c.source.OutData {
		add(o.To, o.Node)
	}
	if bytes > maxStart {
		return &startTooLarge{c.inside, len(joined), bytes}
	}
	return nil
}
