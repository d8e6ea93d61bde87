package node

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
)

// How long an upload waits for what nodes that are heard say of their tables.
const (
	uploadTimeout = 10 * time.Second
	uploadPause   = 50 * time.Millisecond
)

// upload is one request's work: the tables of any number of processes, which are stored
// all or none.
type upload struct {
	node    *Node
	request api.UploadRequest
	tables  []*processtable.Table
	own     []int                                  // indexes of the tables of this node that are new here
	formats map[processtable.ProcessID]otherFormat // what nodes have in another format than the upload's
	met     map[processtable.NodeID]bool           // sites to which this upload made a link

	definitions map[processtable.ProcessID]map[processtable.DefinitionHash]bool // in this upload; made when asked for

	answer api.UploadAnswer
}

// Upload plans first: what changes at which node. Then, if no node refuses, it stores
// the tables of this node and puts those of the others on their way. A plan, and an upload
// that is refused, leave nothing behind: no link, no queue, nothing prepared.
func (n *Node) Upload(ctx context.Context, r api.UploadRequest) (api.UploadAnswer, error) {
	u := &upload{
		node: n, request: r,
		formats: map[processtable.ProcessID]otherFormat{}, met: map[processtable.NodeID]bool{},
		answer: api.UploadAnswer{Nodes: []api.UploadNode{}, Warnings: []string{}},
	}
	for _, table := range r.Tables {
		t, err := decodeUpload(table)
		if err != nil {
			return api.UploadAnswer{}, err
		}
		u.tables = append(u.tables, t)
	}
	if err := u.plan(ctx); err != nil {
		return api.UploadAnswer{}, asAPI(err)
	}
	u.warn(ctx)
	if r.PlanOnly || u.refused() {
		return u.answer, nil
	}
	own, ok := u.prepare()
	if !ok {
		return u.answer, nil
	}
	if err := u.send(ctx, own); err != nil {
		return api.UploadAnswer{}, asAPI(err)
	}
	u.await(ctx)
	return u.answer, nil
}

func decodeUpload(table api.Table) (*processtable.Table, error) {
	t, err := processtable.Decode(table.Table)
	if err != nil {
		return nil, api.Errorf(api.CodeRefused, "compile the definition again with this version of fmqm-define", "table for %s: %v", table.Node, err)
	}
	if string(t.Node) != table.Node || t.Process.String() != table.Process || t.Definition.String() != table.Definition {
		return nil, api.Errorf(api.CodeRefused, "compile the definition again", "table for %s says that it is of %s for %s", table.Node, t.Process, t.Node)
	}
	return t, nil
}

// plan says for each table what it would do.
func (u *upload) plan(ctx context.Context) error {
	answers := u.ask(ctx)
	seen := map[message.Queue]bool{}
	for i, t := range u.tables {
		line := api.UploadNode{Node: string(t.Node), Process: t.Process.String(), Plan: api.PlanUnknown, Network: t.Terms.Network, Expires: t.Terms.NotAfter}
		at := message.Queue{Process: t.Process, Node: t.Node}
		again := seen[at]
		seen[at] = true
		switch {
		case again && !u.otherwiseBound(t):
			line.Plan, line.Reason = api.PlanUnchanged, "it is in this upload already"
		case u.otherwiseBound(t):
			line.Plan, line.Reason = api.PlanRefuse, fmt.Sprintf("%s has two definitions in this upload: raise the version of one", t.Process)
		case t.Node == u.node.name:
			if err := u.planOwn(i, &line); err != nil {
				return err
			}
		default:
			u.planOther(t, answers[i], &line)
		}
		if line.Plan == api.PlanAdd || line.Plan == api.PlanUnknown {
			if reason := u.node.barred(t); reason != "" {
				line.Plan, line.Reason = api.PlanRefuse, reason
			}
		}
		u.answer.Nodes = append(u.answer.Nodes, line)
	}
	u.refuseMixed()
	return nil
}

