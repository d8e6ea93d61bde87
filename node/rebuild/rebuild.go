package rebuild

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// A peer that comes with another store than the one known here has lost what this node
// sent it (L1). By an operator's word the store is known from then on, and the peer is
// sent again what the audit queue can build (S4): each node does so with what it has sent
// itself. What the peer still knows, it folds to the same state, or drops as a repeat.

const (
	pageSize     = 64       // instances whose history is in memory at once
	chunkSize    = 500      // messages of one transaction
	chunkBytes   = 1 << 20  // and their bodies
	waitingLimit = 32 << 20 // bytes of the transmission queue beyond which the next chunk waits
	pauseTime    = 500 * time.Millisecond
	askingTime   = 20 * time.Second // for the other nodes to answer an operator
)

// Rebuilds are the peers that are being sent again what they lost, and what this site knows of
// lost stores. Its methods are safe for concurrent use.
type Rebuilds struct {
	Options
	// Standings asks a node, perhaps this one, how instances stand there; tests have their own.
	Standings func(ctx context.Context, node processtable.NodeID, q []Instance) ([]Standing, error)

	anew      atomic.Bool  // others may know instances of this node that its store does not
	lost      atomic.Bool  // a store was lost, here or at a peer
	beginning *task.Places // one: an order is taken up at a time

	mu      sync.Mutex
	running map[processtable.NodeID]*rebuilding
}

// Options make Rebuilds. All are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Queue     *queue.Manager
	Scheduler task.Scheduler
	Log       zerolog.Logger
	Running   context.Context   // ends when the node stops
	Tasks     *task.Group       // that end with it
	Events    behaviour.Process // the event queue, which builds again what was passed on
}

// Site is the node that sends again, as far as a rebuild needs to know it.
type Site interface {
	question.Carrier
	// Process is what the table of a process says; nil: it is not here.
	Process(processtable.ProcessID) behaviour.Process
	Processes() []behaviour.Process // by name and version
	Peers() []processtable.NodeID
	Link(peer processtable.NodeID) *link.Link // nil: there is none
	// Commit submits a transaction, and waits for it, or for ctx.
	Commit(ctx context.Context, tx *record.Tx) error
	// Allow says who commands, for the history, if remote_operators allows a peer's operator what
	// he wants: to rebuild a peer.
	Allow(asker processtable.NodeID, operator string, peer processtable.NodeID) (by string, err error)
	// TellEnd has the origin of an instance tell a peer that it is over.
	TellEnd(ctx context.Context, i message.InstanceID, p processtable.ProcessID, peer, origin processtable.NodeID) error
	// StoreLost tells the process threads that Losses have changed.
	StoreLost()
	// Quota is that of a transmission queue, in bytes; 0: none.
	Quota() int64
	// Stopping: the node stops, and its links go first.
	Stopping() bool
}

// New makes Rebuilds, as the store knows them. Nothing is sent until Resume.
func New(o Options) (*Rebuilds, error) {
	m := &Rebuilds{Options: o, beginning: task.NewPlaces(o.Scheduler, 1), running: map[processtable.NodeID]*rebuilding{}}
	m.Standings = m.askStandings
	anew, err := m.Queue.Recreated()
	if err != nil {
		return nil, err
	}
	marks, err := m.Queue.Rebuilds()
	m.anew.Store(anew)
	m.lost.Store(anew || len(marks) > 0)
	return m, err
}

// Anew: others may know instances of this node that its store does not.
func (m *Rebuilds) Anew() bool { return m.anew.Load() }

// StoreLost: a store was lost, here or at a peer.
func (m *Rebuilds) StoreLost() bool { return m.lost.Load() }

