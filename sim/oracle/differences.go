package oracle

import (
	"fmt"
	"slices"

	"fmqm/api"
	"fmqm/container"
	"fmqm/interpret"
	"fmqm/message"
)

// Differences says what an instance's status and the oracle's result do not agree on:
// the instance's state and output, and of every activity in every scope state, iterations,
// attempts, return code and output container; those at the top also in their order. Reasons
// and times are not compared. Where the process keeps the history of few iterations, what was in older ones
// at the home of their block may be there or not (N16).
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
	has, top := map[string]api.Activity{}, []string{}
	lines := slices.DeleteFunc(slices.Clone(got.Activities), neverBegun)
	for _, g := range lines {
		has[pathOf(g.Scope, g.Activity)] = g
		if g.Scope == "" {
			top = append(top, g.Activity)
		}
	}
	inError, executions, wantTop := 0, 0, []string{}
	removed := thinned(want)
	for w := range want.All() {
		if _, told := has[w.Path()]; !told && removed(w) {
			continue
		}
		executions++
		if w.Scope == "" {
			wantTop = append(wantTop, w.Activity)
		}
		if w.State == interpret.InError {
			inError++
		}
		path := w.Path()
		g := has[path]
		differ(path+": node", g.Node, w.Node)
		differ(path+": state", g.State, w.State)
		if w.Definition.Bundle != nil {
			if w.State == interpret.Terminated {
				differ(path+": elements", g.Elements, w.Counts)
				differ(path+": results", string(g.Output), written(w.Output))
			}
			continue
		}
		differ(path+": at", g.At, w.At)
		if w.Definition.Call == nil { // what is done elsewhere says what it has come to, and not how often it was tried
			differ(path+": iterations", g.Iterations, w.Iterations)
		}
		if w.Definition.Call == nil && g.Child == nil { // attempts to begin an instance have failed as long as the table of its process was not there
			differ(path+": attempts", g.Attempts, attempts(w))
		}
		differ(path+": rc", show(g.RC), show(w.RC))
		differ(path+": timeout", g.Timeout, w.TimedOut && w.State == interpret.Terminated)
		differ(path+": error", g.Error, failure(w))
		differ(path+": output", string(g.Output), written(w.Output))
	}
	differ("instance: activities", len(lines), executions)
	differ("instance: at the top", top, wantTop)
	differ("instance: in error", got.InError, inError)
	return all
}

// neverBegun: it is inside of a block that has not begun, of which the interpreter has nothing.
func neverBegun(a api.Activity) bool {
	frames, err := message.Scope(a.Scope).Frames()
	return err == nil && len(frames) > 0 && frames[len(frames)-1].Iteration == 0 && a.State == api.ActivityInactive
}

// thinned says of an execution whether the history of it may be gone: it is in an iteration of a block, at the home of
// that, before the last ones that the process keeps.
func thinned(want *interpret.Result) func(*interpret.ActivityResult) bool {
	kept := want.Process.History
	if kept == 0 {
		return func(*interpret.ActivityResult) bool { return false }
	}
	blocks := map[string]*interpret.ActivityResult{}
	for a := range want.All() {
		if a.Definition.Block != nil {
			blocks[a.Path()] = a
		}
	}
	return func(a *interpret.ActivityResult) bool {
		frames, _ := message.Scope(a.Scope).Full().Frames()
		var around message.Scope
		for _, f := range frames {
			block := blocks[around.Path(f.Composite)]
			if f.Element < 0 && block != nil && a.Node == block.Node && f.Iteration <= block.Iterations-kept {
				return true
			}
			around = around.Enter(f)
		}
		return false
	}
}

// attempts are told where there was more than one.
func attempts(a *interpret.ActivityResult) int {
	if a.Attempts > 1 {
		return a.Attempts
	}
	return 0
}

// failure is told of what has gone on after an error.
func failure(a *interpret.ActivityResult) string {
	if a.State != interpret.Terminated {
		return ""
	}
	return a.Failure
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
