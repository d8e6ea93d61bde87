package command

import (
	"context"
	"fmt"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// AskEnd is what a node asks an instance's origin where it has to send a peer again what that
// lost, and has not got it any more or needs not: the peer is to know that it is over; or where
// something waits at the asking node itself that the peer lost. That is no operator's word, and
// true whoever asks.
const AskEnd = "end"

// EndQuestion is asked with AskEnd.
type EndQuestion struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`
	Node     string             `json:"node"` // that is to know
}

// EndReport carries the error, if there was one.
type EndReport struct {
	Error *api.Error `json:"error,omitempty"`
}

// LetEnd lets the node where an instance was started tell another one that it is over. An error
// means that it does not now, and is to be asked again.
func (c *Commands) LetEnd(ctx context.Context, q EndQuestion, origin processtable.NodeID) error {
	if origin == c.Self {
		return c.EndFor(ctx, c.Self, q)
	}
	ctx, cancel := c.Scheduler.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a, err := question.Ask[EndReport](ctx, c.Site, origin, AskEnd, q)
	switch {
	case err != nil:
		return fmt.Errorf("instance %s is over, and %s, where it was started, has to tell %s: %w", q.Instance, origin, q.Node, err)
	case a.Error != nil && a.Error.Code != api.CodeRefused && a.Error.Code != api.CodeNotFound:
		return fmt.Errorf("instance %s is over, and %s, where it was started, cannot tell %s now: %w", q.Instance, origin, q.Node, a.Error)
	case a.Error != nil: // it has an older copy of its store: whoever terminated the instance does so again
		c.Log.Warn().Str("peer", q.Node).Stringer("instance", q.Instance).Str("origin", string(origin)).Str("reason", a.Error.Error()).
			Msg("what the peer lost of a terminated instance is not sent again, and the site where it was started does not tell the peer that it is over: terminate it again")
	}
	return nil
}

// EndFor puts a marker for a node of an instance that was started here and has ended, or was
// terminated: asker wants it to know. Whoever has a part may ask, as often as he likes, so the
// markers that wait for a node are bounded by the quota of its transmission queue.
func (c *Commands) EndFor(ctx context.Context, asker processtable.NodeID, q EndQuestion) error {
	id, err := processtable.ParseProcessID(q.Process)
	to := processtable.NodeID(q.Node)
	if err != nil || to != c.Self && !c.concerns(to, id) || asker != c.Self && !c.concerns(asker, id) {
		return c.noTable(q.Process)
	}
	started, ended, found, err := c.Queue.Instance(q.Instance)
	if err != nil {
		return err
	}
	there, err := c.Queue.Marker(id, q.Instance)
	if err != nil {
		return err
	}
	body := message.EncodeMarker(message.Marker{Reason: "the instance had ended", Time: c.Scheduler.Now()})
	switch {
	case there != nil && there.Origin == c.Self:
		body = unrelayed(there.Body)
	case !found || started.Process != id || ended == nil:
		return api.Errorf(api.CodeRefused, "", "instance %s of %s was not started at %s, or has not ended", q.Instance, id, c.Self)
	}
	if quota := c.Site.Quota(); to != c.Self && quota > 0 && c.waitingFor(to) >= quota {
		return api.Errorf(api.CodeUnreachable, "ask again once it takes that", "what waits at %s for %s has no more room (limits.transmission)", c.Self, to)
	}
	return c.Site.Commit(ctx, &record.Tx{Put: []message.Message{c.marker(id, q.Instance, to, body)}})
}

// unrelayed is the body of a marker as it goes to another node: that tells nobody else (N19).
func unrelayed(body []byte) []byte {
	m, err := message.DecodeMarker(body)
	if err != nil || !m.Relay {
		return body
	}
	m.Relay = false
	return message.EncodeMarker(m)
}

// waitingFor is how much waits for a peer, in bytes.
func (c *Commands) waitingFor(peer processtable.NodeID) int64 {
	_, bytes := c.Queue.Transmission(peer).Size()
	return int64(bytes)
}

// marker is the message that ends an instance at a node, from its origin, which is this node.
func (c *Commands) marker(id processtable.ProcessID, i message.InstanceID, node processtable.NodeID, body []byte) message.Message {
	return message.Message{Header: message.Header{
		Queue:    message.Queue{Process: id, Node: node},
		Instance: i, Origin: c.Self, Kind: message.KindMarker, Lane: message.LaneControl,
	}, Body: body}
}
