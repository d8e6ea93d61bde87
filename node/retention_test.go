package node

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/link/linktest"
	"fmqm/message"
	"fmqm/node/rebuild"
	"fmqm/node/retention"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// N2: a repeat of a start whose audit was removed gives the same instance, or a refusal of
// other content, and runs nothing: also after a restart. Status and history say what is gone.
func TestRetentionRefusesAnotherRunOfAStart(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7, 6: 0x70, 8: 0x80}
	p.run(id)
	p.a.clock.pass(day90 + time.Hour)
	if s := p.a.round(retention.Policy{Age: day90}); s.Removed != 1 || s.Remnants != 1 || s.Instances != 0 || s.Bytes != 0 || s.Overdue != 0 || p.a.records(id) != 0 {
		t.Fatalf("%+v, %d records", s, p.a.records(id))
	}
	for range 2 {
		invoked := p.a.invoked()
		p.a.must(p.a.start(id, `{"n": 7}`))
		if err := p.a.start(id, `{"n": 8}`); err == nil || !strings.Contains(err.Error(), "another input") {
			t.Errorf("another input: %v", err)
		}
		err := p.a.Begin(context.Background(), api.StartRequest{Instance: id, Process: "two@1", Input: json.RawMessage(`{"n": 7}`), Key: "tuesday"})
		if err == nil || !strings.Contains(err.Error(), `the key "monday"`) {
			t.Errorf("another key: %v", err)
		}
		p.a.settled()
		if p.a.invoked() != invoked || p.a.records(id) != 0 || len(p.a.sent("B")) != 0 {
			t.Error("it was started again")
		}
		s, err := p.a.Status(context.Background(), id)
		p.a.must(err)
		if s.State != api.InstanceFinished || s.Key != "monday" || s.Started.IsZero() || s.Ended.IsZero() || len(s.Removed) != 1 || s.Removed[0].Node != "A" {
			t.Errorf("status: %+v", s)
		}
		h, err := p.a.History(context.Background(), id)
		p.a.must(err)
		if len(h.Events) != 0 || len(h.Removed) != 1 {
			t.Errorf("history: %+v", h)
		}
		p.a.must(p.a.Watch(context.Background(), id, func(e api.HistoryEvent) error { return errors.New("an event: " + string(e.Event)) }))
		if l, err := p.a.List(context.Background(), api.ListRequest{All: true, Limit: 10}); err != nil || len(l.Instances) != 0 {
			t.Errorf("listed: %+v, %v", l, err)
		}
		if e := asAPI(p.a.Terminate(context.Background(), id, "")); e == nil || e.Code != api.CodeRefused {
			t.Errorf("terminated: %v", e)
		}
		p.restart()
	}
}

// N7: what arrives for an instance whose audit was removed is late. It makes no entry, runs
// nothing, and is set aside; at both nodes, and after a restart.
func TestRetentionRefusesWhatIsLate(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	toB, toA := p.run(id)
	p.a.clock.pass(day90 + time.Hour)
	p.b.clock.pass(day90 + time.Hour)
	for _, k := range []*keeper{p.a, p.b} { // the origin first: it still says that the instance has ended
		if s := k.round(retention.Policy{Age: day90}); s.Removed != 1 {
			t.Fatalf("%s: %+v", k.name, s)
		}
	}
	for range 2 {
		for k, messages := range map[*keeper][]message.Message{p.a: toA, p.b: toB} {
			before, err := k.queue.RefusedList(100)
			k.must(err)
			k.take(messages...)
			k.settled()
			aside, err := k.queue.RefusedList(100)
			k.must(err)
			if quiet, what := k.Quiet(); !quiet || k.invoked() != 0 && len(before) > 0 || k.records(id) != 0 {
				t.Errorf("%s: %s; %d attempts, %d records", k.name, what, k.invoked(), k.records(id))
			}
			if len(aside) != len(before)+len(messages) || !strings.Contains(aside[0].Reason, "retention has removed its audit") {
				t.Errorf("%s: %d of %d messages were set aside: %+v", k.name, len(aside)-len(before), len(messages), aside)
			}
		}
		p.restart()
	}
}

