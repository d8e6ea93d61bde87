package interpret

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
)

// What is received here is what activities of the same run have sent, each event once, in the order of the
// run (N24): whoever waits first gets the first. What comes from outside is an outcome, as of a race.

// Got is an event that a receive gets.
type Got struct {
	Event string
	// From is the path of the send, of the same instance, that has sent it. Empty: it comes from outside.
	From string
	// Output is what the receive's output is then; nil: the defaults. Not where From is set.
	Output *container.Struct
}

// Awaited is what a receive waits for.
type Awaited struct {
	Events []string
	Key    string // empty: what was sent without a key
}

func (w *Awaited) String() string {
	text := strings.Join(w.Events, " or ")
	if w.Key != "" {
		text += ", key " + w.Key
	}
	return text
}

// sent is an event on its way.
type sent struct {
	event *definition.Event
	node  string // where it is received
	key   string
	data  *container.Struct
	by    *instance
	from  string // the path of its send there
	taken bool
}

// exchange has the events of a run, and the receives that wait for one, each in the order of the run.
type exchange struct {
	sent    []*sent
	waiting []*step
	used    bool // something waits, or has waited
}

// takes says whether an event is one that a receive waits for.
func (s *step) takes(e *sent) bool {
	a := s.activity
	switch {
	case e.taken || e.node != s.of.home(a) || e.key != s.waits.Key:
		return false
	case s.wants != "":
		return e.by == s.of && e.from == s.wants
	}
	return s.receives(e) != nil
}

// receives gives the event of the activity's own that an event is; nil: it is none of them, or of another shape.
func (s *step) receives(e *sent) *definition.Event {
	for _, own := range s.activity.Receive.Events {
		if own.Name == e.event.Name && container.Misfit(own.Type, e.event.Type) == "" {
			return own
		}
	}
	return nil
}

// put sends an event: the first receive that waits for it gets it.
func (x *exchange) put(e *sent) {
	x.sent = append(x.sent, e)
	x.offer(e)
}

func (x *exchange) offer(e *sent) {
	for i, s := range x.waiting {
		if s.takes(e) {
			x.waiting = slices.Delete(x.waiting, i, i+1)
			s.got, e.taken = e, true
			return
		}
	}
}

// wait has a receive wait: the first event that it takes may be there already.
func (x *exchange) wait(s *step) {
	for _, e := range x.sent {
		if s.takes(e) {
			s.got, e.taken = e, true
			return
		}
	}
	x.waiting = append(x.waiting, s)
}

// leave ends the wait of a receive. What it has got, and has not taken, is there for others again.
func (x *exchange) leave(s *step) {
	if s.waits == nil {
		return
	}
	x.waiting = slices.DeleteFunc(x.waiting, func(other *step) bool { return other == s })
	if e := s.got; e != nil {
		e.taken = false
		x.offer(e)
	}
	s.waits, s.got, s.wants, s.result.Waits = nil, nil, "", nil
}

// sends puts the event of an activity that sends one.
func (g *graph) sends(s *step, input *container.Struct) error {
	def := s.activity.Send
	key, err := g.eventKey(def.Key, input)
	if err != nil {
		return err
	}
	to := g.located(def.To)
	if def.ToExpr != nil {
		if to, err = g.text(def.ToExpr, input); err != nil {
			return fmt.Errorf("to: %w", err)
		}
		if !slices.Contains(def.Of, to) {
			return fmt.Errorf("to: %q is none of %s", to, strings.Join(def.Of, ", "))
		}
	}
	if err := g.kept(def.Keep, input); err != nil {
		return fmt.Errorf("keep: %w", err)
	}
	g.family.events.put(&sent{
		event: def.Event, node: to, key: key, data: Echo(input, def.Event.Type).Output, by: g.instance, from: s.result.Path(),
	})
	return nil
}

// kept works out how long an event is kept, which nobody waits for here.
func (in *instance) kept(m *definition.Moment, input *container.Struct) error {
	if m == nil || m.Expr == nil {
		return nil
	}
	v, err := in.eval(m.Expr, input, container.Duration)
	if err != nil {
		return err
	}
	if keep, _ := v.(time.Duration); keep <= 0 || keep > definition.MaxKeep {
		return fmt.Errorf("%s is not above 0, and at most %s", keep, definition.MaxKeep)
	}
	return nil
}

// eventKey works out the key of an event; without one it is empty.
func (in *instance) eventKey(c *definition.Condition, input *container.Struct) (string, error) {
	if c == nil {
		return "", nil
	}
	key, err := in.text(c, input)
	switch {
	case err != nil:
		return "", fmt.Errorf("key: %w", err)
	case key == "":
		return "", errors.New("key: it is empty: give a text, or leave `key` out for events without a key")
	case len(key) > definition.MaxEventKey:
		return "", fmt.Errorf("key: it has %d bytes, and the limit is %d", len(key), definition.MaxEventKey)
	}
	return key, nil
}

// text evaluates an expression over an input that gives a text.
func (in *instance) text(c *definition.Condition, input *container.Struct) (string, error) {
	v, err := in.eval(c, input, container.String)
	text, _ := v.(string)
	return text, err
}

