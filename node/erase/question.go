package erase

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// AskErase is the kind of question that For answers: of an instance's origin, which has all nodes erase, and of these.
const AskErase = "erase"

// Question is asked with AskErase.
type Question struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"` // NAME@VERSION
	Members  []string           `json:"members,omitempty"`
	All      bool               `json:"all,omitempty"`
	Reason   string             `json:"reason,omitempty"`
	Operator string             `json:"operator,omitempty"` // who asks, as the node has proved it at which he does
	By       string             `json:"by,omitempty"`       // who that is for the history, such as "alice at B"
	// Whole: of the origin, that all nodes are to do it. Names: of another node, which members it knows; it changes nothing.
	Whole bool `json:"whole,omitempty"`
	Names bool `json:"names,omitempty"`
}

// Report answers it.
type Report struct {
	Answer   *api.EraseAnswer `json:"answer,omitempty"` // of the origin
	Node     *api.EraseNode   `json:"node,omitempty"`   // of another node
	Children []api.EraseChild `json:"children,omitempty"`
	Names    []string         `json:"names,omitempty"` // of the members asked for, those that a container has there
	Error    *api.Error       `json:"error,omitempty"`
}

// originTimeout is how long an origin has for asking all nodes.
const originTimeout = 10 * time.Second

// Erase overwrites data of an instance, at all nodes of its process that answer.
func (e *Eraser) Erase(ctx context.Context, id message.InstanceID, r api.EraseRequest) (a api.EraseAnswer, err error) {
	g, err := e.options.Site.Gather(ctx, id, r.Process)
	if err != nil {
		return a, err
	}
	q := Question{
		Instance: id, Process: g.Process, Members: r.Members, All: r.AllData, Reason: r.Reason,
		Operator: api.OperatorOf(ctx), By: e.options.Site.By(ctx), Whole: true,
	}
	process, err := processtable.ParseProcessID(g.Process)
	switch origin := processtable.NodeID(g.Origin); {
	case err != nil || e.options.Site.Process(process) == nil:
		return a, api.Errorf(api.CodeNotFound, "erase it at a node that has one (--to)", "no table of %s at %s", g.Process, e.options.Self)
	case g.Origin == "" || g.Contested != "":
		return a, unknown(g, e.options.Self)
	case origin == e.options.Self:
		return e.everywhere(ctx, process, &q)
	default:
		return e.through(ctx, origin, process, &q)
	}
}

// unknown refuses what nobody who answered knows the origin of.
func unknown(g *report.Gathered, self processtable.NodeID) *api.Error {
	code, remedy := api.CodeNotFound, "erase it at the node where it was started (--to)"
	if len(g.Unreachable) > 0 {
		code, remedy = api.CodeUnreachable, "try again when all nodes answer; or "+remedy
	}
	return api.Errorf(code, remedy, "%s cannot tell where instance %s was started, which alone knows whether it has ended: nothing has changed", self, g.Instance)
}

// through asks the origin. What that may not have done here, somebody who may command here has done.
func (e *Eraser) through(ctx context.Context, origin processtable.NodeID, process processtable.ProcessID, q *Question) (a api.EraseAnswer, err error) {
	asked, cancel := e.options.Scheduler.WithTimeout(ctx, originTimeout)
	defer cancel()
	told, err := question.Ask[Report](asked, e.options.Site, origin, AskErase, q)
	switch {
	case err != nil:
		return a, api.Errorf(api.CodeUnreachable, fmt.Sprintf("repeat it when %s is reachable again, or erase it at %s itself (--to)", origin, origin),
			"only %s, where instance %s was started, can have it erased, and it does not answer: %v: if it has heard of it, it goes on", origin, q.Instance, err)
	case told.Error != nil:
		return a, told.Error
	case told.Answer == nil:
		return a, api.Errorf(api.CodeFailed, "upgrade it", "%s does not answer what it was asked", origin)
	}
	a = *told.Answer
	for i := range a.Nodes {
		if a.Nodes[i].Node == string(e.options.Self) && a.Nodes[i].Result == api.ResultRefused {
			own, children, err := e.here(ctx, origin, process, q)
			if err != nil {
				return a, err
			}
			a.Nodes[i], a.Children = own, joined(a.Children, children)
		}
	}
	return a, nil
}

