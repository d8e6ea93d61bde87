package interpret

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
)

// execute runs an activity whose start condition holds, iteration by iteration, until it has
// ended, is in error, or goes no further.
func (g *graph) execute(s *step) {
	input, err := s.given, error(nil)
	switch {
	case s.activity.Bundle != nil:
		g.executeEach(s)
		return
	case input == nil:
		input, err = s.input(s.activity.Input)
	}
	s.result.Iterations, s.result.Input = 1, input
	if err != nil {
		err = fmt.Errorf("input container of %s, of the data that was mapped to it: %w", s.activity.Name, err)
	} else {
		err = g.begin(s, input)
	}
	done := false
	if err == nil {
		done, err = g.once(s, 1, input)
	}
	g.proceed(s, done, err)
}

// proceed is what follows from an iteration: the end, or others until one of them does not come to its end.
func (g *graph) proceed(s *step, done bool, err error) {
	for done && err == nil {
		s.spent = condition.Spent{}
		var exits bool
		if exits, err = s.exits(); err != nil {
			break
		}
		if exits {
			if !g.overtaken(s) {
				g.terminate(s)
			}
			return
		}
		var input *container.Struct
		if input, err = s.next(s.result.Iterations, s.result.Input); err != nil {
			break
		}
		s.result.Iterations, s.result.Input = s.result.Iterations+1, input
		done, err = g.once(s, s.result.Iterations, input)
	}
	if err != nil {
		g.fail(s, err)
	}
}

// begin is what comes before the first iteration.
func (g *graph) begin(s *step, input *container.Struct) error {
	a := s.activity
	if _, err := container.EncodeCBOR(input); err != nil {
		return fmt.Errorf("input container of %s, of the data that was mapped to it: %w", a.Name, err)
	}
	if err := g.offered(a, input); err != nil {
		return err
	}
	if err := g.moment(a.Wait, input); err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	if err := g.moment(a.Deadline, input); err != nil {
		return fmt.Errorf("deadline: %w", err)
	}
	s.timed = a.Deadline != nil
	return g.place(s, input)
}

// place finds out where an activity is done (N20).
func (g *graph) place(s *step, input *container.Struct) error {
	s.node = g.home(s.activity)
	call := s.activity.Call
	if call == nil {
		return nil
	}
	v, err := g.eval(call.Node, input, container.String)
	if err != nil {
		return fmt.Errorf("at: %w", err)
	}
	node, _ := v.(string)
	if !slices.Contains(call.Of, node) {
		return fmt.Errorf("at: %q is none of the nodes at which %s may be done: %s", node, s.activity.Name, strings.Join(call.Of, ", "))
	}
	s.node, s.result.At = node, node
	return nil
}

// next is the input of the iteration after this one.
func (s *step) next(iteration int, input *container.Struct) (*container.Struct, error) {
	a := s.activity
	if iteration >= a.MaxIterations {
		return nil, fmt.Errorf("exit condition %q still FALSE after %d iterations (max_iterations)", a.Exit.Checked.Text, iteration)
	}
	input = input.Clone()
	worked, err := s.works(s.feedback, a.Name)
	if err != nil {
		return nil, err
	}
	if err := s.apply(s.feedback, worked, input); err != nil {
		return nil, err
	}
	if _, err := container.EncodeCBOR(input); err != nil {
		return nil, fmt.Errorf("encode the next iteration's input: %w", err)
	}
	return input, nil
}

// once runs one iteration, and says whether it has come to its end by itself. Otherwise the
// activity has ended in another way, or goes no further.
func (g *graph) once(s *step, iteration int, input *container.Struct) (done bool, err error) {
	s.result.RC, s.result.Output = nil, nil
	if iteration > 1 {
		if err := g.offered(s.activity, input); err != nil {
			return false, err
		}
	}
	switch {
	case s.activity.Receive != nil:
		return g.receive(s, iteration, input)
	case s.inside == nil:
		return g.attempts(s, Call{Scope: g.scope, Node: s.node, Iteration: iteration, Attempt: 1, Input: input})
	}
	s.thrown = nil
	scope := g.scope.iteration(s.activity.Name, iteration)
	ended, err := s.inside.play(scope, input)
	if g.opts.LastIterations {
		s.result.Inside = nil
	}
	s.result.Inside = append(s.result.Inside, nil)
	if err != nil {
		s.seeInside()
		return false, fmt.Errorf("source of %s: %w", scope, err)
	}
	return g.returned(s, iteration, ended)
}

// seeInside notes what has become of what is inside of a block, in its last iteration.
func (s *step) seeInside() { s.result.Inside[len(s.result.Inside)-1] = s.inside.results() }