// planOwn says what a table of this node would do.
func (u *upload) planOwn(i int, line *api.UploadNode) error {
	n, t := u.node, u.tables[i]
	err := n.fitsLimit(u.request.Tables[i].Table)
	isNew := false
	if err == nil {
		isNew, err = n.mayStore(t)
	}
	switch {
	case err != nil:
		line.Plan, line.Reason = api.PlanRefuse, err.Error()
		return nil
	case isNew:
		line.Plan, u.own = api.PlanAdd, append(u.own, i)
		return nil
	}
	line.Plan = api.PlanUnchanged
	encoded, _, _, err := n.queue.Table(t.Process)
	if err != nil {
		return fmt.Errorf("read the table of %s: %w", t.Process, err)
	}
	u.found(t, processtable.FormatOf(encoded))
	return nil
}

// planOther says what a table of another node would do, as far as that is known without
// making a link to it.
func (u *upload) planOther(t *processtable.Table, r reply[tableReport], line *api.UploadNode) {
	n := u.node
	linked := n.Link(t.Node) != nil
	switch {
	case linked && r.Err == nil:
		u.planAnswered(t, r.Answer, line)
	case linked:
		line.Reason = "it is unreachable: " + n.linkReason(t.Node)
	case n.pathTo(t.Node):
		line.Reason = fmt.Sprintf("%s has no link to it yet: sending the table makes one", n.name)
	case u.request.AllowNewNode:
		line.Reason = fmt.Sprintf("%s has no link to it: the table waits until one is configured", n.name)
	default:
		line.Plan = api.PlanRefuse
		line.Reason = fmt.Sprintf("%s has no link to node %s: add it to links.peers, or allow a node that is not there yet (--allow-new-node)", n.name, t.Node)
	}
}

// ask asks the nodes of tables about them: all nodes at once, and each about one after the
// other, until it does not answer.
func (u *upload) ask(ctx context.Context) []reply[tableReport] {
	answers := make([]reply[tableReport], len(u.tables))
	tables := map[processtable.NodeID][]int{}
	for i, t := range u.tables {
		if t.Node != u.node.name {
			tables[t.Node] = append(tables[t.Node], i)
		}
	}
	all := task.NewGroup(u.node.sched)
	for _, node := range slices.Sorted(maps.Keys(tables)) {
		of := tables[node]
		all.Go(func() {
			var err error
			for _, i := range of {
				if err == nil {
					answers[i] = askAll[tableReport](ctx, u.node, []processtable.NodeID{node}, askTable, question(u.tables[i], u.request.Tables[i].Table))[0]
					err = answers[i].Err
				}
				answers[i].Err = err
			}
		})
	}
	_ = all.Wait(context.Background())
	return answers
}

// found notes the format of a table that a node has already, of the same definition.
func (u *upload) found(t *processtable.Table, format int) {
	if format = max(format, 1); format != t.Format {
		u.formats[t.Process] = otherFormat{t.Node, format}
	}
}

// otherFormat is a node that has its table in another format than the upload's.
type otherFormat struct {
	node   processtable.NodeID
	format int
}

// refuseMixed refuses a table where another node has its own in another format: all of a
// process's tables have one, or one node would resolve dead paths on the behalf of hosts
// whose peers were never told that it may (N6).
func (u *upload) refuseMixed() {
	for i, t := range u.tables {
		line := &u.answer.Nodes[i]
		if other, mixed := u.formats[t.Process]; mixed && (line.Plan == api.PlanAdd || line.Plan == api.PlanUnknown) {
			line.Plan = api.PlanRefuse
			line.Reason = fmt.Sprintf("%s has its table of %s in format %d, and this upload is of format %d: upload with --table-format %d, or raise the version",
				other.node, t.Process, other.format, t.Format, other.format)
		}
	}
}

// otherwiseBound reports whether this upload brings another definition of t's process as
// well (N3).
func (u *upload) otherwiseBound(t *processtable.Table) bool {
	if u.definitions == nil {
		u.definitions = map[processtable.ProcessID]map[processtable.DefinitionHash]bool{}
		for _, t := range u.tables {
			if u.definitions[t.Process] == nil {
				u.definitions[t.Process] = map[processtable.DefinitionHash]bool{}
			}
			u.definitions[t.Process][t.Definition] = true
		}
	}
	return len(u.definitions[t.Process]) > 1
}

