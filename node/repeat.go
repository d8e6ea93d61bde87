package node

import (
	"slices"
	"time"

	"fmqm/message"
	"fmqm/queue"
)

// late takes what arrives for an entry that has ended (N7): it is set aside. Where a store
// was lost, here or at a peer, a repeat of what the entry was ended with is no cause for
// alarm, and is dropped: who lost his store runs again, and sends again, what he does not
// know any more (S4).
func (c *core) late(key message.Entry, ended queue.AuditRecord, messages []message.Message, now time.Time) {
	reason := "late: the activity has already terminated"
	if ended.Removed != nil {
		reason = "late: the instance has ended, and retention has removed its audit"
	}
	var asides []queue.SetAside
	for _, m := range messages {
		if m.Kind == message.KindConnector && (c.losses == nil || !c.losses() || !repeats(ended, m)) {
			asides = append(asides, c.aside(m, reason, now))
		}
	}
	c.drop(key, messages, asides)
}

// repeats says whether m resolves a connector as a message did that the entry was ended with.
func repeats(ended queue.AuditRecord, m message.Message) bool {
	return slices.ContainsFunc(ended.Consumed, func(c queue.Consumed) bool {
		return c.Key == m.Key() && c.Control == m.Control && c.Data == m.Data
	})
}
