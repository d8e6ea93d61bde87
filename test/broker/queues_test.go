package broker

import (
	"fmt"
	"testing"

	"fmqm/test/fleet"
)

// purge throws away what waits in all queues of the sites.
func (r *trial) purge() {
	r.t.Helper()
	text, err := r.broker.Eval(fmt.Sprintf(
		"lists:sum([begin {ok, N} = rabbit_amqqueue:purge(Q), N end || Q <- rabbit_amqqueue:list(<<%q>>)])", r.vhost))
	r.do(err)
	var count int
	if _, err := fmt.Sscan(text, &count); err != nil {
		r.t.Fatalf("purged: %v: %s", err, text)
	}
	r.carried.purged += count
}

// All queues are purged again and again, also when messages have piled up in one.
func TestQueuesArePurged(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 63}, 12)
	r.rounds(12, func(i int) {
		if i%3 > 0 {
			r.purge()
			return
		}
		r.away(fleet.Names[i/3%4], r.purge)
	})
	r.end("all queues purged").hit(t)
	if r.carried.purged == 0 {
		t.Error("the queues were empty whenever they were purged")
	}
}

// All queues are deleted again and again; the daemons make them anew.
func TestQueuesAreDeleted(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 64}, 6)
	r.rounds(6, func(i int) {
		if i%2 > 0 {
			r.do(r.broker.DeleteQueues(r.vhost))
			return
		}
		r.away(fleet.Names[i/2%4], func() { r.do(r.broker.DeleteQueues(r.vhost)) })
	})
	r.end("all queues deleted")
}

// The broker cancels one daemon's consumer, by the deletion of its queue.
func TestConsumersAreCancelled(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 65}, 6)
	r.rounds(6, func(i int) { r.do(r.broker.DeleteQueue(r.vhost, "fmqm."+fleet.Names[i%4])) })
	r.end("a consumer cancelled")
	for _, site := range r.fleet.Sites {
		site.Says("the queue was deleted, or moved, and the broker ended the consumer")
	}
}

// The broker closes all connections again and again.
func TestConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 66}, 6)
	r.rounds(6, func(int) { r.do(r.broker.CloseConnections("a test of patience")) })
	r.end("all connections closed by the broker")
	for _, site := range r.fleet.Sites {
		site.Says("the broker ended the connection: a test of patience")
	}
}

// Policies that throw messages away, or refuse them, on all queues of the sites.
func TestPoliciesThatLoseMessages(t *testing.T) {
	t.Parallel()
	for i, policy := range []struct{ name, definition string }{
		{"max-length with drop-head", `{"max-length": 1, "overflow": "drop-head"}`},
		{"max-length with reject-publish", `{"max-length": 1, "overflow": "reject-publish"}`},
		{"a TTL of 2 ms", `{"message-ttl": 2}`},
	} {
		t.Run(policy.name, func(t *testing.T) {
			t.Parallel()
			r := newTrial(t, options{seed: 67 + i}, 4)
			r.do(r.broker.SetPolicy(r.vhost, "bad", `^fmqm\.`, policy.definition))
			r.rounds(4, func(i int) { r.away(fleet.Names[i], func() { r.some(r.share) }) })
			r.do(r.broker.ClearPolicy(r.vhost, "bad"))
			r.end("away from queues with " + policy.name).hit(t)
		})
	}
}
