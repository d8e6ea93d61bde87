package node

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"math"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// kindNames are the API's words for what a message is.
var kindNames = map[message.Kind]string{
	message.KindConnector: "connector", message.KindRecord: "record", message.KindSnapshot: "snapshot",
	message.KindNotice: "notice", message.KindMarker: "marker", message.KindTable: "table",
}

// Dead lists this node's refused messages, newest first (L5).
func (n *Node) Refused(_ context.Context, r api.RefusedRequest) (api.RefusedAnswer, error) {
	before := r.Before
	if before == 0 {
		before = math.MaxUint64
	}
	found, err := n.queue.SetAsideBefore(before, r.Limit+1)
	if err != nil {
		return api.RefusedAnswer{}, asAPI(err)
	}
	a := api.RefusedAnswer{Messages: []api.Refused{}, More: len(found) > r.Limit}
	for _, head := range found[:min(len(found), r.Limit)] {
		a.Messages = append(a.Messages, n.showRefused(head))
	}
	return a, nil
}

// showRefused shows one message; of one that cannot be read, what the node itself noted.
func (n *Node) showRefused(head queue.AsideHead) api.Refused {
	d := api.Refused{Number: head.Number, Time: head.Time, From: string(head.Peer), Reason: head.Reason}
	if d.From == "" {
		d.From = string(n.sender(head.Header))
	}
	if m := head.Header; m != nil {
		d.Kind, d.Process, d.Instance = kindNames[m.Kind], m.Queue.Process.String(), m.Instance
		d.Activity, d.Source = string(m.Activity), string(m.Source)
	}
	return d
}

// sender is the node that a message speaks for which the process thread has set aside,
// as its table says; nil: the message cannot be read.
func (n *Node) sender(m *message.Header) processtable.NodeID {
	if m == nil {
		return n.name
	}
	if m.OnBehalf != "" {
		return m.OnBehalf
	}
	if t := n.thread(m.Queue.Process); t != nil {
		if node, ok := t.process.Table().NodeOf(m.Source); ok && node != processtable.Origin {
			return node
		}
	}
	return cmp.Or(m.Origin, n.name)
}

// shownBytes is how much is shown of what cannot be read.
const shownBytes = 256

// RefusedMessage shows one refused message of this node, with its content.
func (n *Node) RefusedMessage(_ context.Context, number uint64) (api.RefusedMessage, error) {
	s, err := n.setAside(number)
	if err != nil {
		return api.RefusedMessage{}, asAPI(err)
	}
	m, err := message.Decode(s.Message)
	head := queue.AsideHead{Number: s.Number, Time: s.Time, Peer: s.Peer, Reason: s.Reason}
	if err == nil {
		head.Header = &m.Header
	}
	out := api.RefusedMessage{Refused: n.showRefused(head), Bytes: len(s.Message)}
	if err != nil {
		out.Hex = hex.EncodeToString(s.Message[:min(len(s.Message), shownBytes)])
		return out, nil
	}
	out.Node, out.Origin, out.Scope, out.OnBehalf = string(m.Queue.Node), string(m.Origin), string(m.Scope), string(m.OnBehalf)
	out.Definition, out.Lane, out.Clock, out.Trace = m.Definition.String(), int(m.Lane), m.Clock, m.Trace
	out.Control = [...]string{"", "FALSE", "TRUE"}[min(int(m.Control), 2)]
	out.Data = [...]string{"", "absent", "present"}[min(int(m.Data), 2)]
	out.BodyBytes = len(m.Body)
	if out.Body, err = n.body(m); (err != nil || out.Body == nil) && len(m.Body) > 0 {
		out.Body, out.Hex = nil, hex.EncodeToString(m.Body[:min(len(m.Body), shownBytes)])
	}
	return out, nil
}

func (n *Node) setAside(number uint64) (queue.SetAside, error) {
	s, found, err := n.queue.SetAsideAt(number)
	if err == nil && !found {
		err = notAside(number)
	}
	return s, err
}

func notAside(number uint64) error {
	return api.Errorf(api.CodeNotFound, "see `fmqm refused list`; a message that was retried and refused again has another number",
		"there is no refused message %d here", number)
}

// body shows what a message carries, as the table here reads it; nil where it does not say.
func (n *Node) body(m message.Message) (json.RawMessage, error) {
	switch m.Kind {
	case message.KindNotice:
		notice, err := message.DecodeNotice(m.Body)
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{"error": notice.Error, "attempts": notice.Attempts, "cleared": notice.Cleared})
	case message.KindMarker:
		marker, err := message.DecodeMarker(m.Body)
		if err != nil {
			return nil, err
		}
		shown := map[string]any{"reason": marker.Reason, "time": marker.Time}
		if marker.By != "" {
			shown["by"] = marker.By
		}
		return json.Marshal(shown)
	case message.KindConnector:
		return n.values(m)
	case message.KindRecord, message.KindSnapshot, message.KindTable:
	}
	return nil, nil
}

// values are those of a data connector, by the member of the target's input that they are for.
func (n *Node) values(m message.Message) (json.RawMessage, error) {
	t := n.thread(m.Queue.Process)
	if t == nil || m.Data != message.DataPresent {
		return nil, nil
	}
	a := t.process.Activity(m.Activity)
	if a == nil {
		return nil, nil
	}
	values, err := a.Values(m)
	if err != nil || values == nil {
		return nil, err
	}
	shown := map[string]json.RawMessage{}
	for _, v := range values {
		if shown[v.Target], err = container.EncodeJSON(v.Value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(shown)
}
