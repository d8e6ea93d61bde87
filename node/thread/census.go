package thread

import (
	"cmp"
	"slices"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/queue/record"
)

// census counts the activities of a process queue that are in error, those included that
// are not in memory: the first browse of the queue finds the ones that were so at open,
// and every transaction that puts one in error, or ends that, changes the count. What
// the first browse has not reached yet is counted by it, and not before.
type census struct {
	inError  int
	complete bool          // the queue was browsed to its end
	reached  message.Entry // by the first browse
}

// restart: the browse begins anew before it came to the end.
func (c *census) restart() {
	if !c.complete {
		*c = census{}
	}
}

// found takes down what the browse has found; e is its entry in memory, which knows
// better what was committed and told, or nil; b is its behaviour, nil: it has none here.
func (c *census) found(f *record.EntryMessages, e *instancetable.Entry, b behaviour.Behaviour) {
	if c.complete {
		return
	}
	c.reached = f.Entry
	if e != nil && e.State.InError() || e == nil && b != nil && erring(b, f) {
		c.inError++
	}
}

// erring says whether messages put their entry in error: one without a message of its own
// never is. What does not fit is refused once more where it is folded.
func erring(b behaviour.Behaviour, f *record.EntryMessages) bool {
	if !slices.ContainsFunc(f.Messages, func(m message.Message) bool { return m.Kind == message.KindSnapshot }) {
		return false
	}
	s := b.Empty(f.Entry)
	for _, m := range f.Messages {
		if isWord(m) {
			continue
		}
		_ = b.Fold(s, m)
	}
	return s.InError()
}

// changed: a transaction of an entry is on disk, which was in error before, or is now.
func (c *census) changed(e message.Entry, before, after bool) {
	switch {
	case before == after, !c.complete && compareEntries(e, c.reached) > 0:
	case after:
		c.inError++
	default:
		c.inError--
	}
}

// compareEntries orders entries as the queue does.
func compareEntries(a, b message.Entry) int {
	return cmp.Or(slices.Compare(a.Instance[:], b.Instance[:]), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Activity, b.Activity))
}
