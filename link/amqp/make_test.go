package amqp

import (
	"context"
	"strings"
	"testing"
)

// A broker that fails to make a quorum queue, for reasons of its own, cuts nobody off: the site makes
// a classic one, and keeps it. A site that is told to have a quorum queue waits for one, and says why.
func TestABrokerThatMakesNoQuorumQueue(t *testing.T) {
	fake := newFakeBroker()
	fake.broken = true
	s := newSite(t, "A", "127.0.0.1:1", "v", func(o *Options) { o.open = fake.open })
	if st := s.until(StateConnected); st.Kind != (queueKind{}).String() {
		t.Errorf("the queue is %s", st.Kind)
	}
	const said = "the broker fails to make a quorum queue: this site makes a classic one"
	if n := strings.Count(s.log.String(), said); n != 1 {
		t.Errorf("it is said %d times: %s", n, s.log)
	}
	fake.set(func() { fake.broken = false })
	s.broker.mu.Lock()
	conn := s.broker.conns[consuming].conn
	s.broker.mu.Unlock()
	conn.Kill(errClosed)
	s.until(StateConnecting)
	if st := s.until(StateConnected); st.Kind != (queueKind{}).String() || strings.Count(s.log.String(), said) != 1 {
		t.Errorf("afterwards the queue is %s: %s", st.Kind, s.log)
	}

	fake = newFakeBroker()
	fake.broken = true
	tries := make(chan bool, 10_000)
	open := func(ctx context.Context, to target, name string, on connectionEvents) (connection, error) {
		tries <- true
		return fake.open(ctx, to, name, on)
	}
	s = newSite(t, "B", "127.0.0.1:1", "v", func(o *Options) { o.open, o.Queues = open, QueuesQuorum })
	s.untilState("why", func(st Status) bool { return strings.Contains(st.Reason, "cluster_not_formed") })
	for range 4 * maxMakeFailures {
		<-tries
	}
	if strings.Contains(s.log.String(), said) {
		t.Errorf("it makes another kind than it was told: %s", s.log)
	}
	fake.set(func() { fake.broken = false })
	if st := s.until(StateConnected); st.Kind != (queueKind{quorum: true}).String() {
		t.Errorf("the queue is %s", st.Kind)
	}
}

// Where a site's queue is gone, or nobody receives from it, and the broker does not say so, the site
// sees it by itself.
func TestAQueueThatIsGoneWithoutAWord(t *testing.T) {
	fake := newFakeBroker()
	s := newSite(t, "A", "127.0.0.1:1", "v", func(o *Options) { o.open = fake.open })
	for _, lose := range []func(){
		func() { delete(fake.queues, "fmqm.A") },
		func() { fake.queues["fmqm.A"].consumer = nil },
	} {
		s.until(StateConnected)
		fake.set(lose)
		if st := s.until(StateConnecting); st.Reason != errCancelled.Error() {
			t.Errorf("the reason is %s", st.Reason)
		}
	}
	s.until(StateConnected)

	// A quorum queue between two leaders has nobody who receives from it, as the broker says.
	of := func() connection {
		s.broker.mu.Lock()
		defer s.broker.mu.Unlock()
		return s.broker.conns[consuming].conn
	}
	looked := make(chan struct{}, 1000)
	before := of()
	fake.set(func() { fake.queues["fmqm.A"].leaderless, fake.queues["fmqm.A"].looked = 1, looked })
	for range 3 {
		<-looked
	}
	if of() != before {
		t.Errorf("after one such look it has connected anew: %s", s.log)
	}
}
