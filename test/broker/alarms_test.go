package broker

import (
	"testing"
	"time"

	"fmqm/internal/rabbittest"
	"fmqm/test/fleet"
)

// stopWithin is how long only a daemon that hangs takes to end: twice what systemd gives
// it.
const stopWithin = 90 * time.Second

// The broker is out of memory, then of disk space: it takes no messages. The daemons say
// so, nothing hangs, one that is told to end does; and all goes on when the alarm is over.
func TestAlarms(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 70}, 6)
	alarms := []rabbittest.Alarm{rabbittest.Memory, rabbittest.Disk}
	r.rounds(6, func(i int) {
		r.do(r.broker.Raise(alarms[i%2]))
		site := r.fleet.Sites[fleet.Names[i%4]]
		r.start(r.share)
		if i < 4 {
			site.Says(`"state":"blocked"`)
			began := time.Now()
			site.Stop()
			if took := time.Since(began); took > stopWithin {
				t.Errorf("%s took %s to end during the %s alarm", site.Name, took, alarms[i%2])
			}
			site.Start()
			site.Answers()
		}
		r.do(r.broker.Clear(alarms[i%2]))
	})
	r.end("an alarm, daemons stopped in 4 of them")
	for _, site := range r.fleet.Sites {
		site.Says("free memory or disk space there; it then goes on by itself")
	}
}
