package world

import (
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/inspect"
	"fmqm/queue/read"
	"fmqm/queue/record"
	"fmqm/sim/oracle"
)

// watch sees every commit of every site in the moment in which it is on disk, and holds it to
// what may be there. It reads keys and records with package queue/record. What it checks is
// listed in doc.go; transaction.go has what concerns the messages and the ends of activities.
type watch struct {
	world   *World
	shadows map[name]*shadow
	commits int
	last    time.Duration      // when the last one was
	lost    map[name]bool      // sites of which a disk was lost
	resent  map[uuid.UUID]bool // instances that a schedule or another instance has started since, in which such a site has a part
	cloned  map[name]bool      // sites of which a clone ran: nobody saw what that had on disk

	uploads  map[processtable.ProcessID]bool          // that somebody uploads
	tabled   map[processtable.ProcessID]map[name]bool // the sites that ever had a table of it on disk
	finals   map[processtable.ProcessID]map[name]bool // who has given its final word (N31)
	gone     map[processtable.ProcessID][]name        // where its table was removed
	over     map[uuid.UUID]bool                       // instances that have ended at their origin
	starts   map[uuid.UUID]bool                       // that somebody starts
	children map[uuid.UUID]bool                       // of them, those that activities have begun
	left     map[uuid.UUID]time.Duration              // of these, since when those are to end whose activity was ended
	limits   map[uuid.UUID]time.Duration              // when the deadline of the process came
	changes  changes                                  // since something was asked for; nil: nobody wants to know

	turns map[turn]*item           // of manual activities (N27)
	items map[string]*item         // the same by name
	told  map[string]*shownNotice  // by the name of its item
	did   map[message.Entry]string // who has done a manual activity, in its last iteration

	happened map[uuid.UUID]map[happening]bool // that was ever on disk; whether it still is
	facts    map[uuid.UUID][]oracle.Fact      // by which races are judged (N14)
}

// shadow is what is known of a site's store.
type shadow struct {
	messages map[message.Entry]map[message.Key]bool // in process queues
	ended    map[message.Entry]bool
	races    map[message.Entry]bool                   // it begins with the first connectors
	early    map[message.Entry]record.Event           // how those have ended that have not by themselves
	queued   map[queued]message.Arrival               // of what lies where events meet receives: when it came first
	hand     map[message.Entry]bool                   // an operator has finished those: their end follows, and does not say that anything has come back (N30)
	elements map[message.Entry]map[message.Scope]bool // of a bundle: those that have begun, and have not ended
	returned map[inRun]int                            // how many elements have ended
	started  map[uuid.UUID]bool
	marks    map[uuid.UUID][]lying // N29
	sent     map[lane]uint64       // the number of the newest
	low      map[lane]record.Position
	accepted map[lane]record.AcceptedAt
	audit    map[string]uint64    // what each record says
	told     map[string]inHistory // what a history tells by it
	large    large
	filled   bool // from a backup: what happened once is put, and does not happen
}

// lane is one of a peer.
type lane = record.LaneKey

func newWatch(w *World) *watch {
	x := &watch{world: w, shadows: map[name]*shadow{}, lost: map[name]bool{}, resent: map[uuid.UUID]bool{}, cloned: map[name]bool{}, uploads: map[processtable.ProcessID]bool{}, tabled: map[processtable.ProcessID]map[name]bool{}, finals: map[processtable.ProcessID]map[name]bool{}, gone: map[processtable.ProcessID][]name{}, over: map[uuid.UUID]bool{}, starts: map[uuid.UUID]bool{}, children: map[uuid.UUID]bool{}, left: map[uuid.UUID]time.Duration{}, limits: map[uuid.UUID]time.Duration{}, happened: map[uuid.UUID]map[happening]bool{}, facts: map[uuid.UUID][]oracle.Fact{}, turns: map[turn]*item{}, items: map[string]*item{}, told: map[string]*shownNotice{}, did: map[message.Entry]string{}}
	for _, n := range w.plan.Sites {
		x.shadows[n] = newShadow()
	}
	return x
}

