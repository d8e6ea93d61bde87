package interpret

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
)

// Clerks do manual activities. Programs that implement it are asked; where others run a process nobody does them, and
// their outputs are as echo gives them.
type Clerks interface {
	// Do gives what a person has done, in an iteration. The call's input belongs to it.
	Do(activity *definition.Activity, call Call) Outcome
}

// Staff says of persons whether they may do an activity, as the staff of a node has them.
type Staff interface {
	// Eligible says whether person (name@node) may do what the call is of, and for whom, if he stands in for somebody.
	Eligible(activity *definition.Activity, call Call, person string) (standsFor string, may bool, err error)
}

// Doer is who did a manual activity, and whom that person stood in for: name@node. The zero one is nobody.
type Doer struct{ Person, For string }

// Barred says that a person whom the results name may not do an activity. Line and Column are the results'.
type Barred struct {
	Line, Column int
	Text         string
}

func (b *Barred) Error() string { return fmt.Sprintf("%d:%d: %s", b.Line, b.Column, b.Text) }

// doersOf are who did the activities that a manual one asks for, as far as they have ended and somebody did.
func (g *graph) doersOf(s *step) map[string]Doer {
	if s.doers != nil || s.activity.Staff == nil {
		return s.doers
	}
	all := map[string]Doer{}
	for _, name := range s.activity.Staff.Asks() {
		of := g.source
		for _, other := range g.steps {
			if other.activity.Name == name {
				of = other
			}
		}
		if of.ran && of.values.By != "" && (!s.beginsFirst() || slices.Contains(s.race.counted, of)) {
			all[name] = Doer{of.values.By, of.doneFor}
		}
	}
	return all
}

// offered is why an input says of nobody whether he may do a manual activity, or how urgent it is; nil: it says both.
func (g *graph) offered(a *definition.Activity, input *container.Struct) (err error) {
	if a.Staff == nil {
		return nil
	}
	scope := condition.Scope{Members: input.Type, Words: condition.WordInstance}
	var spent condition.Spent
	a.Staff.Staff.All(func(term *condition.Staff) {
		if term.Of == nil || err != nil {
			return
		}
		want := container.Scalar(container.String)
		switch {
		case term.Is == condition.StaffData:
			want = container.Scalar(container.Bool)
		case term.Each != condition.EachNone:
			want = container.NewList(want)
		}
		var e *condition.Expr
		if e, err = condition.LoadExpr(*term.Of, scope, want); err == nil {
			_, err = e.Eval(&spent, input, &condition.Values{Instance: g.opts.Instance})
		}
		if err != nil {
			err = fmt.Errorf("who may do it: %w", err)
		}
	})
	if err == nil && a.Priority != nil && a.Priority.Expr != nil {
		if _, err = g.eval(a.Priority.Expr, input, container.Int); err != nil {
			err = fmt.Errorf("priority: %w", err)
		}
	}
	return err
}

// does has a manual activity done.
func (g *graph) does(s *step, call Call) Outcome {
	clerks, ok := g.programs.(Clerks)
	if !ok {
		return Echo(call.Input, s.activity.Output)
	}
	call.Doers = g.doersOf(s)
	o := clerks.Do(s.activity, call)
	if s.doneFor = o.For; o.Impossible != nil {
		g.family.impossible = append(g.family.impossible, o.Impossible)
	}
	return o
}

