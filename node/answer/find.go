package answer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// Sought is what a list is narrowed by, and how it is told, beside what sites of the first versions know.
type Sought struct {
	States    []api.InstanceState     `json:"states,omitempty"`     // instead of State: several
	Until     time.Time               `json:"until,omitzero"`       // only what was started before
	Oldest    bool                    `json:"oldest,omitempty"`     // the oldest start first
	Activity  processtable.ActivityID `json:"activity,omitempty"`   // only where something lies at this activity
	By        string                  `json:"by,omitempty"`         // only what this one has started
	Where     string                  `json:"where,omitempty"`      // only of which the input fulfils this condition; with a process
	WaitingOn processtable.NodeID     `json:"waiting_on,omitempty"` // only of which messages wait for this node
	Count     bool                    `json:"count,omitempty"`      // how many, and not which
	Search    []string                `json:"search,omitempty"`     // only what is found by all of these terms; with a process
}

// plain: a site of the first versions understands the question.
func (s *Sought) plain() bool {
	return len(s.States) == 0 && s.Until.IsZero() && !s.Oldest && !s.reads() && !s.Count && len(s.Search) == 0
}

// reads: of what the index has it is not known yet whether it is asked for.
func (s *Sought) reads() bool {
	return s.Activity != "" || s.By != "" || s.Where != "" || s.WaitingOn != ""
}

// kind is that of the question.
func (q *ListQuestion) kind() string {
	switch {
	case q.asksSuspended():
		return AskResting
	case q.plain():
		return AskList
	case len(q.Search) > 0:
		return AskSearch
	}
	return AskFind
}

// options are those of the index; of: the process that is asked for.
func (q *ListQuestion) options(of processtable.ProcessID, shows func(processtable.ProcessID) bool) audit.ListOptions {
	return audit.ListOptions{
		States: q.indexed(), Process: of, InError: q.InError, Since: q.Since, Until: q.Until, Below: q.Below, Oldest: q.Oldest, Of: shows,
	}
}

// filter is what a page leaves out, beside what the index says.
type filter struct {
	by       string
	activity processtable.ActivityID
	where    map[processtable.ProcessID]*inputCondition // nil: nothing is asked of the input
	search   []audit.Term
	only     []audit.Place // of which messages wait for a node
	waitsOn  bool          // only says which
}

// open makes the filter.
func (p *page) open(ctx context.Context) (err error) {
	p.filter = filter{by: p.q.By, activity: p.q.Activity}
	if p.filter.search, p.r.Searched, err = p.a.terms(&p.q, p.shows); err != nil {
		return err
	}
	if p.q.Where != "" {
		if p.filter.where, err = p.a.conditions(&p.q, p.shows); err != nil {
			return err
		}
	}
	if p.q.WaitingOn != "" {
		p.filter.waitsOn = true
		p.filter.only, err = p.waitingOn(ctx)
	}
	return err
}

// places gives the next places that may be of what is asked for.
func (p *page) places(ctx context.Context, o audit.ListOptions) (f audit.Found, err error) {
	switch {
	case p.filter.waitsOn:
	case len(p.filter.search) > 0:
		return p.a.Queue.Search(o, func() bool { return ctx.Err() != nil })
	default:
		f.Places, err = p.a.Queue.Places(o)
		return f, err
	}
	for _, at := range p.filter.only {
		if len(f.Places) == o.Limit {
			break
		}
		if o.Below == (audit.Place{}) || p.q.compare(o.Below, at) < 0 {
			f.Places = append(f.Places, at)
		}
	}
	return f, nil
}

// fits says whether the start of an instance is one that is asked for.
func (f *filter) fits(started *record.AuditRecord) bool {
	if f.by != "" && started.By != f.by || !audit.Holds(f.search, started.Search) {
		return false
	}
	return f.where == nil || f.where[started.Process].holds(started.Output)
}

// inputCondition is a condition over the input of one version of a process.
type inputCondition struct {
	of *container.Type
	*condition.Condition
}

// holds says whether an input fulfils it. Where it cannot be evaluated (an index out of range, too many steps) it
// does not.
func (c *inputCondition) holds(input []byte) bool {
	if c == nil {
		return false
	}
	v, err := container.DecodeCBOR(c.of, input)
	if err != nil {
		return false
	}
	s, is := v.(*container.Struct)
	if !is {
		return false
	}
	holds, err := c.Eval(s, 0)
	return err == nil && holds
}

