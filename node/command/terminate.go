package command

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"fmqm/api"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// AskTerminate is an operator's command about an instance that was started at the node asked.
const AskTerminate = "terminate"

// TerminateQuestion is asked with AskTerminate.
type TerminateQuestion struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`
	Reason   string             `json:"reason,omitempty"` // the operator's; a site of an older version leaves it out
	By       string             `json:"by,omitempty"`     // the operator, as the asking node has proved it
}

// TerminateReport carries the error, if there was one.
type TerminateReport struct {
	Error *api.Error `json:"error,omitempty"`
}

// Terminate ends an instance (N7): where it was started, by a marker for every node of the
// process; elsewhere by asking that node. It returns when the markers are durable at the
// origin, or on their way from there. Where the origin is not known it is refused: the
// instance's record would stay there for ever. Where a process is named it is that one's instance:
// a peer may have made it up, under the identifier of another's.
func (c *Commands) Terminate(ctx context.Context, id message.InstanceID, r api.TerminateRequest) error {
	g, err := c.Site.Gather(ctx, id, r.Process)
	if err != nil {
		return err
	}
	if s := g.Status(); s.State == api.InstanceFinished || s.State == api.InstanceTerminated {
		return alreadyEnded(id, s.State)
	}
	process, known := c.known(g)
	switch {
	case g.Origin == "", g.Contested != "":
		return c.notKnown(g, fmt.Sprintf("where instance %s was started", id), "terminate it at the node where it was started")
	case !known:
		return c.notKnown(g, "the table of "+g.Process, "terminate it at a node that has one")
	case g.Origin != string(c.Self):
		return c.askOrigin(ctx, processtable.NodeID(g.Origin), TerminateQuestion{Instance: id, Process: g.Process, Reason: r.Reason, By: api.OperatorOf(ctx)})
	}
	return c.mark(ctx, process, id, c.By(ctx), r.Reason)
}

func alreadyEnded(id message.InstanceID, s api.InstanceState) error {
	return api.Errorf(api.CodeRefused, "there is nothing to terminate", "instance %s is %s", id, s)
}

// askOrigin lets the node where an instance was started terminate it.
func (c *Commands) askOrigin(ctx context.Context, origin processtable.NodeID, q TerminateQuestion) error {
	ctx, cancel := c.Scheduler.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a, err := question.Ask[TerminateReport](ctx, c.Site, origin, AskTerminate, q)
	if err != nil {
		return api.Errorf(api.CodeUnreachable, fmt.Sprintf("when %s is reachable again, see fmqm status in case it was done, and terminate it; or terminate it at %s itself (--to)", origin, origin),
			"only %s, where instance %s was started, can terminate it, and it does not answer: %v", origin, q.Instance, unanswered(err))
	}
	if a.Error != nil {
		return refusal(a.Error)
	}
	return nil
}

// unanswered is why a peer did not answer, for an operator: how a connection was lost is in fmqm links.
func unanswered(err error) error {
	if errors.Is(err, link.ErrNotConnected) {
		return link.ErrNotConnected
	}
	return err
}

// TerminateFor is a termination that a peer's operator wants. Of an instance that was not
// started here nothing is believed, so that nobody ends by a guess what begins later.
func (c *Commands) TerminateFor(ctx context.Context, peer processtable.NodeID, q TerminateQuestion) error {
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil || !c.concerns(peer, id) {
		return c.noTable(q.Process)
	}
	by := Order{Peer: peer, Operator: q.By, Command: "terminate", What: "instance " + q.Instance.String()}
	if refused := c.Allow(&by); refused != nil {
		return refused
	}
	if len(q.Reason) > api.MaxReason || !utf8.ValidString(q.Reason) {
		return api.Errorf(api.CodeRefused, "ask at "+string(c.Self)+" itself", "%s asks for what cannot be", peer)
	}
	started, ended, found, err := c.Queue.Instance(q.Instance)
	switch {
	case err != nil:
		return err
	case !found || started.Process != id:
		return api.Errorf(api.CodeNotFound, "if it has lost its store: terminate the instance there, with --to", "%s does not know instance %s of %s as one that was started there", c.Self, q.Instance, id)
	case ended != nil && ended.Event == record.EventStopped:
		return alreadyEnded(q.Instance, api.InstanceTerminated)
	case ended != nil:
		return alreadyEnded(q.Instance, api.InstanceFinished)
	}
	marker, err := c.Queue.Marker(id, q.Instance)
	switch {
	case err != nil:
		return err
	case marker != nil && marker.Origin == c.Self:
		return alreadyEnded(q.Instance, api.InstanceTerminated)
	}
	return c.mark(ctx, id, q.Instance, by.By(), q.Reason)
}

// mark puts a marker for an instance that was started here at every node of its process.
func (c *Commands) mark(ctx context.Context, id processtable.ProcessID, i message.InstanceID, by, why string) error {
	p := c.Site.Process(id)
	if p == nil {
		return c.noTable(id.String())
	}
	tx := &record.Tx{}
	body := message.EncodeMarker(message.Marker{Reason: message.TerminatedBy(by, why), Time: c.Scheduler.Now(), By: by})
	for _, node := range c.nodesOf(p.Table()) {
		tx.Put = append(tx.Put, c.marker(id, i, node, body))
	}
	return c.Site.Commit(ctx, tx)
}

// nodesOf gives the nodes that host activities of a process, and at last this one.
func (c *Commands) nodesOf(t *processtable.Table) []processtable.NodeID {
	var others []processtable.NodeID
	for _, n := range t.Nodes() {
		if n != "" && n != c.Self && t.Hosting(n) {
			others = append(others, n)
		}
	}
	return append(others, c.Self)
}
