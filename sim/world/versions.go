package world

import (
	"fmt"
	"slices"
	"time"

	"fmqm/internal/store"
	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

// Sites are upgraded months apart (L6, N17). A site of the version before says on its links that
// it reads what that version did, until it is upgraded by an event of the plan, or once every
// instance has ended: none may need that to end.

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