// N7: of an instance that an operator terminated, what arrives late is absorbed, also for
// an activity that never had an entry.
func TestRetentionAbsorbsWhatIsLateForATerminatedInstance(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	p.a.must(p.a.start(id, `{"n": 7}`))
	p.a.await(id, "go", record.EventTerminated)
	toB := p.a.sent("B")
	p.a.must(p.a.Terminate(context.Background(), id, ""))
	p.a.await(id, processtable.Sink, record.EventStopped)
	marker := p.a.sent("B")
	p.b.take(slices.DeleteFunc(slices.Clone(toB), func(m message.Message) bool { return m.Activity != "dead" })...)
	p.b.settled()
	p.b.take(marker...)
	p.b.await(id, "dead", record.EventStopped, record.EventSkipped)
	p.b.settled()
	p.a.clock.pass(day90 + time.Hour)
	p.b.clock.pass(day90 + time.Hour)
	for _, k := range []*keeper{p.a, p.b} {
		if s := k.round(retention.Policy{Age: day90}); s.Removed != 1 {
			t.Fatalf("%s: %+v", k.name, s)
		}
	}
	p.b.take(toB...)
	p.b.settled()
	quiet, what := p.b.Quiet()
	aside, err := p.b.queue.RefusedList(10)
	if !quiet || err != nil || len(aside) != 0 || p.b.invoked() != 0 || p.b.records(id) != 0 {
		t.Errorf("%s; set aside %+v, %v; %d attempts, %d records", what, aside, err, p.b.invoked(), p.b.records(id))
	}
	if s, err := p.a.Status(context.Background(), id); err != nil || s.State != api.InstanceTerminated {
		t.Errorf("%+v, %v", s, err)
	}
}

// S4: nothing is removed of an instance that has not ended, or of which it is not known,
// however old and large it is; and as soon as it is known, it is.
func TestRetentionKeepsWhatHasNotEnded(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	policy := retention.Policy{Age: day90, Bytes: 1}
	keeps := func(k *keeper, why string) {
		t.Helper()
		records := k.records(id)
		if s := k.round(policy); s.Removed != 0 || s.Overdue != 1 || s.Instances != 1 || s.Bytes == 0 || k.records(id) != records || records == 0 {
			t.Errorf("%s, %s: %+v, %d records of %d", k.name, why, s, k.records(id), records)
		}
	}
	p.a.must(p.a.start(id, `{"n": 7}`))
	p.a.await(id, "go", record.EventTerminated)
	p.a.clock.pass(2 * day90)
	p.b.clock.pass(2 * day90)
	keeps(p.a, "it runs")
	p.b.take(p.a.sent("B")...)
	p.b.await(id, "work", record.EventTerminated)
	p.b.settled()
	p.b.clock.pass(2 * day90)
	keeps(p.b, "its origin says that it runs")
	p.a.take(p.b.sent("A")...)
	p.a.await(id, processtable.Sink, record.EventEnded)
	p.a.settled()
	p.silent = true
	keeps(p.b, "its origin is silent")
	p.silent = false
	lost := newKeeper(t, "A", retainedSites)
	found := p.a
	p.a = lost
	keeps(p.b, "its origin has lost its store, and may start it again")
	p.a = found
	if s := p.b.round(policy); s.Removed != 1 || p.b.records(id) != 0 || s.Overdue != 0 {
		t.Errorf("%+v", s)
	}
}

