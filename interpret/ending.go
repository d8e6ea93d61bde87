package interpret

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
)

// noCode is _RC where there is no return code.
const noCode = -1

// moment evaluates when something is over. Nobody waits for it here, but it may fail.
func (in *instance) moment(m *definition.Moment, input *container.Struct) error {
	if m == nil || m.Expr == nil {
		return nil
	}
	want := container.Duration
	if m.At {
		want = container.Timestamp
	}
	_, err := in.eval(m.Expr, input, want)
	return err
}

// eval evaluates an expression over an input.
func (in *instance) eval(c *definition.Condition, input *container.Struct, want container.Kind) (container.Value, error) {
	scope := condition.Scope{Members: input.Type, Words: condition.WordInstance}
	e, err := condition.LoadExpr(c.Checked, scope, container.Scalar(want))
	if err != nil {
		return nil, err
	}
	return e.Eval(&condition.Spent{}, input, &condition.Values{Instance: in.opts.Instance})
}

// ask asks how an execution's race came out, where it has come so far.
func (in *instance) ask(s *step, at At) Race {
	s.at = at
	if in.races == nil {
		return Race{}
	}
	return in.races.Race(s.activity, at)
}

// loses says whether something else comes before what the execution would do next. Then that
// ends it; or it is held until what cancels it has come.
func (g *graph) loses(s *step, at At) bool {
	race := g.ask(s, at)
	switch race.First {
	case Deadline:
		if !s.timed {
			if !at.InError { // else the error came before it was set
				g.cannot(s, "its deadline cannot have come first: it has none, or none was set")
			}
			return false
		}
		if race.Unbegun {
			s.result.At = ""
		}
		g.endEarly(s, condition.Values{RC: noCode, Timeout: true})
		return true
	case Canceller, Around:
		if s.held = true; race.Dead {
			s.dead = true
			g.send(s, make([]bool, len(s.out)))
		}
		return true
	default:
		return false
	}
}

// cannot notes an outcome that cannot be.
func (in *instance) cannot(s *step, format string, args ...any) {
	in.family.impossible = append(in.family.impossible, fmt.Errorf("%s: %s", s.result.Path(), fmt.Sprintf(format, args...)))
}

// fail puts an activity in error. Nothing of it is sent.
func (g *graph) fail(s *step, err error) {
	s.result.State, s.result.Error, g.failed = InError, err.Error(), true
	if g.catcher != nil {
		g.catcher.thrown = append(g.catcher.thrown, s.activity.Name)
	}
	at := At{Scope: g.scope, Iteration: s.result.Iterations, Attempt: max(1, s.result.Attempts) + 1, InError: true}
	if s.result.TimedOut { // it ends once
		s.at = at
		return
	}
	g.loses(s, at)
}

// carryOn terminates an activity that goes on after errors, when its attempts are used up (N22).
func (g *graph) carryOn(s *step, failure string) {
	rc := int64(noCode)
	if s.result.RC != nil && *s.result.RC != 0 {
		rc = *s.result.RC
	}
	g.endEarly(s, condition.Values{RC: rc, Error: failure})
}

// catch terminates a block that goes on after errors, if something inside of it is in error (N22),
// and says whether it was so. Of one whose iteration has come to its end only the race can say it. What was
// caught need not be in error any more: until it hears of that its own deadline may end it, say.
func (g *graph) catch(s *step, ended bool) bool {
	caught := g.ask(s, s.at).Caught
	if !s.activity.Continues || ended && caught == "" {
		return false
	}
	var reasons []string
	s.inside.inError(func(inner *step) { reasons = append(reasons, inner.activity.Name+": "+inner.result.Error) })
	name, _, _ := strings.Cut(caught, ":")
	switch {
	case caught == "" && len(reasons) == 0:
		return false
	case caught == "":
		caught = reasons[0]
	case !slices.Contains(s.thrown, name):
		g.cannot(s, "it cannot have caught %q: in error inside of it is %s", caught, cmp.Or(strings.Join(reasons, "; "), "nothing"))
		return false
	}
	g.endEarly(s, condition.Values{RC: noCode, Error: caught})
	return true
}

// inError calls found for each activity in error, in file order, also inside of blocks.
func (g *graph) inError(found func(*step)) {
	for _, s := range g.steps {
		switch s.result.State {
		case InError:
			found(s)
		case Running:
			if s.inside != nil { // a subprocess waits by itself
				s.inside.inError(found)
			}
			for _, e := range s.elements() {
				e.graph.inError(found)
			}
		default:
		}
	}
}

