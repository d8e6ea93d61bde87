package world

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/oracle"
)

// transaction is what one commit did to process queues, and what it says that has happened.
// Several of the product's may be joined in it.
type transaction struct {
	put, removed map[message.Entry][]message.Key
	records      []record.AuditRecord
	set, came    []oracle.Due // timers
	arrived      []oracle.Arrived
	told         map[uuid.UUID][]oracle.Fact // what sink hears, and the notices that it begins (R58)
	items        map[name]int                // put for a peer
	taken        map[name]bool               // what it sent
}

func newTransaction() *transaction {
	return &transaction{put: map[message.Entry][]message.Key{}, removed: map[message.Entry][]message.Key{}, told: map[uuid.UUID][]oracle.Fact{}, items: map[name]int{}, taken: map[name]bool{}}
}

// message notes what comes to and goes from a process queue.
func (d *shadow) message(w *World, t *transaction, op *store.Op) error {
	k := record.KeyReader{Rest: op.Key[1:]}
	first := w.beginsFirst(k.Process())
	e := k.Entry()
	m := k.MessageKey(&e)
	if err := k.End(); err != nil {
		return err
	}
	if op.Value == nil {
		if d.messages[e][m] {
			t.removed[e] = append(t.removed[e], m)
		}
		if delete(d.messages[e], m); len(d.messages[e]) == 0 {
			delete(d.messages, e)
		}
		return nil
	}
	if err := d.tells(t, e, m, op); err != nil {
		return err
	}
	if d.messages[e] == nil {
		d.messages[e] = map[message.Key]bool{}
	}
	d.messages[e][m] = true
	t.put[e] = append(t.put[e], m)
	if e.Activity == processtable.EventMeets {
		return d.queue(queued{e, m}, op)
	}
	if m.Kind == message.KindDue {
		t.came = append(t.came, oracle.Due{Entry: e, Key: m})
	}
	if m.Kind != message.KindConnector || !first(e.Activity) {
		return nil
	}
	d.races[e] = true
	s, err := record.ReadMessage(op.Key, op.Value)
	if err == nil {
		t.arrived = append(t.arrived, oracle.Arrived{Entry: e, Source: m.Source, Control: s.Message.Control})
	}
	return err
}

// audited notes what is recorded.
func (x *watch) audited(s *site, t *transaction, op *store.Op) error {
	if op.Value == nil {
		x.forgotten(s, op.Key)
		return nil
	}
	r, _, err := record.ReadAuditHead(op.Key, op.Value)
	if err != nil {
		return err
	}
	if x.numbered(s, op.Key, r) {
		return nil
	}
	x.recorded(s, op.Key, &r)
	if x.superseded(s, op.Key, &r) {
		return nil
	}
	if r.Event == record.EventTerminated { // it may be asked what a receive has got
		if r.Output, err = inlineOutput(op.Key, op.Value); err != nil {
			return err
		}
	}
	t.records = append(t.records, r)
	x.family(s, &r)
	x.overdue(s, &r)
	x.work(s, &r)
	which, _ := record.EndOf(&r)
	x.over[r.Instance] = x.over[r.Instance] || which == record.InstanceEnded
	if which == record.InstanceStarted {
		d := x.shadows[s.name]
		if d.started[r.Instance] {
			x.world.breaks("5", "%s starts twice at %s", r.Instance, s.name)
		}
		d.started[r.Instance] = true
		x.scheduled(s, r.Instance)
	}
	return nil
}

// inlineOutput is the output of a record; none where it lies apart.
func inlineOutput(key, value []byte) ([]byte, error) {
	content, err := record.Open(key, value)
	if err != nil {
		return nil, err
	}
	p, _, err := record.ReadPlace(key, content)
	if err != nil || p.Ref.Count > 0 {
		return nil, err
	}
	a, err := record.DecodeAudit(p.Inline)
	return bytes.Clone(a.Output), err
}

