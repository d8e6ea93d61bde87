package prepare

import (
	"slices"

	"fmqm/message"
	"fmqm/queue/record"
)

// notice is one by which an instance is in error, or is not any more.
type notice struct {
	of   message.InstanceID
	key  message.Key
	gone bool
}

// notice notes what a notice that is put says of its instance. One that cannot be read counts as an error: it is
// found with the others, and whoever reads it judges it.
func (b *builder) notice(m *message.Message) {
	body, err := message.DecodeNotice(m.Body)
	b.notices = append(b.notices, notice{m.Instance, m.Key(), err == nil && body.Cleared})
}

// bound notes an audit record that is the start or the end of an instance.
func (b *builder) bound(i int) {
	if b.Tx.Audit[i].Event == record.EventStarted {
		b.started = append(b.started, i)
	} else {
		b.ended = append(b.ended, i)
	}
}

// index keeps the index of instances: those that start, end, or come to be in error with the transaction. It changes in
// the same commit as what it is an index of, and nothing else may change it but retention.
func (b *builder) index() {
	for _, i := range b.started {
		a := &b.Tx.Audit[i]
		if !b.endsHere(a.Instance) { // else it never stands among those that run
			b.list(record.ListedRunning, record.StandingOf(a), a.Instance)
		}
		place := record.StandingOf(a)
		for at := range a.Search {
			start := len(b.buf)
			b.buf = record.AppendSearchKey(b.buf, &a.Search[at], &place, a.Instance)
			b.empty(b.cut(start))
		}
	}
	for _, i := range b.ended {
		a := &b.Tx.Audit[i]
		place, known, err := b.standing(a.Instance)
		if err != nil {
			b.fail(err)
			return
		}
		if !known { // what an operator ends of another site's instance leaves no end in the list (N7)
			continue
		}
		b.list(record.ListedEnd(a), place, a.Instance)
		if !b.startsHere(a.Instance) {
			start := len(b.buf)
			b.buf = record.AppendListedKey(b.buf, record.ListedRunning, place, a.Instance)
			b.op(b.cut(start), nil)
		}
	}
	for at, n := range b.notices {
		// of two with one key the later one counts, as of the messages themselves
		if slices.ContainsFunc(b.notices[at+1:], func(later notice) bool { return later.of == n.of && later.key == n.key }) {
			continue
		}
		keys, err := record.NoticeKeys(n.of, n.key, n.gone, b.standing)
		if err != nil {
			b.fail(err)
			return
		}
		for _, key := range keys {
			if n.gone {
				b.op(key, nil)
			} else {
				b.empty(key)
			}
		}
	}
}

func (b *builder) list(l record.Listed, p record.Standing, i message.InstanceID) {
	start := len(b.buf)
	b.buf = record.AppendListedKey(b.buf, l, p, i)
	b.empty(b.cut(start))
}

// standing gives where an instance stands: one that starts with the transaction is not on disk yet.
func (b *builder) standing(i message.InstanceID) (record.Standing, bool, error) {
	for _, at := range b.started {
		if a := &b.Tx.Audit[at]; a.Instance == i {
			return record.StandingOf(a), true, nil
		}
	}
	if b.p.Standing == nil {
		return record.Standing{}, false, nil
	}
	return b.p.Standing(i)
}

func (b *builder) startsHere(i message.InstanceID) bool { return b.among(b.started, i) }

func (b *builder) endsHere(i message.InstanceID) bool { return b.among(b.ended, i) }

func (b *builder) among(records []int, i message.InstanceID) bool {
	return slices.ContainsFunc(records, func(at int) bool { return b.Tx.Audit[at].Instance == i })
}