// Rebuild plans the rebuild of a peer, or starts it and reports how far it is; by is who wants it.
func (m *Rebuilds) Rebuild(ctx context.Context, r api.RebuildRequest, by string) (api.RebuildAnswer, error) {
	own, err := m.here(ctx, r, by)
	if !r.All {
		if err != nil {
			return api.RebuildAnswer{}, err
		}
		return api.RebuildAnswer{Rebuilds: []api.Rebuild{own}}, nil
	}
	all := m.there(ctx, r)
	done := err == nil || slices.ContainsFunc(all, func(b api.Rebuild) bool { return b.Stage != "" })
	if !done {
		return api.RebuildAnswer{}, err
	}
	if err != nil {
		own = api.Rebuild{Node: string(m.Self), Peer: r.Peer, Reason: err.Error(), Code: codeOf(err)}
	}
	return api.RebuildAnswer{Rebuilds: append([]api.Rebuild{own}, all...)}, nil
}

// there asks the other nodes to do the same, all at once: one that is silent delays none.
func (m *Rebuilds) there(ctx context.Context, r api.RebuildRequest) []api.Rebuild {
	ctx, cancel := m.Scheduler.WithTimeout(ctx, askingTime)
	defer cancel()
	others := slices.DeleteFunc(m.Site.Peers(), func(peer processtable.NodeID) bool { return string(peer) == r.Peer })
	told := make([]api.Rebuild, len(others))
	asking := task.NewGroup(m.Scheduler)
	for i, peer := range others {
		asking.Go(func() {
			answer, err := question.Ask[Report](ctx, m.Site, peer, AskRebuild, Word{Peer: r.Peer, Do: r.Do, By: api.OperatorOf(ctx)})
			answer.Rebuild.Code = "" // what it comes to is judged here
			switch {
			case err != nil:
				answer.Rebuild = api.Rebuild{Reason: "no answer: " + err.Error(), Code: api.CodeUnreachable}
			case answer.Error != nil:
				answer.Rebuild = api.Rebuild{Reason: answer.Error.Error(), Code: answer.code()}
			case answer.Rebuild.Stage == "":
				answer.Rebuild.Code = api.CodeFailed
			}
			answer.Rebuild.Node, answer.Rebuild.Peer = string(peer), r.Peer // it speaks for itself
			told[i] = answer.Rebuild
		})
	}
	_ = asking.Wait(context.Background()) // no longer than askingTime
	return told
}

// here is Rebuild of what this node itself sends; by is who wants it.
func (m *Rebuilds) here(ctx context.Context, r api.RebuildRequest, by string) (api.Rebuild, error) {
	peer := processtable.NodeID(r.Peer)
	l := m.Site.Link(peer)
	switch {
	case peer == m.Self:
		return api.Rebuild{}, api.Errorf(api.CodeRefused, "ask one of its peers, with --to", "%s cannot rebuild itself: its peers send it again what it lost", m.Self)
	case l == nil:
		return api.Rebuild{}, api.Errorf(api.CodeNotFound, "see fmqm nodes", "%s has no peer %s", m.Self, r.Peer)
	}
	mark, begun, err := m.Queue.Rebuilding(peer)
	if err != nil {
		return api.Rebuild{}, err
	}
	presented := l.Status().Presented
	fresh := presented != (record.Incarnation{}) && (!begun || mark.Incarnation != presented)
	known, _ := m.Queue.KnownIncarnation(peer)
	switch {
	case fresh && !r.Do:
		return m.Report(ctx, record.Rebuild{Peer: peer, Incarnation: presented})
	case fresh:
		mark = record.Rebuild{Peer: peer, Incarnation: presented, Stage: record.StageDecided, By: by, Highest: mark.Highest}
	case !begun || mark.Stage == record.StageDone && mark.Incarnation != known:
		return api.Rebuild{}, notStopped(l.Status())
	case r.Do && mark.Stage == record.StageDone:
		mark = record.Rebuild{Peer: peer, Incarnation: known, Stage: record.StageDecided, By: by, Floor: mark.Floor, Highest: mark.Highest}
	}
	if r.Do && mark.Stage == record.StageDecided {
		if err := m.begin(ctx, mark); err != nil {
			return api.Rebuild{}, err
		}
	}
	if run := m.rebuilding(peer); run != nil {
		run.follow(ctx, r.Wait)
	}
	if mark, _, err = m.Queue.Rebuilding(peer); err != nil {
		return api.Rebuild{}, err
	}
	return m.Report(ctx, mark)
}

