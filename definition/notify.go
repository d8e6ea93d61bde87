package definition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/processtable"
)

// Notice is a program that runs beside the work of an activity, or of an instance (N23), or what people are shown (N27), or both.
type Notice struct {
	Pos     Pos
	Program string                 // empty: none runs
	On      processtable.Occasions // of the process: what has to happen; 0: nothing, it comes at First, which is empty with On
	First   *Moment                // never nil
	Every   *Moment                // a duration; nil: it comes once
	Staff   *Who                   // who is shown it; nil: nobody, or, of a manual activity without Program, who has that, or may have it
}

// forPeople says whether people are shown it.
func (n *Notice) forPeople() bool { return n.Staff != nil || n.Program == "" }

var (
	noticeKeys = []string{"after", "at", "every", "program", "staff", "on"}
	noticeForm = momentForm{"notify", "after", "at"}
)

const remedyNotify = "write `notify: [{after: 1d, program: remind}]`"

// notify reads what runs beside the work of s.
func (d *draft) notify(s *step, n *yaml.Node) (all []Notice) {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		d.is(n, yaml.SequenceNode, "a list of notices", remedyNotify)
		return nil
	}
	if len(n.Content) == 0 || len(n.Content) > processtable.MaxNotices {
		d.fail(d.pos(n), codeValue, fmt.Sprintf("notify has %d notices", len(n.Content)), fmt.Sprintf("write 1 to %d, or leave it out", processtable.MaxNotices))
		return nil
	}
	for _, c := range n.Content {
		if notice, ok := d.notice(s, c); ok {
			all = append(all, notice)
		}
	}
	return all
}

func (d *draft) notice(s *step, n *yaml.Node) (Notice, bool) {
	out := Notice{Pos: d.pos(n), First: &Moment{Pos: d.pos(n), Fixed: 1}}
	if !d.is(n, yaml.MappingNode, "the keys of a notice", remedyNotify) {
		return out, false
	}
	f := d.fields(n, "a notice", noticeKeys)
	after, at := f["after"], f["at"]
	switch {
	case f["on"] != nil:
		out.First = &Moment{Pos: d.pos(n)}
		if !d.occasions(s, f, &out) {
			return out, false
		}
	case after != nil && at != nil:
		d.fail(d.pos(at), codeValue, "a notice has `after` and `at`", "keep one of them")
	case after != nil:
		d.momentValue(s, after, out.First, "after", "at")
	case at != nil:
		out.First.At = true
		d.momentValue(s, at, out.First, "at", "after")
	default:
		d.fail(out.Pos, codeMissingKey, "a notice needs the key after, or at", remedyNotify)
	}
	if every := f["every"]; every != nil {
		out.Every = &Moment{Pos: d.pos(every), Fixed: 1}
		d.momentValue(s, every, out.Every, "every", "at")
	}
	if staff := f["staff"]; staff != nil {
		before := d.errors
		if out.Staff = d.who(s, staff, "staff", true); d.errors > before {
			return out, false
		}
	}
	program := f["program"]
	switch {
	case program != nil:
	case out.Staff != nil, s.Staff != nil, out.On != 0: // with On for who has started the instance
		return out, true
	default:
		d.fail(out.Pos, codeMissingKey, "a notice needs the key program, or staff", remedyNotify+", or `staff: role(\"NAME\")` for who is to see it")
		return out, false
	}
	if isCommand(program) {
		d.fail(d.pos(program), codeForm, fmt.Sprintf("expected the name of a program, found a command (%s)", formOf(program)), remedyCommand)
		return out, false
	}
	out.Program, _ = d.name(program, programName)
	return out, true
}

const remedyOn = "write `on: end`, or several of end, error and deadline as `on: [end, error]`"

// occasions reads what has to happen to an instance for a notice of its process.
func (d *draft) occasions(s *step, f map[string]*yaml.Node, out *Notice) bool {
	n := f["on"]
	for _, key := range []string{"after", "at", "every"} {
		if f[key] != nil {
			d.fail(d.pos(f[key]), codeValue, "a notice has `on` and `"+key+"`", "keep one of them: with `on` it comes when that has happened, without it at its time")
			return false
		}
	}
	if s.Name != "" {
		d.fail(d.pos(n), codeForm, "on is of the notices of a process, and this is one of "+s.Name,
			"write it in `notify` of the process, which tells of all activities; or take `on_error`, or a path of _TIMEOUT")
		return false
	}
	all := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		if all = n.Content; len(all) == 0 {
			d.fail(d.pos(n), codeValue, "on names nothing that happens", remedyOn)
			return false
		}
	}
	for _, c := range all {
		word, ok := d.scalar(c, "what happens to an instance")
		if !ok {
			return false
		}
		one := processtable.OccasionOf(word)
		switch {
		case one == 0:
			d.fail(d.pos(c), codeValue, fmt.Sprintf("%q is nothing that a notice is about", word), remedyOn)
			return false
		case out.On&one != 0:
			d.fail(d.pos(c), codeDuplicateName, word+" is named twice", "remove one of the two")
			return false
		}
		out.On |= one
	}
	return true
}

