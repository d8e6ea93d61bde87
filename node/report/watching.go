package report

import (
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

// Watching is what a watcher has been told of an instance.
type Watching struct {
	seen  map[string]bool
	Marks map[processtable.NodeID]Mark
	Pause time.Duration
	Over  bool // the instance has ended
}

func NewWatching() *Watching {
	return &Watching{seen: map[string]bool{}, Marks: map[processtable.NodeID]Mark{}}
}

// Take gives the events that are new to the watcher. A node of an older version tells of no
// mark, and of everything each time.
func (w *Watching) Take(g *Gathered) (fresh []api.HistoryEvent) {
	w.Over = !g.atOrigin().Removed.IsZero() // only what has ended is removed
	for _, e := range g.History().Events {
		key := fmt.Sprint(e.Node, e.Clock, e.Time.UnixNano(), e.Scope, e.Activity, e.Event, e.Iteration, e.Attempt)
		w.Over = w.Over || e.Scope == "" && e.Activity == string(processtable.Sink) && (e.Event == api.EventEnded || e.Event == api.EventStopped)
		if !w.seen[key] {
			w.seen[key] = true
			fresh = append(fresh, e)
		}
	}
	for node, r := range g.Reports {
		w.Marks[processtable.NodeID(node)] = r.Mark
	}
	w.Pause = min(2*w.Pause, watchLongest)
	if len(fresh) > 0 || w.Pause == 0 {
		w.Pause = watchPause
	}
	return fresh
}
