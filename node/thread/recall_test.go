package thread

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/message"
	"fmqm/queue/record"
)

// recall is a message about a restart (N30), as another node sends it.
func (s *script) recall(what string, words []string) message.Message {
	m := s.message(words[:3], false)
	m.Control, m.Lane, m.Number, m.Kind, m.Body = message.Unresolved, message.LaneControl, uint64(s.number(words[3])), message.KindRecall, message.EncodeRecall(message.Recall{})
	if why := strings.Join(words[4:], " "); what == "recalled" {
		m.Kind, m.Body = message.KindRecalled, message.EncodeRecalled(message.Recalled{Taken: why == "", Why: why})
	}
	return m
}

// recallShown shows a message about a restart.
func recallShown(m *message.Message) string {
	if m.Kind == message.KindRecalled {
		r, err := message.DecodeRecalled(m.Body)
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(fmt.Sprintf("%s answers %s #%d %s", m.Source, m.Activity, m.Number, r.Why))
	}
	r, err := message.DecodeRecall(m.Body)
	switch {
	case err != nil:
		return err.Error()
	case r.Again:
		return fmt.Sprintf("%s asks %s for #%d", m.Source, m.Activity, m.Number)
	case r.Answered:
		return fmt.Sprintf("keeps what %s has sent %s below #%d out", m.Source, m.Activity, m.Number)
	}
	return fmt.Sprintf("recalls what %s has sent %s, as #%d", m.Source, m.Activity, m.Number)
}

// supersededShown shows what becomes of ends that do not stand as they are.
func supersededShown(tx *record.Tx) (parts []string) {
	for _, ended := range tx.Supersede {
		if ended.Edition == 0 {
			parts = append(parts, fmt.Sprintf("the end of %s is history", ended.Entry.Activity))
		} else {
			parts = append(parts, fmt.Sprintf("what %s has sent is #%d", ended.Entry.Activity, ended.Edition))
		}
	}
	return parts
}

// supersede is queue.Superseding: an end becomes a line of history, or what it has sent gets another number.
func (s *modelStore) supersede(by record.Supersede) {
	i := slices.IndexFunc(s.audits, func(a record.AuditRecord) bool {
		return by.Entry == message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity} && ends(a.Event)
	})
	if i < 0 {
		panic(fmt.Sprintf("%s has no end that is superseded", by.Entry.Activity))
	}
	if by.Edition == 0 {
		s.audits = slices.Delete(s.audits, i, i+1)
		return
	}
	a := &s.audits[i]
	a.Sent = slices.Clone(a.Sent)
	for j := range a.Sent {
		if a.Sent[j].Kind == 0 {
			a.Sent[j].Nth = by.Edition
		}
	}
}
