package node

import (
	"context"
	"strings"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/staff"
	"fmqm/staff/who"
)

var (
	_ api.Introducer    = (*Node)(nil)
	_ api.ProcessFinder = (*Node)(nil)
	_ api.EventFinder   = (*Node)(nil)
)

// maxStandIns is how many are told of those whom somebody stands in for.
const maxStandIns = 100

// WhoAmI tells a caller who this node takes him for.
func (n *Node) WhoAmI(ctx context.Context) (api.WhoAmI, error) {
	w := api.WhoAmIOf(ctx)
	w.Node = string(n.name)
	people, person := n.Staff(), staff.Name(api.CallerOf(ctx).Person)
	if details, ok := people.Details(person); ok && person != "" {
		for _, role := range details.Roles {
			w.Roles = append(w.Roles, string(role))
		}
		others, _ := people.StandsInFor(person, n.sched.Now(), maxStandIns)
		for _, other := range others {
			w.StandsInFor = append(w.StandsInFor, string(other))
		}
	}
	return w, nil
}

// mayStart says why the caller may not start instances of a process, or nil: who has the right clerk over it may, and
// so may people of the staff whom the process's `staff` lets.
func (n *Node) mayStart(ctx context.Context, t *processtable.Table) error {
	caller := api.CallerOf(ctx)
	if caller.May(api.RightClerk, t.Process.String()) {
		return nil
	}
	if caller.Person == "" {
		return api.Denied(caller, api.RightClerk)
	}
	if t.Starters == nil {
		return api.Errorf(api.CodeRefused, "let an operator start it, or write `staff` into a new version of the process",
			"%s may not start %s: the process does not say that people of the staff start it", caller.Name, t.Process)
	}
	return n.eligibleStarter(caller, t)
}

// eligibleStarter says why a person of the staff may not start a process that says who may, or nil.
func (n *Node) eligibleStarter(caller api.Caller, t *processtable.Table) error {
	expression, err := who.Load(t.Starters, nil) // it reads no data
	if err != nil {
		return err
	}
	q, err := expression.Ask(who.Ask{Staff: n.Staff(), Now: n.sched.Now()})
	if err != nil {
		return api.Errorf(api.CodeRefused, "let an operator start it", "who may start %s is not known: %v", t.Process, err)
	}
	switch _, ok, err := q.Eligible(staff.Name(caller.Person)); {
	case err != nil:
		return api.Errorf(api.CodeRefused, "let an operator start it", "whether %s may start %s is not known: %v", caller.Name, t.Process, err)
	case ok:
		return nil
	}
	const shown = 5
	remedy := "let an operator start it: nobody of the staff may now"
	if could, whole := q.All(shown); len(could) > 0 {
		var names []string
		for _, one := range could {
			names = append(names, string(one.Name))
		}
		remedy = "ask " + strings.Join(names, ", ") + map[bool]string{true: ", who may", false: " and others, who may"}[whole] + "; or an operator"
	}
	return api.Errorf(api.CodeRefused, remedy, "%s may not start %s: its `staff` does not let him", caller.Name, t.Process)
}

// starterOf is the person whom `did(source)` and _BY of source name: for whom an operator acts, or who asks; zero: no person.
func starterOf(c api.Caller) message.Doer {
	switch {
	case c.As != "":
		return message.Doer{Person: c.As}
	case c.Person != "":
		return message.Doer{Person: c.Name}
	}
	return message.Doer{}
}

// startedBy is who starts an instance, as the history has it; empty: nobody known, or no hand does.
func (n *Node) startedBy(ctx context.Context) string {
	c := api.CallerOf(ctx)
	if c.Name == "" {
		return ""
	}
	by := n.commands.By(ctx)
	if c.As != "" {
		by += " for " + c.As
	}
	return by[:min(len(by), message.MaxBy)] // names are of ASCII
}