// For is what a peer asks: as the origin of what is here, or for somebody who commands there. Nothing is believed of it but
// who its operator is, and, of an instance that was started there, that it has ended.
func (e *Eraser) For(ctx context.Context, peer processtable.NodeID, q Question) (r Report, err error) {
	process, err := processtable.ParseProcessID(q.Process)
	p := e.options.Site.Process(process)
	if stone, gone := e.options.Queue.Tombstone(process); err == nil && gone && !q.Whole && slices.Contains(stone.Nodes, peer) {
		return Report{Node: &api.EraseNode{Node: string(e.options.Self), Result: api.ResultRemoved}}, nil // with the last of its history (N31)
	}
	if err != nil || p == nil || !p.Table().HasPart(peer) {
		return r, api.Errorf(api.CodeNotFound, "", "no table of %s at %s", q.Process, e.options.Self)
	}
	if err := q.check(); err != nil {
		return r, api.Errorf(api.CodeRefused, "ask at "+string(e.options.Self)+" itself", "%s asks for what cannot be: %v", peer, err)
	}
	if q.Names {
		return Report{Names: named(p.Table(), q.Members)}, nil
	}
	order := command.Order{Peer: peer, Operator: q.Operator, Command: "erase", What: "instance " + q.Instance.String()}
	if refused := e.options.Site.Order(&order); refused != nil {
		return r, refused
	}
	q.By = cmp.Or(q.By, order.By())
	if q.Whole {
		a, err := e.everywhere(ctx, process, &q)
		return Report{Answer: &a}, err
	}
	own, children, err := e.here(ctx, peer, process, &q)
	return Report{Node: &own, Children: children}, err
}

// check says what a peer cannot ask.
func (q *Question) check() error {
	m := container.Members{All: q.All, Paths: q.Members}
	if err := m.Check(); err != nil {
		return err
	}
	if len(q.Reason) > api.MaxReason || len(q.By) > message.MaxBy || !utf8.ValidString(q.Reason) || !utf8.ValidString(q.By) {
		return fmt.Errorf("the reason, or who asks, is no text of its length")
	}
	return nil
}

// everywhere has all nodes of an instance's process erase, that was started here and has ended.
func (e *Eraser) everywhere(ctx context.Context, process processtable.ProcessID, q *Question) (a api.EraseAnswer, err error) {
	if err := e.ended(process, q.Instance); err != nil {
		return a, err
	}
	t := e.options.Site.Process(process).Table()
	others := slices.DeleteFunc(t.Nodes(), func(n processtable.NodeID) bool { return n == e.options.Self })
	if err := e.mistaken(ctx, t, others, q); err != nil {
		return a, err
	}
	a = api.EraseAnswer{Instance: q.Instance, Process: q.Process}
	own, children, err := e.here(ctx, e.options.Self, process, q)
	if err != nil {
		return a, err
	}
	a.Nodes, a.Children = append(a.Nodes, own), children
	there := *q
	there.Whole = false
	for _, r := range question.All[Report](ctx, e.options.Scheduler, e.options.Site, others, AskErase, there) {
		line := api.EraseNode{Node: string(r.Node)}
		switch {
		case r.Err != nil:
			line.Result, line.Reason = api.ResultUnreachable, r.Err.Error()
			if s, linked := e.options.Site.LinkTo(r.Node); linked {
				line.LastHeard = s.LastHeard
			}
		case r.Answer.Error != nil:
			line.Result, line.Reason = api.ResultRefused, refusal(r.Answer.Error)
		case r.Answer.Node == nil:
			line.Result, line.Reason = api.ResultRefused, "it does not answer what it was asked: upgrade it"
		default:
			line = *r.Answer.Node
			line.Node = string(r.Node)
			a.Children = joined(a.Children, r.Answer.Children)
		}
		a.Nodes = append(a.Nodes, line)
	}
	return a, nil
}

// refusal is an error of another node, in one line.
func refusal(err *api.Error) string {
	if err.Remedy == "" {
		return err.Message
	}
	return err.Message + ": " + err.Remedy
}

// joined are the children that two nodes tell of.
func joined(a, b []api.EraseChild) []api.EraseChild {
	for _, c := range b {
		if !slices.Contains(a, c) {
			a = append(a, c)
		}
	}
	return a
}

// ended refuses what was not started here, or goes on.
func (e *Eraser) ended(process processtable.ProcessID, i message.InstanceID) error {
	started, ended, found, err := e.options.Queue.Instance(i)
	switch {
	case err != nil:
		return err
	case !found || started.Process != process:
		return api.Errorf(api.CodeNotFound, "if it has lost its store: erase it at each of the other nodes' own", "%s does not know instance %s of %s as one that was started there", e.options.Self, i, process)
	case ended == nil:
		return api.Errorf(api.CodeRefused, "wait until it has ended (fmqm wait), or terminate it, and repeat it", "instance %s has not ended: what is under way needs its data, and nothing was erased", i)
	}
	return nil
}

