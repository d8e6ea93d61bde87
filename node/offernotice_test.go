package node

import (
	"strings"
	"testing"
	"time"

	"fmqm/api"
)

// N27, R51: what nobody has done in time is told to the people of each node that offers it, by its own staff. Who is told may pass the
// item on within his node, also if he is no operator; what somebody of another node has is not his to take.
func TestN27WhoIsToldThatAnItemIsLateWhereItIsOffered(t *testing.T) {
	o := offeringOf(t, strings.Replace(offeredSites, "offered_at: [B]", `offered_at: [A, B], notify: [{after: 1h, staff: role("lead")}]`, 1))
	for _, k := range []*keeper{o.a, o.b} {
		k.clock.goOn(time.Minute) // pauses end at once
	}
	o.start()
	o.b.take(o.a.sent("B")...)
	list := func(k *keeper, who string) []api.WorkItem {
		a, err := k.Work(o.Context(), api.WorkRequest{As: who, Limit: 10})
		k.must(err)
		return a.Items
	}
	o.until(func() bool { return len(list(o.b, "lea")) == 1 && len(list(o.a, "lea")) == 1 })
	for _, k := range []*keeper{o.a, o.b} {
		k.clock.goOn(0)
	}
	notice, item := list(o.b, "lea")[0], list(o.b, "eve")[0]
	if notice.Kind != api.ItemNotice || notice.Of != item.Item || notice.Node != "B" || notice.Scope != item.Scope || notice.Item == list(o.a, "lea")[0].Item {
		t.Fatalf("lea is told %+v of %+v", notice, item)
	}
	say := func(k *keeper, who string, verb api.WorkVerb, of, to string) error {
		o.Helper()
		err := o.meanwhile(func() error {
			_, err := k.SayWork(api.WithCaller(o.Context(), api.Caller{Name: who, Person: who}), of, verb, api.WorkWord{To: to}) // none is an operator
			return err
		})
		o.carry()
		return err
	}
	now := func(who string) {
		o.Helper()
		if o.claimed(o.a) != who {
			t.Fatalf("%q has it, want %q", o.claimed(o.a), who)
		}
		o.until(func() bool { return o.claimed(o.b) == who })
	}
	o.b.must(say(o.b, "eve", api.WorkClaim, item.Item, ""))
	now("eve@B")
	if err := say(o.b, "kim", api.WorkTransfer, item.Item, "kim"); err == nil || !strings.Contains(err.Error(), "eve@B has claimed it") {
		t.Errorf("kim, who is told nothing, takes it: %v", err)
	}
	o.b.must(say(o.b, "lea", api.WorkTransfer, item.Item, "kim"))
	now("kim@B")
	o.b.must(say(o.b, "kim", api.WorkRelease, item.Item, ""))
	o.a.must(say(o.a, "eve", api.WorkClaim, item.Item, ""))
	o.until(func() bool { return o.claimed(o.a) == "eve@A" })
	if err := say(o.b, "lea", api.WorkTransfer, item.Item, "kim"); err == nil || !strings.Contains(err.Error(), "eve@A has claimed it") {
		t.Errorf("lea of B takes it from eve of A: %v", err)
	}
	o.b.must(say(o.b, "lea", api.WorkComplete, notice.Item, ""))
	if len(list(o.b, "lea")) != 0 || len(list(o.a, "lea")) != 1 {
		t.Errorf("it is taken off at B; B shows %+v, and A %+v", list(o.b, "lea"), list(o.a, "lea"))
	}
}

// claimed is who has the item, as one of the nodes knows.
func (o *offering) claimed(k *keeper) string {
	for _, i := range o.items(k) {
		if i.Kind == api.ItemWork {
			return i.ClaimedBy
		}
	}
	return ""
}
