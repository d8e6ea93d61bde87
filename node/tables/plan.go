package tables

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
)

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
		case t.Node == u.here.Self:
			if err := u.planOwn(i, &line); err != nil {
				return err
			}
		default:
			u.planOther(t, answers[i], &line)
			if line.Plan == api.PlanUnchanged {
				u.there[i] = answers[i].Answer
			}
		}
		if line.Plan == api.PlanAdd || line.Plan == api.PlanUnknown {
			if reason := u.here.definers.Load().Barred(u.here.Self, t, u.here.Scheduler.Now()); reason != "" {
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
	here, t := u.here, u.tables[i]
	err := here.fits(u.request.Tables[i].Table)
	isNew := false
	if err == nil {
		isNew, err = here.mayStore(t)
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
	u.there[i] = Report{State: here.state(t.Process), All: !here.Queue.IsPending(t.Process)}
	encoded, _, _, err := here.Queue.Table(t.Process)
	if err != nil {
		return fmt.Errorf("read the table of %s: %w", t.Process, err)
	}
	u.found(t, processtable.FormatOf(encoded))
	return nil
}

// planOther says what a table of another node would do, as far as that is known without
// making a link to it.
func (u *upload) planOther(t *processtable.Table, r question.Reply[Report], line *api.UploadNode) {
	here := u.here
	linked := here.linked(t.Node)
	switch {
	case linked && r.Err == nil:
		u.planAnswered(t, r.Answer, line)
	case linked:
		line.Reason = "it is unreachable: " + here.linkReason(t.Node)
	case here.Site.Reaches(t.Node):
		line.Reason = fmt.Sprintf("%s has no link to it yet: sending the table makes one", here.Self)
	case u.request.AllowNewNode:
		line.Reason = fmt.Sprintf("%s has no link to it: the table waits until one is configured", here.Self)
	default:
		line.Plan = api.PlanRefuse
		line.Reason = fmt.Sprintf("%s has no link to node %s: add it to links.peers, or allow a node that is not there yet (--allow-new-node)", here.Self, t.Node)
	}
}

// ask asks the nodes of tables about them: all nodes at once, and each about one after the
// other, until it does not answer.
func (u *upload) ask(ctx context.Context) []question.Reply[Report] {
	answers := make([]question.Reply[Report], len(u.tables))
	tables := map[processtable.NodeID][]int{}
	for i, t := range u.tables {
		if t.Node != u.here.Self {
			tables[t.Node] = append(tables[t.Node], i)
		}
	}
	all := task.NewGroup(u.here.Scheduler)
	for _, node := range slices.Sorted(maps.Keys(tables)) {
		of := tables[node]
		all.Go(func() {
			var err error
			for _, i := range of {
				if err == nil {
					answers[i] = question.All[Report](ctx, u.here.Scheduler, u.here.Site, []processtable.NodeID{node}, AskTable, about(u.tables[i], u.request.Tables[i].Table))[0]
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
			line.Reason = fmt.Sprintf("%s has its table of %s in format %d, and this upload is of format %d: ", other.node, t.Process, other.format, t.Format)
			if compilable(t, other.format) {
				line.Reason += fmt.Sprintf("upload with --table-format %d, or ", other.format)
			}
			line.Reason += "raise the version"
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
func (u *upload) planAnswered(t *processtable.Table, r Report, line *api.UploadNode) {
	reads := max(r.Reads, 1)
	switch {
	case !r.Found && t.Format > reads:
		line.Plan = api.PlanRefuse
		line.Reason = fmt.Sprintf("%s reads process tables up to format %d, and this upload is of format %d: upgrade it", t.Node, reads, t.Format)
		if compilable(t, reads) {
			line.Reason += fmt.Sprintf(", or upload with --table-format %d", reads)
		}
	case !r.Found && t.Definer != nil && !r.Signed:
		line.Plan = api.PlanRefuse
		line.Reason = fmt.Sprintf("%s is of a version that reads no signed tables: upgrade it, or upload with --unsigned", t.Node)
	case !r.Found && t.Terms.Network != "" && r.Signatures < processtable.SignatureVersion:
		line.Plan = api.PlanRefuse
		line.Reason = fmt.Sprintf("%s is of a version that reads no signatures for a network: upgrade it, or upload without --network", t.Node)
	case !r.Found && strange(t, r.Behaviours) != "":
		line.Plan, line.Reason = api.PlanRefuse, strange(t, r.Behaviours)
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

// compilable says whether a table's process can be compiled to another format as well.
func compilable(t *processtable.Table, format int) bool {
	return max(t.Format, format) <= processtable.FlowMarkFormat
}

func (t *Tables) linkReason(peer processtable.NodeID) string {
	s, linked := t.Site.LinkTo(peer)
	if !linked {
		return "no link"
	}
	if s.Reason == "" {
		return string(s.State)
	}
	return s.Reason
}

func (t *Tables) linked(peer processtable.NodeID) bool {
	_, linked := t.Site.LinkTo(peer)
	return linked
}
