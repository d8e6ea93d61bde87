package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"fmqm/internal/faultnet"
	"fmqm/test/fleet"
)

// trial is a scene whose instances begin bit by bit, so that work is on its way at each
// fault, and that counts what the faults did.
type trial struct {
	*scene
	vhost   string
	left    []*fleet.Play // not started yet
	share   int           // how many begin before a fault
	faults  int
	carried traffic
	began   time.Time
}

// traffic is what the broker counts.
type traffic struct {
	received     int // from daemons
	acknowledged int // by daemons
	purged       int
}

// newTrial starts the daemons and a broker for them alone, so that trials, which mostly
// wait, can go on beside each other. So many faults are to come.
func newTrial(t *testing.T, o options, faults int) *trial {
	t.Helper()
	o.own, o.held = true, true
	r := &trial{scene: newScene(t, o), began: time.Now()}
	r.vhost = r.vhosts["A"]
	r.left = r.work.Plays
	r.share = max(1, len(r.left)/(faults+1))
	return r
}

// count adds what the broker has counted since it was started. It does not survive the
// broker.
func (r *trial) count() {
	r.t.Helper()
	received, acknowledged := r.counted()
	r.carried.received += received
	r.carried.acknowledged += acknowledged
}

// counted is what the broker has counted since it was started.
func (r *trial) counted() (received, acknowledged int) {
	r.t.Helper()
	text, err := r.broker.Eval("S = fun(K) -> lists:sum([maps:get(K, C, 0) || {_, C} <- maps:to_list(rabbit_global_counters:overview())]) end, " +
		"{S(messages_received_total), S(messages_acknowledged_total)}")
	r.do(err)
	if _, err := fmt.Sscanf(text, "{%d,%d}", &received, &acknowledged); err != nil {
		r.t.Fatalf("the broker's counters: %v: %s", err, text)
	}
	return received, acknowledged
}

// begin starts the next share of the instances when all is well again, and waits until
// some of it runs.
func (r *trial) begin() {
	r.t.Helper()
	r.fleet.Connected(r.ctx)
	r.start(r.share)
	r.some(r.share)
}

// atOnce is how many instances are started at the same time.
const atOnce = 8

// start starts so many of those that are left, however long that takes.
func (r *trial) start(count int) {
	r.t.Helper()
	count = min(count, len(r.left))
	plays := make(chan *fleet.Play, count)
	for _, p := range r.left[:count] {
		plays <- p
	}
	close(plays)
	r.left = r.left[count:]
	errs := make([]error, atOnce)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for p := range plays {
				errs[i] = errors.Join(errs[i], r.work.StartOne(r.ctx, p))
			}
		})
	}
	all.Wait()
	r.do(errors.Join(errs...))
}

// rounds is for faults that come again and again, with work before each.
func (r *trial) rounds(count int, fault func(round int)) {
	r.t.Helper()
	for i := range count {
		r.begin()
		fault(i)
		r.faults++
	}
}

// away runs do while a site has no way to the broker, and others have sent it something.
func (r *trial) away(site string, do func()) {
	r.t.Helper()
	p := r.proxies[site]
	before, _ := r.counted()
	p.Set(faultnet.Faults{Refuse: true})
	p.Cut()
	r.some(r.share)
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	_ = fleet.Until(ctx, func() (bool, error) { // or else nobody has anything for it
		now, _ := r.counted()
		return now > before && r.heldFor(site) > 0, nil
	})
	do()
	p.Set(faultnet.Faults{})
}

// heldFor counts the messages that all other sites hold for one.
func (r *trial) heldFor(site string) (count int) {
	r.t.Helper()
	for name, at := range r.fleet.Sites {
		if name != site {
			count += r.waiting(at, site)
		}
	}
	return count
}

// waiting counts the messages that a site holds for another.
func (r *trial) waiting(at *fleet.Site, peer string) (count int) {
	r.t.Helper()
	r.do(fleet.Until(r.ctx, func() (bool, error) {
		a, err := at.Client.Nodes(r.ctx)
		if err != nil {
			return false, nil
		}
		for _, node := range a.Nodes {
			if node.Node == peer {
				count = int(node.Waiting)
			}
		}
		return true, nil
	}))
	return count
}

// end starts the instances that are left and judges all of them.
func (r *trial) end(what string) traffic {
	r.t.Helper()
	r.start(len(r.left))
	ctx, cancel := context.WithTimeout(r.ctx, fleet.Patience)
	defer cancel()
	_ = fleet.Until(ctx, func() (bool, error) { return r.work.Attempts() >= r.work.Expected(), nil }) // else the judge says what is missing
	r.fleet.Connected(r.ctx)
	r.count()
	purged := ""
	if r.carried.purged > 0 {
		purged = fmt.Sprintf(", %d of them purged", r.carried.purged)
	}
	r.judge(fmt.Sprintf("%d times %s, in %s; %d messages at the broker, %d never arrived%s",
		r.faults, what, time.Since(r.began).Round(time.Second), r.carried.received, max(0, r.carried.received-r.carried.acknowledged), purged))
	return r.carried
}

// hit says that the fault has to have cost messages.
func (c traffic) hit(t *testing.T) {
	t.Helper()
	if c.received <= c.acknowledged {
		t.Error("nothing was lost at the broker: the fault did not hit")
	}
}
