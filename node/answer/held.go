package answer

import (
	"context"
	"errors"
	"slices"

	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue/audit"
)

// AskHeld is the kind of question that HeldTo answers.
const AskHeld = "held"

// heldMost is how many instances a node names whose messages wait, and how many messages it looks at for that.
const (
	heldMost  = 10_000
	heldLooks = 100_000
)

var errMany = errors.New("so much waits there that not all of it was looked at")

// HeldQuestion asks a node of which instances messages wait in its transmission queue for For.
type HeldQuestion struct {
	For processtable.NodeID `json:"for"`
}

// HeldReport names those that were started at the node that asks. More: there may be others.
type HeldReport struct {
	Instances []message.InstanceID `json:"instances"`
	More      bool                 `json:"more,omitempty"`
}

// HeldTo answers a peer: of what was started there.
func (a *Answers) HeldTo(peer processtable.NodeID, q HeldQuestion) (r HeldReport, err error) {
	seen := map[message.InstanceID]bool{}
	all, err := a.Queue.EachHeld(q.For, heldLooks, func(h message.Header) bool {
		if h.Origin == peer && !seen[h.Instance] && (peer == a.Self || a.concerns(peer, h.Queue.Process)) {
			seen[h.Instance] = true
			r.Instances = append(r.Instances, h.Instance)
		}
		return len(r.Instances) < heldMost
	})
	r.More = !all
	return r, err
}

// waitingOn gives the places of what was started here and of which messages wait for a node: here, or at another
// node, which are all asked. One that does not answer is named with the page.
func (p *page) waitingOn(ctx context.Context) ([]audit.Place, error) {
	q := HeldQuestion{For: p.q.WaitingOn}
	own, err := p.a.HeldTo(p.a.Self, q)
	if err != nil {
		return nil, err
	}
	replies := question.All[HeldReport](ctx, p.a.Scheduler, p.a.Site, p.a.Site.Peers(), AskHeld, q)
	replies = append(replies, question.Reply[HeldReport]{Node: p.a.Self, Answer: own})
	seen := map[message.InstanceID]bool{}
	var all []audit.Place
	for _, r := range replies {
		switch {
		case r.Err != nil && r.Node != p.q.WaitingOn: // nothing waits there for itself
			p.unheard(r.Node, r.Err)
		case r.Answer.More:
			p.unheard(r.Node, errMany)
		}
		for _, i := range r.Answer.Instances {
			if seen[i] {
				continue
			}
			seen[i] = true
			at, known, err := p.a.Queue.Standing(i)
			if err != nil {
				return nil, err
			}
			place := audit.Place{Started: at.Started, Instance: i}
			if known && p.q.of(at.Process) && p.shows(at.Process) && !place.Started.Before(p.q.Since) && (p.q.Until.IsZero() || place.Started.Before(p.q.Until)) {
				all = append(all, place)
			}
		}
	}
	slices.SortFunc(all, p.q.compare)
	return all, nil
}
