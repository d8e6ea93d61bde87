package navigator

import (
	"errors"
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// What a bundle or a call begins is another row of its name, in a scope of its own (R31, R33): it has its
// input from the begin, and its end is the return.

// prepareBegun makes ready what a bundle, a call, and what they begin have beside other rows.
func (a *Activity) prepareBegun(t *processtable.Table, load func(*condition.Checked) (*condition.Condition, error)) (err error) {
	switch {
	case a.Bundle != nil:
		a.one = t.Activity(processtable.RowID{Name: a.Name, Inside: a.Name, Begun: 1})
		if a.Bundle.Until != nil {
			if a.until, err = condition.Load(*a.Bundle.Until, condition.Scope{Members: processtable.Counts}); err != nil {
				return fmt.Errorf("until %q: %w", a.Bundle.Until.Text, err)
			}
		}
	case a.Call != nil:
		if a.node, err = condition.LoadExpr(*a.Call.Node, inputScope(a.Input), container.Scalar(container.String)); err != nil {
			return fmt.Errorf("at %q: %w", a.Call.Node.Text, err)
		}
	}
	if a.isElement() {
		bundle := t.Activity(processtable.RowAt(a.Name, a.Path[:len(a.Path)-1]))
		if a.failed, err = load(bundle.Bundle.Failed); err != nil {
			return fmt.Errorf("failed: %w", err)
		}
	}
	return nil
}

// isElement says whether the row is one execution of a bundle.
func (a *Activity) isElement() bool { return a.Begun() && a.Path[len(a.Path)-1].Elements }

// isComposite says whether the activity's work is done by other entries of its instance (N12).
func (a *Activity) isComposite() bool {
	return a.Kind == processtable.KindBlock || a.Kind == processtable.KindBundle || a.Kind == processtable.KindCall
}

// isWork says whether the row does the work of a call.
func (a *Activity) isWork() bool { return a.Begun() && !a.Path[len(a.Path)-1].Elements }

// awaitsBegin: nothing can be decided of what is begun before its begin has come.
func (a *Activity) awaitsBegin(s *State) bool {
	return a.Begun() && (s.inner == nil || !s.inner.begun)
}

// given is the input that what is begun was given with its begin.
func (a *Activity) given(s *State) (*container.Struct, error) {
	if a.awaitsBegin(s) {
		return nil, errors.New("nothing has begun it")
	}
	v, err := container.DecodeCBOR(a.Input, s.inner.input)
	if err != nil {
		return nil, fmt.Errorf("read the input that it was begun with: %w", err)
	}
	in, ok := v.(*container.Struct)
	if !ok {
		return nil, errNoStructure
	}
	return in, nil
}

// around is the row that begins this one, and where it lives.
func (a *Activity) around() target {
	node, _ := a.process.table.NodeOf(processtable.RowAt(a.Name, a.Path[:len(a.Path)-1]))
	return target{activity: a.Name, node: node}
}

// returns is the message that returns to the bundle, or the call, what it has begun has come to.
func (a *Activity) returns(s *State, r message.Return) message.Message {
	m := a.onward(s, a.around())
	m.Kind, m.Lane, m.Scope = message.KindReturn, message.LaneData, s.Entry.Scope.Leave()
	m.Number = a.workNumber()
	m.Body = message.EncodeReturn(r)
	return m
}

// workNumber is the number of a return from this node: of the work of a call it says the node.
func (a *Activity) workNumber() uint64 {
	if !a.isWork() {
		return 0
	}
	return message.Work(a.process.table.WorkersOf(a.Name).Nodes, a.process.table.Node)
}

// addressee is an activity inside of a composite's work that is under way.
type addressee struct {
	target
	scope message.Scope
}

// underWay is what is inside of the work of a composite that is under way, for who cancels it, in one order
// as long as the snapshot is the same.
func (a *Activity) underWay(s *State, at *message.Snapshot) []addressee {
	if !at.Begun {
		return nil
	}
	var all []addressee
	switch {
	case a.Kind == processtable.KindBlock:
		within := a.within(s, at)
		for _, t := range a.inside {
			all = append(all, addressee{t, within})
		}
	case a.Kind == processtable.KindBundle:
		here := target{activity: a.Name, node: a.process.table.Node}
		for _, n := range at.Gathered.Open {
			all = append(all, addressee{here, a.element(s, at, n)})
		}
	case a.Kind == processtable.KindCall:
		if s.backFromCall(a, at) == nil {
			all = append(all, addressee{target{activity: a.Name, node: at.At}, a.within(s, at)})
		}
	}
	return all
}

// begins is the message that begins what a bundle or a call has done, in a scope of its own.
func (a *Activity) begins(s *State, to addressee, input []byte) message.Message {
	m := a.onward(s, to.target)
	m.Kind, m.Lane, m.Scope = message.KindBegin, message.LaneData, to.scope
	m.Body = message.EncodeBegin(message.Begin{Input: input, Did: a.Doers(s)})
	return m
}

// bundleAround is the nearest bundle around: it is told what is in error inside of it, in place of the
// origin (R32).
func (a *Activity) bundleAround(scope message.Scope) (to addressee, found bool) {
	for i := len(a.Path) - 1; i >= 0; i-- {
		scope = scope.Leave()
		if c := a.Path[i]; c.Elements {
			node, _ := a.process.table.NodeOf(processtable.RowAt(c.Activity, a.Path[:i]))
			return addressee{target{activity: c.Activity, node: node}, scope}, true
		}
	}
	return addressee{}, false
}

// back is what has come back to a call of the work that is under way; nil: nothing.
func (s *State) backFromCall(a *Activity, at *message.Snapshot) *returned {
	if !at.Begun || s.inner == nil {
		return nil
	}
	within, number := a.within(s, at), message.Work(a.Call.Of, at.At)
	for i := range s.inner.returns {
		if r := &s.inner.returns[i]; r.scope == within && r.number == number {
			return r
		}
	}
	return nil
}

// foldCalled takes what the work of a call has come to (R33), or that an offer has ended (R49).
func (a *Activity) foldCalled(s *State, m message.Message) error {
	nodes := a.process.table.WorkersOf(a.Name).Nodes
	if m.Source != a.Name || m.SourceScope.Leave() != m.Scope || m.Number == 0 || m.Number > uint64(len(nodes)) {
		return refuse("%s has its work done, or offered, in a scope of its own, at one of %v, and nothing else returns to it", a.Name, nodes)
	}
	r, err := message.DecodeReturn(m.Body)
	if err != nil {
		return refuse("return of %s: %v", m.SourceScope, err)
	}
	s.inner = s.inner.with(returned{source: m.Source, scope: m.SourceScope, number: m.Number, output: r.Output, err: r.Error, rc: r.RC, ending: r.Ending})
	s.seen(m)
	return nil
}

// call has the work of a call done at the node that its input names, once there is room for that, or takes what has come
// back (R33).
func (a *Activity) call(s *State, room bool, now time.Time) behaviour.Effects {
	at := s.progress()
	if at.Begun {
		r, err := a.called(s, &at, now)
		switch {
		case err != nil:
			return a.fail(s, at, message.CauseResult, err.Error(), now)
		case r == nil:
			return behaviour.Effects{}
		case a.Slow(r):
			return a.judgedApart(at, *r)
		}
		return a.evaluate(s, r, now)
	}
	input, encoded, pause, err := a.enters(s, &at, now)
	if err == nil {
		at.At, err = a.where(s, input)
	}
	if err != nil {
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	switch {
	case a.undated(s):
		return a.date(s, input, now)
	case !room:
		return a.askRoom(s, at, at.At)
	}
	at.Begun, at.Started, at.Cancelled, at.Attempt = true, now, 0, 0
	e := a.keep(s, at, behaviour.Outcome{
		What: behaviour.Began, Iteration: at.Iteration, Attempt: 1, Run: at.Run, Started: now, Output: encoded,
	})
	e.Put = append(e.Put, a.begins(s, addressee{target{activity: a.Name, node: at.At}, a.within(s, &at)}, encoded))
	return a.set(e, timerDeadline, pause)
}

// where is the node that does a call's work.
func (a *Activity) where(s *State, input *container.Struct) (processtable.NodeID, error) {
	v, err := a.node.Eval(&condition.Spent{}, input, &condition.Values{Instance: s.Entry.Instance.String()})
	if err != nil {
		return "", fmt.Errorf("at: %w", err)
	}
	node, _ := v.(string)
	if message.Work(a.Call.Of, processtable.NodeID(node)) == 0 {
		return "", fmt.Errorf("at: %s gives %q, and the nodes are %v: correct what gives it, or name the node in of", a.Call.Node.Text, node, a.Call.Of)
	}
	return processtable.NodeID(node), nil
}

// called is the result of the work of a call; nil: it has not come back.
func (a *Activity) called(s *State, at *message.Snapshot, now time.Time) (*behaviour.Result, error) {
	back := s.backFromCall(a, at)
	switch {
	case back == nil, back.err != "" && a.Deadline != nil: // R41: it may be that which had cancelled the work
		return nil, nil
	case back.err != "":
		return nil, errors.New(back.err)
	}
	output, err := a.output(back.output)
	if err != nil {
		return nil, fmt.Errorf("read what %s has returned: %w", at.At, err)
	}
	return &behaviour.Result{RC: back.rc, Output: output, Ending: back.ending, Started: at.Started, Ended: now}, nil
}

// judgedApart has the conditions of a result that no program gave evaluated beside what decides.
func (a *Activity) judgedApart(at message.Snapshot, r behaviour.Result) behaviour.Effects {
	return behaviour.Effects{Invoke: &behaviour.Invoke{
		Iteration: at.Iteration, Attempt: at.Attempt + 1, Run: at.Run, Input: r.Output, Output: a.Output, RC: r.RC, Ending: r.Ending,
	}}
}
