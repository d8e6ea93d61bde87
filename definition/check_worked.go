package definition

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
)

// Mappings that do not copy: {total: (price * quantity)} works out what it sets, and
// {append(reports): report} adds it to the end of a list.

// isWorked says whether the source of a mapping is an expression.
func isWorked(source string) bool { return strings.HasPrefix(strings.TrimSpace(source), "(") }

// worked gives a mapping of which the source is an expression.
func (d *draft) worked(n *yaml.Node, from dataEnd, m Mapping) []Mapping {
	text := strings.TrimSpace(n.Value)
	e := &Condition{Written: text, Pos: d.pos(n)}
	switch {
	case len(text) > condition.MaxText:
		d.fail(e.Pos, codeLimit, fmt.Sprintf("the expression has %d bytes", len(text)), fmt.Sprintf("use at most %d: let a program work it out", condition.MaxText))
		return nil
	case !inParentheses(text):
		d.fail(e.Pos, codeForm, "the parentheses of an expression are around all of it", fmt.Sprintf("write %s: (%s)", m.Target, text))
		return nil
	}
	scope := from.scope()
	var problems []condition.Problem
	e.Checked, problems = condition.CheckExpr(n.Value, scope, m.Type)
	if len(problems) > 0 {
		code := codeCondition
		if problems[0].Want != nil {
			code = codeMismatch
		}
		if from.outside {
			problems = d.failOutside(n, n.Value, from.step, problems)
		}
		d.failCondition(n, code, d.ofEnd(n.Value, from, problems))
		return nil
	}
	d.neverReceived(from.step, n, n.Value)
	e.Checked.Text = condition.Canonical(text)
	m.Expr, m.Source = e, e.Checked.Text
	m.OfWords = (e.Checked.ReadsRC || e.Checked.Reads != 0) && len(condition.ReadsOf(text, scope)) == 0
	return []Mapping{m}
}

// ofEnd are the problems of an expression over the input of a graph, which is of no activity.
func (d *draft) ofEnd(text string, from dataEnd, problems []condition.Problem) []condition.Problem {
	if from.step != nil {
		return problems
	}
	return d.withoutOwner(text, d.head, problems)
}

// inParentheses says whether a text that begins with a parenthesis ends where that is closed. One that
// is not closed is for the parser to report.
func inParentheses(text string) bool {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quote != 0 && ch == '\\':
			i++
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '"', ch == '\'':
			quote = ch
		case ch == '(':
			depth++
		case ch == ')':
			if depth--; depth == 0 && i < len(text)-1 {
				return false
			}
		}
	}
	return true
}

// remedyElement shows how an element of a list is mapped: braces need the quotes.
func remedyElement(written string) string {
	return fmt.Sprintf("write \"(%s)\", with quotes and parentheses, or map the whole list, as {list: list}", written)
}

// remedyWorked shows how what is written becomes an expression.
func remedyWorked(written string) string {
	return fmt.Sprintf("what is worked out stands in parentheses: (%s)", written)
}

// usedBy notes what an expression of a mapping reads.
func (d *draft) usedBy(e *Condition, from, to dataEnd) {
	if from.outside {
		from.step.readOutside(condition.ReadsOf(e.Written, from.scope())...)
		return
	}
	member := len(condition.ReadsOf(e.Written, from.scope())) > 0
	if from.step == nil {
		d.inputRead = d.inputRead || member
		return
	}
	from.step.outputRead = from.step.outputRead || member
	from.step.readsRC = from.step.readsRC || e.Checked.ReadsRC
	if from.step != to.step {
		from.step.reads |= e.Checked.Reads
	}
}

var appendForm = regexp.MustCompile(`^\s*append\s*\(\s*([^()]*?)\s*\)\s*$`)

// appended gives the list of append(list), and says whether that is what a target is.
func appended(n *yaml.Node) (*yaml.Node, bool) {
	at := appendForm.FindStringSubmatchIndex(n.Value)
	if n.Kind != yaml.ScalarNode || at == nil {
		return n, false
	}
	list := *n
	list.Value = n.Value[at[2]:at[3]]
	if list.Column += at[2]; n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		list.Column++
		list.Style = 0
	}
	return &list, true
}

// namesTarget is namesMember of what is set: to work that out helps nobody.
func (d *draft) namesTarget(n *yaml.Node, t *container.Type) bool {
	if m := appendMeant.FindStringSubmatch(strings.TrimSpace(n.Value)); m != nil {
		d.fail(d.pos(n), codeForm, fmt.Sprintf("%q is not a member", n.Value), fmt.Sprintf("write append(%s)", m[1]))
		return false
	}
	if strings.ContainsAny(n.Value, "()+=") {
		d.fail(d.pos(n), codeForm, fmt.Sprintf("%q is not a member", n.Value), "name a member of the target, or append(LIST) to add an element to a list")
		return false
	}
	if list, _, element := strings.Cut(n.Value, "["); element {
		d.fail(d.pos(n), codeForm, fmt.Sprintf("%s is an element of a list", strings.TrimSpace(n.Value)),
			fmt.Sprintf("set the whole list, or write append(%s) to add an element", strings.TrimSpace(list)))
		return false
	}
	return d.namesMember(n, t)
}

// toList makes a mapping one that appends.
func (d *draft) toList(m *Mapping) bool {
	list := m.Target
	m.Append, m.Target = true, "append("+list+")"
	if m.Type.Kind != container.List {
		d.fail(m.Pos, codeMismatch, fmt.Sprintf("%s is %s: only a list can be appended to", list, article(m.Type)),
			fmt.Sprintf("write {%s: ...}, or declare it as [%s]", list, m.Type))
		return false
	}
	m.Type = m.Type.Elem
	return true
}

// failElement reports that something else is appended than an element.
func (d *draft) failElement(m Mapping, found *container.Type) {
	remedy := "append a member of the elements' type, or declare both with the same type"
	if found.Kind == container.List && container.SameType(found.Elem, m.Type) {
		remedy = "append adds one element: map the whole list without append"
	}
	d.fail(m.Pos, codeMismatch, fmt.Sprintf("%s takes %s, but %s is %s", m.Target, article(m.Type), m.Source, article(found)), remedy)
}
