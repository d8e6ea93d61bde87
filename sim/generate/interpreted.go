package generate

import (
	"fmqm/definition"
	"fmqm/interpret"
)

// Interpreted gives the results of c to the oracle.
func Interpreted(c *Case) interpret.Programs {
	return interpret.ProgramFunc(func(a *definition.Activity, call interpret.Call) interpret.Outcome {
		scope := ""
		if call.Scope != "" {
			scope = call.Scope.Path(a.Name)
		}
		made := Call{
			Activity: a.Name, Scope: scope, Iteration: call.Iteration, Attempt: call.Attempt,
			Input: call.Input, Output: a.Output, RCIsData: a.RCIsData,
		}
		if a.Staff != nil {
			return interpret.Outcome{Output: c.Done(made)}
		}
		r := c.Result(made)
		return interpret.Outcome{RC: r.RC, Output: r.Output, Err: r.Err}
	})
}
