package prepare

import (
	"cmp"
	"encoding/binary"

	"fmqm/message"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

func (b *builder) audit(i int) {
	a := &b.Tx.Audit[i]
	if err := record.ValidateAudit(a); err != nil {
		b.fail(err)
		return
	}
	key, history := b.auditKey(a)
	switch key[0] {
	case record.ClassInstance:
		b.bound(i)
	}
	op := b.auditRecord(key, a)
	b.linkSent(i)
	b.Audits = append(b.Audits, commit.Audit{Op: op, History: history, Sent: len(a.Sent)})
	if a.Event == record.EventStarted {
		start := len(b.buf)
		b.buf = record.AppendStartKey(b.buf, a.Time, a.Instance)
		b.empty(b.cut(start))
	}
}

// auditRecord adds the put of an audit record, without the numbers that its messages get in links. Its output is apart
// where it is large.
func (b *builder) auditRecord(key []byte, a *record.AuditRecord) (op int) {
	start := len(b.buf)
	b.buf = record.Begin(b.buf)
	staged := -1
	if len(a.Output) > b.inline {
		staged = b.stageBody(a.Output)
		b.buf = record.AppendRef(append(b.buf, record.PlaceStaged), b.Staged[staged].Ref)
	} else {
		b.buf = append(b.buf, record.PlaceInline)
	}
	b.buf = record.AppendAudit(b.buf, a, staged < 0)
	for i := range a.Sent {
		b.buf = binary.BigEndian.AppendUint64(b.buf, a.Sent[i].Number) // of what was put here, from the committer
	}
	b.buf = record.End(b.buf)
	op = b.op(key, b.cut(start))
	if staged >= 0 { // named for ever: nothing is kept that open would have to read
		b.Staged[staged].Op = b.op(record.AppendStagedKey(nil, b.Staged[staged].Ref.ID), nil)
	}
	return op
}

// rewrite puts an audit record in the place of another, and removes what that has staged: who reads it meanwhile
// finds that gone, and reads again.
func (b *builder) rewrite(r *record.Rewrite) {
	if err := record.ValidateAudit(&r.Record); err != nil {
		b.fail(err)
		return
	}
	record.Seal(r.Key, b.Ops[b.auditRecord(r.Key, &r.Record)].Value)
	for i := range r.Before.Count {
		b.op(record.AppendChunkKey(nil, r.Before.ID, i), nil)
	}
	place := record.StandingOf(&r.Record)
	for i := range r.Unfound {
		b.op(record.AppendSearchKey(nil, &r.Unfound[i], &place, r.Record.Instance), nil)
	}
}

// auditKey says where an audit record lies: at its entry's or instance's end where it
// is one, else in the history.
func (b *builder) auditKey(a *record.AuditRecord) (key []byte, history bool) {
	start := len(b.buf)
	entry := message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}
	which, ends := record.EndOf(a)
	switch {
	case which != 0:
		b.buf = record.AppendInstanceKey(b.buf, a.Instance, which)
	case ends:
		b.buf = record.AppendEndKey(b.buf, &entry)
	default:
		b.buf = append(append(b.buf, record.ClassHistory), a.Instance[:]...)
		b.buf = binary.BigEndian.AppendUint64(b.buf, a.Clock)
		b.buf = append(b.buf, make([]byte, 12)...) // commit and index, from the committer
		history = true
	}
	return b.cut(start), history
}

// linkSent finds the items that an audit record's Sent are about.
func (b *builder) linkSent(i int) {
	a := &b.Tx.Audit[i]
	at := 0
	for s := range a.Sent {
		if a.Sent[s].Node == b.p.Node || a.Sent[s].Node == "" {
			continue
		}
		for range b.Items {
			if at >= len(b.Items) {
				at = 0
			}
			item := b.sent[at]
			at++
			if item.first && sentAs(a, &a.Sent[s], &b.Tx.Put[item.put].Header) {
				b.Links = append(b.Links, commit.Link{Audit: len(b.Audits), Sent: s, Item: at - 1})
				break
			}
		}
	}
}

func sentAs(a *record.AuditRecord, s *record.Sent, h *message.Header) bool {
	if s.Kind == message.KindEvent {
		return h.Kind == message.KindEvent && a.About != nil && h.Source == a.About.Token && h.Queue.Node == s.Node
	}
	return h.Activity == s.Target && h.Scope == s.Scope && h.Source == a.Activity && h.SourceScope == a.Scope && h.Queue.Node == s.Node &&
		h.Instance == a.Instance && h.Number == s.Nth && h.Kind == cmp.Or(s.Kind, message.KindConnector) && h.Lane == s.Lane
}
