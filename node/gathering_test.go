package node

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/link"
	"fmqm/processtable"
)

// A peer that is busy is asked again; one that is away is not, and the answer names it.
func TestABusyPeerIsAskedAgain(t *testing.T) {
	a := newKeeper(t, "A", retainedSites)
	a.clock.goOn(time.Microsecond) // pauses end at once
	id := uuid.Must(uuid.NewV7())
	a.must(a.start(id, `{"n": 7}`))
	busy, away := errors.New("site B already answers 16 queries: ask again later"), fmt.Errorf("query: %w", link.ErrNotConnected)
	for _, c := range []struct {
		name        string
		errs        []error
		asked       int
		unreachable bool
	}{
		{"it answers", nil, 1, false},
		{"busy", []error{busy, busy}, 3, false},
		{"away", []error{away}, 1, true},
	} {
		asked := 0
		a.query = func(context.Context, processtable.NodeID, string, []byte) ([]byte, error) {
			asked++
			if asked <= len(c.errs) {
				return nil, c.errs[asked-1]
			}
			return []byte(`{"process": "two@1", "roster": [{"activity": "work", "node": "B"}], "activities": [{"activity": "work", "state": "ready"}]}`), nil
		}
		s, err := a.Status(context.Background(), id)
		if err != nil || asked != c.asked || (len(s.Unreachable) > 0) != c.unreachable || (s.Activities[1].State == api.ActivityUnknown) != c.unreachable {
			t.Errorf("%s: asked %d times, unreachable %v, %+v, %v", c.name, asked, s.Unreachable, s.Activities, err)
		}
	}
}
