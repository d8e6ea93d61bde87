package oracle

import (
	"fmt"

	"fmqm/api"
	"fmqm/container"
	"fmqm/interpret"
)

// Differences says what an instance's status and the oracle's result do not agree on:
// the instance's state and output, and of every activity state, iterations, attempts,
// return code and output container. Reasons and times are not compared.
func Differences(got api.Status, want *interpret.Result) []string {
	var all []string
	differ := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			all = append(all, fmt.Sprintf("%s is %s, the interpreter says %s", what, clip(g), clip(w)))
		}
	}
	differ("instance: state", got.State, want.State)
	differ("instance: output", string(got.Output), written(want.Output))
	if len(got.Unreachable) > 0 {
		differ("instance: unreachable", got.Unreachable, "[]")
	}
	differ("instance: activities", len(got.Activities), len(want.Activities))
	inError := 0
	for i, w := range want.Activities {
		if w.State == interpret.InError {
			inError++
		}
		if i >= len(got.Activities) {
			break
		}
		g := got.Activities[i]
		differ(fmt.Sprintf("activity %d", i), g.Activity, w.Activity)
		differ(w.Activity+": node", g.Node, w.Node)
		differ(w.Activity+": state", g.State, w.State)
		differ(w.Activity+": iterations", g.Iterations, w.Iterations)
		differ(w.Activity+": attempts", g.Attempts, attempts(w))
		differ(w.Activity+": rc", show(g.RC), show(w.RC))
		differ(w.Activity+": output", string(g.Output), written(w.Output))
	}
	differ("instance: in error", got.InError, inError)
	return all
}

// attempts are told where there was more than one.
func attempts(a interpret.ActivityResult) int {
	if a.Attempts > 1 {
		return a.Attempts
	}
	return 0
}

func show(rc *int64) string {
	if rc == nil {
		return "none"
	}
	return fmt.Sprint(*rc)
}

// written gives a container as a status has it: nothing for one without members.
func written(c *container.Struct) string {
	if c == nil || len(c.Type.Members) == 0 {
		return ""
	}
	b, err := c.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func clip(s string) string {
	const most = 400
	if len(s) > most {
		return fmt.Sprintf("%s... (%d bytes)", s[:most], len(s))
	}
	return s
}
