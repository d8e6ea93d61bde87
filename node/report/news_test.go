package report

import (
	"slices"
	"testing"
	"time"

	"fmqm/api"
)

// A watcher is shown each event once, also of those that one moment of the clock has together: two
// operators were answered, or two elements of a bundle have ended.
func TestAWatcherIsShownEachEventOnce(t *testing.T) {
	at := time.Unix(1, 0)
	events := []api.HistoryEvent{
		{Clock: 3, Time: at, Node: "A", Activity: "a", Event: api.EventAnswered},
		{Clock: 3, Time: at.Add(1), Node: "A", Activity: "a", Event: api.EventAnswered},
		{Clock: 3, Time: at, Node: "A", Scope: "b#1", Activity: "a", Event: api.EventAnswered},
	}
	w := NewWatching()
	for _, want := range []int{3, 0} {
		g := NewGathered("A", api.InstanceID{1})
		g.Add("A", Report{Known: true, Process: "p@1", Events: slices.Clone(events)})
		if got := w.Take(g); len(got) != want {
			t.Errorf("shown %+v, want %d", got, want)
		}
	}
}

// What a node tells who has been told of a part of an instance's history.
func TestNews(t *testing.T) {
	all := []api.HistoryEvent{{Clock: 1}, {Clock: 5}, {Clock: 3}}
	_, now := news("ours", all, Mark{})
	older, restored := Mark{now.Store, 3, 2}, now
	restored.Store = "another"
	for _, c := range []struct {
		name string
		told Mark
		want int
	}{
		{"nothing", Mark{}, 3},
		{"all of it", now, 0},
		{"what stands below the newest", older, 1},
		{"all, but what has come below since, on another branch", Mark{now.Store, 5, 2}, 3},
		{"as many, of another store: one that was put back, and went on otherwise", restored, 3},
		{"more than there is", Mark{now.Store, 5, 4}, 3},
	} {
		if got, mark := news("ours", all, c.told); len(got) != c.want || mark != now || now.Clock != 5 || now.Count != 3 {
			t.Errorf("who was told %s is told %d events and %+v, want %d", c.name, len(got), mark, c.want)
		}
	}
	if got, mark := news("ours", nil, now); len(got) != 0 || mark.Count != 0 {
		t.Errorf("of nothing: %v, %+v", got, mark)
	}
}
