package broker

import (
	"testing"
	"time"
)

// All four sites over the broker, and nothing goes wrong.
func TestNothingGoesWrong(t *testing.T) {
	t.Parallel()
	s := newScene(t, options{seed: 40})
	s.judge("no fault")
}

// The broker is killed with kill -9 and started again, twelve times, each second time as
// soon as it is back, while 200 instances run.
func TestBrokerIsKilled(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 60}, 6)
	r.rounds(6, func(int) {
		for range 2 {
			r.count()
			r.do(r.broker.Restart())
		}
		r.faults++
	})
	r.end("kill -9 of the broker")
}

// downFor is longer than any time-out of a link.
const downFor = 75 * time.Second

// The broker is away for longer than any time-out while instances go on to be started.
func TestBrokerIsDownForLong(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 61}, 30)
	r.begin()
	r.count()
	r.broker.Stop()
	r.faults++
	for stopped := time.Now(); time.Since(stopped) < downFor; {
		r.start(r.share)
		r.some(r.work.Expected()) // all that can go on; the time is up long before
	}
	r.do(r.broker.Start())
	r.end("the broker down for " + downFor.String())
}

// The broker loses its data directory: queues, users, everything.
func TestBrokerIsWiped(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 62}, 4)
	r.rounds(4, func(int) {
		r.count()
		r.do(r.broker.Wipe())
		r.do(r.broker.Start())
	})
	r.end("all data of the broker removed")
}
