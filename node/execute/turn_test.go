package execute

import (
	"errors"
	"fmt"
	"testing"

	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/queue"
	"fmqm/queue/commit"
)

// What a transaction's end means for the machine: a node stops where its store cannot go on, and
// for nothing that a message would have to carry.
func TestEndOf(t *testing.T) {
	_, tooMuch := message.Encode(message.Message{})
	for _, c := range []struct {
		err  error
		want thread.End
	}{
		{commit.ErrStale, thread.Stale},
		{commit.ErrTooLarge, thread.TooLarge},
		{tooMuch, thread.TooLarge},
		{commit.ErrNotRefused, thread.NotAside},
		{queue.ErrStopped, thread.Stopped},
		{errors.New("the disk is gone"), thread.Failed},
	} {
		if got := endOf(fmt.Errorf("commit: %w", c.err)); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
