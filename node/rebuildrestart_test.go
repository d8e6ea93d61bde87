package node

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/rebuild"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// rebuildsB has B come back on an empty store, and A send again what it lacks. A daemon that was started anew does so too.
func (r *recalls) rebuildsB() {
	r.Helper()
	r.a.settled()
	r.b = newKeeper(r.T, "B", recalledSites)
	r.b.must(r.b.rebuilds.MarkAnew())
	had, has := record.Incarnation{1}, record.Incarnation{2}
	r.a.must(r.a.queue.BindIncarnation("B", had))
	r.a.must(r.a.queue.ReplaceIncarnation("B", has))
	r.a.must(r.a.commit(r.Context(), &record.Tx{Rebuild: &record.Rebuild{Peer: "B", Incarnation: has, Stage: record.StageSending}}))
	r.a.close()
	r.a.openOnly("A")
	r.join()
	ofA := r.a.rebuilds.Standings
	r.a.rebuilds.Standings = func(ctx context.Context, node processtable.NodeID, q []rebuild.Instance) ([]rebuild.Standing, error) {
		if node != "B" {
			return ofA(ctx, node, q)
		}
		report, err := r.b.rebuilds.Lost("A", rebuild.LostQuestion{Instances: q})
		return report.Standings, err
	}
	r.a.Launch()
	if mark := r.a.rebuilt("B"); mark.Instances != 1 {
		r.Fatalf("sent again: %+v", mark)
	}
}

// N30, S4: a site loses its store while it is asked to give back what it had of an activity that is restarted, before that question
// has come to it, or its answer from it: it is sent both again, gives it back, and what the restart comes to is all that it has.
func TestN30ARestartSurvivesARebuild(t *testing.T) {
	for name, asked := range map[string]bool{"not asked": false, "asked": true} {
		t.Run(name, func(t *testing.T) {
			r := newRecalls(t)
			r.restart(api.RestartRequest{Input: json.RawMessage(`{"n": 9}`)})
			if asked {
				r.carry(r.a, r.b)
			}
			r.rebuildsB()
			r.until(func() bool { r.both(); return r.tells(r.a, "assess", record.EventTerminated) == 2 })
			if got := r.finishes(); got != `{"n":9}` {
				t.Errorf("it has come to %s", got)
			}
			r.expect(r.a, "assess", "3 of 0", "48 of 0", "47 of 1", "3 of 1")
			r.expect(r.b, "pay", "48 of 0", "3 of 0")
			r.expect(r.b, "rate", "3 of 0") // again, and what it has told before is no news
		})
	}
}

// N31, S4: what a site is sent again has the priority of the instance, which it knows of nothing else; and so has what it
// sends on.
func TestN31APrioritySurvivesARebuild(t *testing.T) {
	priority := 9
	r := recallsOf(t, &priority)
	clear(r.seen)
	r.rebuildsB()
	r.both()
	r.until(func() bool { r.both(); return r.tells(r.b, "rate", record.EventTerminated) == 1 })
	r.held(r.b, "pay")
	r.both()
	for to, seen := range r.seen {
		if len(seen) == 0 {
			t.Errorf("%s was sent nothing", to.name)
		}
		for i := range seen {
			if m := &seen[i]; m.Rank != message.RankOf(int64(priority)) {
				t.Errorf("%s of %s for %s has rank %d", m.Kind, m.Source, m.Activity, m.Rank)
			}
		}
	}
	if to := r.seen[r.b]; !slices.ContainsFunc(to, func(m message.Message) bool { return m.Activity == "rate" }) || !slices.ContainsFunc(to, func(m message.Message) bool { return m.Activity == "pay" }) {
		t.Errorf("B was sent again %d messages, and not for both", len(to))
	}
	for _, a := range []processtable.ActivityID{"rate", "pay"} {
		for _, h := range r.history(r.b, a) {
			if h.Rank != message.RankOf(int64(priority)) {
				t.Errorf("the end of %s says rank %d", a, h.Rank)
			}
		}
	}
}
