package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// watched is a watcher at A, and what B tells it in one round.
type watched struct {
	*keepers
	id     message.InstanceID
	w      *report.Watching
	old    bool // B is of an older version
	events int
	bytes  int
}

func newWatched(t *testing.T) *watched {
	w := &watched{keepers: newKeepers(t), id: uuid.UUID{7}, w: report.NewWatching()}
	w.a.query = func(ctx context.Context, _ processtable.NodeID, kind string, body []byte) ([]byte, error) {
		var q, r map[string]json.RawMessage
		w.a.must(json.Unmarshal(body, &q))
		if w.old {
			delete(q, "told")
		}
		body, err := json.Marshal(q)
		w.a.must(err)
		reply, err := w.b.respond(ctx, "A", kind, body)
		w.a.must(err)
		w.a.must(json.Unmarshal(reply, &r))
		if w.old {
			delete(r, "mark")
		}
		var events []api.HistoryEvent
		if r["events"] != nil {
			w.a.must(json.Unmarshal(r["events"], &events))
		}
		w.events, w.bytes = w.events+len(events), w.bytes+len(reply)
		reply, err = json.Marshal(r)
		w.a.must(err)
		return reply, nil
	}
	return w
}

// round is what the watcher sees that is new, and of which B has told so many events.
func (w *watched) round() (fresh string, events int) {
	w.a.Helper()
	w.events, w.bytes = 0, 0
	g, err := w.a.answers.GatherNews(context.Background(), w.id, w.w.Marks)
	w.a.must(err)
	var all []string
	for _, e := range w.w.Take(g) {
		all = append(all, fmt.Sprintf("%s %s", e.Activity, e.Event))
	}
	return strings.Join(all, ", "), w.events
}

func (w *watched) expect(why, fresh string, events int) {
	w.a.Helper()
	if got, told := w.round(); got != fresh || told != events {
		w.a.Errorf("%s: %q, of which B has told %d events; want %q and %d", why, got, told, fresh, events)
	}
}

// A watcher is told of each event once. Where nothing has happened a node tells of none; one
// of an older version tells of all each time, and one that has lost its store begins anew.
func TestAWatcherIsToldWhatIsNew(t *testing.T) {
	w := newWatched(t)
	w.a.must(w.a.start(w.id, `{"n": 7, "text": "`+strings.Repeat("long ", 1000)+`"}`))
	w.a.await(w.id, "go", record.EventTerminated)
	w.a.settled()
	toB := w.a.sent("B")
	w.expect("nothing has come to B", "source started, go terminated, dead passed", 0)

	for _, m := range toB {
		w.b.take(m)
	}
	w.b.await(w.id, "work", record.EventTerminated)
	w.b.settled()
	toA := w.b.sent("A")
	w.expect("B has worked", "dead skipped, work terminated", 2)
	if w.bytes > 2000 {
		t.Errorf("that took %d bytes: outputs are not asked for", w.bytes)
	}
	w.expect("nothing has happened", "", 0)
	w.old = true
	w.expect("B is of an older version", "", 2)
	w.expect("and again", "", 2)
	w.old = false
	w.expect("it is upgraded: nobody knows what it has told", "", 2)
	w.expect("now it is known", "", 0)

	was := w.b
	w.b = newKeeper(t, "B", retainedSites)
	w.b.take(toB...)
	w.b.await(w.id, "work", record.EventTerminated)
	w.b.settled()
	w.expect("B has lost its store, and has done it once more", "", 2)
	w.b = was
	w.expect("the store was found", "", 2)

	w.a.take(toA...)
	w.a.await(w.id, processtable.Sink, record.EventEnded)
	w.a.settled()
	w.expect("it is over", "sink ended", 0)
	if !w.w.Over {
		t.Error("the watcher goes on")
	}
}

// The longer nothing comes the more rarely the nodes are asked.
func TestAWatcherAsksMoreRarelyWhileNothingComes(t *testing.T) {
	w := newWatched(t)
	w.a.must(w.a.start(w.id, `{"n": 7}`))
	w.a.await(w.id, "go", record.EventTerminated)
	w.a.settled()
	var pauses []time.Duration
	for range 5 {
		w.round()
		pauses = append(pauses, w.w.Pause)
	}
	w.b.take(w.a.sent("B")...)
	w.b.await(w.id, "work", record.EventTerminated)
	w.b.settled()
	w.round()
	if got, want := fmt.Sprint(append(pauses, w.w.Pause)), "[300ms 600ms 1.2s 2s 2s 300ms]"; got != want {
		t.Errorf("it waits %s, want %s", got, want)
	}
}

// Where a site has more to tell than an answer over a link takes, it tells a watcher the oldest of it
// first and the rest when it is asked again; he stays until all is told.
func TestAWatcherIsToldOfALongHistoryInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // however long it takes to tell so much
		w := newWatched(t)
		w.run(w.id)
		const many, ofOneMoment = 5000, 2000
		for i := range many {
			// Those of one moment are elements of a bundle.
			w.b.must(w.b.commit(t.Context(), &record.Tx{Audit: []record.AuditRecord{{
				Time: w.b.clock.Now().Add(time.Duration(i)), Clock: uint64(max(10, 10+i-ofOneMoment)), Instance: w.id, Origin: "A",
				Process:  processtable.ProcessID{Name: "two", Version: 1},
				Activity: "work", Event: record.EventFailed, Attempt: i + 1, Reason: strings.Repeat("long ", 200),
			}}}))
		}
		var told []int
		for parts := 0; !w.w.Over && parts < 10; parts++ {
			g, err := w.a.answers.GatherNews(context.Background(), w.id, w.w.Marks)
			w.a.must(err)
			for _, e := range w.w.Take(g) {
				if e.Event == api.EventFailed {
					told = append(told, e.Attempt)
				}
			}
		}
		if len(told) != many || !slices.IsSorted(told) {
			t.Errorf("told of %d events of %d, in order: %t", len(told), many, slices.IsSorted(told))
		}
	})
}
