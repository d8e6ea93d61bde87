package node

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"fmqm/api"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// The questions of a rebuilding.
const (
	askLost    = "lost"    // what a peer has, and how instances stand there
	askRebuild = "rebuild" // an operator's word, from another node
)

// lostQuestion asks a node what it has. Processes are those of which it needs the table;
// with Rebuild it is told that others know it from an earlier store.
type lostQuestion struct {
	Rebuild   bool            `json:"rebuild,omitempty"`
	Processes []string        `json:"processes,omitempty"`
	Instances []askedInstance `json:"instances,omitempty"`
}

type askedInstance struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`
}

// lostReport is the answer. Store and Accepted are what a restored copy had accepted of
// the asker's lanes, and of which store of it.
type lostReport struct {
	Lacks     []string   `json:"lacks,omitempty"`
	Restored  bool       `json:"restored,omitempty"`
	Store     string     `json:"store,omitempty"`
	Accepted  []uint64   `json:"accepted,omitempty"`
	Standings []standing `json:"standings,omitempty"` // of the instances, in their order
}

// standing is how an instance stands at one node.
type standing struct {
	Started bool `json:"started,omitempty"` // here
	Ended   bool `json:"ended,omitempty"`   // and has ended
	Open    bool `json:"open,omitempty"`    // something of it waits or runs here
}

type rebuildQuestion struct {
	Peer string `json:"peer"`
	Do   bool   `json:"do,omitempty"`
	By   string `json:"by,omitempty"` // the operator, as the asking node has proved it
}

type rebuildReport struct {
	Rebuild api.Rebuild `json:"rebuild"`
	Error   *api.Error  `json:"error,omitempty"`
}

// respondRebuild answers the questions of a rebuilding; ok is false for others.
func (n *Node) respondRebuild(ctx context.Context, peer processtable.NodeID, kind string, body []byte) (reply []byte, ok bool, err error) {
	switch kind {
	case askLost:
		reply, err = answer(body, func(q lostQuestion) (lostReport, error) { return n.lost(peer, q) })
	case askRebuild:
		reply, err = answer(body, func(q rebuildQuestion) (rebuildReport, error) {
			b, err := n.rebuildFor(ctx, peer, q)
			return rebuildReport{Rebuild: b, Error: asAPI(err)}, nil
		})
	default:
		return nil, false, nil
	}
	return reply, true, err
}

// lost says what this node has of what a peer may have to send again. Of a process in which
// that one has no part it has nothing; and without a common process, nor was a store lost.
func (n *Node) lost(peer processtable.NodeID, q lostQuestion) (r lostReport, err error) {
	if q.Rebuild && len(n.threadsAt(peer)) > 0 {
		if err := n.markAnew(); err != nil {
			return r, err
		}
		var store queue.Incarnation
		var at [link.Lanes]queue.Position
		if store, at, r.Restored, err = n.queue.RestoredAccepted(peer); err != nil {
			return r, err
		}
		if r.Restored {
			r.Store = hex.EncodeToString(store[:])
			for lane := range at {
				r.Accepted = append(r.Accepted, at[lane].Number)
			}
		}
	}
	for _, p := range q.Processes {
		id, err := processtable.ParseProcessID(p)
		if err != nil {
			return r, err
		}
		if !n.concerns(peer, id) {
			r.Lacks = append(r.Lacks, p)
		}
	}
	for _, i := range q.Instances {
		s, err := n.standing(peer, i)
		if err != nil {
			return r, err
		}
		r.Standings = append(r.Standings, s)
	}
	return r, nil
}

func (n *Node) standing(asker processtable.NodeID, i askedInstance) (s standing, err error) {
	id, err := processtable.ParseProcessID(i.Process)
	if err != nil || asker != n.name && !n.concerns(asker, id) {
		return s, err
	}
	started, ended, found, err := n.queue.Instance(i.Instance)
	if err != nil {
		return s, err
	}
	if found && (started.Process == id || asker == n.name) {
		s.Started, s.Ended = true, ended != nil
	}
	s.Open, err = n.underWay(id, i.Instance)
	return s, err
}

// askStandings asks a node, perhaps this one, how instances stand there.
func (n *Node) askStandings(ctx context.Context, node processtable.NodeID, q []askedInstance) ([]standing, error) {
	var a lostReport
	var err error
	if node == n.name {
		a, err = n.lost(node, lostQuestion{Instances: q})
	} else {
		a, err = ask[lostReport](ctx, n, node, askLost, lostQuestion{Instances: q})
	}
	if err == nil && len(a.Standings) != len(q) {
		err = link.ErrNotConnected
	}
	return a.Standings, err
}

// decide lets the conversation begin anew with the peer's store (L1).
func (r *rebuilding) decide(ctx context.Context) error {
	l := r.node.Link(r.peer)
	if l == nil {
		return fmt.Errorf("%s is no longer in links.peers", r.peer)
	}
	switch presented := l.Status().Presented; presented {
	case r.incarnation:
		if err := l.Decide(ctx, link.Decision{NewStore: r.incarnation}); err != nil && !errors.Is(err, link.ErrNotStopped) {
			return err
		}
		r.say("", nil)
		return nil
	case queue.Incarnation{}:
		return fmt.Errorf("%s is unreachable: %s", r.peer, l.Status().Reason)
	default:
		return errOtherStore
	}
}

// askPeer waits until the peer has what the transmission queue kept, and its tables; and
// asks what an older copy of its store still has.
func (r *rebuilding) askPeer(ctx context.Context) error {
	began, err := r.node.queue.Began(r.peer)
	if err != nil {
		return err
	}
	if r.node.Link(r.peer) == nil {
		return fmt.Errorf("%s is no longer in links.peers", r.peer)
	}
	q := lostQuestion{Rebuild: true}
	for _, t := range r.node.threadsAt(r.peer) {
		q.Processes = append(q.Processes, t.id().String())
	}
	a, err := ask[lostReport](ctx, r.node, r.peer, askLost, q)
	if err != nil {
		return err
	}
	if len(a.Lacks) > 0 {
		r.say(fmt.Sprintf("%s lacks process tables: upload them there (fmqm-define upload); this then goes on by itself", r.peer), a.Lacks)
		return nil
	}
	if !r.taken() {
		r.say(fmt.Sprintf("%s has not yet taken what waited for it", r.peer), nil)
		return nil
	}
	mark := r.mark
	mark.Stage, mark.Restored, mark.After, mark.Part = queue.StageSending, a.Restored, message.InstanceID{}, 0
	own := r.node.queue.Incarnation()
	for lane := range mark.Floor {
		if mark.Floor[lane] > 0 {
			continue // known from the first time
		}
		// What was sent again before has other numbers than the audit tells: a copy that
		// lacks some of that counts as if it had nothing.
		if len(a.Accepted) == len(mark.Floor) && a.Store == hex.EncodeToString(own[:]) && a.Accepted[lane] >= mark.Highest[lane] {
			mark.Floor[lane] = min(a.Accepted[lane], began[lane].Number)
		}
	}
	return r.commit(&queue.Tx{}, mark)
}
