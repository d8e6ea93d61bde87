package broker

import (
	"math/rand/v2"
	"strings"
	"testing"

	"fmqm/internal/rabbittest"
	"fmqm/test/fleet"
)

// fault is one of those that are drawn; site is whom it meets, if it meets one.
type fault struct {
	name string
	do   func(r *trial, site string)
}

// faults are those that come in any order.
var faults = []fault{
	{"kill", func(r *trial, _ string) { r.count(); r.do(r.broker.Restart()) }},
	{"wipe", func(r *trial, _ string) { r.count(); r.do(r.broker.Wipe()); r.do(r.broker.Start()) }},
	{"stop", func(r *trial, _ string) { r.count(); r.broker.Stop(); r.some(r.share); r.do(r.broker.Start()) }},
	{"freeze", func(r *trial, _ string) { r.do(r.broker.Freeze()); r.some(r.share); r.do(r.broker.Thaw()) }},
	{"purge", func(r *trial, _ string) { r.purge() }},
	{"purge of what has piled up", func(r *trial, site string) { r.away(site, r.purge) }},
	{"deletion of all queues", func(r *trial, _ string) { r.do(r.broker.DeleteQueues(r.vhost)) }},
	{"deletion of a queue", func(r *trial, site string) { r.do(r.broker.DeleteQueue(r.vhost, "fmqm."+site)) }},
	{"closing of all connections", func(r *trial, _ string) { r.do(r.broker.CloseConnections("a test")) }},
	{"cut", func(r *trial, site string) { r.proxies[site].Cut() }},
	{"memory alarm", func(r *trial, _ string) { r.alarm(rabbittest.Memory) }},
	{"disk alarm", func(r *trial, _ string) { r.alarm(rabbittest.Disk) }},
	{"drop-head", func(r *trial, site string) { r.policy(site, `{"max-length": 1, "overflow": "drop-head"}`) }},
	{"reject-publish", func(r *trial, site string) { r.policy(site, `{"max-length": 1, "overflow": "reject-publish"}`) }},
	{"TTL", func(r *trial, site string) { r.policy(site, `{"message-ttl": 2}`) }},
	{"stop of a daemon", func(r *trial, site string) { r.fleet.Sites[site].Stop(); r.some(r.share); r.fleet.Sites[site].Start() }},
}

// alarm raises an alarm for a while.
func (r *trial) alarm(which rabbittest.Alarm) {
	r.t.Helper()
	r.do(r.broker.Raise(which))
	r.some(r.share)
	r.do(r.broker.Clear(which))
}

// policy has all queues under a policy while messages pile up for a site.
func (r *trial) policy(site, definition string) {
	r.t.Helper()
	r.do(r.broker.SetPolicy(r.vhost, "bad", `^fmqm\.`, definition))
	r.away(site, func() {})
	r.do(r.broker.ClearPolicy(r.vhost, "bad"))
}

// soak lets each fault come once, in an order and at sites that are drawn from the seed.
func soak(t *testing.T, seed int) {
	t.Helper()
	r := newTrial(t, options{seed: seed, of: many}, len(faults))
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	var names []string
	order := random.Perm(len(faults))
	r.rounds(len(faults), func(i int) {
		f := faults[order[i]]
		names = append(names, f.name)
		f.do(r, fleet.Names[random.IntN(len(fleet.Names))])
	})
	r.end("a fault (" + strings.Join(names, ", ") + ")").hit(t)
}

// 500 instances, and every fault once, in an order that is drawn; with FMQM_FAULTS again and
// again for so many minutes (`make faults`), each time with another seed. FMQM_FAULTS_SEED
// is the first.
func TestFaults(t *testing.T) {
	t.Parallel()
	fleet.ForLong(t, "FMQM_FAULTS", 200, soak, soak)
}
