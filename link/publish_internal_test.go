package link

import (
	"testing"

	"fmqm/link/core"
	"fmqm/message"
)

// What is known of a link is made known after every event of it: where nothing has changed that costs
// nothing.
func TestWhatHasNotChangedIsPublishedForNothing(t *testing.T) {
	l := New(Options{Self: "A", Peer: "B"})
	for _, reads := range []message.Reads{message.Current(), message.Before()} {
		l.standing = core.Standing{Established: true, Reads: reads}
		l.publish()
		if n := testing.AllocsPerRun(100, l.publish); n != 0 {
			t.Errorf("%v allocations", n)
		}
		if l.shown.State != StateConnected || l.shown.reads == nil || *l.shown.reads != reads {
			t.Errorf("it is shown as %+v", l.shown)
		}
	}
}
