package interpret

import (
	"fmt"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
)

// bundle is one under way: an activity that is done for each element of a list (N21).
type bundle struct {
	of       *definition.Bundle
	count    int
	inputs   []*container.Struct // of each element
	elements []*element          // that were begun, in the list's order
	told     int                 // of those elements of which it is known in which order they returned
	done     int                 // elements that have returned
	failed   int                 // of these
	bytes    int                 // of what is read of their outputs and errors
	over     bool                // what has not returned is cancelled
	until    *condition.Condition
	failing  *condition.Condition
}

// element is one execution of a bundle: a graph of its own, of one activity.
type element struct {
	number   int
	graph    *graph
	step     *step
	judged   bool // it has ended, and whether it counts as failed was asked
	failed   bool
	returned bool
}

func (s *step) elements() []*element {
	if s.bundle == nil {
		return nil
	}
	return s.bundle.elements
}

// executeEach runs a bundle whose start condition holds.
func (g *graph) executeEach(s *step) {
	input, err := s.input(s.activity.Bundle.Input)
	s.result.Iterations, s.result.Input = 1, input
	if err == nil {
		_, err = container.EncodeCBOR(input)
	}
	if err != nil {
		g.fail(s, fmt.Errorf("input container of %s, of the data that was mapped to it: %w", s.activity.Name, err))
		return
	}
	b, err := newBundle(s.activity)
	if err != nil {
		g.fail(s, err)
		return
	}
	s.bundle, s.result.State = b, Running
	b.inputs = elementsOf(s.activity, input)
	b.count = len(b.inputs)
	if c, ok := g.programs.(listens); ok {
		c.counted(s.activity, b.count)
	}
	g.goOnEach(s)
}

// goOnEach takes a bundle as far as it goes: elements begin, and return; with the last one, or once `until`
// holds, it ends.
func (g *graph) goOnEach(s *step) {
	b := s.bundle
	err := b.run(g, s)
	b.tell(s)
	switch {
	case g.loses(s, At{Scope: g.scope, Iteration: 1, Attempt: 1}):
		return
	case err == nil && !b.hasEnded():
		return
	case err == nil:
		b.stop(fmt.Sprintf("until of %s holds", s.activity.Name))
		b.tell(s)
		if err = b.give(s); err == nil {
			g.terminate(s)
			return
		}
	}
	g.fail(s, err)
}

func newBundle(a *definition.Activity) (*bundle, error) {
	b := &bundle{of: a.Bundle}
	var err error
	if c := a.Bundle.Until; c != nil {
		if b.until, err = condition.Load(c.Checked, condition.Scope{Members: counts}); err != nil {
			return b, err
		}
	}
	if c := a.Bundle.Failed; c != nil {
		b.failing, err = condition.Load(c.Checked, condition.Scope{Members: a.Output, RC: true})
	}
	return b, err
}

// counts are what until is over.
var counts = container.NewStructure("", []container.Member{
	{Name: "_COUNT", Type: container.Scalar(container.Int)},
	{Name: "_DONE", Type: container.Scalar(container.Int)},
	{Name: "_FAILED", Type: container.Scalar(container.Int)},
})

// elementsOf gives the input of each execution.
func elementsOf(a *definition.Activity, input *container.Struct) []*container.Struct {
	member := a.Bundle.Member
	whole := member == ""
	if whole {
		member = "_STRUCT"
	}
	at, _ := a.Bundle.Input.MemberIndex(member)
	list, _ := input.Fields[at].([]container.Value)
	inputs := make([]*container.Struct, len(list))
	for i, v := range list {
		if one, ok := v.(*container.Struct); ok && whole {
			inputs[i] = one.Clone()
			continue
		}
		one := container.New(a.Input)
		for j := range one.Fields {
			one.Fields[j] = container.CloneValue(input.Fields[j])
			if j == at {
				one.Fields[j] = container.CloneValue(v)
			}
		}
		inputs[i] = one
	}
	return inputs
}

// run begins elements while there is room for them, and takes what has returned. One that waits takes its place.
func (b *bundle) run(g *graph, s *step) error {
	came, known := g.came(s)
	begun := b.count
	if known {
		begun = min(begun, came.Begun)
	}
	for _, e := range b.elements { // which may have gone on meanwhile
		if err := b.takes(e, known); err != nil {
			return err
		}
	}
	for len(b.elements) < begun && b.underWay() < b.of.Parallel && !b.over {
		e, err := b.begin(g, s, len(b.elements))
		if err == nil {
			err = b.takes(e, known)
		}
		if err != nil {
			return err
		}
	}
	if !known {
		return nil
	}
	return b.returnedAs(g, s, came)
}

// underWay is how many elements have not ended.
func (b *bundle) underWay() (n int) {
	for _, e := range b.elements {
		if e.step.result.State != Terminated {
			n++
		}
	}
	return n
}

// takes takes an element that has ended as returned, unless it is known when elements did.
func (b *bundle) takes(e *element, known bool) error {
	if b.judge(e); known || e.returned || e.step.result.State != Terminated || b.over {
		return nil
	}
	return b.returns(e)
}

// came asks how far a bundle came.
func (in *instance) came(s *step) (Came, bool) {
	if known, ok := in.races.(Bundles); ok {
		return known.Bundle(s.activity, s.result.Scope)
	}
	return Came{}, false
}