func newShadow() *shadow {
	return &shadow{
		messages: map[message.Entry]map[message.Key]bool{}, ended: map[message.Entry]bool{}, early: map[message.Entry]record.Event{}, hand: map[message.Entry]bool{}, races: map[message.Entry]bool{}, started: map[uuid.UUID]bool{}, marks: map[uuid.UUID][]lying{},
		queued: map[queued]message.Arrival{}, elements: map[message.Entry]map[message.Scope]bool{}, returned: map[inRun]int{},
		sent: map[lane]uint64{}, low: map[lane]record.Position{}, accepted: map[lane]record.AcceptedAt{},
		audit: map[string]uint64{}, told: map[string]inHistory{}, large: large{pieces: map[string][]byte{}},
	}
}

// clone is what is known of a copy of the store.
func (d *shadow) clone() *shadow {
	c := *d
	c.messages = map[message.Entry]map[message.Key]bool{}
	for e, keys := range d.messages {
		c.messages[e] = maps.Clone(keys)
	}
	c.ended, c.early, c.races, c.started = maps.Clone(d.ended), maps.Clone(d.early), maps.Clone(d.races), maps.Clone(d.started)
	c.hand, c.marks = maps.Clone(d.hand), maps.Clone(d.marks)
	c.queued, c.returned, c.elements = maps.Clone(d.queued), maps.Clone(d.returned), map[message.Entry]map[message.Scope]bool{}
	for e, open := range d.elements {
		c.elements[e] = maps.Clone(open)
	}
	c.sent, c.low, c.accepted = maps.Clone(d.sent), maps.Clone(d.low), maps.Clone(d.accepted)
	c.audit, c.told = maps.Clone(d.audit), maps.Clone(d.told)
	c.large = large{pieces: maps.Clone(d.large.pieces), pending: maps.Clone(d.large.pending)}
	return &c
}

// forget says that a site has lost its store: nothing is known of it, and its conversations
// with its peers begin anew.
func (x *watch) forget(n name) {
	x.shadows[n] = newShadow()
	x.lost[n] = true
}

// written is told of a commit.
func (x *watch) written(s *site, version uint64, b *store.Batch) {
	x.commits, x.last = x.commits+1, x.world.tasks.Elapsed()
	h := uint64(0)
	for i := range b.Ops {
		h = h*31 + digest(b.Ops[i].Key) + 7*digest(b.Ops[i].Value)
	}
	x.world.journal.note(string(s.name), "commits", "%d: %d changes %016x", version, len(b.Ops), h)
	if x.changes != nil {
		x.changes.note(s, b.Ops)
	}
	d := x.shadows[s.name]
	under := d.large.pending != nil
	ops, err := d.large.happened(b.Ops)
	if d.large.pending != nil && !under {
		x.world.journal.note(string(s.name), "has written down", "a transaction of %d changes, which it makes now", len(ops))
	}
	if err == nil {
		err = x.changed(s, ops)
	}
	for i := 0; i < len(b.Ops) && err == nil; i++ {
		err = x.reads(s, &b.Ops[i])
	}
	if err != nil {
		x.world.breaks("1", "%s commits what nobody can read: %v", s.name, err)
	}
}

// reads reads what is put as those do who look through a store, and says what nobody can read.
func (x *watch) reads(s *site, op *store.Op) error {
	if op.Value == nil {
		return nil
	}
	if err := inspect.Record(op.Key, op.Value); err != nil {
		return err
	}
	x.wanted(s, op)
	peer, err := of(op)
	if err == nil && peer != "" {
		x.known(s, peer)
	}
	return err
}

