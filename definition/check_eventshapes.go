package definition

import (
	"fmt"
	"slices"

	"fmqm/container"
)

// Events between processes that are given together (N24): what one sends has the shape that the other receives,
// and a key where the other asks for one.

// receiver is an activity that receives an event, at its node.
type receiver struct {
	process  *Process
	activity *Activity
	event    *Event
}

// receiversOf gives who receives each event.
func receiversOf(processes []*Process) map[string][]receiver {
	all := map[string][]receiver{}
	for _, p := range processes {
		for _, a := range p.All() {
			if a.Receive != nil {
				for _, e := range a.Receive.Events {
					all[e.Name] = append(all[e.Name], receiver{p, a, e})
				}
			}
		}
	}
	return all
}

// eventShapes compares what is sent with what is received where it may be sent to, between processes that are
// among those compared.
func eventShapes(processes []*Process, compared func(sender, receiver *Process) bool) []Diagnostic {
	receivers := receiversOf(processes)
	var found []Diagnostic
	for _, p := range processes {
		for _, a := range p.All() {
			if a.Send == nil {
				continue
			}
			there := slices.DeleteFunc(slices.Clone(receivers[a.Send.Event.Name]), func(r receiver) bool {
				return !p.reaches(a.Send, r)
			})
			found = append(found, sentWrong(p, a, there, compared)...)
		}
	}
	return found
}

// reaches says whether an event may be sent to where an activity receives: of one process what is at the origin
// meets there, and what others have there may be at any node that starts them.
func (p *Process) reaches(s *Send, r receiver) bool {
	received := r.process.NodesOf(r.activity.Node)
	for _, to := range s.Targets() {
		if slices.ContainsFunc(p.NodesOf(to), func(node string) bool { return slices.Contains(received, node) }) {
			return true
		}
	}
	return false
}

// sentWrong says what is wrong with what an activity sends, for those who receive it.
func sentWrong(p *Process, a *Activity, there []receiver, compared func(sender, receiver *Process) bool) (found []Diagnostic) {
	say := func(s Severity, code, message, remedy string) {
		at := a.Send.Pos
		found = append(found, Diagnostic{File: at.File, Line: at.Line, Column: at.Column, Severity: s, Code: code, Message: clip(message), Remedy: clip(remedy)})
	}
	said := map[*Process]bool{}
	fits := false
	var unfit *receiver
	for i, r := range there {
		if fits = fits || (r.activity.Receive.Key != nil) == (a.Send.Key != nil); unfit == nil && compared(p, r.process) {
			unfit = &there[i]
		}
		what, remedy := container.Unlike(r.event.Type, a.Send.Event.Type)
		if what == "" || said[r.process] || !compared(p, r.process) {
			continue
		}
		said[r.process] = true
		if a.Send.Event.Type == container.Empty {
			what, remedy = fmt.Sprintf("%s is declared without data here", r.event.Name), "declare a structure with these members, and write its name under `events`"
		}
		say(Error, codeShape, fmt.Sprintf("%s receives %s with %s, %s", r.process.Name, r.event.Name, container.Shape(r.event.Type), what), remedy)
	}
	switch {
	case fits || unfit == nil:
	case a.Send.Key == nil:
		say(Warning, codeEventKey, fmt.Sprintf("%s receives %s by key", unfit.process.Name, a.Send.Event.Name), "add `key`")
	default:
		say(Warning, codeEventKey, fmt.Sprintf("%s receives %s without a key", unfit.process.Name, a.Send.Event.Name),
			fmt.Sprintf("leave `key` out, or let %s receive it by key", unfit.activity.Name))
	}
	return found
}
