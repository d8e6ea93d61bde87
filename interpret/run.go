package interpret

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

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
// process's input type, or a condition out of source fails over it, or p was not checked; what goes wrong
// in activities is in the Result. Run uses nothing of programs after it has returned, and starts no goroutine.
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
	opts.Instance = cmp.Or(opts.Instance, "instance")
	if opts.Origin == "" && len(p.Starts) > 0 {
		opts.Origin = p.Starts[0]
	}
	in := &instance{programs: programs, opts: opts, family: &family{processes: definition.ChildrenOf(opts.Processes)}}
	in.races, _ = programs.(Races)
	result, err := in.run(p, input.Clone())
	for err == nil && result.State != Finished && in.top.expire() {
		result, err = in.goOn()
	}
	if err == nil && in.top.waits() {
		in.top.unbroken()
	}
	if len(in.family.impossible) > 0 {
		err = errors.Join(in.family.impossible...)
	}
	if err != nil {
		return nil, fmt.Errorf("run %s@%d: %w", p.Name, p.Version, err)
	}
	return result, nil
}

// instance is a process under way.
type instance struct {
	programs Programs
	races    Races // nil: none comes out otherwise than by itself
	opts     Options
	failed   bool // an activity is in error, or was; here, or in an instance that this has begun
	family   *family
	depth    int // how deep it is inside of others
	children int // subprocesses that its process has
	process  *definition.Process
	top      *graph
}

// home is where an activity is at home: its connectors end there, and events come there.
func (in *instance) home(a *definition.Activity) string { return in.located(a.Node) }

// located is a node of the language in this instance.
func (in *instance) located(node string) string {
	if node == definition.OriginNode {
		return in.opts.Origin
	}
	return node
}

// graph is a graph under way, its activities joined by connectors: that of the process, or
// that of a block, whose iterations use it one after the other.
type graph struct {
	*instance
	scope   Scope
	catcher *step // the nearest block around that catches errors; nil: there is none
	source  *step
	sink    *step
	steps   []*step // in file order
	ready   []*step // decided, in the order in which that came about
	dying   []*step // that are dead with their only control connector
}

// step is an activity with its connectors, each list in file order.
type step struct {
	activity   *definition.Activity // nil: source or sink
	inside     *graph               // of a block
	unbegun    *graph               // of a block for each element: what is inside while nothing has begun
	bundle     *bundle              // of a bundle that was decided
	given      *container.Struct    // the input of one execution of a bundle
	in, out    []*control
	inData     []*data
	outData    []*data
	feedback   []definition.Mapping
	cancels    []*step
	unresolved int // of in and inData
	race       firstRace
	ran        bool
	node       string               // where it is done
	output     *container.Struct    // if it ran
	values     condition.Values     // with it
	doneFor    string               // whom values.By stood in for
	doers      map[string]Doer      // of one execution of a bundle: who did what it asks for; nil: doersOf says it
	early      bool                 // it did not end by itself, and gives the engine's words only
	timed      bool                 // its deadline is set
	at         At                   // how far it has come
	held       bool                 // until what cancels it has come
	dead       bool                 // what leads out of it was resolved before that
	marked     string               // what has come to cancel it
	thrown     []string             // of a block that catches errors: who was in error inside, in this iteration
	start      *condition.Condition // a start expression, once it was needed
	loaded     map[*definition.Condition]*condition.Condition
	worked     map[*definition.Condition]*condition.Expr
	spent      condition.Spent // of the conditions about the last iteration's output
	result     ActivityResult

	child *instance // that a subprocess has begun, and that has not ended

	of    *instance // of a receive that waits: in which instance
	waits *Awaited  // nil: it does not wait
	wants string    // the path of the send whose event it gets; empty: any that it receives
	stays bool      // it waits for what is not of this run
	got   *sent     // what it takes next
}

type control struct {
	def   *definition.Control // nil: the engine's, to sink or from source
	from  *step
	to    *step
	truth bool
	how   ending // of what it leads out of
	came  bool
}

// ending is how a step has ended, as start conditions can ask.
type ending uint8

const (
	wasSkipped ending = iota // or cancelled
	hasRun
	hasFailed // its deadline, or an error that was caught, has ended it
)

func (s *step) ending() ending {
	switch {
	case s.ran && s.early:
		return hasFailed
	case s.ran:
		return hasRun
	}
	return wasSkipped
}

type data struct {
	def      *definition.Data
	from, to *step
	values   map[int]container.Value // of its mappings that are worked out
	came     bool
}

