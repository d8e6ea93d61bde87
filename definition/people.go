package definition

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// Who is a staff expression: who may do something (N27).
type Who struct {
	Pos     Pos
	Text    string // canonical
	Written string // as the file has it
	Staff   *condition.Staff
}

// Priority orders what is ready, and worklists: 9 is first.
type Priority struct {
	Pos   Pos
	Fixed int
	Expr  *Condition // over the input, an int; nil: Fixed
}

// text is the expression's text; empty: there is none.
func (w *Who) text() string {
	if w == nil {
		return ""
	}
	return w.Text
}

func canonicalPriorityOf(p *Priority) *canonicalPriority {
	switch {
	case p == nil:
		return nil
	case p.Expr != nil:
		return &canonicalPriority{Text: p.Expr.Checked.Text}
	}
	return &canonicalPriority{Fixed: p.Fixed}
}

// titleOf is the title of a manual activity as it is written, with the names of members; empty: it has none of its own.
func titleOf(a *Activity) string {
	return writtenTitle(a.Title, a.Input)
}

// inTable is the expression as tables have it; nil where there is none.
func (w *Who) inTable() *processtable.Who {
	if w == nil {
		return nil
	}
	return whoInTable(w.Staff)
}

func whoInTable(s *condition.Staff) *processtable.Who {
	t := &processtable.Who{Is: processtable.WhoIs(s.Is), Of: s.Of, Each: processtable.WhoEach(s.Each), Activity: processtable.ActivityID(s.Activity)}
	for _, p := range s.Parts {
		t.Parts = append(t.Parts, whoInTable(p))
	}
	return t
}

// Asks names the activities whose doers the expression asks for, each once.
func (w *Who) Asks() (all []string) {
	if w == nil || w.Staff == nil {
		return nil
	}
	w.Staff.All(func(term *condition.Staff) {
		if term.Activity != "" && !slices.Contains(all, term.Activity) {
			all = append(all, term.Activity)
		}
	})
	return all
}

func (p *Priority) inTable() *processtable.Priority {
	switch {
	case p == nil:
		return nil
	case p.Expr != nil:
		return &processtable.Priority{Expr: &p.Expr.Checked}
	}
	return &processtable.Priority{Fixed: p.Fixed}
}

// writtenPriority is a priority as the language has it; empty: there is none.
func writtenPriority(p *processtable.Priority) string {
	switch {
	case p == nil:
		return ""
	case p.Expr != nil:
		return p.Expr.Text
	}
	return fmt.Sprint(p.Fixed)
}

// CompileWho compiles a staff expression by itself, over an input, for who asks it of persons: did and manages may name any
// activity. Problems are those of the text, in order.
func CompileWho(text string, scope condition.Scope) (*processtable.Who, []condition.Problem) {
	s, problems := condition.CheckStaff(text, scope)
	if len(problems) > 0 {
		return nil, problems
	}
	return whoInTable(s), nil
}

// manualInTable is what a manual activity has in its row, without Did, which the connectors say; nil: it is none.
func (a *Activity) manualInTable() *processtable.Manual {
	if a.Staff == nil {
		return nil
	}
	m := &processtable.Manual{Staff: a.Staff.inTable(), Title: a.Title}
	for _, node := range a.OfferedAt {
		m.Offered = append(m.Offered, processtable.NodeID(node))
	}
	if len(m.Title) == 0 {
		m.Title = []processtable.TitlePart{{Text: a.Name}}
	}
	return m
}

// isOfferedElsewhere says whether it is a manual activity that is offered at other nodes than its own.
func (a *Activity) isOfferedElsewhere() bool {
	return slices.ContainsFunc(a.OfferedAt, func(node string) bool { return node != a.Node })
}

