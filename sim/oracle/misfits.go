package oracle

import (
	"fmt"
	"slices"

	"fmqm/api"
	"fmqm/definition"
)

// Misfits says what in an answer about an instance cannot be, whenever it was given: an
// activity that has ended, and one before it that has not; one that has not, in an instance
// that has finished; one that is unknown, and nothing says why.
func Misfits(got api.Status, p *definition.Process) (all []string) {
	states := map[string]api.ActivityState{}
	for _, a := range got.Activities {
		states[a.Activity] = a.State
		silent := func(u api.Unreachable) bool { return u.Node == a.Node }
		switch {
		case ended(a.State):
		case a.State == api.ActivityUnknown:
			if !slices.ContainsFunc(got.Unreachable, silent) && a.Reason == "" {
				all = append(all, fmt.Sprintf("%s at %s is unknown, and nothing says why", a.Activity, a.Node))
			}
		case got.State == api.InstanceFinished:
			all = append(all, fmt.Sprintf("%s is %s, and the instance %s", a.Activity, a.State, got.State))
		}
	}
	if got.State == api.InstanceTerminated {
		return all // what was ended early has not waited for anything
	}
	for _, c := range p.Control {
		before, known := states[c.Source]
		around := (states[c.Target] == api.ActivitySkipped || startsOnFalse(p, c.Target)) && passedAround(p, states, c.Source)
		if known && ended(states[c.Target]) && !ended(before) && before != api.ActivityUnknown && !around {
			all = append(all, fmt.Sprintf("%s is %s, and %s before it %s", c.Target, states[c.Target], c.Source, before))
		}
	}
	return all
}

// dead are the states of an activity on a dead path, before and after its host has skipped it.
var dead = []api.ActivityState{api.ActivityInactive, api.ActivityWaiting, api.ActivityUnknown, api.ActivitySkipped}

// passedAround says whether a dead path may have gone on past an activity that its host has
// not skipped yet (N6): the activity dies with its only incoming control connector, and who
// found that connector FALSE is another site, which need not have answered. What that site tells
// its host of the activity and of those behind it may come in several messages, in any order.
func passedAround(p *definition.Process, states map[string]api.ActivityState, name string) bool {
	host := activity(p, name).Node
	for {
		sources := sourcesOf(p, name)
		if !diesAlone(p, name) || !slices.Contains(dead, states[name]) {
			return false
		}
		before := activity(p, sources[0])
		elsewhere := before.Node != host
		if state := states[before.Name]; ended(state) || elsewhere && state == api.ActivityUnknown {
			return elsewhere
		}
		name = sources[0]
	}
}

// diesAlone: it has one control connector, and is dead with it.
func diesAlone(p *definition.Process, name string) bool {
	start, sources := activity(p, name).Start, sourcesOf(p, name)
	return len(sources) == 1 && (start.Kind != definition.StartExpression || start.Text == sources[0])
}

// startsOnFalse: it may run although a control connector into it is FALSE.
func startsOnFalse(p *definition.Process, name string) bool {
	return activity(p, name).Start.Kind != definition.StartAll && !diesAlone(p, name)
}

func activity(p *definition.Process, name string) *definition.Activity {
	return p.Activities[slices.IndexFunc(p.Activities, func(a *definition.Activity) bool { return a.Name == name })]
}

// sourcesOf gives where the control connectors into an activity come from.
func sourcesOf(p *definition.Process, name string) (all []string) {
	for _, c := range p.Control {
		if c.Target == name {
			all = append(all, c.Source)
		}
	}
	return all
}

func ended(s api.ActivityState) bool {
	return s == api.ActivityTerminated || s == api.ActivitySkipped
}