func (in *instance) graph(def *definition.Graph, catcher *step) (*graph, error) {
	if len(def.Activities) == 0 {
		return nil, errors.New("there are no activities")
	}
	g := &graph{instance: in, catcher: catcher, source: &step{}, sink: &step{}}
	byName := map[string]*step{source: g.source, sink: g.sink}
	for _, a := range def.Activities {
		s := &step{activity: a}
		if a.Bundle != nil && a.Block != nil { // each element has its own
			var err error
			if s.unbegun, err = in.graph(a.Block, catcher); err != nil {
				return nil, fmt.Errorf("block %s: %w", a.Name, err)
			}
		} else if a.Block != nil {
			inside := catcher
			if a.Continues {
				inside = s
			}
			var err error
			if s.inside, err = in.graph(a.Block, inside); err != nil {
				return nil, fmt.Errorf("block %s: %w", a.Name, err)
			}
		}
		g.steps = append(g.steps, s)
		byName[a.Name] = s
	}
	for _, s := range g.steps {
		for _, name := range s.activity.Cancels {
			if byName[name] == nil {
				return nil, fmt.Errorf("%s cancels %s: there is no such activity", s.activity.Name, name)
			}
			s.cancels = append(s.cancels, byName[name])
		}
	}
	for _, def := range def.Control {
		from, to := byName[def.Source], byName[def.Target]
		if from == nil || to == nil {
			return nil, fmt.Errorf("control connector %s -> %s: there is no such activity", def.Source, def.Target)
		}
		c := &control{def: def, from: from, to: to}
		from.out, to.in = append(from.out, c), append(to.in, c)
	}
	for _, def := range def.Data {
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
	g.tellsWho(def, byName)
	g.bound()
	return g, nil
}

// tellsWho joins activities that ask who did others to these, also where no data goes.
func (g *graph) tellsWho(def *definition.Graph, byName map[string]*step) {
	for _, to := range g.steps {
		for _, name := range g.process.Doers(def, to.activity) {
			from := byName[name]
			if from == nil || from == to || slices.ContainsFunc(to.inData, func(d *data) bool { return d.from == from }) {
				continue // of one execution of a bundle the bundle knows it
			}
			d := &data{def: &definition.Data{Source: name, Target: to.activity.Name}, from: from, to: to}
			from.outData, to.inData = append(from.outData, d), append(to.inData, d)
		}
	}
}

// bound joins source to what has no predecessors and to sink what has no successors, or none that wait for it (N1).
func (g *graph) bound() {
	for _, s := range g.steps {
		if len(s.in) == 0 {
			c := &control{from: g.source, to: s}
			g.source.out, s.in = append(g.source.out, c), append(s.in, c)
		}
		if !slices.ContainsFunc(s.out, func(c *control) bool { return !c.to.beginsFirst() }) {
			c := &control{from: s, to: g.sink}
			s.out, g.sink.in = append(s.out, c), append(g.sink.in, c)
		}
	}
}

// play runs the graph once, in a scope, until nothing more can go on, and says whether it
// came to its end. If a condition out of source fails everything is skipped.
func (g *graph) play(scope Scope, input *container.Struct) (ended bool, err error) {
	g.enter(scope)
	// Source terminates: its output is the input.
	g.source.ran, g.source.output, g.source.spent, g.source.values.Instance = true, input, condition.Spent{}, g.opts.Instance
	truths, err := g.source.transitions()
	if err == nil {
		err = g.source.worksAll()
	}
	if err != nil { // in a block what is inside is on a dead path, on which some start conditions may hold
		g.source.ran, truths = false, make([]bool, len(g.source.out))
	}
	if err != nil && scope == "" {
		return false, err
	}
	g.send(g.source, truths)
	return g.goOn() && err == nil, err
}

// goOn plays the graph on, as far as it goes, and says whether it came to its end.
func (g *graph) goOn() bool {
	for len(g.ready) > 0 || g.passAround() || g.wake() || g.interrupt() {
		for len(g.ready) > 0 {
			s := g.ready[0]
			g.ready = g.ready[1:]
			g.decide(s)
		}
	}
	g.unbegun()
	return g.sink.ran
}

// enter makes the graph one of which nothing has begun, in a scope.
func (g *graph) enter(scope Scope) {
	g.scope, g.dying = scope, nil
	for _, s := range append([]*step{g.sink}, g.steps...) {
		s.unresolved, s.ran, s.output, s.values = len(s.in)+len(s.inData), false, nil, condition.Values{}
		s.bundle, s.given, s.doneFor, s.doers = nil, nil, "", nil
		s.forgetFirst()
		s.early, s.timed, s.held, s.dead, s.marked, s.at = false, false, false, false, "", At{Scope: scope}
		s.child, s.waits, s.wants, s.stays, s.got = nil, nil, "", false, nil
		if a := s.activity; a != nil {
			s.result = ActivityResult{Definition: a, Scope: scope, Activity: a.Name, Node: g.home(a)}
		}
	}
}

// decide is called once for each activity, when all that leads to it is resolved.
func (g *graph) decide(s *step) {
	switch {
	case s == g.sink:
		s.ran = true
		return
	case s.hasEnded(), s.dead, g.loses(s, s.at): // what was passed around has sent what it sends
		return
	}
	starts, err := s.starts()
	switch {
	case err != nil:
		g.fail(s, err)
	case !starts:
		g.skip(s)
		g.send(s, make([]bool, len(s.out)))
	default:
		g.execute(s)
	}
}

// skip skips an activity with all that is inside of it.
func (g *graph) skip(s *step) {
	s.result.State = Skipped
	inside := s.inside
	if inside == nil {
		inside = s.unbegun
	}
	if inside == nil {
		return
	}
	inside.enter(Scope(g.scope.Path(s.activity.Name)))
	for _, inner := range inside.steps {
		inside.skip(inner)
	}
	s.result.Inside = [][]ActivityResult{inside.results()}
}

// send resolves the connectors out of a step that has ended.
func (g *graph) send(s *step, truths []bool) {
	for i, c := range s.out {
		c.truth, c.how = truths[i], s.ending()
		if g.arrived(c.to); !c.truth && s != g.source && c.to.diesAlone() {
			g.dying = append(g.dying, c.to)
		}
	}
	for _, d := range s.outData {
		g.arrived(d.to)
	}
	g.firsts(s)
}

// passAround skips what is dead with the only control connector into it, although data for it is still to come, as from
// an activity in error (N6, R18). It says whether there was one.
func (g *graph) passAround() bool {
	for len(g.dying) > 0 {
		s := g.dying[0]
		g.dying = g.dying[1:]
		if s.unresolved > 0 && !s.hasEnded() && !s.held {
			g.decide(s)
			return true
		}
	}
	return false
}

// diesAlone says whether the activity is dead with the only control connector into it.
func (s *step) diesAlone() bool {
	if s.activity == nil || len(s.in) != 1 || s.beginsFirst() {
		return false
	}
	start := s.activity.Start
	return start.Kind != definition.StartExpression || start.Text == s.in[0].def.Source
}

func (g *graph) arrived(s *step) {
	s.unresolved--
	if s.unresolved == 0 && !s.beginsFirst() { // else what comes of one step comes at once: see firsts
		g.ready = append(g.ready, s)
	}
}

// results gives what became of the activities, when nothing more can go on.
func (g *graph) results() []ActivityResult {
	all := make([]ActivityResult, len(g.steps))
	for i, s := range g.steps {
		if s.result.State == "" {
			s.result.State = s.undecided()
		}
		all[i] = s.result
	}
	return all
}

func (in *instance) result(ended bool) (*Result, error) {
	result := &Result{Process: in.process, State: InError, Activities: in.top.results()}
	if !in.top.waits() { // else something more may come
		in.top.unbroken()
	}
	switch {
	case ended:
		output, err := in.top.sink.input(in.process.Output)
		if err == nil {
			_, err = container.EncodeCBOR(output)
		}
		if err != nil {
			result.Error = fmt.Sprintf("encode the process's output: %v", err)
			return result, nil
		}
		result.State, result.Output = Finished, output
	case in.top.waits():
		if !result.inError() {
			result.State = Running
		}
	case !in.failed:
		return nil, errors.New("it stands still without an error: its connectors have a cycle")
	}
	return result, nil
}

// inError says whether an activity is, also in what subprocesses have begun.
func (r *Result) inError() bool {
	for a := range r.Family() {
		if a.State == InError {
			return true
		}
	}
	return false
}

// undecided is the state of an activity that still waits for a connector. What cancels it has come to it
// as well.
func (s *step) undecided() State {
	if s.beginsFirst() && s.unresolved == 0 { // its outcome names what never came
		return Waiting
	}
	if s.marked != "" || s.unresolved < len(s.in)+len(s.inData) {
		return Waiting
	}
	return Inactive
}
