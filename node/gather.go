package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
)

// gatherTimeout bounds what a question to all peers may take (issue of status: at
// most 2 s, with a little for the merge).
const gatherTimeout = 1800 * time.Millisecond

// The questions that nodes ask one another. They ride on the links beside the
// messages and are never persistent (paper §4).
const (
	askInstance = "instance"
	askTable    = "table"
	askNode     = "node"
	askRetry    = "retry"
	askList     = "list"
)

// instanceQuestion asks what a node knows of an instance. Process may be empty.
type instanceQuestion struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process,omitempty"`
	History  bool               `json:"history,omitempty"`
	Told     eventMark          `json:"told,omitzero"` // of the history: only what is new since; see Node.news
}

// instanceReport is what one node knows of an instance.
type instanceReport struct {
	Known      bool               `json:"known"`
	Clock      uint64             `json:"clock,omitempty"` // the logical clock's, up to which this tells of the instance
	Heard      []string           `json:"heard,omitempty"` // activities of other nodes whose messages have come
	Anew       bool               `json:"anew,omitempty"`  // the node's store is a new or an older one: what had ended may be missing
	Process    string             `json:"process,omitempty"`
	Origin     string             `json:"origin,omitempty"`
	Roster     []api.Place        `json:"roster,omitempty"`
	State      api.InstanceState  `json:"state,omitempty"` // of the origin: running, finished, terminated
	Key        string             `json:"key,omitempty"`   // of the origin
	By         string             `json:"by,omitempty"`    // of the origin: who has terminated it
	Started    time.Time          `json:"started,omitzero"`
	Ended      time.Time          `json:"ended,omitzero"`
	Output     json.RawMessage    `json:"output,omitempty"`
	Activities []api.Activity     `json:"activities,omitempty"` // those hosted there, also inactive ones
	Waits      []waiting          `json:"waits,omitempty"`
	Notices    []string           `json:"notices,omitempty"` // of the origin: activities that told of an error
	Events     []api.HistoryEvent `json:"events,omitempty"`
	Mark       eventMark          `json:"mark,omitzero"`    // of the history, also of what was not asked for; the zero one: of an older node
	Removed    time.Time          `json:"removed,omitzero"` // when retention removed what was recorded there
	More       bool               `json:"more,omitempty"`   // it was too large for an answer over a link: something was left out
	Disk       string             `json:"disk,omitempty"`   // why the node takes on nothing, where room on its disk is low

	asides []refusedMessage // that were set aside here
}

// waiting is an activity that has not ended: the sources of its unresolved
// connectors, and its program.
type waiting struct {
	Activity string    `json:"activity"`
	For      []string  `json:"for,omitempty"`
	Program  string    `json:"program,omitempty"`
	Due      time.Time `json:"due,omitzero"`
	Held     string    `json:"held,omitempty"`  // what keeps it from running although it could (S3)
	Aside    uint64    `json:"aside,omitempty"` // number of a message that it would need, and that was set aside (L5)
}

// tableQuestion asks whether a node has a process's table, and whether it would take one.
type tableQuestion struct {
	Process string `json:"process"`
	Table   string `json:"table,omitempty"`   // SHA-256 of the table that is to be taken; empty: of an older node, or none is
	Definer string `json:"definer,omitempty"` // who signed it: the key, in base64
	Network string `json:"network,omitempty"` // which network it is signed for; empty: the signature names none
	// Definition is that of the table that is to be taken; empty: of an older node, or none is.
	Definition string `json:"definition,omitempty"`
}

type tableReport struct {
	Found      bool   `json:"found"`
	Definition string `json:"definition,omitempty"`
	Format     int    `json:"format,omitempty"`     // of the table; 0, of an older node: 1
	Reads      int    `json:"reads,omitempty"`      // the newest format that the node reads; 0: 1
	Refused    string `json:"refused,omitempty"`    // why one was refused, since the daemon was started
	Signed     bool   `json:"signed,omitempty"`     // the node reads tables that are signed
	Signatures int    `json:"signatures,omitempty"` // the newest version of signatures that it reads; 0, if Signed: 1
	Untrusted  string `json:"untrusted,omitempty"`  // why it does not take one of that definer
}

// nodeReport is what an upload needs to know of a node.
type nodeReport struct {
	Programs []string `json:"programs"`
	Peers    []string `json:"peers"`
	Broker   bool     `json:"broker,omitempty"` // it reaches sites that it does not list, as they do
}

