package definition

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/container"
)

// A subprocess has containers of the same shape as its process has (N19). Where both definitions are
// given that is known before anything runs, and else when it begins.

// Together says what is wrong between processes of several files that are given together; what is wrong
// within a file Load has said.
func Together(processes []*Process) []Diagnostic {
	return shapes(processes, func(a, b *Process) bool { return a.Pos.File != b.Pos.File })
}

// shapes compares each subprocess with its process, and events with who receives them, where the two processes are
// among those compared.
func shapes(processes []*Process, compared func(parent, child *Process) bool) []Diagnostic {
	all := ChildrenOf(processes)
	var found []Diagnostic
	for _, p := range processes {
		for _, a := range p.All() {
			if a.Child == nil {
				continue
			}
			if child := all.Of(a); child != nil && compared(p, child) {
				found = append(append(found, misfits(a, child)...), notStarted(p, a, child)...)
			}
		}
	}
	found = append(found, eventShapes(processes, compared)...)
	Sort(found)
	return found
}

// misfits says where an activity's containers have another shape than those of its process.
func misfits(a *Activity, child *Process) []Diagnostic {
	var found []Diagnostic
	for _, c := range []struct {
		want, have *container.Type
		verb, key  string
	}{
		{child.Input, a.Input, "takes", "input"},
		{child.Output, a.Output, "gives", "output"},
	} {
		what, remedy := container.Unlike(c.want, c.have)
		switch {
		case what == "":
			continue
		case c.have == container.Empty:
			what, remedy = fmt.Sprintf("%s has no %s", a.Name, c.key), fmt.Sprintf("write `%s: STRUCTURE`, one with these members", c.key)
		default:
			remedy += fmt.Sprintf(", or name the version that %s %s", c.verb, c.have)
		}
		found = append(found, Diagnostic{
			File: a.Child.Pos.File, Line: a.Child.Pos.Line, Column: a.Child.Pos.Column, Severity: Error, Code: codeShape,
			Message: clip(fmt.Sprintf("%s@%d %s %s, %s", child.Name, child.Version, c.verb, container.Shape(c.want), what)), Remedy: clip(remedy),
		})
	}
	return found
}

// notStarted says that an activity's node is none where its process may be started.
func notStarted(p *Process, a *Activity, child *Process) []Diagnostic {
	nodes, which, some := p.NodesOf(a.Node), "the node of "+a.Name, "one"
	switch {
	case a.Call != nil:
		nodes, which, some = a.Call.Of, "one of the nodes of "+a.Name, "some"
	case a.Node == OriginNode:
		which = fmt.Sprintf("where %s may be started, and %s begins it", p.Name, a.Name)
	}
	i := slices.IndexFunc(nodes, func(node string) bool { return !slices.Contains(child.Starts, node) })
	if i < 0 {
		return nil
	}
	return []Diagnostic{{
		File: a.Child.Pos.File, Line: a.Child.Pos.Line, Column: a.Child.Pos.Column, Severity: Error, Code: codeChildStarts,
		Message: fmt.Sprintf("%s@%d cannot be started at %s, %s", child.Name, child.Version, nodes[i], which),
		Remedy:  clip(fmt.Sprintf("add %s to its `starts`, or give %s %s of its nodes: %s", nodes[i], a.Name, some, strings.Join(child.Starts, ", "))),
	}}
}

// Children are processes of which activities may begin instances, by name.
type Children map[string][]*Process

// ChildrenOf makes processes ready to be asked for.
func ChildrenOf(processes []*Process) Children {
	all := Children{}
	for _, p := range processes {
		all[p.Name] = append(all[p.Name], p)
	}
	return all
}

// Of gives the process of a subprocess: of its version or, where it names none, of the highest; nil
// if it is not among them.
func (c Children) Of(a *Activity) *Process {
	var found *Process
	for _, p := range c[a.Child.Name] {
		if p.Version == a.Child.Version || a.Child.Version == 0 && (found == nil || p.Version > found.Version) {
			found = p
		}
	}
	return found
}