// planAnswered says what the upload would do at a node that has answered.
func (u *upload) planAnswered(t *processtable.Table, r tableReport, line *api.UploadNode) {
	reads := max(r.Reads, 1)
	switch {
	case !r.Found && t.Format > reads:
		line.Plan = api.PlanRefuse
		line.Reason = fmt.Sprintf("%s reads process tables up to format %d, and this upload is of format %d: upgrade it, or upload with --table-format %d",
			t.Node, reads, t.Format, reads)
	case !r.Found && t.Definer != nil && !r.Signed:
		line.Plan = api.PlanRefuse
		line.Reason = fmt.Sprintf("%s is of a version that reads no signed tables: upgrade it, or upload with --unsigned", t.Node)
	case !r.Found && t.Terms.Network != "" && r.Signatures < processtable.SignatureVersion:
		line.Plan = api.PlanRefuse
		line.Reason = fmt.Sprintf("%s is of a version that reads no signatures for a network: upgrade it, or upload without --network", t.Node)
	case r.Untrusted != "":
		line.Plan, line.Reason = api.PlanRefuse, r.Untrusted
	case !r.Found:
		line.Plan = api.PlanAdd
	case r.Definition == t.Definition.String():
		line.Plan = api.PlanUnchanged
		u.found(t, r.Format)
	default:
		line.Plan, line.Reason = api.PlanRefuse, errBound(t.Process, t.Node).Error()
	}
}

// question asks a node about a table that is to go to it.
func question(t *processtable.Table, encoded []byte) tableQuestion {
	return tableQuestion{
		Process: t.Process.String(), Table: sumOf(encoded), Definition: t.Definition.String(),
		Definer: base64.StdEncoding.EncodeToString(t.Definer), Network: t.Terms.Network,
	}
}

func (n *Node) linkReason(peer processtable.NodeID) string {
	l := n.Link(peer)
	if l == nil {
		return "no link"
	}
	s := l.Status()
	if s.Reason == "" {
		return string(s.State)
	}
	return s.Reason
}

// refused marks every line, if one node refuses: an upload is for all nodes or none
// of those that can be asked.
func (u *upload) refused() bool {
	by := slices.IndexFunc(u.answer.Nodes, func(l api.UploadNode) bool { return l.Plan == api.PlanRefuse })
	if by < 0 {
		return false
	}
	for i := range u.answer.Nodes {
		line := &u.answer.Nodes[i]
		switch line.Plan {
		case api.PlanUnchanged:
			line.Result = api.ResultUnchanged
		case api.PlanRefuse:
			line.Result = api.ResultRefused
		case api.PlanAdd, api.PlanUnknown:
			line.Result = api.ResultRefused
			line.Reason = "not sent, since " + u.answer.Nodes[by].Node + " refuses"
		}
	}
	return true
}

// prepare makes the new tables of this node ready. One that cannot be is refused, and so is
// the upload.
func (u *upload) prepare() ([]behaviour.Process, bool) {
	var own []behaviour.Process
	for _, i := range u.own {
		p, err := navigator.Prepare(u.tables[i])
		if err != nil {
			u.answer.Nodes[i].Plan, u.answer.Nodes[i].Reason = api.PlanRefuse, err.Error()
			u.refused()
			return nil, false
		}
		own = append(own, p)
	}
	return own, true
}

// send puts everything in one transaction: this node's tables, and the others' into
// their transmission queues.
func (u *upload) send(ctx context.Context, own []behaviour.Process) error {
	n := u.node
	tx := &queue.Tx{}
	for at, i := range u.own {
		tx.Tables = append(tx.Tables, record(own[at], u.request.Tables[i].Table))
	}
	for i, t := range u.tables {
		line := &u.answer.Nodes[i]
		switch {
		case line.Plan == api.PlanUnchanged:
			line.Result = api.ResultUnchanged
		case t.Node == n.name:
			line.Result = api.ResultStored
		default:
			line.Result = api.ResultQueued
			tx.Put = append(tx.Put, message.Message{
				Header: message.Header{
					Queue:      message.Queue{Process: t.Process, Node: t.Node},
					Definition: t.Definition.Short(), Origin: n.name, Kind: message.KindTable, Lane: message.LaneData,
				},
				Body: u.request.Tables[i].Table,
			})
		}
	}
	if len(tx.Tables) == 0 && len(tx.Put) == 0 {
		return nil
	}
	if err := n.commit(ctx, tx); err != nil {
		return fmt.Errorf("store the upload at %s: %w", n.name, err)
	}
	for _, m := range tx.Put {
		if peer := m.Queue.Node; n.Link(peer) == nil {
			n.Meet(peer)
			u.met[peer] = n.Link(peer) != nil
		}
	}
	for i, t := range u.tables {
		if u.met[t.Node] {
			u.answer.Nodes[i].Reason = "it is not connected yet: " + n.linkReason(t.Node)
		}
	}
	for _, p := range own {
		n.install(p)
	}
	return nil
}

