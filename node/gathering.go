package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
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
// do not fit together, those that are behind are asked again ([gathered.behind]).
type gathering struct {
	node    *Node
	q       instanceQuestion
	told    map[processtable.NodeID]eventMark // what of the history is not asked for
	g       *gathered
	asked   map[processtable.NodeID]*asking
	answers *task.Queue[reply[instanceReport]]
}

// asking is how far a node's answer is.
type asking struct {
	process  string // that it was asked with
	pending  bool
	answered bool
}

// gather asks this node and the peers. An instance is not found only if every node
// answered that it does not know it.
func (n *Node) gather(ctx context.Context, id message.InstanceID, history bool) (*gathered, error) {
	return n.gatherBy(ctx, &gathering{q: instanceQuestion{Instance: id, History: history}})
}

// gatherNews is gather of the history without what each node has told.
func (n *Node) gatherNews(ctx context.Context, id message.InstanceID, told map[processtable.NodeID]eventMark) (*gathered, error) {
	return n.gatherBy(ctx, &gathering{q: instanceQuestion{Instance: id, History: true}, told: told})
}

func (n *Node) gatherBy(ctx context.Context, s *gathering) (*gathered, error) {
	ctx, cancel := n.sched.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	id := s.q.Instance
	s.node, s.g = n, &gathered{self: string(n.name), id: id, reports: map[string]instanceReport{}}
	s.asked, s.answers = map[processtable.NodeID]*asking{}, task.NewQueue[reply[instanceReport]](n.sched, 0)
	own, err := n.report(s.question(n.name))
	if err != nil {
		return nil, err
	}
	s.asked[n.name] = &asking{pending: true}
	s.take(reply[instanceReport]{Node: n.name, Answer: own})
	for round, pause := 0, fitsAfter; ; round, pause = round+1, 2*pause {
		s.await(ctx)
		behind := s.g.behind()
		if round == fittings || len(behind) == 0 || task.Sleep(ctx, n.sched, pause) != nil {
			break
		}
		for _, node := range behind {
			delete(s.asked, node)
		}
	}
	missing := s.end()
	switch {
	case s.g.process == "":
		return nil, n.unknownInstance(id, missing)
	case s.g.other != "":
		return nil, api.Errorf(api.CodeFailed, "ask at the node where it was started",
			"the nodes disagree about instance %s: it is of %s here, and of %s at %s", id, s.g.process, s.g.other, s.g.otherBy)
	}
	return s.g, nil
}

// question is what a node is asked, as far as the process is known.
func (s *gathering) question(node processtable.NodeID) instanceQuestion {
	q := s.q
	q.Process, q.Told = s.g.process, s.told[node]
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

func (n *Node) unknownInstance(id message.InstanceID, missing []processtable.NodeID) error {
	if len(missing) == 0 {
		return api.Errorf(api.CodeNotFound, "compare it with `fmqm list --all` at the node where it was started; nodes tell of a process only to nodes that have a part in it",
			"%s does not know instance %s, and no peer tells of it", n.name, id)
	}
	return api.Errorf(api.CodeUnreachable, "ask again when they are back, or ask the node where it was started",
		"no node that answered knows instance %s; unreachable: %v", id, missing)
}

// named gives the nodes whose answer matters, as far as is known.
func (s *gathering) named() []processtable.NodeID {
	nodes := s.node.others(s.g.roster, s.g.origin)
	if len(s.g.roster) == 0 {
		nodes = append(nodes, s.node.peers()...)
	}
	nodes = append(nodes, s.node.name)
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// ask asks who was named and not asked yet, and again, now that the process is known, who
// had nothing to tell: such a node tells what it hosts. It says whether an answer is to come.
func (s *gathering) ask(ctx context.Context) (pending bool) {
	for _, node := range s.named() {
		a := s.asked[node]
		_, told := s.g.reports[string(node)]
		if a == nil || a.answered && a.process != s.g.process && !told {
			a = &asking{process: s.g.process, pending: true}
			s.asked[node] = a
			q := s.question(node)
			s.node.sched.Go(func() { s.answers.Push(s.node.askReport(ctx, node, q)) })
		}
		pending = pending || a.pending
	}
	return pending
}

// take adds an answer.
func (s *gathering) take(a reply[instanceReport]) {
	s.asked[a.Node].pending, s.asked[a.Node].answered = false, a.Err == nil
	if a.Err != nil || a.Answer.Process == "" {
		return
	}
	if r, believed := s.node.believed(a.Node, a.Answer); believed {
		s.g.add(string(a.Node), r)
	}
}

// end says who did not answer, and who did and has no part in the process.
func (s *gathering) end() (missing []processtable.NodeID) {
	for _, node := range s.named() {
		switch a := s.asked[node]; {
		case a == nil || !a.answered:
			missing = append(missing, node)
			s.g.unreachable = append(s.g.unreachable, api.Unreachable{Node: string(node), LastHeard: s.node.lastHeard(node)})
		case len(s.g.reports[string(node)].Roster) == 0:
			s.g.tableless = append(s.g.tableless, string(node))
		}
	}
	return missing
}

// askReport asks a node, perhaps this one, for its report, again while it is busy or may
// come back, until ctx ends.
func (n *Node) askReport(ctx context.Context, node processtable.NodeID, q instanceQuestion) reply[instanceReport] {
	a := reply[instanceReport]{Node: node}
	for pause := askedAgain; ; pause *= 2 {
		if node == n.name {
			a.Answer, a.Err = n.report(q)
		} else {
			a.Answer, a.Err = ask[instanceReport](ctx, n, node, askInstance, q)
		}
		if a.Err == nil || !n.mayAnswer(node, a.Err) || task.Sleep(ctx, n.sched, pause) != nil {
			return a
		}
	}
}

// mayAnswer: a node that did not answer may do so in a moment. It is there, and was busy,
// or was there a moment ago.
func (n *Node) mayAnswer(node processtable.NodeID, err error) bool {
	if node == n.name {
		return false
	}
	return !errors.Is(err, link.ErrNotConnected) || n.sched.Now().Sub(n.lastHeard(node)) < lostJustNow
}