// endEarly terminates an activity that does not end by itself: with the defaults and the engine's
// words; its exit condition is not asked. What is inside of it and has not ended is cancelled.
func (g *graph) endEarly(s *step, values condition.Values) {
	reason := values.Error
	if values.Timeout {
		reason = fmt.Sprintf("the deadline of %s has come", s.activity.Name)
	}
	g.family.events.leave(s)
	s.stopInside(reason)
	s.early, s.result.TimedOut, s.result.Failure = true, values.Timeout, values.Error
	s.gives(container.New(s.activity.Output), values)
	s.spent, s.doneFor = condition.Spent{}, ""
	g.terminate(s)
}

// terminate ends an activity that ran: its transition conditions say what follows, and what it
// cancels is cancelled once it cannot end by itself.
func (g *graph) terminate(s *step) {
	truths, err := s.transitions()
	if err == nil {
		err = s.worksAll()
	}
	if err != nil {
		g.fail(s, err)
		return
	}
	s.ran, s.result.State, s.result.Error = true, Terminated, ""
	for _, c := range s.cancels {
		if c.marked == "" {
			c.marked = fmt.Sprintf("%s has ended, and cancels it", s.activity.Name)
		}
	}
	g.send(s, truths)
}

// hasEnded says whether nothing more becomes of the execution.
func (s *step) hasEnded() bool {
	return s.result.State == Terminated || s.result.State == Skipped || s.result.State == Cancelled
}

// interrupt cancels an activity, when nothing in the graph goes on by itself any more, and all that
// leads into it is resolved: one that lost its race, or else any of those that something cancels, unless what they wait for ends the
// block around them. It says whether there was one.
func (g *graph) interrupt() bool {
	for _, forced := range []bool{false, true} {
		for _, s := range g.steps {
			if s.marked == "" || s.hasEnded() || !s.resolved() || s.awaits() || s.wants != "" {
				continue
			}
			first := g.ask(s, s.at).First
			if first == Canceller || forced && g.catcher == nil && first != Around {
				if s.stop(s.marked); !s.dead {
					g.send(s, make([]bool, len(s.out)))
				}
				return true
			}
		}
	}
	return false
}

// stop makes an activity cancelled, with all that is inside of it and has not ended (N25).
func (s *step) stop(reason string) {
	if s.hasEnded() {
		return
	}
	s.stopInside(reason)
	if s.bundle != nil && len(s.bundle.elements) == 0 {
		s.stopBlock(s.unbegun, reason)
	}
	if s.waits != nil {
		s.of.family.events.leave(s)
	}
	s.held, s.result.State, s.result.Error, s.result.RC, s.result.Output = false, Cancelled, reason, nil, nil
}

// stopInside stops what is inside of a block. Of one that has not begun all is in no iteration.
func (s *step) stopInside(reason string) {
	inside := s.inside
	if s.bundle != nil {
		s.bundle.stop(reason)
		s.bundle.tell(s)
	} else if inside == nil {
		inside = s.unbegun
	}
	if s.child != nil {
		s.child.top.leave()
		s.child = nil
	}
	s.stopBlock(inside, reason)
}

// stopBlock stops what is inside of a block, if it is one.
func (s *step) stopBlock(inside *graph, reason string) {
	if inside == nil {
		return
	}
	last := len(s.result.Inside) - 1
	if last < 0 {
		inside.enter(Scope(s.result.Path()))
		s.result.Inside, last = make([][]ActivityResult, 1), 0
	}
	for _, inner := range inside.steps {
		inner.stop(reason)
	}
	s.result.Inside[last] = inside.results()
}

// unbroken says of what was cancelled, as the races have it, and nothing has cancelled it. What is on a dead path that was
// passed on holds up nobody: a block whose iteration has come to its end may be in error then, and cancel it at its deadline.
func (g *graph) unbroken() {
	for _, s := range g.steps {
		switch {
		case s.held && s.dead:
		case s.held:
			g.cannot(s, "what cancels it cannot have come first: nothing that cancels it has run, and no block around it has ended early: have one do so, or let it end by itself")
		case s.result.State == Running && s.inside != nil:
			s.inside.unbroken()
		case s.result.State == Running && s.child != nil && s.child.top.waits():
			s.child.top.unbroken()
		case s.result.State == Running:
			for _, e := range s.elements() {
				e.graph.unbroken()
			}
		}
	}
}
