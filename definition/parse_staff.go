package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// What people do (N27): who may do an activity, and under which title they see it; who may start a process.

// whoRead is a staff expression that asks who did activities, which is looked at when the connectors are known.
type whoRead struct {
	n        *yaml.Node
	who      *Who
	ofNotice bool // it may ask for its own activity
}

// staff reads who may do an activity; nil: it is no manual one.
func (d *draft) staff(s *step, n *yaml.Node) *Who {
	if n == nil {
		return nil
	}
	return d.who(s, n, "staff", false)
}

// who reads a staff expression over the input of s.
func (d *draft) who(s *step, n *yaml.Node, key string, ofNotice bool) *Who {
	w := &Who{Pos: d.pos(n), Staff: &condition.Staff{Is: condition.StaffData}}
	text, ok := d.whoText(n, key)
	if !ok {
		return w
	}
	w.Written, w.Text = text, condition.Canonical(text)
	if s.input.unknown() {
		return w
	}
	staff, problems := condition.CheckStaff(text, condition.Scope{Members: s.input.members, Words: condition.WordInstance})
	d.failCondition(n, codeStaff, problems)
	if len(problems) == 0 {
		w.Staff = staff
		s.whos = append(s.whos, whoRead{n, w, ofNotice})
	}
	return w
}

// whoText reads the text of a staff expression.
func (d *draft) whoText(n *yaml.Node, key string) (string, bool) {
	role := func(names []string) string {
		for i, name := range names {
			names[i] = fmt.Sprintf("role(%q)", name)
		}
		return fmt.Sprintf("write `%s: %s`", key, strings.Join(names, " || "))
	}
	switch {
	case n.Kind == 0:
		return "", false
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Kind != yaml.ScalarNode }):
		d.fail(d.pos(n), codeForm, "expected a staff expression, found a list", role(valuesOf(n)))
		return "", false
	case n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[1].Kind == yaml.ScalarNode && slices.Contains([]string{"role", "org", "person"}, n.Content[0].Value):
		d.fail(d.pos(n), codeForm, "expected a staff expression, found a mapping", fmt.Sprintf("write `%s: %s(%q)`", key, n.Content[0].Value, n.Content[1].Value))
		return "", false
	case n.Kind != yaml.ScalarNode || isNull(n):
		d.fail(d.pos(n), codeForm, fmt.Sprintf("expected a staff expression, found %s", formOf(n)), fmt.Sprintf("write `%s: role(\"NAME\")`", key))
		return "", false
	}
	return n.Value, true
}

// processWho reads who may start the process, or administers it: neither reads data, nor asks who did something.
func (p *processDraft) processWho(n *yaml.Node, key string) *Who {
	if n == nil {
		return nil
	}
	w := &Who{Pos: p.pos(n), Staff: &condition.Staff{Is: condition.StaffData}}
	text, ok := p.top.whoText(n, key)
	if !ok {
		return w
	}
	w.Written, w.Text = text, condition.Canonical(text)
	staff, problems := condition.CheckStaff(text, condition.Scope{Members: container.Empty})
	if len(problems) > 0 && !p.top.input.unknown() {
		if _, others := condition.CheckStaff(text, condition.Scope{Members: p.result.Input, Words: condition.WordInstance}); len(others) == 0 {
			p.fail(w.Pos, codeStaff, fmt.Sprintf("%s of a process reads no data: it is asked before there are any", key),
				fmt.Sprintf("write `%s: role(\"NAME\")`, org or person; who may do an activity may depend on its input", key))
			return w
		}
	}
	p.failCondition(n, codeStaff, problems)
	if len(problems) > 0 {
		return w
	}
	w.Staff = staff
	staff.All(func(term *condition.Staff) {
		if term.Activity != "" {
			p.fail(p.within(n, term.Offset), codeStaff, fmt.Sprintf("%s of a process is asked without an instance, in which nobody did %s", key, term.Activity),
				fmt.Sprintf("write `%s: role(\"NAME\")`, org or person", key))
		}
	})
	return w
}

// doers looks at who is asked for by did and manages, now that it is known what comes before what.
func (d *draft) doers() {
	for _, s := range d.steps {
		asked := map[string]bool{}
		for _, read := range s.whos {
			read.who.Staff.All(func(term *condition.Staff) {
				if term.Activity != "" && d.doer(s, read, term) && term.Activity != s.Name && !asked[term.Activity] {
					asked[term.Activity] = true
					s.dataIn++ // it comes by a connector
					if from := d.byName[term.Activity]; from != nil {
						from.dataOut++
					}
				}
			})
		}
	}
}

