package answer

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"math"

	"fmqm/api"
	"fmqm/container"
	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Refused lists this node's refused messages, newest first (L5).
// Of those of processes that the caller may not see a page is shorter: their places are counted.
func (a *Answers) Refused(ctx context.Context, r api.RefusedRequest) (api.RefusedAnswer, error) {
	caller := api.CallerOf(ctx)
	before := r.Before
	if before == 0 {
		before = math.MaxUint64
	}
	found, err := a.Queue.RefusedBefore(before, r.Limit+1)
	if err != nil {
		return api.RefusedAnswer{}, err
	}
	list := api.RefusedAnswer{Messages: []api.Refused{}, More: len(found) > r.Limit}
	for _, head := range found[:min(len(found), r.Limit)] {
		if shown := a.showRefused(head); caller.Sees(shown.Process) {
			list.Messages = append(list.Messages, shown)
		}
	}
	return list, nil
}

// showRefused shows one message; of one that cannot be read, what the node itself noted.
func (a *Answers) showRefused(head record.RefusedHead) api.Refused {
	d := api.Refused{Number: head.Number, Time: head.Time, From: string(head.Peer), Reason: head.Reason}
	if d.From == "" {
		d.From = string(a.sender(head.Header))
	}
	if m := head.Header; m != nil {
		d.Kind, d.Process, d.Instance = m.Kind.String(), m.Queue.Process.String(), m.Instance
		d.Activity, d.Source = string(m.Activity), string(m.Source)
	}
	return d
}

// sender is the node that a message speaks for which the process thread has set aside,
// as its table says; nil: the message cannot be read.
func (a *Answers) sender(m *message.Header) processtable.NodeID {
	if m == nil {
		return a.Self
	}
	if m.OnBehalf != "" {
		return m.OnBehalf
	}
	if t := a.tableOf(m.Queue.Process); t != nil {
		if node, ok := t.HostOf(m.SourceRow(), m.Origin); ok && node != "" {
			return node
		}
	}
	return cmp.Or(m.Origin, a.Self)
}

// shownBytes is how much is shown of what cannot be read.
const shownBytes = 256

// RefusedMessage shows one refused message of this node, with its content.
func (a *Answers) RefusedMessage(s *record.Refused) api.RefusedMessage {
	m, err := message.Decode(s.Message)
	head := record.RefusedHead{Number: s.Number, Time: s.Time, Peer: s.Peer, Reason: s.Reason}
	if err == nil {
		head.Header = &m.Header
	}
	out := api.RefusedMessage{Refused: a.showRefused(head), Bytes: len(s.Message)}
	if err != nil {
		out.Hex = hex.EncodeToString(s.Message[:min(len(s.Message), shownBytes)])
		return out
	}
	out.Node, out.Origin, out.Scope, out.OnBehalf = string(m.Queue.Node), string(m.Origin), string(m.Scope), string(m.OnBehalf)
	out.Definition, out.Lane, out.Clock, out.Trace = m.Definition.String(), int(m.Lane), m.Clock, m.Trace
	out.Control = m.Control.String()
	out.Data = [...]string{"", "absent", "present"}[min(int(m.Data), 2)]
	out.BodyBytes = len(m.Body)
	if out.Body, err = a.body(m); (err != nil || out.Body == nil) && len(m.Body) > 0 {
		out.Body, out.Hex = nil, hex.EncodeToString(m.Body[:min(len(m.Body), shownBytes)])
	}
	return out
}

// body shows what a message carries, as the table here reads it; nil where it does not say.
func (a *Answers) body(m message.Message) (json.RawMessage, error) {
	switch m.Kind {
	case message.KindNotice:
		notice, err := message.DecodeNotice(m.Body)
		if err != nil {
			return nil, err
		}
		return text.Encode(map[string]any{"error": notice.Error, "attempts": notice.Attempts, "cleared": notice.Cleared})
	case message.KindMarker:
		marker, err := message.DecodeMarker(m.Body)
		if err != nil {
			return nil, err
		}
		shown := map[string]any{"reason": marker.Reason, "time": marker.Time}
		if marker.By != "" {
			shown["by"] = marker.By
		}
		return text.Encode(shown)
	case message.KindMark:
		mark, err := message.DecodeMark(m.Body)
		if err != nil {
			return nil, err
		}
		return text.Encode(map[string]any{"id": mark.ID, "by": mark.By, "reason": mark.Reason, "time": mark.Time, "resumes": mark.Resumes()})
	case message.KindConnector:
		return a.values(m)
	case message.KindRecord, message.KindSnapshot, message.KindTable, message.KindDue, message.KindWord, message.KindAnswer, message.KindBegin, message.KindReturn, message.KindCancel, message.KindStart, message.KindChunk,
		message.KindWait, message.KindPast, message.KindOver, message.KindCurrent:
	case message.KindEvent:
		e, err := message.DecodeEvent(m.Body)
		if err != nil {
			return nil, err
		}
		return text.Encode(map[string]any{"event": e.Name, "key": e.Key, "from": e.Node, "id": e.ID, "sent": e.Sent})
	}
	return nil, nil
}

// values are those of a data connector, by the member of the target's input that they are for.
func (a *Answers) values(m message.Message) (json.RawMessage, error) {
	p := a.Site.Process(m.Queue.Process)
	if p == nil || m.Data != message.DataPresent && m.Data != message.DataWords {
		return nil, nil
	}
	to := m.Entry()
	b := p.Activity(to.Row())
	if b == nil {
		return nil, nil
	}
	values, err := b.Values(m)
	if err != nil || values == nil {
		return nil, err
	}
	shown := map[string]json.RawMessage{}
	for _, v := range values {
		if shown[v.Target], err = container.EncodeJSON(v.Value); err != nil {
			return nil, err
		}
	}
	return text.Encode(shown)
}
