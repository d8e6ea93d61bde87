package oracle

import (
	"fmt"
	"slices"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/message"
)

// Misfits says what in an answer about an instance cannot be, whenever it was given: an
// activity that has ended, and one before it, or inside of it, that has not; one that has not, in an
// instance that has finished; an iteration of a block that has begun, and one before that goes on; one
// that is unknown, and nothing says why. What is inside of a block that has ended early may go on: nobody
// waits for it (N25).
func Misfits(got api.Status, p *definition.Process) []string {
	m := &misfits{Status: got, places: Places(p), states: map[string]map[string]api.ActivityState{}, early: map[string]bool{}}
	for i := range got.Activities {
		if a := &got.Activities[i]; a.State == api.ActivityCancelled || a.Timeout || a.Error != "" {
			m.early[pathOf(a.Scope, a.Activity)] = true
		}
	}
	for i := range got.Activities {
		m.look(&got.Activities[i])
	}
	if got.State == api.InstanceTerminated {
		return m.all // what was ended early has not waited for anything
	}
	for scope := range m.states {
		g := &p.Graph
		if f, ok := last(message.Scope(scope)); ok && f.Element >= 0 && f.Iteration == 0 {
			m.element(message.Scope(scope), f)
			continue
		}
		if scope != "" {
			g = m.places[string(message.Scope(scope).Inside())].Block
			m.inside(message.Scope(scope))
		}
		m.control(g, scope)
	}
	slices.Sort(m.all)
	return m.all
}

// misfits are those of an answer.
type misfits struct {
	api.Status
	places map[string]Place
	states map[string]map[string]api.ActivityState // by scope and name
	early  map[string]bool                         // by path: it has not ended by itself
	all    []string
}

func (m *misfits) add(format string, args ...any) {
	m.all = append(m.all, fmt.Sprintf(format, args...))
}

// look looks at an activity by itself.
func (m *misfits) look(a *api.Activity) {
	path := pathOf(a.Scope, a.Activity)
	if m.nowhere(a) {
		return
	}
	if m.states[a.Scope] == nil {
		m.states[a.Scope] = map[string]api.ActivityState{}
	}
	m.states[a.Scope][a.Activity] = a.State
	silent := func(u api.Unreachable) bool { return u.Node == a.Node }
	switch {
	case ended(a.State):
	case a.State == api.ActivityUnknown:
		if !slices.ContainsFunc(m.Unreachable, silent) && a.Reason == "" {
			m.add("%s at %s is unknown, and nothing says why", path, a.Node)
		}
	case m.State == api.InstanceFinished && !m.givenUp(message.Scope(a.Scope)):
		m.add("%s is %s, and the instance %s", path, a.State, m.State)
	}
}

// givenUp: a block around has ended early.
func (m *misfits) givenUp(scope message.Scope) bool {
	for ; scope != ""; scope = scope.Leave() {
		around, name := outer(scope)
		for _, path := range []string{pathOf(around, name), pathOf(scope.Leave(), name)} {
			if m.early[path] {
				return true
			}
		}
		if b := m.places[name].Bundle; b != nil && b.Until != nil { // which leaves what is under way
			return true
		}
	}
	return false
}

// outer is what has begun what is in a scope, as answers name it: of the iteration of an element that element.
func outer(scope message.Scope) (around message.Scope, name string) {
	around, name = scope.Leave(), string(scope.Inside())
	if f, ok := last(scope); ok && f.Element >= 0 && f.Iteration > 0 {
		around = around.Enter(message.Frame{Composite: f.Composite, Element: f.Element, Run: f.Run})
	}
	return around, name
}

// element holds one execution of a bundle to the bundle.
func (m *misfits) element(scope message.Scope, f message.Frame) {
	name := string(f.Composite)
	bundle, state := m.states[string(scope.Leave())][name], m.states[string(scope)][name]
	if ended(bundle) && !ended(state) && state != api.ActivityUnknown && !m.givenUp(scope) {
		m.add("%s is %s, and the bundle %s", scope, state, bundle)
	}
}

