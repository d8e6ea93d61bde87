package answer

import (
	"context"
	"errors"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
)

const (
	// askedAgain is the first pause before a node is asked again that could not answer; it
	// doubles.
	askedAgain = 20 * time.Millisecond
	// lostJustNow: a node that was heard so short a time ago may be back before the
	// time-out.
	lostJustNow = 2 * time.Second
	// fittings is how often nodes are asked again whose answers are older than what others
	// know; the first time after fitsAfter, then after twice as long.
	fittings  = 6
	fitsAfter = 5 * time.Millisecond
)

// gathering asks the nodes of one instance, each as soon as anybody has named it, all
// within one time-out: the roster's nodes, the origin, and, as long as nobody has told the
// roster, all peers. Each node tells what it knows as of one moment of its own; where these
// do not fit together, those that are behind are asked again ([report.Gathered.Behind]).
type gathering struct {
	of      *Answers
	q       report.Question
	told    map[processtable.NodeID]report.Mark // what of the history is not asked for
	silent  []api.Unreachable                   // who did not answer before, and is not asked
	g       *report.Gathered
	asked   map[processtable.NodeID]*asking
	answers *task.Queue[question.Reply[report.Report]]
}

// asking is how far a node's answer is.
type asking struct {
	process  string // that it was asked with
	pending  bool
	answered bool
}

// Gather asks this node and the others of an instance for its status: that of what is at its top, and of
// what has not ended. An instance is not found only if every node answered that it does not know it.
// Where a process is named, as NAME@VERSION, it is that one's instance, whatever others there are under
// the identifier.
func (a *Answers) Gather(ctx context.Context, id message.InstanceID, process string) (*report.Gathered, error) {
	if process != "" {
		of, err := processtable.ParseProcessID(process)
		if err != nil || of.Version == 0 {
			return nil, api.Errorf(api.CodeUsage, "write NAME@VERSION", "%q names no process", process)
		}
	}
	return a.gather(ctx, gathering{q: report.Question{Instance: id, Process: process, Scopes: []string{""}}})
}

// gatherMore is Gather of what g is about, of more than was asked for: who did not answer then is not
// asked again.
func (a *Answers) gatherMore(ctx context.Context, g *report.Gathered, q report.Question) (*report.Gathered, error) {
	q.Instance, q.Process = g.Instance, g.Process
	return a.gather(ctx, gathering{q: q, silent: g.Unreachable})
}

// gatherOpen asks of all scopes in which something has not ended, beside those that g is of.
func (a *Answers) gatherOpen(ctx context.Context, g *report.Gathered) (*report.Gathered, error) {
	open := g.Open()
	if len(open) == 0 {
		return g, nil
	}
	return a.gatherMore(ctx, g, report.Question{Scopes: append(slices.Clone(g.Asked.Scopes), open...)})
}

// GatherNews is Gather of the history without what each node has told.
func (a *Answers) GatherNews(ctx context.Context, id message.InstanceID, told map[processtable.NodeID]report.Mark) (*report.Gathered, error) {
	return a.gather(ctx, gathering{q: report.Question{Instance: id, History: true, Scopes: []string{""}, Watch: true}, told: told})
}

// ProcessOf gives the process, NAME@VERSION, of an instance that the caller of ctx may see.
func (a *Answers) ProcessOf(ctx context.Context, id message.InstanceID) (string, error) {
	started, _, found, err := a.Queue.Instance(id)
	if err != nil {
		return "", err
	}
	if process := started.Process.String(); found && api.CallerOf(ctx).Sees(process) {
		return process, nil
	}
	g, err := a.Gather(ctx, id, "") // as long as it takes where there is none, so that nobody sees a difference
	if err != nil {
		return "", err
	}
	return g.Process, nil
}

func (a *Answers) gather(ctx context.Context, s gathering) (*report.Gathered, error) {
	ctx, cancel := a.Scheduler.WithTimeout(ctx, question.Timeout)
	defer cancel()
	id := s.q.Instance
	s.of, s.g = a, report.NewGathered(a.Self, id)
	s.g.Process, s.g.Asked = s.q.Process, s.q
	s.asked, s.answers = map[processtable.NodeID]*asking{}, task.NewQueue[question.Reply[report.Report]](a.Scheduler, 0)
	for _, u := range s.silent {
		s.asked[processtable.NodeID(u.Node)] = &asking{}
	}
	own, err := a.Report(s.question(a.Self))
	if err != nil {
		return nil, err
	}
	s.asked[a.Self] = &asking{pending: true}
	s.take(question.Reply[report.Report]{Node: a.Self, Answer: own})
	for round, pause := 0, fitsAfter; ; round, pause = round+1, 2*pause {
		s.await(ctx)
		behind := s.g.Behind()
		if round == fittings || len(behind) == 0 || task.Sleep(ctx, a.Scheduler, pause) != nil {
			break
		}
		for _, node := range behind {
			delete(s.asked, node)
		}
	}
	missing := s.end()
	switch {
	case !s.g.Known(), !api.CallerOf(ctx).Sees(s.g.Process):
		return nil, a.unknownInstance(id, missing)
	case s.g.Other != "":
		return nil, api.Errorf(api.CodeFailed, "ask at the node where it was started",
			"the nodes disagree about instance %s: it is of %s here, and of %s at %s", id, s.g.Process, s.g.Other, s.g.OtherBy)
	}
	return s.g, nil
}

