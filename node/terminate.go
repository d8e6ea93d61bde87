package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fmqm/api"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// askTerminate is an operator's word about an instance that was started at the node asked.
const askTerminate = "terminate"

// orderTimeout is how long an operator waits for another node to do what he wants.
const orderTimeout = 10 * time.Second

type terminateQuestion struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`
	By       string             `json:"by,omitempty"` // the operator, as the asking node has proved it
}

// terminateReport carries the error, if there was one.
type terminateReport struct {
	Error *api.Error `json:"error,omitempty"`
}

// Terminate ends an instance (N7): where it was started, by a marker for every node of the
// process; elsewhere by asking that node. It returns when the markers are durable at the
// origin, or on their way from there. Where the origin is not known it is refused: the
// instance's record would stay there for ever.
func (n *Node) Terminate(ctx context.Context, id api.InstanceID) error {
	g, err := n.gather(ctx, id, false)
	if err != nil {
		return err
	}
	if s := g.status(); s.State == api.InstanceFinished || s.State == api.InstanceTerminated {
		return alreadyEnded(id, s.State)
	}
	switch {
	case g.origin == "", g.contested != "":
		return n.notKnown(g, fmt.Sprintf("where instance %s was started", id), "terminate it at the node where it was started")
	case !n.hasTable(g.process):
		return n.notKnown(g, "the table of "+g.process, "terminate it at a node that has one")
	case g.origin != string(n.name):
		return n.askOrigin(ctx, processtable.NodeID(g.origin), terminateQuestion{Instance: id, Process: g.process, By: api.OperatorOf(ctx)})
	}
	process, err := processtable.ParseProcessID(g.process)
	if err != nil {
		return asAPI(err)
	}
	if e := asAPI(n.mark(ctx, process, id, n.commander(ctx))); e != nil {
		return e
	}
	return nil
}

func alreadyEnded(id message.InstanceID, s api.InstanceState) error {
	return api.Errorf(api.CodeRefused, "there is nothing to terminate", "instance %s is %s", id, s)
}

// askOrigin lets the node where an instance was started terminate it.
func (n *Node) askOrigin(ctx context.Context, origin processtable.NodeID, q terminateQuestion) error {
	ctx, cancel := n.sched.WithTimeout(ctx, orderTimeout)
	defer cancel()
	a, err := ask[terminateReport](ctx, n, origin, askTerminate, q)
	if errors.Is(err, link.ErrNotConnected) {
		err = link.ErrNotConnected // how the connection was lost is in fmqm links
	}
	if err != nil {
		return api.Errorf(api.CodeUnreachable, fmt.Sprintf("when %s is reachable again, see fmqm status in case it was done, and terminate it; or terminate it at %s itself (--to)", origin, origin),
			"only %s, where instance %s was started, can terminate it, and it does not answer: %v", origin, q.Instance, err)
	}
	if a.Error != nil {
		return a.Error
	}
	return nil
}

// terminateFor is a termination that a peer's operator wants. Of an instance that was not
// started here nothing is believed, so that nobody ends by a guess what begins later.
func (n *Node) terminateFor(ctx context.Context, peer processtable.NodeID, q terminateQuestion) error {
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil || !n.concerns(peer, id) {
		return noTableHere(q.Process, n.name)
	}
	if err := n.obey(&order{peer: peer, operator: q.By, command: "terminate", what: "instance " + q.Instance.String()}); err != nil {
		return err
	}
	started, ended, found, err := n.queue.Instance(q.Instance)
	switch {
	case err != nil:
		return err
	case !found || started.Process != id:
		return api.Errorf(api.CodeNotFound, "if it has lost its store: terminate the instance there, with --to", "%s does not know instance %s of %s as one that was started there", n.name, q.Instance, id)
	case ended != nil && ended.Event == queue.EventStopped:
		return alreadyEnded(q.Instance, api.InstanceTerminated)
	case ended != nil:
		return alreadyEnded(q.Instance, api.InstanceFinished)
	}
	marker, err := n.queue.Marker(id, q.Instance)
	switch {
	case err != nil:
		return err
	case marker != nil && marker.Origin == n.name:
		return alreadyEnded(q.Instance, api.InstanceTerminated)
	}
	return n.mark(ctx, id, q.Instance, operatorAt(q.By, peer))
}

// mark puts a marker for an instance that was started here at every node of its process.
func (n *Node) mark(ctx context.Context, id processtable.ProcessID, i message.InstanceID, by string) error {
	t := n.thread(id)
	if t == nil {
		return noTableHere(id.String(), n.name)
	}
	tx := &queue.Tx{}
	body := message.EncodeMarker(message.Marker{Reason: "terminated by " + by, Time: n.sched.Now(), By: by})
	for _, node := range append(n.others(rosterOf(t.process.Table()), ""), n.name) {
		tx.Put = append(tx.Put, n.marker(id, i, node, body))
	}
	return n.commit(ctx, tx)
}

// askEnd is what a node asks an instance's origin where it has to send a peer again what that
// lost, and has not got it any more or needs not: the peer is to know that it is over. That is
// no operator's word, and true whoever asks.
const askEnd = "end"

type endQuestion struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`
	Node     string             `json:"node"` // that is to know
}

