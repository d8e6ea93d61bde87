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
	Over  bool // the instance has ended, and nobody has more to tell
	ended bool
}

func NewWatching() *Watching {
	return &Watching{seen: map[string]bool{}, Marks: map[processtable.NodeID]Mark{}}
}

// Take gives the events that are new to the watcher. A node of an older version tells of no
// mark, and of everything each time.
func (w *Watching) Take(g *Gathered) (fresh []api.HistoryEvent) {
	w.ended = w.ended || !g.atOrigin().Removed.IsZero() // only what has ended is removed
	for _, e := range g.History().Events {
		key := fmt.Sprint(e.Node, e.Clock, e.Time.UnixNano(), e.Scope, e.Activity, e.Event, e.Iteration, e.Attempt)
		w.ended = w.ended || e.Scope == "" && e.Activity == string(processtable.Sink) && (e.Event == api.EventEnded || e.Event == api.EventStopped)
		if !w.seen[key] {
			w.seen[key] = true
			fresh = append(fresh, e)
		}
	}
	w.Over = w.ended // unless somebody has more to tell, and goes on telling it
	for node, r := range g.Reports {
		goesOn := r.Mark.At != 0 && r.Mark != w.Marks[processtable.NodeID(node)]
		w.Over = w.Over && !goesOn
		w.Marks[processtable.NodeID(node)] = r.Mark
	}
	w.Pause = min(2*w.Pause, watchLongest)
	if len(fresh) > 0 || w.Pause == 0 {
		w.Pause = watchPause
	}
	return fresh
}