// notStopped refuses to rebuild a peer that has lost nothing, as far as is known here.
func notStopped(s link.Status) error {
	if s.Stop != nil {
		return api.Errorf(api.CodeRefused, fmt.Sprintf("do what the reason says; if %s has lost its store, or a copy was put back, `fmqm links retry %s` lets it say so, and this can be repeated", s.Peer, s.Peer),
			"the link to %s is stopped for another reason than a new store of %s: %s", s.Peer, s.Peer, s.Stop.Reason)
	}
	return nothing{api.Errorf(api.CodeRefused, "rebuild only when `fmqm links` shows the link stopped for a new store",
		"the link to %s is not stopped: %s has the same store as before, or is unreachable", s.Peer, s.Peer)}
}

// nothing is why a node sends nothing again that has nothing to send: among others that do, it
// is no failure.
type nothing struct{ error }

func (n nothing) Unwrap() error { return n.error }

// codeOf is the code of a node that did nothing, beside others that may have.
func codeOf(err error) api.Code {
	if errors.As(err, &nothing{}) {
		return api.CodeNotFound
	}
	return api.CodeOf(err)
}

// begin makes an operator's word durable, and acts on it, also when who gave it has gone.
func (m *Rebuilds) begin(ctx context.Context, mark record.Rebuild) error {
	if err := m.beginning.Acquire(ctx); err != nil {
		return err
	}
	defer m.beginning.Release()
	if run := m.rebuilding(mark.Peer); run != nil {
		if run.incarnation == mark.Incarnation {
			return nil
		}
		return api.Errorf(api.CodeRefused, "wait a little", "the rebuild of another store of %s is ending", mark.Peer)
	}
	if err := m.Site.Commit(context.Background(), &record.Tx{Rebuild: &mark}); err != nil { // it ends with the queue at the latest
		return err
	}
	m.lost.Store(true)
	m.Site.StoreLost()
	m.Log.Info().Str("by", mark.By).Str("peer", string(mark.Peer)).Stringer("store", mark.Incarnation).Msg("operator ordered a rebuild of the peer")
	m.run(mark)
	return nil
}

// run starts what carries out a mark.
func (m *Rebuilds) run(mark record.Rebuild) {
	run := &rebuilding{of: m, peer: mark.Peer, incarnation: mark.Incarnation, mark: mark, turned: m.Scheduler.Gate(), done: m.Scheduler.Gate()}
	m.mu.Lock()
	m.running[mark.Peer] = run
	m.mu.Unlock()
	m.Tasks.Go(func() {
		run.run(m.Running)
		m.mu.Lock()
		delete(m.running, mark.Peer)
		m.mu.Unlock()
		run.done.Open()
	})
}

// Resume goes on, after a restart, with what was begun.
func (m *Rebuilds) Resume() error {
	marks, err := m.Queue.Rebuilds()
	if err != nil {
		return err
	}
	for _, mark := range marks {
		if mark.Stage != record.StageDone {
			m.run(mark)
		}
	}
	return nil
}

func (m *Rebuilds) rebuilding(peer processtable.NodeID) *rebuilding {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running[peer]
}

// Report tells how far a rebuild has come, by its mark, and what it cannot give back.
func (m *Rebuilds) Report(ctx context.Context, mark record.Rebuild) (api.Rebuild, error) {
	b := api.Rebuild{
		Node: string(m.Self), Peer: string(mark.Peer), Store: hex.EncodeToString(mark.Incarnation[:]),
		Restored: mark.Restored, Messages: mark.Messages, Instances: mark.Instances, By: mark.By,
	}
	switch mark.Stage {
	case record.StageDecided, record.StageSending:
		b.Stage = api.RebuildSending
		if mark.Stage == record.StageDecided {
			b.Stage = api.RebuildDecided
		}
		if run := m.rebuilding(mark.Peer); run != nil {
			if b.Reason, b.Lacks = run.why(); len(b.Lacks) > 0 {
				b.Stage = api.RebuildWaiting
			}
		}
		return b, nil
	case record.StageDone:
		b.Stage = api.RebuildDone
	default:
		b.Stage = api.RebuildPlanned
		for _, p := range m.processesOf(mark.Peer) {
			b.Lacks = append(b.Lacks, p.Table().Process.String())
		}
	}
	return b, m.tellUnknown(ctx, &b, mark)
}