// N6, N7: an instance ends without the dead activities that were passed around. What is
// still on its way to one is absorbed, and not late: until it has come, everything is kept.
func TestRetentionKeepsWhereSomethingIsOnItsWay(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	p.a.must(p.a.start(id, `{"n": 7}`))
	p.a.await(id, "go", record.EventTerminated)
	toB := p.a.sent("B")
	slices.SortFunc(toB, func(a, b message.Message) int { return -strings.Compare(string(a.Activity), string(b.Activity)) })
	if len(toB) != 3 || toB[0].Activity != "work" || toB[1].Activity != "dead" || toB[2].Activity != "dead" {
		t.Fatalf("sent: %+v", toB)
	}
	p.b.take(toB[0])
	p.b.await(id, "work", record.EventTerminated)
	p.b.settled()
	p.a.take(p.b.sent("A")...)
	p.a.await(id, processtable.Sink, record.EventEnded)
	p.a.settled()
	p.b.clock.pass(2 * day90)
	for _, m := range toB[1:] {
		if s := p.b.round(retention.Policy{Age: day90}); s.Removed != 0 || s.Overdue != 1 {
			t.Errorf("before the message from %s: %+v", m.Source, s)
		}
		p.b.take(m)
		p.b.settled()
		p.b.clock.pass(2 * day90)
	}
	if s := p.b.round(retention.Policy{Age: day90}); s.Removed != 1 {
		t.Errorf("%+v", s)
	}
	if aside, err := p.b.queue.RefusedList(10); err != nil || len(aside) != 0 {
		t.Errorf("set aside: %+v, %v", aside, err)
	}
}

// Retention slows nobody: each step is followed by a pause of three times its length.
func TestRetentionYields(t *testing.T) {
	p := newKeepers(t)
	for n := range 3 {
		p.run(uuid.UUID{byte(n + 1)})
	}
	clock := p.a.clock
	clock.pass(2 * day90)
	clock.goOn(time.Millisecond)
	p.a.retain.Bounds.Page = 2
	if s := p.a.round(retention.Policy{Age: day90}); s.Removed != 3 {
		t.Fatalf("%+v", s)
	}
	pauses := clock.goOn(0)
	if len(pauses) != 2+1+3 { // pages, a batch to judge, removals
		t.Errorf("pauses: %v", pauses)
	}
	for _, d := range pauses {
		if d < 3*time.Millisecond {
			t.Errorf("a pause of %s after a step of a millisecond", d)
		}
	}
}

// Nothing is removed by a policy that was withdrawn: a round that is under way stops, and the next one,
// by the new policy, begins at once.
func TestRetentionStopsWhenItsPolicyIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newKeepers(t)
		const instances = 5
		for n := range byte(instances) {
			p.run(uuid.UUID{n + 1})
		}
		p.a.clock.pass(day90 + time.Hour)
		removed := func() int {
			n, err := p.a.queue.CountRemoved()
			p.a.must(err)
			return int(n)
		}
		synctest.Wait()
		withdrawn := false
		p.a.clock.looked = func() { // by retention alone: nothing else is under way
			if !withdrawn && removed() == 2 {
				withdrawn = true
				p.a.retain.SetPolicy(retention.Policy{Age: 2 * day90})
			}
		}
		p.a.retain.SetPolicy(retention.Policy{Age: day90})
		synctest.Wait()
		if s, looked := p.a.AuditStats(); removed() != 2 || !looked || s.Remnants != 2 || s.Instances != instances-2 || s.Overdue != 0 {
			t.Errorf("%d of %d instances are removed, and the round by the new policy found %+v (%t)", removed(), instances, s, looked)
		}
		p.a.retain.SetPolicy(retention.Policy{Age: day90})
		synctest.Wait()
		if removed() != instances {
			t.Errorf("%d of %d instances are removed, once they may be again", removed(), instances)
		}
	})
}

// A node that was killed between two transactions finds the rest of what it had begun to
// remove, by any policy, and refuses a repeat meanwhile.
func TestRetentionGoesOnAfterAKill(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	p.run(id)
	records := p.a.records(id)
	for left := records; left > 0; left = p.a.records(id) {
		tx, _, err := p.a.queue.Forget(audit.Forget{Instance: id, Time: p.a.clock.Now(), Limit: 1})
		p.a.must(err)
		p.a.must(p.a.commit(context.Background(), tx))
		if p.a.records(id) != left-1 {
			t.Fatalf("%d records of %d are left", p.a.records(id), left)
		}
		p.restart()
		p.a.must(p.a.start(id, `{"n": 7}`))
		if s, err := p.a.Status(context.Background(), id); err != nil || s.State != api.InstanceFinished || len(s.Removed) != 1 {
			t.Errorf("%d records are left: %+v, %v", left-1, s, err)
		}
		if left == records/2+1 {
			break
		}
	}
	p.a.retain.Bounds.Records = 1
	if s := p.a.round(retention.Policy{Age: day90}); p.a.records(id) != 0 || s.Instances != 0 || s.Remnants != 1 {
		t.Errorf("%+v, %d records", s, p.a.records(id))
	}
	if p.a.invoked() != 0 {
		t.Error("it ran again")
	}
}

