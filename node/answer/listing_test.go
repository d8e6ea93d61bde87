package answer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/link"
	"fmqm/processtable"
)

// slow is a site with a peer that is connected, and takes its time to answer.
type slow struct {
	*world
	takes time.Duration
}

func (*slow) Peers() []processtable.NodeID { return []processtable.NodeID{"B"} }

func (*slow) LinkTo(processtable.NodeID) (link.Status, bool) {
	return link.Status{Peer: "B", State: link.StateConnected}, true
}

func (s *slow) Query(ctx context.Context, _ processtable.NodeID, _ string, _ []byte) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(s.takes):
		return []byte("{}"), nil // it knows nothing of it
	}
}

// What was asked for while the time ran out is not known, and comes with the next page: a list of those
// in one state would lack it. Those that had all of the time are not waited for once more.
func TestWhatIsCutShortIsAskedForAgain(t *testing.T) {
	for _, c := range []struct {
		what   string
		takes  time.Duration
		begins bool
		want   int
	}{
		{"in time", listTime / 3, true, listAsking + 4},
		{"the second round is cut short", listTime * 3 / 4, true, listAsking},
		{"all are, and have had all the time", 2 * listTime, true, listAsking},
		{"the time was used before", 2 * listTime, false, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Site = &slow{w, c.takes}
				ctx, cancel := context.WithTimeout(t.Context(), listTime)
				defer cancel()
				all := make([]api.Instance, listAsking+4)
				for i := range all {
					all[i] = api.Instance{Instance: uuid.Must(uuid.NewV7()), State: api.InstanceRunning, InError: 1}
				}
				if known := w.listInError(ctx, all, c.begins); known != c.want {
					t.Errorf("%d of %d are known, want %d", known, len(all), c.want)
				}
			})
		})
	}
}