// superseded: it is the end of an activity that is restarted, which becomes a line of history as it is (N30); or is one already, where
// a store is filled from another.
func (x *watch) superseded(s *site, key []byte, r *record.AuditRecord) bool {
	if !ends(r) || key[0] != record.ClassHistory {
		return false
	}
	e, d := entryOf(r), x.shadows[s.name]
	place := string(record.AppendEndKey(nil, &e))
	if stands, known := d.audit[place]; known && stands == d.audit[string(key)] {
		if !d.ended[e] {
			x.world.breaks("4", "%s is restarted at %s, and had not ended", shown(e), s.name)
		}
		delete(d.ended, e)
		delete(d.audit, place)
	}
	return true
}

// numbered: the record was there, and gets the numbers of what waited apart for a peer (L6); nothing else of
// it changes.
func (x *watch) numbered(s *site, key []byte, r record.AuditRecord) bool {
	r.Sent = slices.Clone(r.Sent)
	for i := range r.Sent {
		r.Sent[i].Number, r.Sent[i].Nth = 0, 0 // after a restart that was given up it was sent under another number (N30)
	}
	d, says := x.shadows[s.name], digest(record.AppendAudit(nil, &r, false))
	before, there := d.audit[string(key)]
	if d.audit[string(key)] = says; there && before != says && r.Event != record.EventThinned && (r.Erased == nil || !x.world.erased[r.Instance]) { // that says up to which iteration (N16)
		x.world.breaks("8", "%s writes another record in the place of that of %s", s.name, shown(entryOf(&r)))
	}
	return there
}

func entryOf(r *record.AuditRecord) message.Entry {
	return message.Entry{Instance: r.Instance, Scope: r.Scope, Activity: r.Activity}
}

// ends says whether a record is the end of its activity.
func ends(r *record.AuditRecord) bool {
	which, end := record.EndOf(r)
	return end || which != 0
}

// shown is an entry for people.
func shown(e message.Entry) string {
	if e.Scope != "" {
		return fmt.Sprintf("%s in %s of %s", e.Activity, e.Scope, e.Instance)
	}
	return fmt.Sprintf("%s of %s", e.Activity, e.Instance)
}

// touched: of the instance messages may go, or come once more, otherwise than by the course of
// things: an operator has dealt with it.
func (x *watch) touched(e message.Entry) bool { return x.world.touched[e.Instance] > 0 }

// repeated: a message for what has ended may come once more, and is let go of: a site that has a part
// in the instance has lost its store, and sends or is sent again what it had.
func (x *watch) repeated(e message.Entry) bool {
	return x.world.weaker[e.Instance] || x.resent[e.Instance]
}

// judge holds a transaction to what may be (invariants 3, 4 and 5).
func (x *watch) judge(s *site, d *shadow, t *transaction) {
	ended := map[message.Entry]bool{}
	for i := range t.records {
		r := &t.records[i]
		e := entryOf(r)
		if !d.filled && !x.touched(e) {
			x.complete(s, t, r)
		}
		if !ends(r) {
			continue
		}
		if d.ended[e] {
			x.world.breaks("4", "%s ends twice at %s", shown(e), s.name)
		}
		d.ended[e], ended[e] = true, true
		if r.Event == record.EventCancelled || r.Ending != (message.Ending{}) {
			d.early[e] = r.Event
		}
		x.exact(s, d, t, r)
	}
	var gone, late []string
	for e, keys := range t.removed {
		if ended[e] || t.recalls(e) || x.touched(e) || x.repeated(e) && (d.ended[e] || d.isOver(e)) {
			continue
		}
		if d.ended[e] && !slices.ContainsFunc(keys, func(k message.Key) bool { return !d.absorbs(e, k) }) {
			continue
		}
		uncounted := func(k message.Key) bool { return isWork(k) && !t.gathers(e, k) }
		if slices.ContainsFunc(keys, isConnector) || slices.ContainsFunc(keys, uncounted) && !t.recorded(e) {
			gone = append(gone, shown(e))
		}
	}
	for e, keys := range t.put {
		if d.ended[e] && !t.recalls(e) && !x.touched(e) && !x.repeated(e) && slices.ContainsFunc(keys, func(k message.Key) bool {
			return k.Kind != message.KindNotice && k.Kind != message.KindWord && d.messages[e][k] && !d.absorbs(e, k)
		}) {
			late = append(late, shown(e))
		}
	}
	x.begins(s, d, t)
	x.events(s, d, t)
	if len(gone) > 0 {
		x.world.breaks("3", "messages of %s are taken out at %s, and it does not end", slices.Min(gone), s.name)
	}
	if len(late) > 0 {
		x.world.breaks("5", "%s has ended at %s, and a message of it is taken", slices.Min(late), s.name)
	}
}