// of gives the peer that a record is of, where only that counts of it; empty: it is of none.
func of(op *store.Op) (name, error) {
	k := record.KeyReader{Rest: op.Key[1:]}
	switch op.Key[0] {
	case record.ClassMeta:
		if of := k.Name(); of == record.ReadsName || of == record.BeganName || of == "restored" || of == "rebuild" {
			return name(k.Name()), nil
		}
	case record.ClassPeer, record.ClassPart:
		return name(k.Name()), nil
	case record.ClassRefused:
		head, _, err := read.Records{}.RefusedHead(op.Key, op.Value)
		return head.Peer, err
	case record.ClassParked:
		p, err := record.ReadParkedKey(op.Key)
		return p.Peer, err
	case record.ClassUsage:
		c, err := record.ReadChargeKey(op.Key)
		return c.Peer, err
	}
	return "", nil
}

// whole says what is wrong in a site's store as a whole: bodies in chunks, and running hashes.
func (x *watch) whole(s *site) {
	e, err := s.disk.Peek()
	if err != nil || e.Last() == 0 {
		return
	}
	report, err := inspect.Verify(e)
	if err != nil || len(report.Problems) > 0 {
		x.world.breaks("1", "the store of %s is damaged: %v %q", s.name, err, report.Problems)
	}
}

// changed is told what has changed on a site's disk, as far as that counts from now on.
func (x *watch) changed(s *site, ops []store.Op) (err error) {
	d := x.shadows[s.name]
	t := newTransaction()
	for i := range ops {
		op := &ops[i]
		switch op.Key[0] {
		case record.ClassMessage:
			err = d.message(x.world, t, op)
		case record.ClassMarker:
			err = d.mark(x.world, op)
		case record.ClassInstance, record.ClassEnd, record.ClassHistory:
			err = x.audited(s, t, op)
		case record.ClassTimer:
			err = x.timer(t, op)
		case record.ClassTransmission:
			err = x.item(s, t, op)
		case record.ClassApart:
			err = x.apart(s, t, op)
		case record.ClassTable:
			err = x.stored(s, op)
		case record.ClassMeta:
			x.current(s, op)
			err = x.retired(s, op)
		case record.ClassLow:
			err = x.trimmed(s, d, op)
		case record.ClassAccepted:
			err = x.taken(s, d, t, op)
		}
		if err != nil {
			return err
		}
	}
	x.note(s.name, t)
	x.tell(s, t)
	x.judge(s, d, t)
	return nil
}

// known is a peer of the site.
func (x *watch) known(s *site, peer name) {
	if x.world.site(peer) == nil {
		x.world.breaks("11", "%s keeps something for or of %s, which is no peer", s.name, peer)
	}
}

// anew: the numbers of a conversation need not follow on each other.
func (x *watch) anew(s *site, l lane) bool { return x.lost[s.name] || x.lost[l.Peer] }

// item: what is put follows on what was put before.
func (x *watch) item(s *site, t *transaction, op *store.Op) error {
	if op.Value == nil {
		return nil
	}
	k := record.KeyReader{Rest: op.Key[1:]}
	l := lane{Peer: name(k.Name()), Lane: message.Lane(k.Bytes(1)[0])}
	number := k.Uint64()
	if err := k.End(); err != nil {
		return err
	}
	x.known(s, l.Peer)
	t.items[l.Peer]++
	d := x.shadows[s.name]
	if before := d.sent[l]; number != before+1 && !x.anew(s, l) {
		x.world.breaks("5", "%s puts number %d for %s in lane %d, and the last was %d", s.name, number, l.Peer, l.Lane, before)
	}
	d.sent[l] = number
	return x.readable(s, l.Peer, op)
}

