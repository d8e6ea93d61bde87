package definition

import (
	"fmt"
	"strings"

	"fmqm/condition"
	"fmqm/container"
)

// At a deadline, and after an error with `on_error: continue`, an activity has ended without an
// output: conditions see its defaults, and the words that say so (N22, N23). Who takes the path?

// deadlinesRead reports deadlines of which nothing that follows knows.
func (d *draft) deadlinesRead() {
	for _, s := range d.steps {
		if s.Deadline == nil || s.Wait != nil || s.Empty || s.reads&condition.WordTimeout != 0 || s.otherwise != nil || s.outUnsure || s.outUnknown {
			continue
		}
		d.fail(s.Deadline.Pos, codeDeadlineUnread, fmt.Sprintf("who takes the path at the deadline of %s?", s.Name),
			fmt.Sprintf("Add `- %s -> ACTIVITY: _TIMEOUT`, or an otherwise", s.Name))
	}
}

// checkEnds warns of errors that nothing reads, and of conditions that are TRUE over the defaults.
func (d *draft) checkEnds() {
	for _, s := range d.steps {
		if s.Continues && s.reads&condition.WordError == 0 && !s.readsRC && s.otherwise == nil {
			d.warn(s.onErrorAt, codeOnErrorUnread,
				fmt.Sprintf("nothing reads _ERROR of %s, and no otherwise leads out of it, so its errors go unseen", s.Name),
				fmt.Sprintf("add `- %s -> ACTIVITY: _ERROR != \"\"`, or an otherwise", s.Name))
		}
		words := s.Words()
		for _, i := range s.out {
			if k := d.Control[i]; words != 0 && k.Condition != nil && k.Condition.Checked.Reads&words == 0 {
				d.checkDefault(s, k.Condition)
			}
		}
	}
}

// noCode is _RC where there is no return code.
const noCode = -1

// checkDefault warns of a condition that does not ask how s has ended, and is TRUE where it has
// ended without an output. One that reads _RC asks for errors.
func (d *draft) checkDefault(s *step, c *Condition) {
	var when, and []string
	either := "otherwise"
	if s.Deadline != nil {
		when, and = append(when, "at the deadline"), append(and, "!_TIMEOUT")
	}
	if s.Continues && !c.Checked.ReadsRC {
		when, and = append(when, "after an error"), append(and, `_ERROR == ""`)
		either = "let one condition read both"
	}
	if len(when) == 0 || !d.overDefaults(s, c) {
		return
	}
	text := condition.Canonical(c.Written)
	all := text
	if strings.Contains(text, "||") || strings.Contains(text, "?") {
		all = "(" + text + ")"
	}
	over := "over the default"
	if c.Checked.ReadsRC {
		over += fmt.Sprintf(", with _RC %d", noCode)
	}
	d.warn(c.Pos, codeDefaultTaken, fmt.Sprintf("%s `%s` is TRUE as well, %s", strings.Join(when, " and "), text, over),
		fmt.Sprintf("write `%s && %s`, or %s", all, strings.Join(and, " && "), either))
}

// overDefaults says whether a condition is TRUE over the defaults of an output, within the effort.
func (d *draft) overDefaults(s *step, c *Condition) bool {
	loaded, err := condition.Load(c.Checked, s.scope())
	if err != nil {
		return false
	}
	holds, err := loaded.EvalWithin(&d.left.defaults, container.New(s.Output), &condition.Values{RC: noCode})
	return err == nil && holds
}