// receive begins to wait for an event, in an iteration; done: it is there.
func (g *graph) receive(s *step, iteration int, input *container.Struct) (done bool, err error) {
	at := At{Scope: g.scope, Iteration: iteration, Attempt: 1}
	if g.loses(s, at) {
		return false, nil
	}
	key, err := g.eventKey(s.activity.Receive.Key, input)
	if err != nil {
		return false, err
	}
	race := g.ask(s, at)
	if race.Got != nil && race.Got.From == "" {
		return g.fromOutside(s, race.Got)
	}
	s.result.State = Running
	g.family.events.used = true
	s.waits = &Awaited{Events: s.activity.Receive.Names(), Key: key}
	s.result.Waits, s.of = s.waits, g.instance
	if race.Got != nil {
		s.wants = race.Got.From
	}
	if s.stays = race.Stays; !race.Stays {
		g.family.events.wait(s)
	}
	if s.got == nil {
		return false, nil
	}
	return true, g.take(s)
}

// take ends an iteration of a receive with the event that it has got.
func (g *graph) take(s *step) error {
	e := s.got
	s.got = nil
	g.family.events.sent = slices.DeleteFunc(g.family.events.sent, func(other *sent) bool { return other == e })
	g.family.events.leave(s)
	own := s.receives(e)
	if own == nil {
		g.cannot(s, "it cannot have got %s of %s", e.event.Name, e.from)
		return fmt.Errorf("%s is no event of it", e.event.Name)
	}
	return g.gets(s, own.Name, Echo(container.Reshape(e.data, own.Type), s.activity.Output).Output)
}

// fromOutside ends an iteration of a receive with an event that the outcomes name.
func (g *graph) fromOutside(s *step, got *Got) (bool, error) {
	if !slices.Contains(s.activity.Receive.Names(), got.Event) {
		g.cannot(s, "it cannot have got %s: it receives %s", got.Event, strings.Join(s.activity.Receive.Names(), ", "))
	}
	output := got.Output
	if output == nil {
		output = container.New(s.activity.Output)
	}
	return true, g.gets(s, got.Event, output.Clone())
}

func (g *graph) gets(s *step, event string, output *container.Struct) error {
	if err := container.CheckValue(s.activity.Output, output); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if _, err := container.EncodeCBOR(output); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	s.result.Event = event
	s.gives(output, condition.Values{Event: event})
	return nil
}

// expire has a deadline come, where nothing of the run goes on any more and something waits for an event: the first in
// file order, of the receive or of what is around it. It says whether there was one.
func (g *graph) expire() bool {
	for _, s := range g.steps {
		switch {
		case s.result.State != Running:
			continue
		case s.waits != nil && (s.stays || s.wants != ""), s.waits == nil && !s.stuck():
			continue
		case slices.ContainsFunc(s.under(), (*graph).expire):
			g.resume(s)
		case s.timed && !s.awaits():
			g.endEarly(s, condition.Values{RC: noCode, Timeout: true})
		default:
			continue
		}
		return true
	}
	return false
}

// stuck says whether something inside of a composite waits for an event.
func (s *step) stuck() bool { return s.hasInside((*graph).waits) }

// awaits says whether something inside of a composite gets an event that is still to be sent, as the races have it. It got
// that before anything ended it, so what ends the composite comes later.
func (s *step) awaits() bool { return s.hasInside((*graph).awaits) }

// stirs says whether something inside of a composite can go on.
func (s *step) stirs() bool { return s.hasInside((*graph).stirs) }

// hasInside asks of the graphs that are under way inside of a composite; FALSE where there is none.
func (s *step) hasInside(is func(g *graph) bool) bool {
	return s.result.State == Running && slices.ContainsFunc(s.under(), is)
}

// under are the graphs that a composite has begun: of a bundle one for each element.
func (s *step) under() (all []*graph) {
	switch {
	case s.bundle != nil:
		for _, e := range s.bundle.elements {
			all = append(all, e.graph)
		}
	case s.inside != nil:
		all = append(all, s.inside)
	case s.child != nil:
		all = append(all, s.child.top)
	}
	return all
}

// leave ends all that waits for events in a graph, in what is inside of it and in what it has begun.
func (g *graph) leave() {
	for _, s := range g.steps {
		g.family.events.leave(s)
		for _, inside := range s.under() {
			inside.leave()
		}
	}
}

func (g *graph) waits() bool {
	return slices.ContainsFunc(g.steps, func(s *step) bool { return s.waits != nil || s.stuck() })
}

func (g *graph) awaits() bool {
	return slices.ContainsFunc(g.steps, func(s *step) bool { return s.wants != "" || s.awaits() })
}

func (g *graph) stirs() bool {
	return len(g.ready) > 0 || slices.ContainsFunc(g.steps, func(s *step) bool { return s.got != nil || s.stirs() })
}

// wake lets the first of the steps go on that waited for an event and has it, or that something like it is
// inside of. It says whether there was one.
func (g *graph) wake() bool {
	if !g.family.events.used {
		return false
	}
	for _, s := range g.steps {
		if s.got != nil || s.stirs() {
			g.resume(s)
			return true
		}
	}
	return false
}

// resume goes on with an activity that could not.
func (g *graph) resume(s *step) {
	iteration, input := s.result.Iterations, s.result.Input
	switch {
	case s.bundle != nil:
		for _, e := range s.bundle.elements {
			e.graph.goOn()
		}
		g.goOnEach(s)
	case s.activity.Receive != nil:
		g.proceed(s, true, g.take(s))
	case s.inside != nil:
		done, err := g.returned(s, iteration, s.inside.goOn())
		g.proceed(s, done, err)
	default:
		done, err := g.attempts(s, Call{Scope: g.scope, Iteration: iteration, Attempt: s.result.Attempts, Input: input})
		g.proceed(s, done, err)
	}
}
