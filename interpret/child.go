package interpret

import (
	"fmt"
	"iter"

	"fmqm/container"
	"fmqm/definition"
)

const (
	maxDepth     = 32     // how deep instances may be inside of one another (N19)
	maxInstances = 10_000 // how many one run may begin: a run ends
)

// Families are programs that run differently in the instance of a subprocess; others run there as they
// do in the one that has begun it.
type Families interface {
	// Child gives the programs of an instance of p that an attempt of an activity begins.
	Child(activity *definition.Activity, call Call, p *definition.Process) Programs
}

// family is what the instances of one run share.
type family struct {
	processes  definition.Children
	begun      int
	events     exchange
	impossible []error // outcomes of races that cannot be
}

// childOf gives the process of a subprocess that is run here; nil: its definition is not given, or it is none.
func (in *instance) childOf(a *definition.Activity) *definition.Process {
	if a.Child == nil {
		return nil
	}
	return in.family.processes.Of(a)
}

// subprocess is an attempt: an instance of p that runs to its end. Without one, it is the last thing that
// the activity does: something waits in there for an operator, or for an event.
func (g *graph) subprocess(s *step, call Call, p *definition.Process) (o Outcome, ended bool) {
	result, err := g.runChild(s, call, p)
	switch {
	case err != nil:
		s.child = nil
		return Outcome{Err: err.Error()}, true
	case result.State != Finished:
		g.failed = g.failed || result.State == InError
		return Outcome{}, false
	}
	s.child = nil
	return Outcome{Output: container.Reshape(result.Output, s.activity.Output)}, true
}

// runChild has the instance of an attempt go on, or begins it if there can be one, and gives what has become of it.
func (g *graph) runChild(s *step, call Call, p *definition.Process) (*Result, error) {
	if s.child != nil {
		result, err := s.child.goOn()
		if err == nil {
			s.result.Children[len(s.result.Children)-1].Result = result
		}
		return result, err
	}
	inner, err := g.begins(s.activity, call, p)
	if err != nil {
		return nil, err
	}
	s.child = inner
	result, err := inner.run(p, container.Reshape(call.Input, p.Input))
	if err != nil {
		return nil, err
	}
	if g.opts.LastIterations {
		s.result.Children = nil
	}
	s.result.Children = append(s.result.Children, Child{Scope: g.scope.iteration(s.activity.Name, call.Iteration), Result: result})
	return result, nil
}

// begins makes an instance of p, if there can be one.
func (in *instance) begins(a *definition.Activity, call Call, p *definition.Process) (*instance, error) {
	depth := in.deeper()
	if depth > maxDepth {
		return nil, fmt.Errorf("it would begin an instance of %s@%d too deep inside of others: does a process begin itself, with no condition that ends this? %d are the limit, and fewer where processes have several subprocesses", p.Name, p.Version, maxDepth)
	}
	if in.family.begun++; in.family.begun > maxInstances {
		return nil, fmt.Errorf("this run has begun %d instances, and that is the limit: does a process begin itself, with no condition that ends this?", maxInstances)
	}
	for _, c := range []struct {
		key        string
		want, have *container.Type
	}{{"input", p.Input, a.Input}, {"output", p.Output, a.Output}} {
		if wrong := container.Misfit(c.want, c.have); wrong != "" {
			return nil, fmt.Errorf("the %s of %s has not the shape of that of %s@%d: %s", c.key, a.Name, p.Name, p.Version, wrong)
		}
	}
	inner := &instance{programs: in.programs, opts: in.opts, family: in.family, depth: depth}
	if f, ok := in.programs.(Families); ok {
		inner.programs = f.Child(a, call, p)
	}
	inner.races, _ = inner.programs.(Races)
	inner.opts.Observe = nil
	inner.opts.Origin = call.Node
	inner.opts.Instance = fmt.Sprintf("%s/%s.%d", in.opts.Instance, call.Scope.iteration(a.Name, call.Iteration), call.Attempt)
	return inner, nil
}

// deeper is the depth of an instance that one of the process's subprocesses begins: each costs 1, and 2
// more whenever twice as many are in one process (N19).
func (in *instance) deeper() int {
	depth := in.depth + 1
	for fit := 1; fit < in.children; fit *= 2 {
		depth += 2
	}
	return depth
}

// run runs one instance of p, as far as it goes.
func (in *instance) run(p *definition.Process, input *container.Struct) (*Result, error) {
	for _, a := range p.All() {
		if a.Child != nil {
			in.children++
		}
	}
	in.process = p
	var err error
	if in.top, err = in.graph(&p.Graph, nil); err != nil {
		return nil, err
	}
	ended, err := in.top.play("", input)
	if err != nil {
		return nil, fmt.Errorf("it is not started: %w", err)
	}
	return in.result(ended)
}

// goOn runs on an instance in which something has waited for an event.
func (in *instance) goOn() (*Result, error) { return in.result(in.top.goOn()) }

// Child is an instance that a subprocess has begun.
type Child struct {
	Scope  Scope // of what is in it, as seen from the instance that has begun it: "pack#2"
	Result *Result
}

// Family gives the executions of All, and behind each subprocess those of the instances that it has
// begun, in scopes as seen from here: "pack#2/look".
func (r *Result) Family() iter.Seq[*ActivityResult] {
	return func(yield func(*ActivityResult) bool) { r.family("", yield) }
}

func (r *Result) family(outer Scope, yield func(*ActivityResult) bool) bool {
	for a := range r.All() {
		of := *a
		if outer != "" {
			of.Scope = outer.within(a.Scope)
		}
		if !yield(&of) {
			return false
		}
		for _, c := range a.Children {
			if !c.Result.family(outer.within(c.Scope), yield) {
				return false
			}
		}
	}
	return true
}

// within is a scope of an instance that was begun in s.
func (s Scope) within(inner Scope) Scope {
	if s == "" || inner == "" {
		return s + inner
	}
	return s + "/" + inner
}