// isOver: a block around the activity has ended, so that an iteration that has not begun never does.
func (d *shadow) isOver(e message.Entry) bool {
	for scope := e.Scope; scope != ""; scope = scope.Leave() {
		if d.ended[message.Entry{Instance: e.Instance, Scope: scope.Leave(), Activity: scope.Inside()}] {
			return true
		}
	}
	return false
}

// absorbs: an activity that has ended lets go of a message that has lost its race with that (N14): whatever
// comes to one that was cancelled; to others a timer, that they are cancelled, or what they had begun.
func (d *shadow) absorbs(e message.Entry, k message.Key) bool {
	how, early := d.early[e]
	switch {
	case k.Kind == message.KindDue, k.Kind == message.KindCancel, k.Kind == message.KindNotice: // that an error is over may come with the end of all
		return true
	case k.Kind == message.KindRecall, k.Kind == message.KindRecalled: // of a restart that is refused, or given up
		return true
	case k.Kind == message.KindReturn && k.Source != processtable.Sink && k.Source != processtable.Source: // an error, which has come to an end as well
		return true
	case k.Kind == message.KindReturn:
		return early
	case k.Kind == message.KindConnector && d.races[e]: // it does not wait for all
		return true
	}
	return how == record.EventCancelled
}

// recalls: a restart of it is under way, or given up, and its end stands; or what has come to it is taken out for
// the restart of another (N30).
func (t *transaction) recalls(e message.Entry) bool {
	return slices.ContainsFunc(t.records, func(r record.AuditRecord) bool {
		return entryOf(&r) == e && (r.Event == record.EventRecalled || r.Event == record.EventKept)
	})
}

func isConnector(k message.Key) bool { return k.Kind == message.KindConnector }

// exact: an activity ends with the messages that it was decided on, no fewer and no more. What it
// names was on disk until now, or comes from what ends in this very transaction. An operator's word
// is no part of that: it stays until it is answered (N15), also once the activity has ended.
func (x *watch) exact(s *site, d *shadow, t *transaction, r *record.AuditRecord) {
	e := entryOf(r)
	var stay []string
	for k := range d.messages[e] {
		if k.Kind == message.KindWord {
			continue
		}
		if !x.touched(e) && !x.repeated(e) && !d.absorbs(e, k) || !slices.Contains(t.put[e], k) {
			stay = append(stay, string(k.Source))
		}
	}
	if len(stay) > 0 {
		x.world.breaks("3", "%s ends at %s, and its messages from %q stay", shown(e), s.name, slices.Sorted(slices.Values(stay)))
	}
	if d.filled {
		return
	}
	named := map[message.Key]bool{}
	for i := range r.Consumed {
		k := r.Consumed[i].Key
		named[k] = true
		if !slices.Contains(t.removed[e], k) && !t.acts(r, k) {
			x.world.breaks("3", "%s ends at %s with a message from %s that is not there", shown(e), s.name, k.Source)
		}
	}
	for _, k := range t.removed[e] {
		if isConnector(k) && !named[k] && !x.touched(e) {
			x.world.breaks("3", "%s ends at %s, and with it goes a message from %s that it was not decided on", shown(e), s.name, k.Source)
		}
	}
}

// acts: who has sent a message ends in this transaction as well, or passes its dead path on.
func (t *transaction) acts(r *record.AuditRecord, k message.Key) bool {
	return slices.ContainsFunc(t.records, func(other record.AuditRecord) bool {
		return other.Instance == r.Instance && other.Scope == k.Scope && other.Activity == k.Source
	})
}