// person is how a result names one: a name, or a name and a site.
var person = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}(@[A-Za-z_][A-Za-z0-9_-]{0,63})?$`)

// Do gives the activity's next entry, merged into the draft: the input's members of the same name and type.
func (r *results) Do(a *definition.Activity, call Call) Outcome {
	out := Echo(call.Input, a.Output)
	e, listed := r.entryOf(a, call)
	if !listed {
		return out
	}
	for _, name := range e.named {
		if i, ok := a.Output.MemberIndex(name); ok && e.output != nil {
			out.Output.Fields[i] = container.CloneValue(e.output.Fields[i])
		}
	}
	if e.by == "" {
		return out
	}
	if out.By = e.by; !strings.Contains(e.by, "@") {
		out.By += "@" + call.Node
	}
	text := bars(a.Staff.Staff, &call, out.By)
	if text == "" && r.staff != nil {
		var may bool
		var err error
		if out.For, may, err = r.staff.Eligible(a, call, out.By); err != nil {
			text = err.Error()
		} else if !may {
			text = fmt.Sprintf("`%s` does not hold for %s in the staff file", a.Staff.Text, e.by)
		}
	}
	if text != "" {
		out.Impossible = &Barred{e.line, e.column, fmt.Sprintf("%s: %s: name somebody else", a.Name, text)}
	}
	return out
}

// truth is what is known of a staff expression: without staff nobody has a role.
type truth int8

const (
	no truth = iota - 1
	perhaps
	yes
)

// bars says why a person cannot have done an activity, by who did others and by the data; empty: he may have.
func bars(s *condition.Staff, call *Call, by string) string {
	if v, why := eligible(s, call, by, false); v == no {
		return why
	}
	return ""
}

// eligible says whether somebody may do it, and if not why. Under a negation who has the same name at another site counts
// as having done it.
func eligible(s *condition.Staff, call *Call, by string, negated bool) (truth, string) {
	switch s.Is {
	case condition.StaffNot:
		v, _ := eligible(s.Parts[0], call, by, !negated)
		return -v, notWhy(s.Parts[0], call, by)
	case condition.StaffAnd, condition.StaffOr:
		decides, v, why := no, yes, ""
		if s.Is == condition.StaffOr {
			decides, v = yes, no
		}
		for _, p := range s.Parts {
			one, said := eligible(p, call, by, negated)
			if one == decides {
				return one, said
			}
			if one == perhaps {
				v = perhaps
			}
			if why == "" {
				why = said
			}
		}
		return v, why
	case condition.StaffDid:
		return did(s, call, by, negated)
	case condition.StaffData:
		return data01(s, call)
	case condition.StaffRole, condition.StaffOrg, condition.StaffPerson, condition.StaffManages:
	}
	return perhaps, ""
}

// did says whether somebody did an activity.
func did(s *condition.Staff, call *Call, by string, negated bool) (truth, string) {
	of, done := call.Doers[s.Activity]
	if !done {
		return no, fmt.Sprintf("`did(%s)` holds for nobody, since nobody did %[1]s", s.Activity)
	}
	short := func(s string) string { name, _, _ := strings.Cut(s, "@"); return name }
	switch {
	case by == of.Person || by == of.For:
		return yes, ""
	case short(by) != short(of.Person) && short(by) != short(of.For):
		return no, fmt.Sprintf("`did(%s)` holds for %[2]s, who did %[1]s, and not for %[3]s", s.Activity, short(of.Person), short(by))
	case negated:
		return yes, ""
	}
	return perhaps, ""
}

// notWhy says whom a negation bars.
func notWhy(s *condition.Staff, call *Call, by string) string {
	name, _, _ := strings.Cut(by, "@")
	if s.Is == condition.StaffDid {
		if of := call.Doers[s.Activity]; of.For == by {
			return fmt.Sprintf("`!did(%s)` bars %s, for whom %s did %[1]s", s.Activity, name, of.Person)
		}
		return fmt.Sprintf("`!did(%s)` bars %s, who did %[1]s", s.Activity, name)
	}
	return fmt.Sprintf("who may do it bars %s", name)
}

// data01 is what data say, whoever it is. What fails says nothing here.
func data01(s *condition.Staff, call *Call) (truth, string) {
	scope := condition.Scope{Members: call.Input.Type, Words: condition.WordInstance}
	e, err := condition.LoadExpr(*s.Of, scope, container.Scalar(container.Bool))
	if err != nil {
		return perhaps, ""
	}
	v, err := e.Eval(&condition.Spent{}, call.Input, &condition.Values{Instance: call.Instance})
	if holds, ok := v.(bool); err == nil && ok && holds {
		return yes, ""
	} else if err != nil {
		return perhaps, ""
	}
	return no, fmt.Sprintf("`%s` does not hold for this input", s.Of.Text)
}
