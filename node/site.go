package node

import (
	"context"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/event"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/admission"
	"fmqm/node/command"
	"fmqm/node/execute"
	"fmqm/node/rebuild"
	"fmqm/node/retention"
	"fmqm/node/tables"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// site is the node as its rooms see it: each declares what it uses of it.
type site struct{ *Node }

var (
	_ retention.Site = site{}
	_ rebuild.Site   = site{}
	_ tables.Site    = site{}
	_ admission.Site = site{}
	_ api.Rebuilder  = (*Node)(nil)
	_ api.Library    = (*Node)(nil)
)

// Process is what the table of a process says; nil: it is not here.
func (s site) Process(id processtable.ProcessID) behaviour.Process {
	if t := s.thread(id); t != nil {
		return t.Process()
	}
	return nil
}

// Commit submits a transaction, and waits for it, or for ctx.
func (s site) Commit(ctx context.Context, tx *record.Tx) error { return s.commit(ctx, tx) }

// Ended asks a site which instances were started there and have ended.
func (s site) Ended(ctx context.Context, origin processtable.NodeID, q []retention.Instance) ([]bool, error) {
	asked := make([]rebuild.Instance, len(q))
	for i := range q {
		asked[i] = rebuild.Instance{Instance: q[i].Instance, Process: q[i].Process.String()}
	}
	told, err := s.rebuilds.Standings(ctx, origin, asked)
	if err != nil {
		return nil, err
	}
	ended := make([]bool, len(told))
	for i := range told {
		ended[i] = told[i].Started && told[i].Ended
	}
	return ended, nil
}

// AuditStats says what retention has found and done; false without limits, or before its
// first round.
func (n *Node) AuditStats() (retention.Stats, bool) { return n.retain.Stats() }

// Processes are those whose tables are here, by name and version.
func (s site) Processes() []behaviour.Process {
	threads := s.threads()
	all := make([]behaviour.Process, len(threads))
	for i, t := range threads {
		all[i] = t.Process()
	}
	return all
}

// Peers are the sites that there are links to, sorted.
func (s site) Peers() []processtable.NodeID { return s.peers() }

// Query carries a question to a peer.
func (s site) Query(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
	return s.query(ctx, peer, kind, body)
}

// Allow says who commands, if remote_operators allows a peer's operator to rebuild a peer.
func (s site) Allow(asker processtable.NodeID, operator string, peer processtable.NodeID) (string, error) {
	o := command.Order{Peer: asker, Operator: operator, Command: "rebuild", What: "peer " + string(peer)}
	if refused := s.commands.Allow(&o); refused != nil {
		return o.By(), refused
	}
	return o.By(), nil
}

// TellEnd has the origin of an instance tell a peer that it is over.
func (s site) TellEnd(ctx context.Context, i message.InstanceID, p processtable.ProcessID, peer, origin processtable.NodeID) error {
	return s.commands.LetEnd(ctx, command.EndQuestion{Instance: i, Process: p.String(), Node: string(peer)}, origin)
}

// StoreLost tells the process threads that a store was lost.
func (s site) StoreLost() { s.tellLosses() }

// TableLimit is what one table may have, in bytes; 0: no limit but the language's.
func (s site) TableLimit() int { return s.limits.Load().Table }

// Programs are those that are registered.
func (s site) Programs() []processtable.ProgramID { return s.registry().Names() }

// LinkTo says how the link to a peer is; false: there is none.
func (s site) LinkTo(peer processtable.NodeID) (link.Status, bool) {
	l := s.Link(peer)
	if l == nil {
		return link.Status{}, false
	}
	return l.Status(), true
}

// Upload plans what an upload changes, and, unless it is refused or only planned, does it.
func (n *Node) Upload(ctx context.Context, r api.UploadRequest) (api.UploadAnswer, error) {
	return told(n.tables.Upload(ctx, r))
}

// Definitions gives the processes whose tables are here.
func (n *Node) Definitions(ctx context.Context) (api.DefinitionsAnswer, error) {
	a, err := n.tables.Definitions()
	caller := api.CallerOf(ctx)
	a.Definitions = slices.DeleteFunc(a.Definitions, func(d api.Definition) bool { return !caller.Sees(d.Process) })
	return told(a, err)
}

// DefinitionOf gives the text of a definition that this node has a table of, NAME@VERSION, or NAME: of what that alone
// is here.
func (n *Node) DefinitionOf(ctx context.Context, process, at string) (a api.DefinitionAnswer, err error) {
	t, err := n.definedHere(process)
	if err != nil {
		return a, err
	}
	table := t.Process().Table()
	if at != "" && !slices.Contains(table.Nodes(), processtable.NodeID(at)) && at != string(n.name) {
		return a, api.Errorf(api.CodeUsage, "name one of these: "+join(table.Nodes()), "%s has no part in %s", at, table.Process)
	}
	return told(n.tables.Text(ctx, table, at))
}

// definedHere finds a process, NAME@VERSION or NAME, that has a table here. Without a version it is what the name alone
// is, or the highest, where nothing of it is current.
func (n *Node) definedHere(process string) (*execute.Thread, error) {
	id, err := processtable.ParseProcessID(process)
	if err != nil {
		return nil, api.Errorf(api.CodeUsage, "write NAME@VERSION, or NAME for the current version", "%v", err)
	}
	t := n.thread(id)
	if id.Version == 0 {
		current, newer := n.current(id.Name)
		if t = current; t == nil {
			t = newer
		}
	}
	if stone, gone := n.queue.Tombstone(id); t == nil && gone {
		return nil, api.Errorf(api.CodeNotFound, "see fmqm-define list for what there is, and keep the files of definitions",
			"%s was retired, and %s has removed its table, and its text, on %s", id, n.name, stone.Time.UTC().Format(time.DateOnly))
	}
	if t == nil {
		return nil, api.Errorf(api.CodeNotFound, "see fmqm-define list for what there is", "no table of %s at %s", process, n.name)
	}
	return t, nil
}

// SetDefiners sets whose tables are accepted from now on.
func (n *Node) SetDefiners(d trust.Definers) { n.tables.SetDefiners(d) }

// Quota is that of a transmission queue, in bytes; 0: none.
func (s site) Quota() int64 { return s.limits.Load().Transmission }

// Stopping: the node stops, and its links go first.
func (s site) Stopping() bool { return s.isStopped() }

// WaitRoom blocks while room on the disk is low, or until ctx ends, and tells paused why.
func (s site) WaitRoom(ctx context.Context, paused func(reason string)) error {
	return s.pressure.waitRoom(ctx, paused)
}

// PeerQuota is that of what one peer has sent that nothing here takes up, in bytes; 0: none.
func (s site) PeerQuota() int64 { return s.limits.Load().Peer }

// Taken counts, and tells who observes or waits, what peers have brought; it is on disk.
func (s site) Taken(tx *record.Tx) {
	s.setAside.Add(uint64(len(tx.Refuse)))
	s.postbox.Written(tx)
	s.observe(tx)
	for i := range tx.Audit {
		s.answers.Changed(tx.Audit[i].Instance, false)
	}
}

// loadRebuilds finds what the store tells of stores that were lost.
func (n *Node) loadRebuilds() (err error) {
	n.rebuilds, err = rebuild.New(rebuild.Options{
		Self: n.name, Site: site{n}, Queue: n.queue, Scheduler: n.sched, Log: n.log, Running: n.running, Tasks: n.tasks,
		Events: event.NewQueue(n.name),
	})
	return err
}

// Rebuild plans the rebuild of a peer, or starts it and reports how far it is.
func (n *Node) Rebuild(ctx context.Context, r api.RebuildRequest) (api.RebuildAnswer, error) {
	if n.isStopped() { // whether a peer has lost its store is seen on its link
		return api.RebuildAnswer{}, asAPI(queue.ErrStopped)
	}
	return told(n.rebuilds.Rebuild(ctx, r, n.commands.By(ctx)))
}
