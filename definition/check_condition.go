package definition

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
)

// conditionKey: equal texts over the same scope are checked once.
type conditionKey struct {
	scope condition.Scope
	text  string
}

type checkedCondition struct {
	condition.Checked
	problems []condition.Problem
	reads    bool // a member of the container
}

// allConditions checks the transition and exit conditions.
func (d *draft) allConditions() {
	for _, s := range d.steps {
		if s.exitNode != nil {
			s.Exit = d.exit(s, s.exitNode)
		}
	}
	for i, n := range d.transition {
		if n == nil {
			continue
		}
		c, before := d.Control[i], d.errors
		s := d.stepOf(c.Source)
		c.Condition = d.condition(s, n, c.Source+" -> "+c.Target)
		s.outUnsure = s.outUnsure || d.errors > before
	}
}

// condition checks a condition over the output of s; of source, over the input.
func (d *draft) condition(s *step, n *yaml.Node, key string) *Condition {
	text, ok := d.conditionText(n, key, "a condition")
	if !ok || s.gives().unknown() {
		return nil
	}
	scope := d.scope(s)
	c := d.check(text, scope)
	if len(c.problems) > 0 && d.otherwiseMeant(n, s) {
		return nil
	}
	if s.outside != nil {
		d.failCondition(n, codeCondition, d.failOutside(n, text, s, c.problems))
		s.readOutside(condition.ReadsOf(text, scope)...)
		return &Condition{Checked: c.Checked, Written: text, Pos: d.pos(n)}
	}
	d.failCondition(n, codeCondition, d.withoutOwner(text, s, c.problems))
	d.neverReceived(s, n, text)
	d.inputRead = d.inputRead || s == d.head && c.reads
	s.reads |= c.Reads
	return s.condition(d, n, text, c)
}

// exit checks the exit condition of s, which is over the output of one execution.
func (d *draft) exit(s *step, n *yaml.Node) *Condition {
	text, ok := d.conditionText(n, "exit", "a condition")
	if !ok || s.output.unknown() {
		return nil
	}
	c := d.check(text, s.scope())
	d.failCondition(n, codeCondition, d.withoutOwner(text, s, c.problems))
	return s.condition(d, n, text, c)
}

// condition notes what a condition over the output of s reads.
func (s *step) condition(d *draft, n *yaml.Node, text string, c checkedCondition) *Condition {
	s.outputRead = s.outputRead || c.reads
	s.readsRC = s.readsRC || c.ReadsRC
	return &Condition{Checked: c.Checked, Written: text, Pos: d.pos(n)}
}

// scope is what conditions out of a step can see: those out of source the input, and of the process's who has started it; those out of
// a bundle what its elements have come to.
func (d *draft) scope(s *step) condition.Scope {
	switch {
	case s == d.head:
		scope := condition.Scope{Members: s.Output}
		if s.output.started {
			scope.Words = condition.WordBy
		}
		return scope
	case s.outside != nil:
		return s.outside.output.scope()
	}
	return s.scope()
}

// scope is what conditions over one execution of an activity can see.
func (a *Activity) scope() condition.Scope {
	return condition.Scope{Members: a.Output, RC: true, Words: a.Words()}
}

func (d *draft) check(text string, scope condition.Scope) checkedCondition {
	key := conditionKey{scope, text}
	c, ok := d.conditions[key]
	if !ok {
		c.Checked, c.problems = condition.Check(text, scope)
		c.Text = condition.Canonical(text)
		c.reads = len(condition.ReadsOf(text, scope)) > 0
		d.conditions[key] = c
	}
	return c
}

// formRemedy is for a mapping or list where a condition is meant. Neither is a condition
// that YAML cannot carry: of such a one something would be left behind the bracket.
func formRemedy(n *yaml.Node, key string) string {
	names := make([]string, len(n.Content))
	for i, c := range n.Content {
		names[i] = c.Value
	}
	switch {
	case n.Kind == yaml.MappingNode && strings.Contains(key, "->"):
		return fmt.Sprintf("members are mapped under `data`, as `- %s: {target: source}`; a condition is an expression, such as n == 5", key)
	case n.Kind == yaml.SequenceNode && key == "start" && len(names) > 0:
		return fmt.Sprintf("write start: %s, or start: any", strings.Join(names, " && "))
	}
	return "write an expression on one line after the colon, such as n == 5"
}

func isEmptyScalar(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && strings.TrimSpace(n.Value) == ""
}

// conditionText reads the text of a condition. Key is what stands before its colon.
func (d *draft) conditionText(n *yaml.Node, key, what string) (string, bool) {
	at := d.pos(n)
	switch {
	case n.Kind == 0:
		return "", false
	case isEmptyScalar(n):
		d.fail(at, codeEmptyCondition, fmt.Sprintf("there is no condition after `%s:`", key), "write "+what+", or leave it out together with the colon")
	case n.Kind != yaml.ScalarNode:
		d.fail(at, codeForm, fmt.Sprintf("expected %s, found %s", what, formOf(n)), formRemedy(n, key))
	case len(n.Value) > condition.MaxText:
		d.fail(at, codeLimit, fmt.Sprintf("the condition has %d bytes", len(n.Value)), fmt.Sprintf("use at most %d: let the program work it out", condition.MaxText))
	default:
		return n.Value, true
	}
	return "", false
}
