package node

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"fmqm/api"
	"fmqm/processtable"
)

// How long a watcher waits before it asks the nodes again: the longer, the longer nothing
// has come. What happens at its own node it sees at once.
const (
	watchPause   = 300 * time.Millisecond
	watchLongest = 2 * time.Second
)

// eventMark says how much of an instance's history a node has told: from which store, up to
// which moment of the logical clock, and how many events these were. The count is needed: the
// branches of an instance have clocks of their own, so what comes later may stand below.
type eventMark struct {
	Store string `json:"store"` // its incarnation
	Clock uint64 `json:"clock"`
	Count int    `json:"count"`
}

// news gives what of all events of an instance whoever asks has not been told, and the mark
// for next time: what stands above his mark if all below is what he was told, else everything.
func (n *Node) news(all []api.HistoryEvent, told eventMark) ([]api.HistoryEvent, eventMark) {
	own := n.queue.Incarnation()
	mark := eventMark{Store: hex.EncodeToString(own[:]), Count: len(all)}
	above := []api.HistoryEvent{}
	for i := range all {
		mark.Clock = max(mark.Clock, all[i].Clock)
		if all[i].Clock > told.Clock {
			above = append(above, all[i])
		}
	}
	if told.Store == mark.Store && told.Count == len(all)-len(above) {
		return above, mark
	}
	return all, mark
}

// watching is what a watcher has been told of an instance.
type watching struct {
	seen  map[string]bool
	marks map[processtable.NodeID]eventMark
	pause time.Duration
	over  bool // the instance has ended
}

func newWatching() *watching {
	return &watching{seen: map[string]bool{}, marks: map[processtable.NodeID]eventMark{}}
}

// Watch calls event for what has happened and what happens, until the instance ended.
func (n *Node) Watch(ctx context.Context, id api.InstanceID, event func(api.HistoryEvent) error) error {
	changed, end := n.changes.watch(n.sched, id, true)
	defer end()
	for w := newWatching(); ; {
		g, err := n.gatherNews(ctx, id, w.marks)
		if err != nil {
			return err
		}
		for _, e := range w.take(g) {
			if err := event(e); err != nil {
				return err
			}
		}
		if w.over {
			return nil
		}
		if !n.pauseOrChange(ctx, w.pause, changed) {
			return nil
		}
	}
}

// take gives the events that are new to the watcher. A node of an older version tells of no
// mark, and of everything each time.
func (w *watching) take(g *gathered) (fresh []api.HistoryEvent) {
	w.over = !g.reports[g.origin].Removed.IsZero() // only what has ended is removed
	for _, e := range g.history().Events {
		key := fmt.Sprint(e.Node, e.Clock, e.Activity, e.Event, e.Iteration, e.Attempt)
		w.over = w.over || e.Activity == string(processtable.Sink) && (e.Event == api.EventEnded || e.Event == api.EventStopped)
		if !w.seen[key] {
			w.seen[key] = true
			fresh = append(fresh, e)
		}
	}
	for node, r := range g.reports {
		w.marks[processtable.NodeID(node)] = r.Mark
	}
	w.pause = min(2*w.pause, watchLongest)
	if len(fresh) > 0 || w.pause == 0 {
		w.pause = watchPause
	}
	return fresh
}