// doer says whether it can be asked who did an activity, and reports it if not.
func (d *draft) doer(s *step, read whoRead, term *condition.Staff) bool {
	name := term.Activity
	from, home := d.byName[name], d.home[name]
	fail := func(message, remedy string) bool {
		d.fail(d.within(read.n, term.Offset), codeStaff, message, remedy)
		return false
	}
	person := "person(…)"
	if strings.HasSuffix(strings.TrimSpace(read.who.Written[:term.Offset]), "!") {
		person = "!person(…)"
	}
	byData := fmt.Sprintf("map its _BY into the input, and write `%s`", person)
	switch {
	case name == sourceEnd && d.of == nil, d.stepsUnknown:
		return true
	case name == sourceEnd:
		return fail(fmt.Sprintf("source is that of %s, and who has started the instance says the one of the process", d.owner), byData)
	case from == nil && home == nil:
		return fail(fmt.Sprintf("there is no activity %s", name), d.oneOfSteps(name))
	case from == nil && d.isAround(home):
		return fail(fmt.Sprintf("%s is outside %s", name, d.owner), byData)
	case from == nil:
		return fail(fmt.Sprintf("%s is inside %s", name, home.owner), fmt.Sprintf("map its _BY to sink there, and on into the input of %s, and write `%s`", s.Name, person))
	case from.Staff == nil:
		return fail(fmt.Sprintf("%s %s, so nobody did it", name, from.doneBy()), fmt.Sprintf("name a manual activity before %s, with `staff`", s.Name))
	case from == s && read.ofNotice:
		return true
	case from == s:
		return fail(name+" does not come before itself", "name a manual activity before it")
	case from.Bundle != nil:
		return fail(fmt.Sprintf("%s is done once for each %s, so no one person did it", name, forEach(from.Bundle.Member)), "name a manual activity without `for_each`")
	case d.topology != nil && !d.controlUnknown && !d.above(s).has(from.index):
		return fail(fmt.Sprintf("%s does not come before %s", name, s.Name), fmt.Sprintf("name a manual activity before %s, or add a control connector, such as `- %s -> %[1]s`", s.Name, name))
	case s.Start.Kind == StartFirst && !read.ofNotice: // four eyes would hold by chance
		return fail(fmt.Sprintf("%s begins with the first, so %s may not have ended by then, and nobody can say who did it", s.Name, name),
			fmt.Sprintf("let %s wait for all that leads to it, and give `start: first` to an `empty` activity before it", s.Name))
	}
	return true
}

// isAround says whether a graph is around this one.
func (d *draft) isAround(other *draft) bool {
	for g := d.outer; g != nil; g = g.outer {
		if g == other {
			return true
		}
	}
	return false
}

// doneBy says how an activity is done that nobody does.
func (a *Activity) doneBy() string {
	switch a.kind() {
	case kindProgram:
		return "is run by a program"
	case kindBlock:
		return "is a block"
	case kindProcess:
		return "is a subprocess"
	case kindEmpty, kindWait, kindReceive, kindSend, kindManual:
	}
	return "needs nobody"
}

// title reads the text under which people see an activity.
func (d *draft) title(s *step, n *yaml.Node) []processtable.TitlePart {
	if n == nil {
		return nil
	}
	text, ok := d.scalar(n, "a text")
	if !ok {
		return nil
	}
	switch {
	case strings.TrimSpace(text) == "":
		d.fail(d.pos(n), codeValue, "the title is empty", "write one, or leave `title` out: it is the name of the activity then")
		return nil
	case len(text) > processtable.MaxTitleText:
		d.fail(d.pos(n), codeLimit, fmt.Sprintf("the title has %d bytes", len(text)), fmt.Sprintf("use at most %d; when its members are filled in, what is above %d characters is cut", processtable.MaxTitleText, processtable.MaxTitle))
		return nil
	}
	return d.titleParts(s, n, text)
}

// inTitle matches the name of a member, in braces.
var inTitle = regexp.MustCompile(`^\{\s*([^{}]*?)\s*\}`)