// noticesNever warns of a notice about deadlines where nothing has one.
func (p *processDraft) noticesNever() {
	if p.result.Deadline != nil {
		return
	}
	for _, d := range p.graphs {
		if slices.ContainsFunc(d.steps, func(s *step) bool { return s.Deadline != nil }) {
			return
		}
	}
	for _, n := range p.result.Notify {
		if n.On&processtable.OnDeadline != 0 {
			p.warn(n.Pos, codeNotifyLate, "a notice of deadlines comes never: nothing here has a deadline", "give what is to be done in time a `deadline`, or leave deadline out of `on`")
		}
	}
}

// noticesLate warns of what never comes, because the deadline ends the work before.
func (d *draft) noticesLate(all []Notice, deadline *Moment) {
	for _, n := range all {
		if n.On != 0 || deadline == nil || deadline.Expr != nil || n.First.Expr != nil || n.First.At != deadline.At || n.First.Fixed < deadline.Fixed {
			continue
		}
		d.warn(n.First.Pos, codeNotifyLate, fmt.Sprintf("%s comes never: the deadline is %s", noticeForm.written(n.First.inTable()), deadlineForm.written(deadline.inTable())),
			"let it come before the deadline, or take the path of _TIMEOUT")
	}
}

// isNoticed says whether a name is that of a program of a notice.
func (d *draft) isNoticed(name string) bool {
	for _, s := range d.steps {
		for _, n := range s.Notify {
			if name != "" && n.Program == name {
				return true
			}
		}
	}
	return false
}

// noticesInTable are notices as tables have them.
func noticesInTable(all []Notice) (out []processtable.Notice) {
	for _, n := range all {
		row := processtable.Notice{Program: processtable.ProgramID(n.Program), On: n.On, First: *n.First.inTable(), Every: n.Every.inTable(), Staff: n.Staff.inTable()}
		if n.On != 0 && row.Staff == nil && row.Program == "" {
			row.Staff = &processtable.Who{Is: processtable.WhoDid, Activity: processtable.Source}
		}
		out = append(out, row)
	}
	return out
}

// processNotices looks at whom the notices of the process ask for: when they begin nobody has done anything but to start it.
func (p *processDraft) processNotices(over *step) {
	for _, read := range over.whos {
		read.who.Staff.All(func(term *condition.Staff) {
			if term.Activity != "" && term.Activity != sourceEnd {
				p.fail(p.within(read.n, term.Offset), codeStaff, fmt.Sprintf("a notice of the process does not know who did %s: it counts from the start", term.Activity),
					fmt.Sprintf("give it to an activity behind %s, or write did(source) or manages(source) for who has started the instance", term.Activity))
			}
		})
	}
}

// noticeAsks names the activities whose doers the notices of a ask for, without itself: who has that is known at the moment.
func (a *Activity) noticeAsks() (all []string) {
	for _, n := range a.Notify {
		for _, name := range n.Staff.Asks() {
			if name != a.Name && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// showNotices writes notices as the language has them: "after 1d remind, for role("lead"), every 1h".
func showNotices(all []processtable.Notice) string {
	texts := make([]string, len(all))
	for i, n := range all {
		if texts[i] = "on " + n.On.String(); n.On == 0 {
			texts[i] = noticeForm.written(&n.First)
		}
		if n.Program != "" {
			texts[i] += " " + string(n.Program)
		}
		switch {
		case n.Staff != nil:
			texts[i] += ", for " + whoWritten(n.Staff)
		case n.Program == "":
			texts[i] += ", for who has it, or may have it"
		}
		if n.Every != nil {
			every := durationText(time.Duration(n.Every.Fixed))
			if n.Every.Expr != nil {
				every = n.Every.Expr.Text
			}
			texts[i] += ", every " + every
		}
	}
	return strings.Join(texts, "; ")
}