// nowhere: it is inside of a block of which no iteration is known. What that means for it, the block says.
func (m *misfits) nowhere(a *api.Activity) bool {
	if a.State != api.ActivityInactive && a.State != api.ActivityUnknown {
		return false
	}
	frames, err := message.Scope(a.Scope).Frames()
	return err == nil && (len(frames) < len(m.places[a.Activity].Around) || len(frames) > 0 && frames[len(frames)-1].Iteration == 0)
}

// inside holds what is in an iteration of a block to the block, and to its next iteration.
func (m *misfits) inside(scope message.Scope) {
	outside, block := outer(scope)
	around := string(outside)
	state := m.states[around][block]
	for name, inner := range m.states[string(scope)] {
		if ended(inner) || inner == api.ActivityUnknown || m.passedAround(string(scope), name) {
			continue
		}
		path := api.InScope(string(scope), name)
		if ended(state) && !m.givenUp(scope) {
			m.add("%s is %s, and %s around it %s", path, inner, pathOf(around, block), state)
		}
		if next := following(scope); m.states[next] != nil {
			m.add("%s is %s, and %s has begun", path, inner, next)
		}
	}
}

// following is the scope of a block's next iteration.
func following(scope message.Scope) string {
	frames, err := scope.Frames()
	if err != nil {
		return ""
	}
	f := frames[len(frames)-1]
	f.Iteration++
	return string(scope.Leave().Enter(f))
}

// control holds the activities of a graph in a scope to the control connectors between them.
func (m *misfits) control(g *definition.Graph, scope string) {
	states := m.states[scope]
	for _, c := range g.Control {
		before, known := states[c.Source]
		around := (states[c.Target] == api.ActivitySkipped || startsOnFalse(g, c.Target)) && m.passedAround(scope, c.Source)
		if known && ended(states[c.Target]) && states[c.Target] != api.ActivityCancelled && !ended(before) && before != api.ActivityUnknown && !around {
			m.add("%s is %s, and %s before it %s", api.InScope(scope, c.Target), states[c.Target], c.Source, before)
		}
	}
}

// dead are the states of an activity on a dead path, before and after its host has skipped it.
var dead = []api.ActivityState{api.ActivityInactive, api.ActivityWaiting, api.ActivityUnknown, api.ActivitySkipped}

// passedAround says whether a dead path may have gone on past an activity that its host has
// not skipped yet (N6): the activity dies with its only incoming control connector, and who
// found that connector FALSE is another site, which need not have answered. What that site tells
// its host of the activity and of those behind it may come in several messages, in any order.
func (m *misfits) passedAround(scope, name string) bool {
	g, states := m.places[name].In, m.states[scope]
	host := activity(g, name).Node
	for {
		sources := sourcesOf(g, name)
		if !diesAlone(g, name) || !slices.Contains(dead, states[name]) {
			return false
		}
		before := activity(g, sources[0])
		elsewhere := before.Node != host
		if state := states[before.Name]; ended(state) || elsewhere && state == api.ActivityUnknown {
			return elsewhere
		}
		name = sources[0]
	}
}

// diesAlone: it has one control connector, and is dead with it.
func diesAlone(g *definition.Graph, name string) bool {
	start, sources := activity(g, name).Start, sourcesOf(g, name)
	return len(sources) == 1 && (start.Kind != definition.StartExpression || start.Text == sources[0])
}

// startsOnFalse: it may run although a control connector into it is FALSE.
func startsOnFalse(g *definition.Graph, name string) bool {
	return activity(g, name).Start.Kind != definition.StartAll && !diesAlone(g, name)
}

func activity(g *definition.Graph, name string) *definition.Activity {
	return g.Activities[slices.IndexFunc(g.Activities, func(a *definition.Activity) bool { return a.Name == name })]
}

// sourcesOf gives where the control connectors into an activity come from.
func sourcesOf(g *definition.Graph, name string) (all []string) {
	for _, c := range g.Control {
		if c.Target == name {
			all = append(all, c.Source)
		}
	}
	return all
}

func ended(s api.ActivityState) bool {
	return s == api.ActivityTerminated || s == api.ActivitySkipped || s == api.ActivityCancelled
}
