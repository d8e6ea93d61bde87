package rebuild

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// The questions of a rebuilding.
const (
	AskLost    = "lost"    // what a peer has, and how instances stand there
	AskRebuild = "rebuild" // an operator's word, from another node
)

// LostQuestion asks a node what it has. Processes are those of which it needs the table;
// with Rebuild it is told that others know it from an earlier store.
type LostQuestion struct {
	Rebuild   bool       `json:"rebuild,omitempty"`
	Processes []string   `json:"processes,omitempty"`
	Instances []Instance `json:"instances,omitempty"`
}

type Instance struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`
}

// LostReport is the answer. Store and Accepted are what a restored copy had accepted of
// the asker's lanes, and of which store of it.
type LostReport struct {
	Lacks     []string   `json:"lacks,omitempty"`
	Restored  bool       `json:"restored,omitempty"`
	Store     string     `json:"store,omitempty"`
	Accepted  []uint64   `json:"accepted,omitempty"`
	Standings []Standing `json:"standings,omitempty"` // of the instances, in their order
}

// Standing is how an instance stands at one node.
type Standing struct {
	Started bool `json:"started,omitempty"` // here
	Ended   bool `json:"ended,omitempty"`   // and has ended
	Open    bool `json:"open,omitempty"`    // something of it waits or runs here
}

type Word struct {
	Peer string `json:"peer"`
	Do   bool   `json:"do,omitempty"`
	By   string `json:"by,omitempty"` // the operator, as the asking node has proved it
}

type Report struct {
	Rebuild api.Rebuild `json:"rebuild"`
	Error   *api.Error  `json:"error,omitempty"`
	Nothing bool        `json:"nothing,omitempty"` // Error says that there is nothing to send again
}

// code is what kind of reason it has for doing nothing, in the words that there are.
func (r *Report) code() api.Code {
	switch {
	case r.Nothing:
		return api.CodeNotFound
	case slices.Contains([]api.Code{api.CodeRefused, api.CodeUnreachable, api.CodeNotFound}, r.Error.Code):
		return r.Error.Code
	}
	return api.CodeFailed
}

// Reported is what is reported of a rebuild, or of what came in its way; said is how err is told.
func Reported(b api.Rebuild, err error, said *api.Error) Report {
	return Report{Rebuild: b, Error: said, Nothing: err != nil && codeOf(err) == api.CodeNotFound}
}

// Lost says what this node has of what a peer may have to send again. Of a process in which
// that one has no part it has nothing; and without a common process, nor was a store lost.
func (m *Rebuilds) Lost(peer processtable.NodeID, q LostQuestion) (r LostReport, err error) {
	if q.Rebuild && len(m.processesOf(peer)) > 0 {
		if err := m.MarkAnew(); err != nil {
			return r, err
		}
		var store record.Incarnation
		var at [record.Lanes]record.Position
		if store, at, r.Restored, err = m.Queue.RestoredAccepted(peer); err != nil {
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
		if !m.concerns(peer, id) {
			r.Lacks = append(r.Lacks, p)
		}
	}
	for _, i := range q.Instances {
		s, err := m.standing(peer, i)
		if err != nil {
			return r, err
		}
		r.Standings = append(r.Standings, s)
	}
	return r, nil
}

func (m *Rebuilds) standing(asker processtable.NodeID, i Instance) (s Standing, err error) {
	id, err := processtable.ParseProcessID(i.Process)
	if err != nil || asker != m.Self && !m.concerns(asker, id) {
		return s, err
	}
	started, ended, found, err := m.Queue.Instance(i.Instance)
	if err != nil {
		return s, err
	}
	if found && (started.Process == id || asker == m.Self) {
		s.Started, s.Ended = true, ended != nil
	}
	s.Open, err = m.underWay(id, i.Instance)
	return s, err
}

// askStandings asks a node, perhaps this one, how instances stand there.
func (m *Rebuilds) askStandings(ctx context.Context, node processtable.NodeID, q []Instance) ([]Standing, error) {
	var a LostReport
	var err error
	if node == m.Self {
		a, err = m.Lost(node, LostQuestion{Instances: q})
	} else {
		a, err = question.Ask[LostReport](ctx, m.Site, node, AskLost, LostQuestion{Instances: q})
	}
	if err == nil && len(a.Standings) != len(q) {
		err = link.ErrNotConnected
	}
	return a.Standings, err
}

// decide lets the conversation begin anew with the peer's store (L1).
func (r *rebuilding) decide(ctx context.Context) error {
	l := r.of.Site.Link(r.peer)
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
	case record.Incarnation{}:
		return fmt.Errorf("%s is unreachable: %s", r.peer, l.Status().Reason)
	default:
		return errOtherStore
	}
}

// askPeer waits until the peer has what the transmission queue kept, and its tables; and
// asks what an older copy of its store still has.
func (r *rebuilding) askPeer(ctx context.Context) error {
	began, err := r.of.Queue.Began(r.peer)
	if err != nil {
		return err
	}
	if r.of.Site.Link(r.peer) == nil {
		return fmt.Errorf("%s is no longer in links.peers", r.peer)
	}
	q := LostQuestion{Rebuild: true}
	for _, p := range r.of.processesOf(r.peer) {
		q.Processes = append(q.Processes, p.Table().Process.String())
	}
	a, err := question.Ask[LostReport](ctx, r.of.Site, r.peer, AskLost, q)
	if err != nil {
		return err
	}
	if lacks := slices.DeleteFunc(a.Lacks, func(p string) bool { return !slices.Contains(q.Processes, p) }); len(lacks) > 0 {
		r.say(fmt.Sprintf("%s lacks process tables: upload them there (fmqm-define upload); this then goes on by itself", r.peer), lacks)
		return nil
	}
	if !r.taken() {
		r.say(fmt.Sprintf("%s has not yet taken what waited for it", r.peer), nil)
		return nil
	}
	mark := r.mark
	mark.Stage, mark.Restored, mark.After, mark.Part = record.StageSending, a.Restored, message.InstanceID{}, 0
	own := r.of.Queue.Incarnation()
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
	return r.commit(&record.Tx{}, mark)
}

// For is an operator's word about a peer, which an operator has given at another one.
// Nobody decides about his own store, and only what concerns the asker is told.
func (m *Rebuilds) For(ctx context.Context, asker processtable.NodeID, q Word) (api.Rebuild, error) {
	peer := processtable.NodeID(q.Peer)
	if asker == peer || !slices.ContainsFunc(m.processesOf(peer), func(p behaviour.Process) bool { return p.Table().HasPart(asker) }) {
		return api.Rebuild{}, api.Errorf(api.CodeNotFound, "ask at "+string(m.Self)+" itself", "%s has no peer %s that %s may ask about", m.Self, q.Peer, asker)
	}
	by := ""
	if q.Do { // a plan changes nothing
		var err error
		if by, err = m.Site.Allow(asker, q.By, peer); err != nil {
			return api.Rebuild{}, err
		}
	}
	b, err := m.here(ctx, api.RebuildRequest{Peer: q.Peer, Do: q.Do}, by)
	foreign := func(process string) bool {
		id, err := processtable.ParseProcessID(process)
		return err != nil || !m.concerns(asker, id)
	}
	b.Lacks = slices.DeleteFunc(b.Lacks, foreign)
	b.Unknown = slices.DeleteFunc(b.Unknown, func(i api.UnknownInstance) bool { return foreign(i.Process) })
	b.Removed = slices.DeleteFunc(b.Removed, func(i api.RemovedInstance) bool { return foreign(i.Process) })
	return b, err
}
