package definition

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// momentForm is a key whose value says when something is over: after some time, or at a time of
// the calendar (N23).
type momentForm struct{ key, after, at string }

var (
	deadlineForm = momentForm{"deadline", "after", "at"}
	waitForm     = momentForm{"wait", "for", "until"}
)

func (f momentForm) keys() []string { return []string{f.after, f.at} }

// whole is what the whole value has to be, where another is written.
func (f momentForm) whole(n *yaml.Node) string {
	value := n.Value
	switch {
	case n.Kind != yaml.ScalarNode || strings.TrimSpace(value) == "" || n.Tag == "!!bool":
		return fmt.Sprintf("write `%s: {%s: 2h}`, or `{%s: TIME}`", f.key, f.after, f.at)
	case n.Tag == "!!int":
		return fmt.Sprintf("write `%s: {%s: %ss}`", f.key, f.after, value)
	case isTime(value):
		return fmt.Sprintf("write `%s: {%s: %s}`", f.key, f.at, value)
	case isWait(value):
		return fmt.Sprintf("write `%s: {%s: %s}`", f.key, f.after, value)
	case isConstant(value):
		return fmt.Sprintf("write `%s: {%s: 2h}`, or `{%s: TIME}`", f.key, f.after, f.at)
	}
	return fmt.Sprintf("write `%s: {%s: %s}` if that is a duration, `{%s: %[3]s}` if it is a time", f.key, f.after, value, f.at)
}

// moment reads a time over the input of s; nil where there is none.
func (d *draft) moment(s *step, n *yaml.Node, form momentForm) *Moment {
	if n == nil {
		return nil
	}
	m := &Moment{Pos: d.pos(n), Fixed: 1}
	errorsBefore := d.errors
	defer func() { m.unread = d.errors > errorsBefore }()
	if !d.is(n, yaml.MappingNode, fmt.Sprintf("`%s` or `%s`", form.after, form.at), form.whole(n)) {
		return m
	}
	f := d.fields(n, form.key, form.keys())
	after, at := f[form.after], f[form.at]
	switch {
	case after != nil && at != nil:
		d.fail(d.pos(at), codeValue, fmt.Sprintf("%s has `%s` and `%s`", form.key, form.after, form.at), "keep one of them")
	case after != nil:
		d.momentValue(s, after, m, form.after, form.at)
	case at != nil:
		m.At = true
		d.momentValue(s, at, m, form.at, form.after)
	default:
		d.fail(m.Pos, codeMissingKey, fmt.Sprintf("%s needs the key %s, or %s", form.key, form.after, form.at), form.whole(&yaml.Node{Kind: yaml.MappingNode}))
	}
	return m
}

// momentValue reads what stands behind one of the two keys; other is the other one.
func (d *draft) momentValue(s *step, n *yaml.Node, m *Moment, key, other string) {
	what, want := "a duration such as 2h or 14d", container.Scalar(container.Duration)
	if m.At {
		what, want = "a time such as 2026-01-31T09:00:00Z", container.Scalar(container.Timestamp)
	}
	written, ok := d.scalar(n, what+", or an expression")
	text := strings.TrimSpace(written)
	switch {
	case !ok:
	case text != "" && !isConstant(text):
		m.Expr = d.expression(s, n, written, want)
	case m.At && isWait(text):
		d.fail(d.pos(n), codeValue, key+" takes a time", fmt.Sprintf("write `%s: %s`, or an expression of type timestamp", other, text))
	case !m.At && isTime(text):
		d.fail(d.pos(n), codeValue, key+" takes a duration", fmt.Sprintf("write `%s: %s`, or an expression of type duration", other, text))
	case m.At:
		d.fixedTime(n, m, key, text)
	default:
		d.fixedDuration(n, m, key, text)
	}
}