// What is too large for one transaction goes in several: keys may be long, and what lies apart has many pieces
// (world 4239: a node that had more to remove than its disk took at once stopped).
func TestRetentionRemovesInSmallerLotsWhatIsTooLarge(t *testing.T) {
	p := newKeepers(t)
	id := uuid.UUID{7}
	p.run(id)
	p.a.each = commit.MaxLarge / 7 // the start's removal with its places in lists, and what stays, but not that of all four
	p.a.clock.pass(2 * day90)
	if s := p.a.round(retention.Policy{Age: day90}); p.a.records(id) != 0 || s.Instances != 0 || s.Remnants != 1 {
		t.Errorf("%+v, %d records", s, p.a.records(id))
	}
}

// The oldest go first: by age none that is younger, by bytes no more than it takes; with
// memory for two candidates at a time as with memory for all.
func TestRetentionRemovesTheOldestFirst(t *testing.T) {
	for _, candidates := range []int{2, 100} {
		p := newKeepers(t)
		p.a.retain.Bounds.Candidates, p.a.retain.Bounds.Page = candidates, 3
		var ids []message.InstanceID
		for n := range 10 {
			id := uuid.UUID{byte(200 - 13*n)} // the older, the further behind
			ids = append(ids, id)
			p.run(id)
			p.a.clock.pass(24 * time.Hour)
			p.b.clock.pass(24 * time.Hour)
		}
		running := uuid.UUID{1}
		p.a.must(p.a.start(running, `{"n": 7}`))
		p.a.await(running, "go", record.EventTerminated)
		p.a.settled()
		left := func() (all []message.InstanceID) {
			for _, id := range ids {
				if p.a.records(id) > 0 {
					all = append(all, id)
				}
			}
			return all
		}
		s := p.a.round(retention.Policy{Age: 7*24*time.Hour + time.Hour})
		if got := left(); !slices.Equal(got, ids[3:]) || s.Removed != 3 || s.Instances != 8 {
			t.Errorf("%d candidates, by age: %v of %v, %+v", candidates, got, ids, s)
		}
		one, _, err := p.a.queue.AuditSizeOf(ids[9])
		p.a.must(err)
		limit := s.Bytes - 2*one.Bytes - one.Bytes/2
		s = p.a.round(retention.Policy{Bytes: limit})
		if got := left(); !slices.Equal(got, ids[6:]) || s.Removed != 6 || s.Bytes > limit || s.Bytes < limit-one.Bytes {
			t.Errorf("%d candidates, by bytes: %v of %v, %+v of %d", candidates, got, ids, s, limit)
		}
		if again := p.a.round(retention.Policy{Bytes: limit}); again != s {
			t.Errorf("another round: %+v, before %+v", again, s)
		}
		p.a.must(p.a.retain.Round(context.Background(), retention.Policy{}))
		if _, looked := p.a.AuditStats(); looked || len(left()) != 4 {
			t.Error("without limits something was removed, or looked at")
		}
	}
}