// returned is what follows when nothing more goes on inside of a block; ended: its iteration has come to its end.
func (g *graph) returned(s *step, iteration int, ended bool) (done bool, err error) {
	s.seeInside()
	s.result.State = Running
	if !ended && s.awaits() || g.loses(s, At{Scope: g.scope, Iteration: iteration, Attempt: 1}) || g.catch(s, ended) || !ended {
		return false, nil
	}
	s.inside.unbroken()
	output, err := s.inside.sink.input(s.activity.Output)
	if err == nil {
		_, err = container.EncodeCBOR(output)
	}
	if err != nil {
		return false, fmt.Errorf("encode the block's output: %w", err)
	}
	s.gives(output, condition.Values{})
	return true, nil
}

// gives notes what the activity has ended an iteration with.
func (s *step) gives(output *container.Struct, values condition.Values) {
	s.output, s.values = output, values
	s.result.Output, s.result.RC = output, &values.RC
}

// attempts runs the program until it has a result or retry's attempts are used up, from this attempt on.
func (g *graph) attempts(s *step, call Call) (done bool, err error) {
	a, input := s.activity, call.Input
	for {
		s.result.Attempts = call.Attempt
		at := At{Scope: g.scope, Iteration: call.Iteration, Attempt: call.Attempt}
		if s.child == nil && g.loses(s, at) {
			return false, nil
		}
		call.Input = input.Clone()
		outcome, ended := g.invoke(s, call)
		if !ended {
			s.result.State, s.result.RC = Running, nil
			g.loses(s, at)
			return false, nil
		}
		if g.opts.Observe != nil && a.Program != "" {
			g.opts.Observe(a, call, outcome)
		}
		s.result.RC = nil
		if outcome.Err == "" {
			s.result.RC = &outcome.RC
		}
		failure := failureOf(a, &outcome)
		if failure == "" {
			s.gives(outcome.Output, condition.Values{RC: outcome.RC, By: outcome.By})
			return true, nil
		}
		if call.Attempt < max(1, a.RetryAttempts) {
			call.Attempt++
			continue
		}
		if !a.Continues {
			return false, errors.New(failure)
		}
		if !g.overtaken(s) {
			g.carryOn(s, failure)
		}
		return false, nil
	}
}

// overtaken says whether something else ends a call while the result of its work, or what that has failed with, is on its
// way home (N20).
func (g *graph) overtaken(s *step) bool {
	if s.activity.Call == nil {
		return false
	}
	s.result.State = Running
	return g.loses(s, At{Scope: g.scope, Iteration: s.result.Iterations, Attempt: s.result.Attempts + 1, Back: true})
}

// invoke makes an attempt. A subprocess may not end it.
func (g *graph) invoke(s *step, call Call) (o Outcome, ended bool) {
	a := s.activity
	if p := g.childOf(a); p != nil {
		return g.subprocess(s, call, p)
	}
	if a.Send != nil {
		if err := g.sends(s, call.Input); err != nil {
			return Outcome{Err: err.Error()}, true
		}
	}
	if a.Staff != nil {
		call.Instance = g.opts.Instance
		return g.does(s, call), true
	}
	if a.Program == "" && a.Child == nil {
		return Echo(call.Input, a.Output), true
	}
	return g.programs.Run(a, call), true
}

// failureOf says why an attempt has failed, or nothing; then the outcome's Output is
// a container of the activity's own.
func failureOf(a *definition.Activity, o *Outcome) string {
	isData := o.RC != 0 && a.RCIsData
	switch {
	case o.Err != "":
		return o.Err
	case o.RC != 0 && !isData && a.Continues:
		return fmt.Sprintf("return code %d", o.RC)
	case o.RC != 0 && !isData:
		return fmt.Sprintf("return code %d, and no condition or mapping of %s reads %s", o.RC, a.Name, condition.RC)
	case o.Output != nil && o.BadOutput == "":
		if err := container.CheckValue(a.Output, o.Output); err != nil {
			o.BadOutput = err.Error()
		} else if _, err := container.EncodeCBOR(o.Output); err != nil {
			o.BadOutput = err.Error()
		}
	}
	switch {
	case o.BadOutput != "" && !isData:
		return "output: " + o.BadOutput
	case o.BadOutput != "" || o.Output == nil:
		o.Output = container.New(a.Output)
	default:
		o.Output = o.Output.Clone()
	}
	return ""
}

