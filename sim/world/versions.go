package world

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Sites are upgraded months apart (L6, N17). A site of the version before says on its links that
// it reads what that version did, until it is upgraded by an event of the plan, or once every
// instance has ended: none may need that to end, but of a process with blocks, for which it is
// upgraded when the weather has cleared.

// versions draws, for some worlds, sites of the version before, of which most are upgraded in the
// weather, and operators elsewhere who retry what is in error there.
func (d *drawing) versions() {
	if !d.in(3) {
		return
	}
	for _, s := range d.plan.Sites {
		if !d.in(len(d.plan.Sites)) {
			continue
		}
		d.plan.Before = append(d.plan.Before, s)
		if !d.in(4) {
			d.add(Event{At: d.moment(), Do: Upgrade, Site: s, For: d.between(100*time.Millisecond, 5*time.Minute)})
		}
		for range d.IntN(3) {
			at := d.moment()
			if d.in(2) { // it is not heard just then
				d.add(Event{At: at, Do: Stop, Site: s, For: d.between(time.Second, 5*time.Minute)})
			}
			d.add(Event{At: at + time.Second/2, Do: Retry, Site: d.site(), Instance: d.IntN(len(d.plan.Instances))})
		}
	}
}

// formats are what the site reads; zero: what the program does.
func (s *site) formats() frame.Formats {
	if s.before {
		return frame.Before()
	}
	return frame.Formats{}
}

// upgrade has a site of the version before start as one of this version.
func (s *site) upgrade(rest time.Duration) {
	if !s.before {
		return
	}
	s.world.journal.met(string(Upgrade))
	s.world.journal.note(string(s.name), "is upgraded", "")
	s.before = false
	if s.life != nil && s.life.node == nil { // it opens as what it was
		s.die(false, rest)
	}
	s.stop(rest)
}

// upgradeAll upgrades who is still of the version before.
func (w *World) upgradeAll() {
	for _, s := range w.sites {
		s.upgrade(time.Second)
	}
}

// errUnread is what a site says of a table that its version cannot read.
var errUnread = errors.New("it reads no such tables")

// oldest is the newest format of tables that the version before reads.
var oldest = int(message.Before().Table.Max)

// reads is the format of tables that a site has to read for the process: above oldest where it has
// blocks.
func (p *prepared) reads() int {
	most := 0
	for _, t := range p.upload.Tables {
		most = max(most, processtable.ReaderOf(t.Table))
	}
	return most
}

// unread says what is wrong where an upload has tables for sites that cannot read them: whoever is
// heard is named, and gets none.
func (w *World) unread(p *prepared, a api.UploadAnswer) string {
	for i, l := range a.Nodes {
		if s := w.site(name(l.Node)); !s.before || processtable.ReaderOf(p.upload.Tables[i].Table) <= oldest {
			continue
		}
		names := l.Plan == api.PlanUnknown || l.Plan == api.PlanRefuse && strings.HasPrefix(l.Reason, l.Node+" reads process tables up to format ")
		if !names || l.Result == api.ResultStored {
			return fmt.Sprintf("%s is of the version before, and the plan is %s, the result %s: %s", l.Node, l.Plan, l.Result, l.Reason)
		}
		w.journal.met("unread")
	}
	return ""
}

// upgradeWho upgrades the sites that cannot read what is uploaded, there or through them: nothing of it
// happens there before.
func (w *World) upgradeWho() {
	for i, p := range w.cases {
		if p.reads() <= oldest {
			continue
		}
		w.site(w.plan.Processes[i].Through).upgrade(time.Second)
		for _, t := range p.upload.Tables {
			w.site(name(t.Node)).upgrade(time.Second)
		}
	}
}

// apart: what a peer cannot read yet waits for it.
func (x *watch) apart(s *site, t *transaction, op *store.Op) error {
	if op.Value == nil {
		return nil
	}
	a, err := record.ReadApart(op.Key, op.Value)
	if err != nil {
		return err
	}
	x.known(s, a.Peer)
	t.items[a.Peer]++
	x.world.journal.note(string(s.name), "keeps apart", "a message for %s, which needs %+v", a.Peer, a.Needs)
	return nil
}

// readable: what gets a number is read by who has not been upgraded. What is in chunks is large,
// and no word.
func (x *watch) readable(s *site, peer name, op *store.Op) error {
	if to := x.world.site(peer); to == nil || !to.before {
		return nil
	}
	item, err := record.ReadItem(op.Key, op.Value)
	if err != nil {
		return err
	}
	piece, err := record.Unpack(item.Place.Inline)
	if err != nil || piece.Index > 0 {
		return nil
	}
	reads := message.Before()
	if lacks := reads.Lacks(message.NeedsOfEncoded(piece.Data)); lacks != "" {
		x.world.breaks("5", "%s puts number %d for %s, which is of the version before and cannot read it: %s", s.name, item.At.Number, peer, lacks)
	}
	return nil
}

// versions tells which sites are of the version before.
func versions(p *Plan) string {
	text := ""
	for _, s := range p.Before {
		text += fmt.Sprintf("; %s is of the version before", s)
	}
	return text
}

// withoutBefore leaves out that a site is of the version before.
func withoutBefore(p Plan, i int) (Plan, bool) {
	gone := p.Before[i]
	p.Before = without(p.Before, i)
	p.Events = slices.DeleteFunc(slices.Clone(p.Events), func(e Event) bool { return e.Do == Upgrade && e.Site == gone })
	return p, true
}
