package report

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/api"
	"fmqm/processtable"
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
	older, restored := Mark{Store: now.Store, Clock: 3, Count: 2}, now
	restored.Store = "another"
	for _, c := range []struct {
		name string
		told Mark
		want int
	}{
		{"nothing", Mark{}, 3},
		{"all of it", now, 0},
		{"what stands below the newest", older, 1},
		{"all, but what has come below since, on another branch", Mark{Store: now.Store, Clock: 5, Count: 2}, 3},
		{"as many, of another store: one that was put back, and went on otherwise", restored, 3},
		{"more than there is", Mark{Store: now.Store, Clock: 5, Count: 4}, 3},
	} {
		if got, mark := news("ours", all, c.told); len(got) != c.want || mark != now || now.Clock != 5 || now.Count != 3 {
			t.Errorf("who was told %s is told %d events and %+v, want %d", c.name, len(got), mark, c.want)
		}
	}
	if got, mark := news("ours", nil, now); len(got) != 0 || mark.Count != 0 {
		t.Errorf("of nothing: %v, %+v", got, mark)
	}
}

// However little an answer takes, a watcher is told of all events, also of those that come in between,
// wherever they stand. With every answer he is told of some.
func TestNewsInParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []api.HistoryEvent
		come := func(most int) {
			for range rapid.IntRange(0, most).Draw(t, "come") {
				all = append(all, api.HistoryEvent{
					Clock: rapid.Uint64Range(1, 4).Draw(t, "clock"), Time: time.Unix(9, rapid.Int64Range(1, 4).Draw(t, "time")),
					Attempt: len(all) + 1, Reason: strings.Repeat("r", rapid.IntRange(0, 300).Draw(t, "reason")),
				})
			}
		}
		come(20)
		limit := jsonSize(Report{Mark: Mark{Store: "ours", Clock: 9, Count: 99}}) + rapid.IntRange(1000, 6000).Draw(t, "room")
		seen, told := map[int]bool{}, Mark{}
		for parts := 1; ; parts++ {
			r := Report{}
			r.Events, r.Mark = news("ours", slices.Clone(all), told)
			much := len(r.Events) > 0
			together := map[Mark]int{} // the sizes of what a mark does not part
			for _, e := range r.Events {
				together[Mark{Clock: e.Clock, At: e.Time.UnixNano()}] += jsonSize(e) + 1
			}
			fits := slices.Max(append(slices.Collect(maps.Values(together)), 0)) < 900
			r.Fit(limit, true)
			if size := jsonSize(r); size > limit || much && len(r.Events) == 0 {
				t.Fatalf("%d bytes of %d, %d events", size, limit, len(r.Events))
			}
			if !fits { // more than an answer takes in one moment: the newest of that are told
				t.Skip()
			}
			for _, e := range r.Events {
				seen[e.Attempt] = true
			}
			if told = r.Mark; told.At == 0 {
				break
			}
			if parts > 100 {
				t.Fatalf("told of %d events of %d in %d answers", len(seen), len(all), parts)
			}
			if parts < 3 {
				come(3)
			}
		}
		if len(seen) != len(all) {
			t.Fatalf("told of %d events of %d", len(seen), len(all))
		}
	})
}

// Who watches stays until every site that has more to tell has told it; and does not wait for one that
// says so and tells nothing.
func TestAWatcherStaysForWhatIsNotToldYet(t *testing.T) {
	w := NewWatching()
	for _, part := range []struct {
		mark Mark
		over bool
	}{
		{Mark{Clock: 3, Count: 1, At: 7}, false},
		{Mark{Clock: 4, Count: 2, At: 2}, false},
		{Mark{Clock: 4, Count: 2, At: 2}, true},
		{Mark{Clock: 5, Count: 3}, true},
	} {
		g := NewGathered("A", api.InstanceID{1})
		g.Add("A", Report{Known: true, Process: "p@1", Origin: "A", Events: []api.HistoryEvent{{Node: "A", Activity: string(processtable.Sink), Event: api.EventEnded}}})
		g.Add("B", Report{Known: true, Process: "p@1", Mark: part.mark})
		if w.Take(g); w.Over != part.over {
			t.Errorf("after %+v: over %t", part.mark, w.Over)
		}
	}
}