func (d *draft) titleParts(s *step, n *yaml.Node, text string) (parts []processtable.TitlePart) {
	var plain strings.Builder
	end := func() {
		if plain.Len() > 0 {
			parts = append(parts, processtable.TitlePart{Text: plain.String()})
			plain.Reset()
		}
	}
	for at := 0; at < len(text); {
		if text[at] != '{' {
			plain.WriteByte(text[at])
			at++
			continue
		}
		if strings.HasPrefix(text[at:], "{{") {
			plain.WriteByte('{')
			at += 2
			continue
		}
		m := inTitle.FindStringSubmatch(text[at:])
		if m == nil || m[1] == "" {
			d.fail(d.within(n, at), codeValue, "this brace is not closed around the name of a member", "write {MEMBER}, or {{ for a brace")
			return parts
		}
		end()
		if path, ok := d.titleMember(s, n, at, m[1]); ok {
			parts = append(parts, processtable.TitlePart{Member: path})
		}
		at += len(m[0])
	}
	end()
	return parts
}

// titleMember finds a member that a title shows.
func (d *draft) titleMember(s *step, n *yaml.Node, at int, name string) (container.Path, bool) {
	if s.input.unknown() {
		return nil, false
	}
	where := d.within(n, at)
	if len(s.input.members.Members) == 0 {
		d.fail(where, codeUnknownName, fmt.Sprintf("%s declares no input, so it has no member %s", s.Name, name), fmt.Sprintf("write `input: STRUCTURE` at %s, or {{ for a brace", s.Name))
		return nil, false
	}
	path, t, err := s.input.members.Resolve(name)
	switch {
	case err != nil:
		remedy := d.oneOfMembers(name, s.input.members)
		if strings.ContainsAny(name, "()[]+-*/ ") {
			remedy = "a title shows members: map what is to be shown into a member"
		}
		d.fail(where, codeUnknownName, fmt.Sprintf("%s has no member %s", s.input.members, name), remedy)
		return nil, false
	case t.Kind == container.Structure || t.Kind == container.List:
		remedy := "name a member with one value"
		if t.Kind == container.Structure && len(t.Members) > 0 {
			remedy = fmt.Sprintf("name a member of it, such as {%s.%s}", name, t.Members[0].Name)
		}
		d.fail(where, codeMismatch, fmt.Sprintf("%s is %s, and a title shows single values", name, article(t)), remedy)
		return nil, false
	}
	return path, true
}

// offeredAt reads at which nodes an activity is offered.
func (d *draft) offeredAt(s *step, n *yaml.Node) {
	if n == nil || s.Staff == nil {
		return
	}
	before := d.errors
	if n.Kind == yaml.ScalarNode && !isNull(n) && d.set(n.Value) == nil && validNode(n.Value) {
		remedy := fmt.Sprintf("write `[%s]` for the node", n.Value)
		if near, ok := d.nearest(n.Value, d.setNames()); ok {
			remedy = fmt.Sprintf("did you mean %s? Or %s", near, remedy)
		}
		d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("%s is no set of `nodes`", n.Value), remedy)
		return
	}
	nodes := d.nodesMeant(n, nodeList{processtable.MaxOffered, fmt.Sprintf("there is no node at which %s is offered", s.Name), "name one, or leave `offered_at` out", "offered_at of " + s.Name + " has %d nodes", "use at most %d"})
	switch {
	case d.errors != before || slices.Equal(nodes, []string{s.Node}):
	case s.Node == OriginNode:
		d.fail(d.pos(n), codeKeyNotHere, "what is hosted where its instance was started cannot be offered at other sites", "write under `node` the site that decides who gets it, or leave `offered_at` out")
	default:
		s.OfferedAt = nodes
	}
}

const remedyPriority = "write 0 to 9, 9 first"

// priority reads one; nil: there is none.
func (d *draft) priority(s *step, n *yaml.Node) *Priority {
	if n == nil {
		return nil
	}
	p := &Priority{Pos: d.pos(n)}
	written, ok := d.scalar(n, "0 to 9, or an expression")
	text := strings.TrimSpace(written)
	switch _, known := s.input.members.MemberIndex(text); {
	case !ok:
	case isConstant(text):
		var err error
		if p.Fixed, err = strconv.Atoi(text); err != nil || p.Fixed < 0 || p.Fixed > processtable.MaxPriority {
			d.fail(p.Pos, codeValue, fmt.Sprintf("priority cannot be %s", text), "a priority is 0 to 9, 9 first: write such a number, or an expression of type int")
		}
	case condition.ValidName(text) && !condition.IsReserved(text) && !known && !s.input.unknown():
		what := s.input.members.String()
		if len(s.input.members.Members) == 0 {
			what = "the input, which has none"
		}
		d.fail(p.Pos, codeUnknownName, fmt.Sprintf("%s is no member of %s", text, what), remedyPriority)
	default:
		p.Expr = d.expression(s, n, written, container.Scalar(container.Int))
	}
	return p
}