// endReport carries the error, if there was one.
type endReport struct {
	Error *api.Error `json:"error,omitempty"`
}

// letEnd lets the node where an instance was started tell another one that it is over.
func (n *Node) letEnd(ctx context.Context, q endQuestion, origin processtable.NodeID) error {
	if origin == n.name {
		return n.sayEnd(ctx, n.name, q)
	}
	ctx, cancel := n.sched.WithTimeout(ctx, orderTimeout)
	defer cancel()
	a, err := ask[endReport](ctx, n, origin, askEnd, q)
	switch {
	case err != nil:
		return fmt.Errorf("instance %s is over, and %s, where it was started, has to tell %s: %w", q.Instance, origin, q.Node, err)
	case a.Error != nil: // it has an older copy of its store: whoever terminated the instance does so again
		n.log.Warn().Str("peer", q.Node).Stringer("instance", q.Instance).Str("origin", string(origin)).Str("reason", a.Error.Error()).
			Msg("what the peer lost of a terminated instance is not sent again, and the site where it was started does not tell the peer that it is over: terminate it again")
	}
	return nil
}

// sayEnd puts a marker for a node of an instance that was started here and has ended, or was
// terminated.
func (n *Node) sayEnd(ctx context.Context, asker processtable.NodeID, q endQuestion) error {
	id, err := processtable.ParseProcessID(q.Process)
	to := processtable.NodeID(q.Node)
	if err != nil || to == n.name || !n.concerns(to, id) || asker != n.name && !n.concerns(asker, id) {
		return noTableHere(q.Process, n.name)
	}
	started, ended, found, err := n.queue.Instance(q.Instance)
	if err != nil {
		return err
	}
	marker, err := n.queue.Marker(id, q.Instance)
	if err != nil {
		return err
	}
	body := message.EncodeMarker(message.Marker{Reason: "the instance had ended", Time: n.sched.Now()})
	switch {
	case marker != nil && marker.Origin == n.name:
		body = marker.Body
	case !found || started.Process != id || ended == nil:
		return api.Errorf(api.CodeRefused, "", "instance %s of %s was not started at %s, or has not ended", q.Instance, id, n.name)
	}
	return n.commit(ctx, &queue.Tx{Put: []message.Message{n.marker(id, q.Instance, to, body)}})
}

// marker is the message that ends an instance at a node, from its origin, which is this node.
func (n *Node) marker(id processtable.ProcessID, i message.InstanceID, node processtable.NodeID, body []byte) message.Message {
	return message.Message{Header: message.Header{
		Queue:    message.Queue{Process: id, Node: node},
		Instance: i, Origin: n.name, Kind: message.KindMarker, Lane: message.LaneControl,
	}, Body: body}
}