// writtenTitle is a title as the language has it, over an input.
func writtenTitle(parts []processtable.TitlePart, input *container.Type) string {
	var b strings.Builder
	for _, p := range parts {
		if len(p.Member) > 0 {
			b.WriteString("{" + memberAt(input, p.Member) + "}")
			continue
		}
		b.WriteString(strings.ReplaceAll(p.Text, "{", "{{"))
	}
	return b.String()
}

// memberAt names the member that a path leads to: "customer.name".
func memberAt(t *container.Type, path container.Path) string {
	names := make([]string, 0, len(path))
	for _, i := range path {
		names = append(names, t.Members[i].Name)
		t = t.Members[i].Type
	}
	return strings.Join(names, ".")
}

func whoShown(w *processtable.Who) string {
	if w == nil {
		return ""
	}
	return whoWritten(w)
}

// whoWritten is a staff expression of a table, for people.
func whoWritten(w *processtable.Who) string { return whoInside(w, 0) }

func whoInside(w *processtable.Who, binds int) string {
	call := func(name string) string {
		switch w.Each {
		case processtable.EachSome:
			return fmt.Sprintf("%s.exists(v, %s(v))", w.Of.Text, name)
		case processtable.EachAll:
			return fmt.Sprintf("%s.all(v, %s(v))", w.Of.Text, name)
		case processtable.EachNone:
		}
		return fmt.Sprintf("%s(%s)", name, w.Of.Text)
	}
	joined := func(by string, own int) string {
		parts := make([]string, len(w.Parts))
		for i, p := range w.Parts {
			parts[i] = whoInside(p, own)
		}
		if text := strings.Join(parts, by); own >= binds {
			return text
		}
		return "(" + strings.Join(parts, by) + ")"
	}
	switch w.Is {
	case processtable.WhoAnd:
		return joined(" && ", 2)
	case processtable.WhoOr:
		return joined(" || ", 1)
	case processtable.WhoNot:
		return "!" + whoInside(w.Parts[0], 3)
	case processtable.WhoRole:
		return call("role")
	case processtable.WhoOrg:
		return call("org")
	case processtable.WhoPerson:
		return call("person")
	case processtable.WhoDid:
		return fmt.Sprintf("did(%s)", w.Activity)
	case processtable.WhoManages:
		return fmt.Sprintf("manages(%s)", w.Activity)
	case processtable.WhoData:
		if binds > 0 {
			return "(" + w.Of.Text + ")"
		}
		return w.Of.Text
	}
	return ""
}

// needsPeopleFormat names what a process has of people that no lower format than PeopleFormat says; empty: nothing.
func needsPeopleFormat(p *Process) string {
	switch {
	case p.Staff != nil:
		return "staff"
	case p.Administrator != nil:
		return "administrator"
	case p.Priority != nil:
		return "priority"
	case slices.ContainsFunc(p.Notify, func(n Notice) bool { return n.forPeople() }):
		return "notify with staff"
	}
	for _, a := range p.All() {
		switch {
		case a.Staff != nil:
			return "staff"
		case a.Priority != nil:
			return "priority"
		case slices.ContainsFunc(a.Notify, func(n Notice) bool { return n.forPeople() }):
			return "notify with staff"
		}
	}
	if readsBy(&p.Graph) {
		return "_BY"
	}
	return ""
}

// readsBy says whether anything in a graph, or a block in it, reads who did it.
func readsBy(g *Graph) bool {
	reads := func(c *Condition) bool { return c != nil && c.Checked.Reads&condition.WordBy != 0 }
	return slices.ContainsFunc(g.Control, func(k *Control) bool { return reads(k.Condition) }) ||
		slices.ContainsFunc(g.Data, func(d *Data) bool {
			return slices.ContainsFunc(d.Mappings, func(m Mapping) bool { return m.Word == condition.WordBy || reads(m.Expr) })
		}) ||
		slices.ContainsFunc(g.Activities, func(a *Activity) bool {
			return reads(a.Exit) || a.Bundle != nil && reads(a.Bundle.Failed) || a.Block != nil && readsBy(a.Block)
		})
}
