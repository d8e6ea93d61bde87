package rebuild

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/faultnet"
	"fmqm/test/fleet"
)

const relayed = `process: relayed
version: 1
structures:
  Text: {text: string}
input: Text
output: Text
activities:
  one: {node: A, program: pass, input: Text, output: Text}
  two: {node: B, program: pass, input: Text, output: Text}
control: [one -> two]
data: [source -> one, one -> two, two -> sink]
`

// late is two sites, and a third one that an address leads to by mistake.
type late struct {
	*testing.T
	*fleet.Fleet
	ctx   context.Context
	calls map[string]string // the address at which a site calls its peer; without: it does not
	wire  *faultnet.Proxy   // between B, which calls, and A
	all   []api.InstanceID
}

// L1: a site's disk is slow, and an accept is under way, when a reload leads the address of
// its peer to another site and the connection is lost: the link stops. The address is
// corrected, and more has come for the link, before the disk is done. What it answers then, late, is about the first accept
// and no other: the sender lets go of what the store has, and every message arrives.
func TestALateAnswerOfTheStore(t *testing.T) {
	t.Parallel()
	l := newLate(t)
	b := l.Sites["B"]
	b.Stop()
	hold := b.StartHeld("commit.before/accept")
	l.linked()

	hold.On()
	l.begin(1)
	hold.Reached(l.ctx)
	l.call("B", l.Sites["C"].Listen)
	l.wire.Cut()
	l.Until(l.ctx, "B stops its link, since C answers", func() bool {
		s := l.link("B", "A")
		return s.State == "stopped" && strings.Contains(s.Reason, "is answered by site C")
	})
	l.begin(5)
	l.call("B", l.wire.Addr())
	l.call("A", b.Listen)
	l.waits()
	hold.Off()

	l.allEndOnce()
	l.Empty(l.ctx)
	l.Whole()
}

func newLate(t *testing.T) *late {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	t.Cleanup(cancel)
	l := &late{T: t, ctx: ctx, calls: map[string]string{}}
	l.Fleet = fleet.New(t, fleet.Options{
		Sites:    []string{"A", "B", "C"},
		Programs: func(string) []string { return []string{"pass: {builtin: echo}"} },
		Links: func(f *fleet.Fleet, site string) string {
			peer := map[string]string{"A": "B", "B": "A"}[site]
			if peer == "" {
				return ""
			}
			if l.wire == nil {
				l.wire = fleet.Wire(t, f.Sites["A"].Listen)
				l.calls["B"] = l.wire.Addr()
			}
			how := "{}"
			if address := l.calls[site]; address != "" {
				how = "http://" + address
			}
			return fmt.Sprintf("links: {peers: {%s: %s}}\n", peer, how)
		},
	})
	l.linked()
	l.Sites["A"].Upload(relayed)
	l.begin(1)
	l.allEndOnce()
	return l
}

// linked waits until both sites say so.
func (l *late) linked() {
	l.Helper()
	l.Until(l.ctx, "A and B are linked", func() bool {
		return l.link("A", "B").State == "connected" && l.link("B", "A").State == "connected"
	})
}

// link is how a site sees its link to a peer.
func (l *late) link(site, peer string) api.Link { return l.Sites[site].Link(l.ctx, peer) }

// begin starts instances at A, and waits until each waits for B there.
func (l *late) begin(n int) {
	l.Helper()
	for range n {
		id := uuid.Must(uuid.NewV7())
		if _, err := l.Sites["A"].Client.Start(l.ctx, api.StartRequest{Instance: id, Process: "relayed", Input: []byte(`{"text": "x"}`)}); err != nil {
			l.Fatal(err)
		}
		l.all = append(l.all, id)
		l.Until(l.ctx, "one has ended", func() bool {
			ended, _ := l.ended(id)
			return ended["one"] == 1
		})
	}
}

// call has a site call its peer at an address, from a reload on.
func (l *late) call(site, address string) {
	l.Helper()
	l.calls[site] = address
	l.Sites[site].Configure()
	l.Sites[site].Reload(l.ctx)
}

// waits checks that B takes nothing from A before its store has answered. If it does, the
// test goes on once everything was sent again.
func (l *late) waits() {
	l.Helper()
	var seen api.Link
	l.Until(l.ctx, "A hears of B, which it calls now", func() bool {
		seen = l.link("A", "B")
		return seen.State == "connected" || seen.State == "stopped"
	})
	if strings.Contains(seen.Reason, "is answered by site C") {
		return
	}
	l.Errorf("B goes on while its store is at work for it: %+v", seen)
	l.Until(l.ctx, "all is sent again", func() bool {
		for _, lane := range l.link("A", "B").Lanes {
			if lane.Next > lane.Acknowledged+uint64(len(l.all))-1 {
				return true
			}
		}
		return false
	})
}

// ended counts how often each activity of an instance has, as far as A can tell; whole: every
// site has answered.
func (l *late) ended(id api.InstanceID) (count map[string]int, whole bool) {
	count = map[string]int{}
	h, err := l.Sites["A"].Client.History(l.ctx, id)
	if err != nil {
		return nil, false
	}
	for _, e := range h.Events {
		if e.Event == api.EventTerminated {
			count[e.Activity]++
		}
	}
	return count, len(h.Unreachable) == 0
}

// allEndOnce waits until every instance has ended, and checks that each activity has once.
func (l *late) allEndOnce() {
	l.Helper()
	for _, id := range l.all {
		l.Until(l.ctx, "every instance ends", func() bool {
			s, err := l.Sites["A"].Client.Status(l.ctx, id)
			return err == nil && s.State == api.InstanceFinished && len(s.Unreachable) == 0
		})
		var ended map[string]int
		l.Until(l.ctx, "all sites tell the history", func() (whole bool) {
			ended, whole = l.ended(id)
			return whole
		})
		if !maps.Equal(ended, map[string]int{"one": 1, "two": 1}) {
			l.Errorf("instance %s: %v have ended", id, ended)
		}
	}
}
