package interpret

import (
	"errors"
	"fmt"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
)

// The names by which data connectors mean the process's own input and output.
const (
	source = "source"
	sink   = "sink"
)

// Run runs one instance of p to its end, or until nothing more can go on. A nil input
// means the defaults. An error is about the arguments: the input is not of the
// process's input type, or p was not checked; what goes wrong in activities is in the
// Result. Run uses nothing of programs after it has returned, and starts no goroutine.
func Run(p *definition.Process, input *container.Struct, programs Programs, opts Options) (*Result, error) {
	if p == nil || programs == nil {
		return nil, errors.New("run: process and programs must be given")
	}
	if input == nil {
		input = container.New(p.Input)
	}
	if err := container.CheckValue(p.Input, input); err != nil {
		return nil, fmt.Errorf("run %s@%d: input: %w", p.Name, p.Version, err)
	}
	in, err := newInstance(p)
	if err != nil {
		return nil, fmt.Errorf("run %s@%d: %w", p.Name, p.Version, err)
	}
	in.programs, in.opts = programs, opts
	in.start(input.Clone())
	for len(in.ready) > 0 {
		s := in.ready[0]
		in.ready = in.ready[1:]
		in.decide(s)
	}
	return in.result()
}

// instance is a process under way: its activities joined by connectors.
type instance struct {
	p        *definition.Process
	programs Programs
	opts     Options
	source   *step
	sink     *step
	steps    []*step // in file order
	ready    []*step // every incoming connector is resolved, in the order in which that came about
}

// step is an activity with its connectors, each list in file order.
type step struct {
	activity   *definition.Activity // nil: source or sink
	in, out    []*control
	inData     []*data
	outData    []*data
	feedback   []definition.Mapping
	unresolved int // of in and inData
	ran        bool
	output     *container.Struct // if it ran
	rc         int64
	loaded     map[*definition.Condition]*condition.Condition
	spent      condition.Spent // of the conditions about the last iteration's output
	result     ActivityResult
}

type control struct {
	def      *definition.Control
	to       *step
	resolved bool
	truth    bool
}

type data struct {
	def      *definition.Data
	from, to *step
	resolved bool
}

func newInstance(p *definition.Process) (*instance, error) {
	in := &instance{p: p, source: &step{}, sink: &step{}}
	byName := map[string]*step{source: in.source, sink: in.sink}
	for _, a := range p.Activities {
		s := &step{activity: a, result: ActivityResult{Activity: a.Name, Node: a.Node}}
		in.steps = append(in.steps, s)
		byName[a.Name] = s
	}
	for _, def := range p.Control {
		from, to := byName[def.Source], byName[def.Target]
		if from == nil || to == nil {
			return nil, fmt.Errorf("control connector %s -> %s: there is no such activity", def.Source, def.Target)
		}
		c := &control{def: def, to: to}
		from.out, to.in = append(from.out, c), append(to.in, c)
	}
	for _, def := range p.Data {
		from, to := byName[def.Source], byName[def.Target]
		switch {
		case from == nil || to == nil:
			return nil, fmt.Errorf("data connector %s -> %s: there is no such activity", def.Source, def.Target)
		case from == to:
			from.feedback = append(from.feedback, def.Mappings...)
		default:
			d := &data{def: def, from: from, to: to}
			from.outData, to.inData = append(from.outData, d), append(to.inData, d)
		}
	}
	in.bound()
	return in, nil
}

// bound joins source to what has no predecessors and what has no successors to sink (N1).
func (in *instance) bound() {
	for _, s := range in.steps {
		if len(s.in) == 0 {
			c := &control{to: s}
			in.source.out, s.in = append(in.source.out, c), append(s.in, c)
		}
		if len(s.out) == 0 {
			c := &control{to: in.sink}
			s.out, in.sink.in = append(s.out, c), append(in.sink.in, c)
		}
	}
	for _, s := range append([]*step{in.sink}, in.steps...) {
		s.unresolved = len(s.in) + len(s.inData)
	}
}

// start terminates source: its output is the process's input.
func (in *instance) start(input *container.Struct) {
	in.source.ran, in.source.output = true, input
	truths := make([]bool, len(in.source.out))
	for i := range truths {
		truths[i] = true
	}
	in.send(in.source, truths)
}

// decide is called once for each activity, when all that leads to it is resolved.
func (in *instance) decide(s *step) {
	if s == in.sink {
		s.ran = true
		return
	}
	starts, err := s.starts()
	switch {
	case err != nil:
		s.fail(err)
	case !starts:
		s.result.State = Skipped
		in.send(s, make([]bool, len(s.out)))
	default:
		in.execute(s)
	}
}

// send resolves the connectors out of a step that has ended.
func (in *instance) send(s *step, truths []bool) {
	for i, c := range s.out {
		c.resolved, c.truth = true, truths[i]
		in.arrived(c.to)
	}
	for _, d := range s.outData {
		d.resolved = true
		in.arrived(d.to)
	}
}

func (in *instance) arrived(s *step) {
	s.unresolved--
	if s.unresolved == 0 {
		in.ready = append(in.ready, s)
	}
}

// input gives the defaults of t with the mappings of what ran (N8).
func (s *step) input(t *container.Type) *container.Struct {
	input := container.New(t)
	for _, d := range s.inData {
		if d.from.ran {
			apply(d.def.Mappings, d.from.output, d.from.rc, input)
		}
	}
	return input
}

func apply(mappings []definition.Mapping, from *container.Struct, rc int64, to *container.Struct) {
	for _, m := range mappings {
		if m.RC {
			to.Assign(m.To, rc)
			continue
		}
		to.Assign(m.To, from.Get(m.From))
	}
}

func (s *step) fail(err error) {
	s.result.State, s.result.Error = InError, err.Error()
}

// result is taken when nothing more can go on.
func (in *instance) result() (*Result, error) {
	r := &Result{Process: in.p, State: InError, Activities: make([]ActivityResult, len(in.steps))}
	failed := false
	for i, s := range in.steps {
		if s.result.State == "" {
			s.result.State = s.undecided()
		}
		failed = failed || s.result.State == InError
		r.Activities[i] = s.result
	}
	switch {
	case in.sink.ran:
		output := in.sink.input(in.p.Output)
		if _, err := container.EncodeCBOR(output); err != nil {
			r.Error = fmt.Sprintf("encode the process's output: %v", err)
			return r, nil
		}
		r.State, r.Output = Finished, output
	case !failed:
		return nil, fmt.Errorf("run %s@%d: it stands still without an error: its connectors have a cycle", in.p.Name, in.p.Version)
	}
	return r, nil
}

// undecided is the state of an activity that still waits for a connector.
func (s *step) undecided() State {
	if s.unresolved < len(s.in)+len(s.inData) {
		return Waiting
	}
	return Inactive
}
