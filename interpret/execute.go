package interpret

import (
	"errors"
	"fmt"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
)

// execute runs an activity whose start condition holds, iteration by iteration, and
// sends what follows; or puts it in error and sends nothing.
func (g *graph) execute(s *step) {
	a := s.activity
	input := s.input(a.Input)
	for iteration := 1; ; iteration++ {
		s.result.Iterations, s.result.Input = iteration, input
		if _, err := container.EncodeCBOR(input); err != nil && iteration == 1 {
			g.fail(s, fmt.Errorf("input container of %s, of the data that was mapped to it: %w", a.Name, err))
			return
		}
		ended, err := g.once(s, iteration, input)
		if err != nil {
			g.fail(s, err)
			return
		}
		if !ended {
			s.result.State = Running
			return
		}
		s.spent = condition.Spent{}
		done, err := s.exits()
		if err != nil {
			g.fail(s, err)
			return
		}
		if done {
			break
		}
		if iteration >= a.MaxIterations {
			g.fail(s, fmt.Errorf("exit condition %q still FALSE after %d iterations (max_iterations)", a.Exit.Checked.Text, iteration))
			return
		}
		input = input.Clone()
		apply(s.feedback, s.output, s.rc, input)
		if _, err := container.EncodeCBOR(input); err != nil {
			g.fail(s, fmt.Errorf("encode the next iteration's input: %w", err))
			return
		}
	}
	truths, err := s.transitions()
	if err != nil {
		g.fail(s, err)
		return
	}
	s.ran, s.result.State = true, Terminated
	g.send(s, truths)
}

// once runs one iteration, and says whether it has ended. One in which an activity is in
// error never does.
func (g *graph) once(s *step, iteration int, input *container.Struct) (ended bool, err error) {
	if s.inside == nil {
		return true, g.attempt(s, iteration, input)
	}
	s.result.RC, s.result.Output = nil, nil
	scope := g.scope.iteration(s.activity.Name, iteration)
	ended, err = s.inside.play(scope, input)
	if g.opts.LastIterations {
		s.result.Inside = nil
	}
	s.result.Inside = append(s.result.Inside, s.inside.results())
	if err != nil {
		return false, fmt.Errorf("source of %s: %w", scope, err)
	}
	if !ended {
		return false, nil
	}
	output, rc := s.inside.sink.input(s.activity.Output), int64(0)
	if _, err := container.EncodeCBOR(output); err != nil {
		return false, fmt.Errorf("encode the block's output: %w", err)
	}
	s.output, s.rc = output, rc
	s.result.Output, s.result.RC = output, &rc
	return true, nil
}

// attempt runs the program until it has a result or retry's attempts are used up.
func (g *graph) attempt(s *step, iteration int, input *container.Struct) error {
	a := s.activity
	var failure string
	for attempt := 1; attempt <= max(1, a.RetryAttempts); attempt++ {
		call := Call{Scope: g.scope, Iteration: iteration, Attempt: attempt, Input: input.Clone()}
		outcome := g.invoke(a, call)
		if g.opts.Observe != nil && !a.Empty {
			g.opts.Observe(a, call, outcome)
		}
		s.result.Attempts = attempt
		s.result.RC, s.result.Output = nil, nil
		if outcome.Err == "" {
			rc := outcome.RC
			s.result.RC = &rc
		}
		if failure = failureOf(a, &outcome); failure == "" {
			s.output, s.rc = outcome.Output, outcome.RC
			s.result.Output = outcome.Output
			return nil
		}
	}
	return errors.New(failure)
}

func (g *graph) invoke(a *definition.Activity, call Call) Outcome {
	if a.Empty {
		return Echo(call.Input, a.Output)
	}
	return g.programs.Run(a, call)
}

// failureOf says why an attempt has failed, or nothing; then the outcome's Output is
// a container of the activity's own.
func failureOf(a *definition.Activity, o *Outcome) string {
	isData := o.RC != 0 && a.RCIsData
	switch {
	case o.Err != "":
		return o.Err
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
	case definition.StartExpression:
		return s.expression()
	}
	return false, fmt.Errorf("start condition of kind %d", s.activity.Start.Kind)
}

// expression evaluates a start expression as a condition over a structure with a bool
// for each predecessor: another way than the compiler's, on purpose.
func (s *step) expression() (bool, error) {
	members := make([]container.Member, len(s.in))
	for i, c := range s.in {
		members[i] = container.Member{Name: c.def.Source, Type: container.Scalar(container.Bool)}
	}
	states := container.New(container.NewStructure("", members))
	for i, c := range s.in {
		states.Fields[i] = c.truth
	}
	if s.start == nil {
		scope := condition.Scope{Members: states.Type}
		text := s.activity.Start.Text
		checked, problems := condition.Check(text, scope)
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

func (s *step) evaluate(c *definition.Condition) (bool, error) {
	loaded := s.loaded[c]
	if loaded == nil {
		var err error
		loaded, err = condition.Load(c.Checked, condition.Scope{Members: s.output.Type, RC: s.activity != nil})
		if err != nil {
			return false, err
		}
		if s.loaded == nil {
			s.loaded = map[*definition.Condition]*condition.Condition{}
		}
		s.loaded[c] = loaded
	}
	return loaded.EvalWithin(&s.spent, s.output, &condition.Values{RC: s.rc})
}