// returnedAs takes those elements as returned of which it is known, in that order, until `until` holds.
func (b *bundle) returnedAs(g *graph, s *step, came Came) error {
	if len(b.elements) < came.Begun && !s.stuck() {
		g.cannot(s, "%d of its elements cannot have begun: it has %d, and room for %d at once", came.Begun, b.count, b.of.Parallel)
	}
	for ; b.told < len(came.Returned) && !b.over; b.told++ {
		switch number := came.Returned[b.told]; {
		case number < len(b.elements) && b.elements[number].step.result.State == Terminated && !b.elements[number].returned:
			if err := b.returns(b.elements[number]); err != nil {
				return err
			}
		case s.stuck(): // it may go on, when what something waits for has come
			return nil
		default:
			g.cannot(s, "its element %d cannot have returned", number)
		}
	}
	return nil
}

// begin runs one element, as far as it goes.
func (b *bundle) begin(g *graph, s *step, number int) (*element, error) {
	one := *s.activity
	one.Bundle, one.Cancels, one.FirstMatch = nil, nil, false
	of, err := g.graph(&definition.Graph{Activities: []*definition.Activity{&one}}, g.catcher)
	if err != nil {
		return nil, err
	}
	of.enter(g.scope.element(one.Name, number))
	e := &element{number: number, graph: of, step: of.steps[0]}
	b.elements = append(b.elements, e)
	e.step.given, e.step.feedback, e.step.doers = b.inputs[number], s.feedback, g.doersOf(s)
	if !of.loses(e.step, e.step.at) {
		of.execute(e.step)
	}
	if e.step.result.State == "" { // it is held
		e.step.result.State = Inactive
	}
	return e, nil
}

// judge asks whether an execution that has ended counts as failed: by itself, or else because `failed` says so. Where
// that fails it is in error, as it is where a transition condition does.
func (b *bundle) judge(e *element) {
	s := e.step
	if e.judged || s.result.State != Terminated {
		return
	}
	if e.judged, e.failed = true, s.early; b.failing == nil || s.early {
		return
	}
	var err error
	if e.failed, err = b.failing.EvalWithin(&s.spent, s.output, &s.values); err != nil {
		s.ran = false
		e.graph.fail(s, fmt.Errorf("failed condition %q: %w", b.of.Failed.Checked.Text, err))
	}
}

// returns counts an element that has ended, and asks whether that ends the bundle.
func (b *bundle) returns(e *element) error {
	e.returned = true
	b.done++
	if e.failed {
		b.failed++
	}
	if err := b.weigh(e); err != nil {
		return err
	}
	if b.until == nil {
		return nil
	}
	now := container.New(counts)
	now.Fields = []container.Value{int64(b.count), int64(b.done), int64(b.failed)}
	var err error
	if b.over, err = b.until.Eval(now, 0); err != nil {
		return fmt.Errorf("until condition %q: %w", b.of.Until.Checked.Text, err)
	}
	return nil
}

// weigh holds what the elements give together to the limit of a container.
func (b *bundle) weigh(e *element) error {
	if _, read := b.of.Output.MemberIndex("_RESULTS"); read {
		encoded, err := container.EncodeCBOR(e.step.output)
		if err != nil {
			return err
		}
		b.bytes += len(encoded)
	}
	if _, read := b.of.Output.MemberIndex("_ERRORS"); read {
		b.bytes += len(e.step.values.Error)
	}
	if b.bytes > container.MaxEncoded {
		return fmt.Errorf("the results of %d elements take %d bytes, above the limit of a container, %d", b.done, b.bytes, container.MaxEncoded)
	}
	return nil
}

func (b *bundle) hasEnded() bool { return b.over || b.done == b.count }

// stop cancels what has not ended.
func (b *bundle) stop(reason string) {
	b.over = true
	for _, e := range b.elements {
		e.step.stop(reason)
	}
}

// tell notes what became of the elements.
func (b *bundle) tell(s *step) {
	c := &Counts{Count: b.count, Done: b.done, Failed: b.failed}
	if b.over {
		c.Cancelled = b.count - b.done
	}
	s.result.Each = make([]ActivityResult, len(b.elements))
	for i, e := range b.elements {
		s.result.Each[i] = e.graph.results()[0]
		inError := false
		e.graph.inError(func(*step) { inError = true })
		if inError {
			c.InError++
		}
	}
	s.result.Counts = c
}

// give makes the bundle's output of what the elements have ended with, in the list's order.
func (b *bundle) give(s *step) error {
	results, errors, codes := make([]container.Value, b.count), make([]container.Value, b.count), make([]container.Value, b.count)
	for i := range b.count {
		var none container.Value = container.New(s.activity.Output)
		results[i], errors[i], codes[i] = none, "cancelled", int64(noCode)
		if i >= len(b.elements) || !b.elements[i].returned {
			continue
		}
		of := b.elements[i].step
		results[i], errors[i], codes[i] = of.output, of.values.Error, of.values.RC
		if of.values.Timeout {
			errors[i] = "deadline"
		}
	}
	output := container.New(s.activity.Bundle.Output)
	for i, m := range output.Type.Members {
		switch m.Name {
		case "_RESULTS":
			output.Fields[i] = results
		case "_ERRORS":
			output.Fields[i] = errors
		case "_RCS":
			output.Fields[i] = codes
		case "_COUNT":
			output.Fields[i] = int64(b.count)
		case "_DONE":
			output.Fields[i] = int64(b.done)
		case "_FAILED":
			output.Fields[i] = int64(b.failed)
		}
	}
	if _, err := container.EncodeCBOR(output); err != nil {
		return fmt.Errorf("encode what the elements of %s have given: %w", s.activity.Name, err)
	}
	s.output, s.values, s.spent = output, condition.Values{}, condition.Spent{}
	s.result.Output = output
	return nil
}