// tellUnknown names the instances that were started at the peer and that it does not
// know, and, in a plan, counts what would be sent at most.
func (m *Rebuilds) tellUnknown(ctx context.Context, b *api.Rebuild, mark record.Rebuild) error {
	unasked, named := map[processtable.NodeID]bool{}, map[message.InstanceID]bool{}
	s := survey{of: m, peer: mark.Peer, mark: mark, planned: b.Stage == api.RebuildPlanned}
	page := func(found []owed) error {
		if err := s.judge(ctx, found, unasked); err != nil {
			return err
		}
		for _, o := range found {
			switch {
			case o.removed != nil && (o.unknown || o.stale):
				nameRemoved(b, &o)
			case o.unknown && !named[o.instance]:
				named[o.instance] = true
				if len(b.Unknown) == api.MaxNamed {
					b.More++
					continue
				}
				open, err := m.underWay(o.process, o.instance)
				if err != nil {
					return err
				}
				b.Unknown = append(b.Unknown, api.UnknownInstance{Instance: o.instance, Process: o.process.String(), UnderWay: open, Child: message.DepthOf(o.instance) > 0})
			case s.planned && o.send:
				b.Messages += uint64(max(len(o.spoken), 1)) // at least a marker
				if !o.passage() {
					b.Instances++
				}
			}
		}
		return nil
	}
	after := message.InstanceID{}
	for {
		if err := ctx.Err(); err != nil { // the whole audit is long, and a link that stops waits
			return err
		}
		ids, err := m.Queue.AuditInstances(after, pageSize)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		found, err := s.read(ids, true)
		if err == nil {
			err = page(found)
		}
		if err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
	if s.planned {
		err := s.passed(ctx, unasked, func(o *owed) error {
			b.Messages += uint64(len(o.spoken))
			return nil
		})
		if err != nil {
			return err
		}
	}
	err := s.queues(ctx, m.Site.Processes(), func(origin processtable.NodeID) bool { return origin == mark.Peer }, page)
	for peer := range unasked {
		b.Unasked = append(b.Unasked, string(peer))
	}
	slices.Sort(b.Unasked)
	return err
}

// nameRemoved names an instance that was started at the peer, and that cannot be sent again.
func nameRemoved(b *api.Rebuild, o *owed) {
	if len(b.Removed) == api.MaxNamed {
		b.MoreRemoved++
		return
	}
	b.Removed = append(b.Removed, api.RemovedInstance{
		Instance: o.instance, Process: o.process.String(), Time: o.removed.Time, Running: o.stale,
	})
}

// underWay says whether something of an instance waits or runs here.
func (m *Rebuilds) underWay(p processtable.ProcessID, i message.InstanceID) (bool, error) {
	found, err := m.Queue.BrowseInstance(p, i)
	return len(found) > 0, err
}

// processesOf gives the processes in which a peer has a part.
func (m *Rebuilds) processesOf(peer processtable.NodeID) []behaviour.Process {
	return slices.DeleteFunc(m.Site.Processes(), func(p behaviour.Process) bool { return !p.Table().HasPart(peer) })
}

// concerns says whether a peer has a part in a process of which the table is here.
func (m *Rebuilds) concerns(peer processtable.NodeID, id processtable.ProcessID) bool {
	p := m.Site.Process(id)
	return p != nil && p.Table().HasPart(peer)
}

// MarkAnew notes that others know this node from an earlier store: which entries have
// ended is asked of the store from now on, also of instances that are started here.
func (m *Rebuilds) MarkAnew() error {
	if m.anew.Load() {
		return nil
	}
	if err := m.Queue.NoteRecreated(); err != nil {
		return fmt.Errorf("note that this store is a new one: %w", err)
	}
	m.anew.Store(true)
	m.lost.Store(true)
	m.Site.StoreLost()
	return nil
}

var errOtherStore = errors.New("the peer has changed its store again")
