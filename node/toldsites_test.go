package node

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/staff"
)

const lateElsewhere = `
process: two
version: 1
structures: {In: {n: int}}
input: In
starts: [A]
notify: [{on: [deadline, end]}]
activities:
  look: {node: B, staff: role("clerk"), input: In, deadline: {after: 1ms}}
  note: {node: A, empty: true}
control: [{look -> note: _TIMEOUT}]
data: [source -> look]
`

// lateAtB is an instance that eve has started at A, of which the deadline at B was missed; and what B has sent of that: the notice, and
// the rest.
func lateAtB(t *testing.T) (a *keeper, id message.InstanceID, notice, rest []message.Message) {
	a, id = newKeeper(t, "A", lateElsewhere), uuid.Must(uuid.NewV7())
	b := newKeeper(t, "B", lateElsewhere)
	for _, k := range []*keeper{a, b} {
		k.SetStaff(k.clerk("eve"))
	}
	a.queue.Transmission("B").PeerReads(message.Current())
	b.queue.Transmission("A").PeerReads(message.Current())
	ctx := api.WithCaller(t.Context(), api.Caller{Name: "eve@A", Person: "eve"})
	a.must(a.Begin(ctx, api.StartRequest{Instance: id, Process: "two@1", Input: json.RawMessage(`{"n": 7}`)}))
	a.settled()
	b.clock.goOn(time.Millisecond) // so the time of the deadline comes
	b.take(a.sent("B")...)
	b.await(id, "look", record.EventTerminated)
	b.settled()
	for _, m := range b.sent("A") {
		if m.Kind == message.KindNotice {
			notice = append(notice, m)
		} else {
			rest = append(rest, m)
		}
	}
	if len(notice) != 1 || notice[0].Source != "look" || len(rest) != 1 {
		t.Fatalf("B has sent %+v, and %+v", notice, rest)
	}
	return a, id, notice, rest
}

// clerk is a staff of one.
func (k *keeper) clerk(name string) *staff.Staff {
	k.Helper()
	role := []staff.Word{{Text: "clerk"}}
	people, problems := staff.Draft{Roles: role, People: []staff.DraftPerson{{Name: staff.Word{Text: name}, Roles: role}}}.Check(staff.Site{Node: k.name})
	if len(problems) > 0 {
		k.Fatal(problems)
	}
	return people
}

// toldAt are the titles of what somebody is shown.
func (k *keeper) toldAt(who string) (titles []string) {
	k.Helper()
	k.settled()
	list, err := k.Work(k.Context(), api.WorkRequest{As: who, Limit: 10})
	k.must(err)
	for _, i := range list.Items {
		titles = append(titles, i.Title)
	}
	slices.Sort(titles)
	return titles
}

// R61: a deadline was missed at another site than that where the instance was started: who has started it is told there, also where what
// follows comes with it, and once where it is sent again.
func TestR61ADeadlineElsewhereIsTold(t *testing.T) {
	a, id, notice, rest := lateAtB(t)
	a.take(append(notice, rest...)...)
	a.await(id, processtable.Sink, record.EventEnded)
	want := []string{"two has finished", "two: the deadline of look has come"}
	if got := a.toldAt("eve"); !slices.Equal(got, want) {
		t.Errorf("eve is shown %q, not %q", got, want)
	}
	a.take(notice...)
	a.restart()
	a.SetStaff(a.clerk("eve"))
	if got := a.toldAt("eve"); !slices.Equal(got, want) {
		t.Errorf("begun anew eve is shown %q, not %q", got, want)
	}
}

// R61: what has come by the other lane has ended the instance: then the deadline is not told any more, and nothing of it stays.
func TestR61ADeadlineThatTheEndHasOvertaken(t *testing.T) {
	a, id, notice, rest := lateAtB(t)
	a.take(rest...)
	a.await(id, processtable.Sink, record.EventEnded)
	before := a.openNotices(id)
	a.take(notice...)
	if got, want := a.toldAt("eve"), []string{"two has finished"}; !slices.Equal(got, want) || a.openNotices(id) != before {
		t.Errorf("eve is shown %q, not %q; %d messages are open, %d were", got, want, a.openNotices(id), before)
	}
}