// mistaken refuses members that no container has, at any node. Where a node does not answer nobody can tell.
func (e *Eraser) mistaken(ctx context.Context, t *processtable.Table, others []processtable.NodeID, q *Question) error {
	lacks := slices.Clone(q.Members)
	know := func(names []string) {
		lacks = slices.DeleteFunc(lacks, func(path string) bool { return slices.Contains(names, path) })
	}
	know(named(t, lacks))
	if len(lacks) == 0 {
		return nil
	}
	ask := *q
	ask.Whole, ask.Names, ask.Members = false, true, slices.Clone(lacks)
	for _, r := range question.All[Report](ctx, e.options.Scheduler, e.options.Site, others, AskErase, ask) {
		if r.Err != nil || r.Answer.Error != nil {
			return nil
		}
		know(r.Answer.Names)
	}
	if len(lacks) == 0 {
		return nil
	}
	remedy := "name members of its structures, such as " + strings.Join(firstOf(memberNames(t)), ", ")
	steps := strings.Split(lacks[0], ".")
	if near, ok := container.Nearest(steps[len(steps)-1], memberNames(t)); ok {
		remedy = "did you mean " + near + "?"
	}
	return api.Errorf(api.CodeUsage, remedy, "no container of %s has a member %s: nothing was erased", q.Process, lacks[0])
}

// firstOf are some of many names.
func firstOf(names []string) []string { return names[:min(len(names), 5)] }

// here erases what this node has of an instance that was started at origin, which says that it has ended.
func (e *Eraser) here(ctx context.Context, origin processtable.NodeID, process processtable.ProcessID, q *Question) (line api.EraseNode, children []api.EraseChild, err error) {
	line = api.EraseNode{Node: string(e.options.Self), Result: api.ResultNone}
	has, found, err := e.options.Queue.AuditSizeOf(q.Instance)
	if err != nil {
		return line, nil, err
	}
	removed, was, err := e.options.Queue.Removed(q.Instance)
	switch {
	case err != nil:
		return line, nil, err
	case found && (has.Origin != origin || has.Process != process), !found && was && (removed.Origin != origin || removed.Process != process):
		return line, nil, api.Errorf(api.CodeRefused, "erase it at the node where it was started", "what %s has of instance %s is not of %s, or was not started at %s: nothing has changed", e.options.Self, q.Instance, process, origin)
	case !found && was:
		line.Result = api.ResultRemoved
	}
	if found {
		if line, err = e.ask(ctx, origin, process, q); err != nil {
			return line, nil, err
		}
	} else if err := e.options.Site.ForgetLogs(q.Instance); err != nil {
		line.Result, line.Reason = api.ResultLeft, fmt.Sprintf("what its programs have written: %v", err)
	}
	if line.Result != api.ResultErasing {
		reason, err := e.left(process, q.Instance)
		if err != nil {
			return line, nil, err
		}
		if reason != "" {
			line.Result, line.Reason = api.ResultLeft, reason
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return line, e.children[q.Instance], nil
}

// ask notes what is to be erased here, and waits for a moment until it is.
func (e *Eraser) ask(ctx context.Context, origin processtable.NodeID, process processtable.ProcessID, q *Question) (line api.EraseNode, err error) {
	line = api.EraseNode{Node: string(e.options.Self), Result: api.ResultErasing}
	gate := e.gate(q.Instance)
	if err := e.want(ctx, record.Erasing{
		Instance: q.Instance, Process: process, Origin: origin, Members: container.Members{All: q.All, Paths: q.Members},
		By: q.By, Reason: q.Reason, Asked: e.options.Scheduler.Now(),
	}); err != nil {
		return line, err
	}
	wait, cancel := e.options.Scheduler.WithTimeout(ctx, patience)
	defer cancel()
	_, _ = e.options.Scheduler.Wait(wait, gate)
	under, goesOn, err := e.options.Queue.Erasing(q.Instance)
	if err != nil {
		return line, err
	}
	last, _, err := e.options.Queue.Erased(q.Instance)
	if err != nil {
		return line, err
	}
	if last != nil && (!goesOn || under.Over) {
		line.Records = last.Erased.Records
	}
	if !goesOn {
		line.Result = api.ResultErased
		return line, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	line.Reason = cmp.Or(e.stuck[q.Instance], "it goes on by itself")
	return line, nil
}