// conditions gives what is asked of the inputs of the process's versions. One of which the input has other members
// has nothing that is asked for; if all are so, the condition is refused.
func (a *Answers) conditions(q *ListQuestion, shows func(processtable.ProcessID) bool) (map[processtable.ProcessID]*inputCondition, error) {
	all := map[processtable.ProcessID]*inputCondition{}
	var refused error
	for _, p := range a.Site.Processes() {
		t := p.Table()
		source := t.Activity(processtable.RowID{Name: processtable.Source})
		if !q.of(t.Process) || source == nil || !shows(t.Process) {
			continue
		}
		if len(source.Output.Members) == 0 {
			refused = api.Errorf(api.CodeUsage, "leave out `where`, or name another process", "where: %s has no input", t.Process)
			continue
		}
		scope := condition.Scope{Members: source.Output}
		checked, problems := condition.Check(q.Where, scope)
		if len(problems) > 0 {
			refused = api.Errorf(api.CodeUsage, problems[0].Remedy, "where, over the input of %s: %s", t.Process, problems[0].Message)
			continue
		}
		c, err := condition.Load(checked, scope)
		if err != nil {
			return nil, fmt.Errorf("where: %w", err)
		}
		all[t.Process] = &inputCondition{source.Output, c}
	}
	if len(all) == 0 && refused != nil {
		return nil, refused
	}
	return all, nil
}

// AskActive is the kind of question that ActiveTo answers.
const AskActive = "active"

// ActiveQuestion asks the node of an activity of which instances something lies there: connectors that have come, or work
// under way. ActiveReport names these.
type ActiveQuestion struct {
	Process   processtable.ProcessID  `json:"process"`
	Activity  processtable.ActivityID `json:"activity"`
	Instances []message.InstanceID    `json:"instances"`
}

// ActiveReport is its answer.
type ActiveReport struct {
	Instances []message.InstanceID `json:"instances"`
}

// ActiveTo answers a peer that has a part in the process; another one is told of nothing.
func (a *Answers) ActiveTo(peer processtable.NodeID, q ActiveQuestion) (r ActiveReport, err error) {
	if !a.concerns(peer, q.Process) || len(q.Instances) > api.MaxPage {
		return r, nil
	}
	return a.active(q)
}

func (a *Answers) active(q ActiveQuestion) (r ActiveReport, err error) {
	for _, i := range q.Instances {
		has, err := a.Queue.HasActivity(q.Process, i, q.Activity)
		if err != nil {
			return ActiveReport{}, err
		}
		if has {
			r.Instances = append(r.Instances, i)
		}
	}
	return r, nil
}

// waiting says for each of some instances whether an activity that is asked for is in error in it, or waits or runs at
// its node, which is asked. A node that does not answer is named with the page.
func (f *filter) waiting(ctx context.Context, p *page, all []api.Instance) []bool {
	waits := make([]bool, len(all))
	if f.activity == "" {
		for n := range waits {
			waits[n] = true
		}
		return waits
	}
	type place struct {
		process processtable.ProcessID
		node    processtable.NodeID
	}
	asked := map[place][]message.InstanceID{}
	for n, i := range all {
		waits[n] = slices.ContainsFunc(i.Errors, func(e api.ActivityError) bool { return e.Activity == string(f.activity) })
		id, err := processtable.ParseProcessID(i.Process)
		if err != nil || waits[n] {
			continue
		}
		if t := p.a.tableOf(id); t != nil {
			if row, ok := t.Of(f.activity); ok {
				host, _ := t.HostOf(row, p.a.Self)
				asked[place{id, host}] = append(asked[place{id, host}], i.Instance)
			}
		}
	}
	type told struct {
		of place
		question.Reply[ActiveReport]
	}
	answers := make([]told, 0, len(asked))
	for of := range asked {
		answers = append(answers, told{of: of})
	}
	slices.SortFunc(answers, func(x, y told) int { return x.of.process.Compare(y.of.process) })
	group := task.NewGroup(p.a.Scheduler)
	for n := range answers {
		at := &answers[n]
		group.Go(func() {
			q := ActiveQuestion{at.of.process, f.activity, asked[at.of]}
			if at.Node = at.of.node; at.Node == p.a.Self {
				at.Answer, at.Err = p.a.active(q)
			} else {
				at.Answer, at.Err = question.Ask[ActiveReport](ctx, p.a.Site, at.Node, AskActive, q)
			}
		})
	}
	_ = group.Wait(context.Background())
	for _, at := range answers {
		if at.Err != nil {
			p.unheard(at.Node, at.Err)
		}
		for n, i := range all {
			waits[n] = waits[n] || slices.Contains(at.Answer.Instances, i.Instance)
		}
	}
	return waits
}

// unheard names a node that did not answer, once.
func (p *page) unheard(node processtable.NodeID, err error) {
	if !slices.ContainsFunc(p.r.Unreachable, func(u api.Unreachable) bool { return u.Node == string(node) }) {
		p.r.Unreachable = append(p.r.Unreachable, p.a.unheard(node, err))
	}
}