// starts evaluates the start condition over the states of the incoming control
// connectors.
func (s *step) starts() (bool, error) {
	n := 0
	for _, c := range s.in {
		if c.truth {
			n++
		}
	}
	switch s.activity.Start.Kind {
	case definition.StartAll:
		return n == len(s.in), nil
	case definition.StartAny:
		return n > 0, nil
	case definition.StartAtLeast:
		return n >= s.activity.Start.N, nil
	case definition.StartFirst:
		return len(s.race.counted) > 0, nil
	case definition.StartExpression:
		return s.expression()
	}
	return false, fmt.Errorf("start condition of kind %d", s.activity.Start.Kind)
}

// endAsked is what a start expression asks of how a predecessor ended.
var endAsked = regexp.MustCompile(`\b(ran|skipped|failed)\s*\(\s*(\w+)\s*\)`)

// endsAs are the members that say so: longer than any name of an activity.
var endsAs = map[string]ending{"ran": hasRun, "skipped": wasSkipped, "failed": hasFailed}

func endMember(function, of string) string { return function + strings.Repeat("_", 64) + of }

// expression evaluates a start expression as a condition over a structure with a bool for each
// predecessor, and one for each way in which that can end: another way than the compiler's, on purpose.
func (s *step) expression() (bool, error) {
	var members []container.Member
	var fields []container.Value
	add := func(name string, holds bool) {
		members, fields = append(members, container.Member{Name: name, Type: container.Scalar(container.Bool)}), append(fields, holds)
	}
	for _, c := range s.in {
		add(c.def.Source, c.truth)
		for _, function := range []string{"ran", "skipped", "failed"} {
			add(endMember(function, c.def.Source), c.how == endsAs[function])
		}
	}
	states := container.New(container.NewStructure("", members))
	states.Fields = fields
	if s.start == nil {
		scope := condition.Scope{Members: states.Type}
		text := s.activity.Start.Text
		checked, problems := condition.Check(endAsked.ReplaceAllStringFunc(text, func(asked string) string {
			at := endAsked.FindStringSubmatch(asked)
			return endMember(at[1], at[2])
		}), scope)
		if len(problems) > 0 {
			return false, fmt.Errorf("start condition %q: %s", text, problems[0].Message)
		}
		var err error
		if s.start, err = condition.Load(checked, scope); err != nil {
			return false, fmt.Errorf("start condition: %w", err)
		}
	}
	return s.start.Eval(states, 0)
}

// exits evaluates the exit condition over the iteration's output.
func (s *step) exits() (bool, error) {
	if s.activity.Exit == nil {
		return true, nil
	}
	done, err := s.evaluate(s.activity.Exit)
	if err != nil {
		return false, fmt.Errorf("exit condition %q: %w", s.activity.Exit.Checked.Text, err)
	}
	return done, nil
}

// transitions gives each outgoing control connector its truth: where the first match is taken, of
// one at most.
func (s *step) transitions() ([]bool, error) {
	truths := make([]bool, len(s.out))
	taken, otherwise := false, -1
	for i, c := range s.out {
		switch {
		case c.def != nil && c.def.Otherwise:
			otherwise = i
			continue
		case s.activity != nil && c.def == nil: // sink is no choice
			truths[i] = true
			continue
		case taken && s.activity != nil && s.activity.FirstMatch:
			continue
		case s.activity == nil && (c.def == nil || c.def.Condition == nil): // what source begins in any case is no choice
			truths[i] = true
			continue
		case c.def == nil || c.def.Condition == nil:
			truths[i] = true
		default:
			var err error
			if truths[i], err = s.evaluate(c.def.Condition); err != nil {
				return nil, fmt.Errorf("transition condition %q to %s: %w", c.def.Condition.Checked.Text, c.def.Target, err)
			}
		}
		taken = taken || truths[i]
	}
	if otherwise >= 0 {
		truths[otherwise] = !taken
	}
	return truths, nil
}

// conditions are what the conditions of an activity, or of source, see.
func (s *step) conditions() condition.Scope {
	if s.activity == nil {
		return condition.Scope{Members: s.output.Type, Words: condition.WordBy}
	}
	if s.activity.Bundle != nil {
		return condition.Scope{Members: s.activity.Bundle.Output}
	}
	return condition.Scope{Members: s.activity.Output, RC: true, Words: s.activity.Words()}
}

func (s *step) evaluate(c *definition.Condition) (bool, error) {
	loaded := s.loaded[c]
	if loaded == nil {
		var err error
		loaded, err = condition.Load(c.Checked, s.conditions())
		if err != nil {
			return false, err
		}
		if s.loaded == nil {
			s.loaded = map[*definition.Condition]*condition.Condition{}
		}
		s.loaded[c] = loaded
	}
	return loaded.EvalWithin(&s.spent, s.output, &s.values)
}