// await asks the nodes that are heard what became of their tables; those that are not
// stay queued. A link that was just made has a moment to be connected.
func (u *upload) await(ctx context.Context) {
	n := u.node
	ctx, cancel := n.sched.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	fresh, end := n.sched.WithTimeout(ctx, gatherTimeout)
	defer end()
	for i, t := range u.tables {
		line := &u.answer.Nodes[i]
		for line.Result == api.ResultQueued && ctx.Err() == nil {
			l := n.Link(t.Node)
			if l == nil {
				break
			}
			if state := l.Status().State; state != link.StateConnected {
				if state != link.StateConnecting || !u.met[t.Node] || fresh.Err() != nil {
					break
				}
				_ = task.Sleep(fresh, n.sched, uploadPause)
				continue
			}
			r := askAll[tableReport](ctx, n, []processtable.NodeID{t.Node}, askTable, question(t, u.request.Tables[i].Table))[0]
			switch {
			case r.Err != nil:
			case r.Answer.Found && r.Answer.Definition == t.Definition.String():
				line.Result, line.Reason = api.ResultStored, ""
			case r.Answer.Refused != "":
				line.Result, line.Reason = api.ResultRefused, r.Answer.Refused
			default:
				_ = task.Sleep(ctx, n.sched, uploadPause)
			}
			if r.Err != nil {
				break
			}
		}
	}
}

// warn names programs that a node has not registered, and pairs of nodes that a
// connector joins and no link does.
func (u *upload) warn(ctx context.Context) {
	n := u.node
	known := map[processtable.NodeID]nodeReport{n.name: n.reportSelf()}
	var ask []processtable.NodeID
	for _, t := range u.tables {
		if t.Node != n.name && n.Link(t.Node) != nil && !slices.Contains(ask, t.Node) {
			ask = append(ask, t.Node)
		}
	}
	for _, r := range askAll[nodeReport](ctx, n, ask, askNode, struct{}{}) {
		if r.Err == nil {
			known[r.Node] = r.Answer
		}
	}
	for _, t := range u.tables {
		report, ok := known[t.Node]
		if !ok {
			continue
		}
		for _, program := range unregistered(t, report) {
			u.answer.Warnings = append(u.answer.Warnings, fmt.Sprintf(
				"%s: program %s is not registered at %s: add it to `programs` there, or its activities go in error", t.Process, program, t.Node))
		}
		for _, peer := range unlinked(t, report) {
			if report.Broker && known[processtable.NodeID(peer)].Broker {
				continue
			}
			u.answer.Warnings = append(u.answer.Warnings, fmt.Sprintf(
				"%s: a connector leads from %s to %s, and %s has no link to %s: its messages wait until one is configured", t.Process, t.Node, peer, t.Node, peer))
		}
	}
}

func unregistered(t *processtable.Table, r nodeReport) []string {
	var out []string
	for _, a := range t.Activities {
		name := string(a.Program)
		if a.Kind == processtable.KindProgram && !slices.Contains(r.Programs, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// unlinked gives the nodes that connectors of t lead to and that its node has no link
// to. Sink may be at any node where an instance may start.
func unlinked(t *processtable.Table, r nodeReport) []string {
	var out []string
	known := map[string]bool{string(t.Node): true}
	for _, peer := range r.Peers {
		known[peer] = true
	}
	add := func(node processtable.NodeID) {
		if name := string(node); !known[name] {
			known[name] = true
			out = append(out, name)
		}
	}
	for _, a := range t.Activities {
		for _, node := range a.TargetNodes() {
			if node != processtable.Origin {
				add(node)
				continue
			}
			for _, s := range t.Starts {
				add(s)
			}
		}
	}
	slices.Sort(out)
	return out
}