// trimmed: only what is on the peer's disk is let go.
func (x *watch) trimmed(s *site, d *shadow, op *store.Op) error {
	if op.Value == nil {
		return nil
	}
	peer, of, at, err := record.ReadLow(op.Key, op.Value)
	if err != nil {
		return err
	}
	x.known(s, peer)
	l, now := lane{Peer: peer, Lane: of}, at.Position
	if before := d.low[l]; now.Number < before.Number && !x.anew(s, l) {
		x.world.breaks("8", "%s has confirmed %d to %s in lane %d, and now only %d", l.Peer, before.Number, s.name, l.Lane, now.Number)
	}
	d.low[l] = now
	other := x.shadows[l.Peer]
	if other == nil || x.anew(s, l) {
		return nil
	}
	if there := other.accepted[lane{Peer: s.name, Lane: l.Lane}]; now.Number > there.Number {
		x.world.breaks("5", "%s lets %d for %s in lane %d go, which has only %d on disk", s.name, now.Number, l.Peer, l.Lane, there.Number)
	} else if now.Number == there.Number && now.Hash != there.Hash {
		x.world.breaks("5", "%s and %s do not agree about lane %d at number %d", s.name, l.Peer, l.Lane, now.Number)
	}
	return nil
}

// taken: nothing is taken that was not sent, or was taken before, and what was taken stays.
func (x *watch) taken(s *site, d *shadow, t *transaction, op *store.Op) error {
	if op.Value == nil {
		return nil
	}
	l, now, err := record.ReadAccepted(op.Key, op.Value)
	if err != nil {
		return err
	}
	x.known(s, l.Peer)
	before := d.accepted[l]
	d.accepted[l], t.taken[l.Peer] = now, true
	other := x.shadows[l.Peer]
	if x.anew(s, l) || other == nil {
		return nil
	}
	switch {
	case now.Number < before.Number:
		x.world.breaks("8", "%s has taken %d of %s in lane %d, and now only %d", s.name, before.Number, l.Peer, l.Lane, now.Number)
	case now.Number == before.Number:
		x.world.breaks("5", "%s takes %d of %s in lane %d once more", s.name, now.Number, l.Peer, l.Lane)
	case now.Number > other.sent[lane{Peer: s.name, Lane: l.Lane}]:
		x.world.breaks("5", "%s takes %d of %s in lane %d, which has put only %d", s.name, now.Number, l.Peer, l.Lane, other.sent[lane{Peer: s.name, Lane: l.Lane}])
	}
	return nil
}

// observe gives what is told of each audit record of a site.
func (x *watch) observe(s *site) func(record.AuditRecord) {
	return func(r record.AuditRecord) {
		x.world.journal.note(string(s.name), "records", "event %d of %s of %s", r.Event, r.Activity, r.Instance)
		if r.Event != record.EventTerminated && r.Event != record.EventSkipped {
			return
		}
		entry := message.Entry{Instance: r.Instance, Scope: r.Scope, Activity: r.Activity}
		if !x.shadows[s.name].ended[entry] {
			x.world.breaks("8", "%s shows the end of %s, which is not on disk", s.name, shown(entry))
		}
	}
}

// acknowledged: a client was told that an instance is started.
func (x *watch) acknowledged(s *site, c *client) {
	if !x.shadows[s.name].started[c.instance.ID] {
		x.world.breaks("8", "%s says that %s is started, and it is not on disk", s.name, c.id())
	}
}

// agree says at which lanes two sites do not end at the same place.
func (x *watch) agree() string {
	for _, a := range x.world.plan.Sites {
		for _, b := range x.world.plan.Sites {
			for i := range message.Lane(record.Lanes) {
				if x.lost[a] || x.lost[b] {
					continue
				}
				from, to := x.shadows[a], x.shadows[b]
				there, back := lane{Peer: b, Lane: i}, lane{Peer: a, Lane: i}
				sent, low, taken := from.sent[there], from.low[there], to.accepted[back].Position
				if sent != low.Number || low != taken {
					return fmt.Sprintf("lane %d from %s to %s: sent %d, confirmed %d, taken %d", i, a, b, sent, low.Number, taken.Number)
				}
			}
		}
	}
	return ""
}
