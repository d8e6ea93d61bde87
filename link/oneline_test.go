package link_test

import (
	"strings"
	"testing"

	"fmqm/internal/task"
)

// A peer that is down for as long as it likes is one line in the log, however often it is
// dialed and whatever waits for it: lines are for changes of state.
func TestAPeerThatIsDownIsOneLine(t *testing.T) {
	a := newSite(t, "A", 1)
	clock := newManualClock()
	dialer := failingDialer{calls: make(chan struct{}, 1)}
	o := a.options("B", dialer)
	o.Scheduler, o.Random = task.Goroutines{Clock: clock}, func() float64 { return 1 }
	a.run(o)
	for range 50 {
		<-dialer.calls
		a.store.Put(0, "news")
		next := <-clock.timers
		next.fire()
	}
	a.stop()
	if log := a.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "connection refused") {
		t.Errorf("log: %s", log)
	}
}
