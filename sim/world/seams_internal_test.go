package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node"
	"fmqm/queue/record"
)

// What happens at one site at an awkward moment: while a commit is under way, its
// configuration is read again, its disk fails, it dies. These are commands of the scripts.

// held is a commit of a site that stays under way until the script ends it: the next one in
// which something of a peer is accepted.
type held struct {
	from  name
	begun bool
	over  *task.Gate
	fate  memory.Fate // what becomes of it then
}

// holdCommit keeps a commit under way that is to be.
func (s *stage) holdCommit(x *site, b *store.Batch) (fate memory.Fate, isHeld bool) {
	h := s.commits[x.name]
	if h == nil || h.begun || !accepts(b, h.from) {
		return memory.Fate{}, false
	}
	h.begun = true
	_, _ = x.life.by.Wait(background, h.over)
	delete(s.commits, x.name)
	if h.fate.Err != nil {
		x.fail(true, 0)
	}
	return h.fate, true
}

// holdDisk has the next commit of what `at` accepts of `from` stay under way.
func (s *stage) holdDisk(t *testing.T, d *datadriven.TestData) string {
	s.commits[s.at(t, d)] = &held{from: name(arg(t, d, "from")), over: s.control.Gate()}
	return ""
}

// awaitDisk waits until that commit is under way.
func (s *stage) awaitDisk(t *testing.T, d *datadriven.TestData) string {
	h := s.commitAt(t, d)
	return s.until(func() bool { return h.begun }, func() string { return "nothing is accepted" })
}

// releaseDisk ends it: well, or with an error (error=kept: it is on disk all the same; error=lost).
func (s *stage) releaseDisk(t *testing.T, d *datadriven.TestData) string {
	h := s.commitAt(t, d)
	if d.HasArg("error") {
		h.fate = memory.Fate{Err: errBroken, Kept: arg(t, d, "error") == "kept"}
	}
	h.over.Open()
	return ""
}

func (s *stage) commitAt(t *testing.T, d *datadriven.TestData) *held {
	h := s.commits[s.at(t, d)]
	if h == nil {
		d.Fatalf(t, "no commit is held there")
	}
	return h
}

// crash ends a site where it stands, and starts it again a second later. Of a commit under
// way the script says what becomes (kept or lost).
func (s *stage) crash(t *testing.T, d *datadriven.TestData) string {
	at := s.at(t, d)
	delete(s.commits, at)
	s.site(at).die(d.HasArg("kept"), time.Second)
	return ""
}

// reload has a site read its configuration, in which the address of a peer may be another
// site's (astray=PEER).
func (s *stage) reload(t *testing.T, d *datadriven.TestData) string {
	x := s.site(s.at(t, d))
	clear(x.astray)
	said := "right addresses"
	if d.HasArg("astray") {
		peer := name(arg(t, d, "astray"))
		x.astray[peer] = true
		said = fmt.Sprintf("the address of %s is that of %s", peer, x.wrongFor(peer))
	}
	x.reload()
	return said
}

// pass lets so much time pass.
func (s *stage) pass(t *testing.T, d *datadriven.TestData) string {
	length, err := time.ParseDuration(d.CmdArgs[0].Key)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	s.sleep(length)
	return ""
}

// link tells of the link at one site to another (LINK AT PEER), once it has the state that
// may be given; and how far the lanes have come that lead from that peer.
func (s *stage) link(t *testing.T, d *datadriven.TestData) string {
	at, peer := name(d.CmdArgs[0].Key), name(d.CmdArgs[1].Key)
	var now api.Link
	look := func() bool {
		now = api.Link{}
		err := s.ask(at, "links", func(ctx context.Context, n *node.Node) error {
			all, err := n.Links(ctx)
			if i := slices.IndexFunc(all.Links, func(l api.Link) bool { return l.Peer == string(peer) }); i >= 0 {
				now = all.Links[i]
			}
			return err
		})
		if err != nil {
			now.State = err.Error()
		}
		return !d.HasArg("state") || now.State == arg(t, d, "state")
	}
	tell := func() string {
		lines := []string{now.State}
		if now.Reason != "" {
			lines[0] += ": " + now.Reason
		}
		return strings.Join(append(lines, s.lanes(peer, at)...), "\n")
	}
	if late := s.until(look, tell); late != "" {
		return late
	}
	return tell()
}

// lanes says how far they have come on the disks of two sites.
func (s *stage) lanes(from, to name) (lines []string) {
	here, there := s.watch.shadows[from], s.watch.shadows[to]
	for i := range record.Lanes {
		out, in := lane{Peer: to, Lane: message.Lane(i)}, lane{Peer: from, Lane: message.Lane(i)}
		lines = append(lines, fmt.Sprintf("  lane %d from %s: %d sent, %d taken, %d let go", i, from, here.sent[out], there.accepted[in].Number, here.low[out].Number))
	}
	return lines
}
