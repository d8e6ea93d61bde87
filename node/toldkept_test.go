package node

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/retention"
	"fmqm/processtable"
	"fmqm/queue/record"
)

const toldOfItsEnd = `
process: two
version: 1
structures: {In: {n: int, text: string}}
input: In
output: In
notify: [{on: end}]
activities:
  go: {node: A, program: echo, input: In, output: In}
data: [source -> go, go -> sink]
`

// openNotices counts what lies in the queue of an instance of two.
func (k *keeper) openNotices(id message.InstanceID) int {
	k.Helper()
	k.settled()
	open, err := k.queue.BrowseInstance(processtable.ProcessID{Name: "two", Version: 1}, id)
	k.must(err)
	return len(open)
}

// endedTold runs an instance of which nobody takes the notice of its end off, also after a restart.
func endedTold(t *testing.T) (*keeper, message.InstanceID) {
	k, id := newKeeper(t, "A", toldOfItsEnd), message.InstanceID(uuid.UUID{7, 6: 0x70, 8: 0x80})
	k.must(k.start(id, `{"n": 7, "text": "`+personal+`"}`))
	k.await(id, processtable.Sink, record.EventEscalated)
	k.restart()
	if n := k.openNotices(id); n != 1 {
		t.Fatalf("%d messages of its notice lie there", n)
	}
	if s, err := k.Status(t.Context(), id); err != nil || s.State != api.InstanceFinished {
		t.Fatalf("it is %s, %v", s.State, err)
	}
	return k, id
}

// R59, S4: retention leaves a notice that nobody has taken off as long as histories are kept, then takes it off, and removes the instance.
func TestR59RetentionTakesANoticeAlong(t *testing.T) {
	k, id := endedTold(t)
	k.clock.pass(day90 - time.Hour)
	if s := k.round(retention.Policy{Age: day90}); s.Removed != 0 || k.openNotices(id) != 1 {
		t.Fatalf("before its time: %+v, %d messages", s, k.openNotices(id))
	}
	k.clock.pass(2 * time.Hour)
	if s := k.round(retention.Policy{Age: day90}); s.Removed != 0 || s.Overdue != 1 || k.openNotices(id) != 0 {
		t.Fatalf("at its time: %+v, %d messages", s, k.openNotices(id))
	}
	if s := k.round(retention.Policy{Age: day90}); s.Removed != 1 || s.Overdue != 0 || k.records(id) != 0 {
		t.Errorf("in the round after: %+v, %d records", s, k.records(id))
	}
}

// R59: what a notice has of the data goes with them.
func TestR59ErasingTakesANoticeAlong(t *testing.T) {
	k, id := endedTold(t)
	k.SetRemoteOperators(anybody)
	k.clock.step = time.Millisecond
	if k.holds(personal) < 3 {
		t.Fatalf("%d records have it before", k.holds(personal))
	}
	(&offering{T: t}).until(func() bool { // it waits until the notice has gone, for a time that passes at once here: then it is told as left, and erased the next time
		answer, err := k.Erase(api.WithOperator(t.Context(), "alice"), id, api.EraseRequest{Members: []string{"text"}})
		k.must(err)
		if n := len(answer.Nodes); n != 1 || answer.Nodes[0].Result != api.ResultErased && answer.Nodes[0].Result != api.ResultLeft {
			t.Fatalf("told is\n%s", lines(answer))
		}
		return answer.Nodes[0].Result == api.ResultErased
	})
	if k.holds(personal) != 0 || k.openNotices(id) != 0 {
		t.Errorf("%d records have it, %d messages are open", k.holds(personal), k.openNotices(id))
	}
}