// S4: where a peer lost what was removed here, the rebuilding says so. What the peer has
// under way of an instance that has ended is ended by a marker; what was started there and
// is unknown there, or runs there again from an older copy, is named.
func TestRebuildNamesWhatWasRemoved(t *testing.T) {
	p := newKeepers(t)
	ended, gone, again := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	for _, id := range []message.InstanceID{ended, gone, again} {
		p.run(id)
	}
	p.a.clock.pass(day90 + time.Hour)
	p.b.clock.pass(day90 + time.Hour)
	p.b.round(retention.Policy{Age: day90})
	p.a.round(retention.Policy{Age: day90})

	// B has come back from an older copy, where something of one instance is under way.
	at := map[message.InstanceID]rebuild.Standing{ended: {Open: true}}
	lie := func(peer processtable.NodeID, own *rebuild.Rebuilds) {
		honest := own.Standings
		own.Standings = func(ctx context.Context, node processtable.NodeID, q []rebuild.Instance) (all []rebuild.Standing, err error) {
			if node != peer {
				return honest(ctx, node, q)
			}
			for _, i := range q {
				all = append(all, at[i.Instance])
			}
			return all, nil
		}
	}
	lie("B", p.a.rebuilds)
	known, _ := p.a.queue.KnownIncarnation("B")
	p.a.must(p.a.commit(context.Background(), &record.Tx{Rebuild: &record.Rebuild{Peer: "B", Incarnation: known, Stage: record.StageSending}}))
	p.a.must(p.a.rebuilds.Resume())
	mark := p.a.rebuilt("B")
	sent := p.a.sent("B")
	if len(sent) != 1 || sent[0].Kind != message.KindMarker || sent[0].Instance != ended || mark.Instances != 1 {
		t.Errorf("sent: %+v, %+v", sent, mark)
	}

	// A has come back: it does not know one instance, and another runs there again.
	at = map[message.InstanceID]rebuild.Standing{ended: {Started: true, Ended: true}, again: {Started: true, Open: true}}
	lie("A", p.b.rebuilds)
	told, err := p.b.rebuilds.Report(context.Background(), record.Rebuild{Peer: "A", Stage: record.StageDone})
	p.b.must(err)
	if len(told.Removed) != 2 || told.Removed[0].Instance != gone || told.Removed[0].Running ||
		told.Removed[1].Instance != again || !told.Removed[1].Running || len(told.Unknown) != 0 {
		t.Errorf("named: %+v", told)
	}
}

// rebuilt waits until a rebuild is done, and gives its mark.
func (k *keeper) rebuilt(peer processtable.NodeID) record.Rebuild {
	k.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); runtime.Gosched() {
		mark, _, err := k.queue.Rebuilding(peer)
		k.must(err)
		if mark.Stage == record.StageDone {
			return mark
		}
	}
	k.Fatal("the rebuild does not end")
	return record.Rebuild{}
}

// What retention removed is given back to the disk, where it is much, and much beside what
// stays; and once. Where the disk lacks the room for that it says so, and tries again.
func TestRetentionGivesRoomBack(t *testing.T) {
	p := newKeepers(t)
	log := &linktest.Log{}
	p.a.log = log
	p.restart()
	reclaim := func(want int) {
		t.Helper()
		p.a.must(p.a.retain.Reclaim(context.Background()))
		if p.a.compacted != want {
			t.Errorf("%d compactions, want %d", p.a.compacted, want)
		}
	}
	reclaim(0)
	for n := range byte(6) {
		p.run(uuid.UUID{7, 6: 0x70, 8: 0x80, 15: n})
		p.a.clock.pass(time.Hour)
	}
	p.a.clock.pass(day90 - 6*time.Hour)
	if s := p.a.round(retention.Policy{Age: day90}); s.Removed != 0 {
		t.Fatalf("%+v", s)
	}
	p.a.clock.pass(time.Hour)
	if s := p.a.round(retention.Policy{Age: day90}); s.Removed != 1 {
		t.Fatalf("%+v", s)
	}
	reclaim(0) // it is little
	p.a.retain.Bounds.Reclaim = 1
	reclaim(0) // beside what stays
	p.a.clock.pass(2 * time.Hour)
	if s := p.a.round(retention.Policy{Age: day90}); s.Removed != 3 {
		t.Fatalf("%+v", s)
	}
	p.a.full = true
	reclaim(1)
	if got := log.String(); strings.Contains(got, "given back\"") || !strings.Contains(got, "not given back, or only a part") || !strings.Contains(got, queue.ErrNoRoom.Error()) {
		t.Errorf("without room it says %s", got)
	}
	p.a.full = false
	reclaim(2) // what was not given back is tried again
	if got := log.String(); strings.Count(got, "room of removed audit given back\"") != 1 {
		t.Errorf("with room it says %s", got)
	}
	reclaim(2)
}