// question is what a node is asked, as far as the process is known.
func (s *gathering) question(node processtable.NodeID) report.Question {
	q := s.q
	q.Process, q.Told = s.g.Process, s.told[node]
	return q
}

// await asks until everybody has answered who was named, or ctx ends.
func (s *gathering) await(ctx context.Context) {
	for s.ask(ctx) && ctx.Err() == nil {
		if a, err := s.answers.Take(ctx); err == nil {
			s.take(a)
		}
	}
}

func (a *Answers) unknownInstance(id message.InstanceID, missing []processtable.NodeID) error {
	if len(missing) == 0 {
		return api.Errorf(api.CodeNotFound, "compare it with `fmqm list --all` at the node where it was started; nodes tell of a process only to nodes that have a part in it",
			"%s does not know instance %s, and no peer tells of it", a.Self, id)
	}
	return api.Errorf(api.CodeUnreachable, "ask again when they are back, or ask the node where it was started",
		"no node that answered knows instance %s; unreachable: %v", id, missing)
}

// named gives the nodes whose answer matters, as far as is known.
func (s *gathering) named() []processtable.NodeID {
	nodes := append(s.g.Nodes(s.isSilent), s.of.Self)
	if len(s.g.Roster) == 0 || s.g.Unlocated() {
		nodes = append(nodes, s.of.Site.Peers()...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// isSilent: the node was asked, and did not answer.
func (s *gathering) isSilent(node processtable.NodeID) bool {
	a := s.asked[node]
	return a != nil && !a.pending && !a.answered
}

// ask asks who was named and not asked yet, and again, now that the process is known, who
// had nothing to tell: such a node tells what it hosts. It says whether an answer is to come.
func (s *gathering) ask(ctx context.Context) (pending bool) {
	nodes := s.named()
	if s.q.Tree != nil {
		nodes = append(nodes, s.g.Workers()...)
	}
	for _, node := range nodes {
		a := s.asked[node]
		_, told := s.g.Reports[string(node)]
		if a == nil || a.answered && a.process != s.g.Process && !told {
			a = &asking{process: s.g.Process, pending: true}
			s.asked[node] = a
			q := s.question(node)
			s.of.Scheduler.Go(func() { s.answers.Push(s.of.askReport(ctx, node, q)) })
		}
		pending = pending || a.pending
	}
	return pending
}

// take adds an answer.
func (s *gathering) take(a question.Reply[report.Report]) {
	s.asked[a.Node].pending, s.asked[a.Node].answered = false, a.Err == nil
	if a.Err != nil || a.Answer.Process == "" {
		return
	}
	id, err := processtable.ParseProcessID(a.Answer.Process)
	if err != nil || id.Version == 0 {
		return
	}
	if r, believed := a.Answer.Believed(a.Node, s.of.tableOf(id)); believed {
		s.g.Add(string(a.Node), r)
	}
}

// end says who did not answer, and who did and has no part in the process.
func (s *gathering) end() (missing []processtable.NodeID) {
	for _, node := range s.named() {
		switch a := s.asked[node]; {
		case a == nil || !a.answered:
			missing = append(missing, node)
			s.g.Unreachable = append(s.g.Unreachable, api.Unreachable{Node: string(node), LastHeard: s.of.lastHeard(node)})
		case len(s.g.Reports[string(node)].Roster) == 0:
			s.g.Tableless = append(s.g.Tableless, string(node))
		}
	}
	return missing
}

// askReport asks a node, perhaps this one, for its report, again while it is busy or may
// come back, until ctx ends.
func (a *Answers) askReport(ctx context.Context, node processtable.NodeID, q report.Question) question.Reply[report.Report] {
	r := question.Reply[report.Report]{Node: node}
	for pause := askedAgain; ; pause *= 2 {
		if node == a.Self {
			r.Answer, r.Err = a.Report(q)
		} else {
			r.Answer, r.Err = question.Ask[report.Report](ctx, a.Site, node, AskInstance, q)
		}
		if r.Err == nil || !a.mayAnswer(node, r.Err) || task.Sleep(ctx, a.Scheduler, pause) != nil {
			return r
		}
	}
}

// mayAnswer: a node that did not answer may do so in a moment. It is there, and was busy,
// or was there a moment ago.
func (a *Answers) mayAnswer(node processtable.NodeID, err error) bool {
	if node == a.Self || a.Site.Stopping() {
		return false
	}
	return !errors.Is(err, link.ErrNotConnected) || a.Scheduler.Now().Sub(a.lastHeard(node)) < lostJustNow
}