func (d *draft) fixedDuration(n *yaml.Node, m *Moment, key, text string) {
	v, err := container.ParseDuration(text)
	if err != nil || v <= 0 {
		d.fail(d.pos(n), codeValue, fmt.Sprintf("%s cannot be %s", key, strconv.Quote(text)), remedyDuration+", or an expression of type duration")
		return
	}
	m.Fixed = int64(v)
}

// farthest is the last time that a timer can have.
var farthest = time.Unix(0, math.MaxInt64).UTC()

// fixedTime reads a time of the calendar. What lies before 1970 is as over as that.
func (d *draft) fixedTime(n *yaml.Node, m *Moment, key, text string) {
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		d.fail(d.pos(n), codeValue, fmt.Sprintf("%s cannot be %s", key, strconv.Quote(text)),
			"write a time as RFC 3339 has it, such as 2026-01-31T09:00:00Z, or an expression of type timestamp")
	case at.After(farthest):
		d.fail(d.pos(n), codeLimit, fmt.Sprintf("%s is after %s, the last time that a timer can have", text, farthest.Format(time.RFC3339)), "write an earlier one")
	case at.After(time.Unix(0, 1)):
		m.Fixed = at.UnixNano()
	}
}

// expression checks an expression over the input of s.
func (d *draft) expression(s *step, n *yaml.Node, text string, want *container.Type) *Condition {
	return d.expressionMeant(s, n, text, want, func(problems []condition.Problem) []condition.Problem { return problems })
}

// expressionMeant is expression, where others may be reported before; it gives those that are left.
func (d *draft) expressionMeant(s *step, n *yaml.Node, text string, want *container.Type, others func([]condition.Problem) []condition.Problem) *Condition {
	e := &Condition{Written: text, Pos: d.pos(n)}
	if len(text) > condition.MaxText {
		d.fail(e.Pos, codeLimit, fmt.Sprintf("the expression has %d bytes", len(text)), fmt.Sprintf("use at most %d: let a program work it out", condition.MaxText))
		return e
	}
	if s.input.unknown() {
		return e
	}
	scope := s.input.scope()
	var problems []condition.Problem
	e.Checked, problems = condition.CheckExpr(text, scope, want)
	e.Checked.Text = condition.Canonical(text)
	code := codeCondition
	if len(problems) > 0 && problems[0].Want != nil {
		code = codeMismatch
	}
	d.failCondition(n, code, others(problems))
	if s.block != nil && len(condition.ReadsOf(text, scope)) > 0 {
		s.block.inputRead = true
	}
	return e
}

// isConstant says whether a text is meant as a duration or a time, and not as an expression: what
// begins with a digit is none.
func isConstant(text string) bool { return strings.IndexAny(text, "0123456789+-.") == 0 }

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// durationText is a duration as the language has it.
func durationText(v time.Duration) string {
	const day = 24 * time.Hour
	days, rest := v/day, v%day
	text := rest.String()
	for _, zero := range []struct{ of, without string }{{"m0s", "m"}, {"h0m", "h"}} {
		if before, ok := strings.CutSuffix(text, zero.of); ok {
			text = before + zero.without
		}
	}
	switch {
	case days == 0:
		return text
	case rest == 0:
		text = ""
	}
	return fmt.Sprintf("%dd%s", days, text)
}

// inTable is the moment as tables have it.
func (m *Moment) inTable() *processtable.Moment {
	if m == nil {
		return nil
	}
	t := &processtable.Moment{At: m.At, Fixed: m.Fixed}
	if m.Expr != nil {
		t.Fixed, t.Expr = 0, &m.Expr.Checked
	}
	return t
}

// written is a moment as the form has it: "after 14d".
func (f momentForm) written(m *processtable.Moment) string {
	key, value := f.after, durationText(time.Duration(m.Fixed))
	if m.At {
		key, value = f.at, time.Unix(0, m.Fixed).UTC().Format(time.RFC3339Nano)
	}
	if m.Expr != nil {
		value = m.Expr.Text
	}
	return key + " " + value
}