// complete: all that a record says was sent is in the transaction, as a message here, as what an
// activity ends with here, or as an item for a peer.
func (x *watch) complete(s *site, t *transaction, r *record.AuditRecord) {
	for i := range r.Sent {
		to := &r.Sent[i]
		target := message.Entry{Instance: r.Instance, Scope: to.Scope, Activity: to.Target}
		switch {
		case to.Node != s.name:
			if t.items[to.Node]--; t.items[to.Node] < 0 {
				x.world.breaks("3", "%s ends at %s, and what it sends to %s at %s is not in its transaction", shown(entryOf(r)), s.name, to.Target, to.Node)
			}
		case to.Kind == message.KindEvent && t.keeps(r.About.Token):
		case slices.ContainsFunc(t.put[target], func(k message.Key) bool { return k.Source == r.Activity }):
		case slices.ContainsFunc(t.records, func(other record.AuditRecord) bool { return entryOf(&other) == target && consumes(&other, r.Activity) }):
		case to.Kind == message.KindCancel && isNotice(to.Scope.Path(to.Target)) && x.shadows[s.name].isEmpty(target): // it ends with that, and says nothing
		case (isWork(message.Key{Kind: to.Kind}) || to.Kind == message.KindCancel) && t.recorded(target): // it goes on with that in this very transaction
		default:
			x.world.breaks("3", "%s ends at %s, and what it sends to %s there is not in its transaction", shown(entryOf(r)), s.name, to.Target)
		}
	}
}

// isEmpty: nothing is left of an entry, but for a time or a word that came as it ended and is to be absorbed, or answered.
func (d *shadow) isEmpty(e message.Entry) bool {
	for k := range d.messages[e] {
		if k.Kind != message.KindDue && k.Kind != message.KindWord {
			return false
		}
	}
	return true
}

// keeps: an event comes into the queue of the site's own, which is of no instance (N24).
func (t *transaction) keeps(token processtable.ActivityID) bool {
	for _, keys := range t.put {
		if slices.ContainsFunc(keys, func(k message.Key) bool { return k.Kind == message.KindEvent && k.Source == token }) {
			return true
		}
	}
	return false
}

func consumes(r *record.AuditRecord, source processtable.ActivityID) bool {
	return slices.ContainsFunc(r.Consumed, func(c record.Consumed) bool { return c.Key.Source == source })
}

// large is a transaction that takes several commits, as it is on disk: with its head it has
// happened (queue/large.go).
type large struct {
	pieces  map[string][]byte
	pending map[string]bool // changes that are still to be made; nil: none is under way
}

// happened gives what counts of a commit: all of it, or of a large transaction everything in the
// moment in which its head is there, and nothing when its changes are made. A store that is
// restored gets head and pieces in one commit, beside changes of it that were made by then.
func (l *large) happened(ops []store.Op) ([]store.Op, error) {
	var rest []store.Op
	begins := false
	for i := range ops {
		op := &ops[i]
		switch {
		case op.Key[0] != record.ClassLarge:
			rest = append(rest, *op)
		case len(op.Key) > len(record.KeyLarge):
			if delete(l.pieces, string(op.Key)); op.Value != nil {
				content, err := record.Open(op.Key, op.Value)
				if err != nil {
					return nil, err
				}
				l.pieces[string(op.Key)] = slices.Clone(content)
			}
		case op.Value != nil:
			begins = true
		default:
			left := len(l.pending)
			if l.pending = nil; left > 0 {
				return nil, fmt.Errorf("a large transaction ends, and %d of its changes are not made", left)
			}
		}
	}
	var begun []store.Op
	if begins {
		var err error
		if begun, err = l.begin(); err != nil {
			return nil, err
		}
	}
	for i := range rest {
		if l.pending != nil {
			delete(l.pending, change(&rest[i]))
		}
	}
	switch {
	case begins:
		still := slices.DeleteFunc(begun, func(op store.Op) bool { return !l.pending[change(&op)] })
		return append(rest, still...), nil
	case l.pending != nil:
		return nil, nil
	}
	return rest, nil
}

// begin gives the changes of the transaction that has happened now.
func (l *large) begin() ([]store.Op, error) {
	var encoded []byte
	for i := range len(l.pieces) {
		encoded = append(encoded, l.pieces[string(record.AppendPieceKey(nil, i))]...)
	}
	ops, err := record.ReadOps(encoded)
	l.pending = map[string]bool{}
	for i := range ops {
		l.pending[change(&ops[i])] = true
	}
	return ops, err
}

// change names a change.
func change(op *store.Op) string {
	if op.Value == nil {
		return string(op.Key)
	}
	return string(op.Key) + "\x00" + string(op.Value)
}