// retryQuestion is an operator's retry at the node that hosts the activity.
type retryQuestion struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`
	Activity string             `json:"activity"`
	Output   json.RawMessage    `json:"output,omitempty"`
	By       string             `json:"by,omitempty"` // the operator, as the asking node has proved it; empty: nobody, or an older node asks
}

// retryReport carries the error, if there was one: a query's own error means that the
// peer did not answer.
type retryReport struct {
	Error *api.Error `json:"error,omitempty"`
}

// respond answers a peer's question; it is the links' Responder.
func (n *Node) respond(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
	if reply, ok, err := n.respondRebuild(ctx, peer, kind, body); ok {
		return reply, err
	}
	switch kind {
	case askInstance:
		return answer(body, func(q instanceQuestion) (instanceReport, error) {
			r, err := n.reportTo(peer, q)
			r.fit(link.MaxBody)
			return r, err
		})
	case askTable:
		return answer(body, func(q tableQuestion) (tableReport, error) { return n.tableTo(peer, q) })
	case askNode:
		return answer(body, func(struct{}) (nodeReport, error) { return n.reportSelf(), nil })
	case askList:
		return answer(body, func(q listQuestion) (listReport, error) { return n.listFor(ctx, peer, q) })
	case askRetry:
		return answer(body, func(q retryQuestion) (retryReport, error) {
			return retryReport{Error: asAPI(n.retryFor(ctx, peer, q))}, nil
		})
	case askEnd:
		return answer(body, func(q endQuestion) (endReport, error) {
			return endReport{Error: asAPI(n.sayEnd(ctx, peer, q))}, nil
		})
	case askTerminate:
		return answer(body, func(q terminateQuestion) (terminateReport, error) {
			return terminateReport{Error: asAPI(n.terminateFor(ctx, peer, q))}, nil
		})
	}
	return nil, fmt.Errorf("unknown kind of question %q: upgrade this node", kind)
}

func answer[Q, A any](body []byte, f func(Q) (A, error)) ([]byte, error) {
	var q Q
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("read question: %w", err)
	}
	a, err := f(q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

// reply is one peer's answer, or why there is none.
type reply[A any] struct {
	Node   processtable.NodeID
	Answer A
	Err    error
}

// ask puts a question to a peer. An error means that it did not answer.
func ask[A any](ctx context.Context, n *Node, peer processtable.NodeID, kind string, question any) (A, error) {
	var a A
	body, err := json.Marshal(question)
	if err != nil {
		return a, fmt.Errorf("ask: %w", err)
	}
	reply, err := n.query(ctx, peer, kind, body)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(reply, &a); err != nil {
		return a, fmt.Errorf("read answer: %w", err)
	}
	return a, nil
}

// queryPeer carries a question over the link to a peer, if there is one.
func (n *Node) queryPeer(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
	l := n.Link(peer)
	if l == nil {
		return nil, fmt.Errorf("%s has no link to %s: %w", n.name, peer, link.ErrNotConnected)
	}
	return l.Query(ctx, kind, body)
}

// askAll puts a question to peers at once and waits for all, or for the time-out.
func askAll[A any](ctx context.Context, n *Node, peers []processtable.NodeID, kind string, question any) []reply[A] {
	ctx, cancel := n.sched.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	replies := make([]reply[A], len(peers))
	all := task.NewGroup(n.sched)
	for i, peer := range peers {
		all.Go(func() {
			replies[i].Node = peer
			replies[i].Answer, replies[i].Err = ask[A](ctx, n, peer, kind, question)
		})
	}
	_ = all.Wait(context.Background())
	return replies
}

// peers gives the names of the sites that there are links to, sorted.
func (n *Node) peers() []processtable.NodeID {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]processtable.NodeID, 0, len(n.links))
	for p := range n.links {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func (n *Node) lastHeard(peer processtable.NodeID) time.Time {
	if l := n.Link(peer); l != nil {
		return l.Status().LastHeard
	}
	return time.Time{}
}

func (n *Node) reportTable(q tableQuestion) (tableReport, error) {
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil {
		return tableReport{}, err
	}
	encoded, definition, found, err := n.queue.Table(id)
	if err != nil {
		return tableReport{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	found = found && n.tables[id] != nil // stored, and taken up: what is asked next is answered by it
	r := tableReport{Found: found, Reads: processtable.FormatVersion, Signed: true, Signatures: processtable.SignatureVersion}
	if refused := n.refused[id]; q.Table == "" || q.Table == refused.sum {
		r.Refused = refused.reason
	}
	if q.Table != "" && !found {
		r.Untrusted = n.judgeDefiner(id, q)
	}
	if found {
		r.Definition, r.Format = definition.String(), processtable.FormatOf(encoded)
	}
	return r, nil
}

func (n *Node) reportSelf() nodeReport {
	r := nodeReport{Programs: []string{}, Peers: []string{}, Broker: n.reachesAll()}
	for _, p := range n.registry().Names() {
		r.Programs = append(r.Programs, string(p))
	}
	for _, p := range n.peers() {
		r.Peers = append(r.Peers, string(p))
	}
	return r
}
