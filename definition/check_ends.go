package definition

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/condition"
	"fmqm/container"
)

// At a deadline, and after an error with `on_error: continue`, an activity has ended without an
// output: conditions see its defaults, and the words that say so (N22, N23). Who takes the path?

// deadlinesRead reports deadlines of which nothing that follows knows.
func (d *draft) deadlinesRead() {
	for _, s := range d.steps {
		if s.Deadline == nil || s.Deadline.unread || s.Wait != nil || s.Empty || s.Send != nil || s.pathRead(condition.WordTimeout) || d.hasOtherwise(s) || s.outUnsure || s.outUnknown || d.asksTimeAnywhere(s) {
			continue
		}
		of, reads := s.Name, "_TIMEOUT"
		if s.Bundle != nil {
			of, reads = "an element of "+s.Name, "_FAILED > 0"
		}
		d.fail(s.Deadline.Pos, codeDeadlineUnread, fmt.Sprintf("who takes the path at the deadline of %s?", of),
			fmt.Sprintf("Add `- %s -> ACTIVITY: %s`, or an otherwise", s.Name, reads))
	}
}

// pathRead says whether anything takes the path of what ends s otherwise than by itself.
func (s *step) pathRead(word condition.Words) bool {
	if s.Bundle != nil {
		return s.failuresRead()
	}
	return s.reads&word != 0
}

// hasOtherwise says whether a connector out of s is taken where no other is: an otherwise or, where the
// first match is taken, one without a condition behind others.
func (d *draft) hasOtherwise(s *step) bool {
	always := slices.IndexFunc(s.out, func(i int) bool { return d.Control[i].begins(d.transition[i]) })
	return s.otherwise != nil || s.FirstMatch && always > 0
}

// checkEnds warns of errors that nothing reads, and of conditions that are TRUE over the defaults.
func (d *draft) checkEnds() {
	for _, s := range d.steps {
		if s.Continues && !s.pathRead(condition.WordError) && !s.readsRC && !d.hasOtherwise(s) {
			word, reads := "_ERROR", `_ERROR != ""`
			if s.Bundle != nil {
				word, reads = "_FAILED or _ERRORS", "_FAILED > 0"
			}
			d.warn(s.onErrorAt, codeOnErrorUnread,
				fmt.Sprintf("nothing reads %s of %s, and no otherwise leads out of it, so its errors go unseen", word, s.Name),
				fmt.Sprintf("add `- %s -> ACTIVITY: %s`, or an otherwise", s.Name, reads))
		}
		if s.Bundle == nil { // what its conditions read is not one output
			d.checkDefaults(s)
		}
	}
}

// checkDefaults warns of conditions that do not ask how s has ended, and are TRUE where it has ended
// without an output; but not where the first match is taken, and one that asks comes before.
func (d *draft) checkDefaults(s *step) {
	late, failed := s.Deadline != nil, s.Continues
	for _, i := range s.out {
		c := d.Control[i].Condition
		if c == nil && s.FirstMatch && !d.Control[i].Otherwise {
			return
		}
		if c == nil || !late && !failed {
			continue
		}
		asks := c.Checked.Reads&s.Words()&^condition.WordEvent != 0 || d.asksTime(s, c)
		if !asks {
			d.checkDefault(s, c, late, failed && !c.Checked.ReadsRC)
		}
		if s.FirstMatch {
			late = late && !(asks && d.overDefaults(s, c, condition.Values{RC: noCode, Timeout: true}))
			failed = failed && !((asks || c.Checked.ReadsRC) && d.overDefaults(s, c, condition.Values{RC: noCode, Error: anError}))
		}
	}
}

const (
	noCode  = -1      // _RC where there is no return code
	anError = "error" // _ERROR, as far as one can know
)

// checkDefault warns of a condition that is TRUE at the deadline of s, or after an error. One that reads
// _RC asks for errors.
func (d *draft) checkDefault(s *step, c *Condition, late, failed bool) {
	var when, and []string
	either := "otherwise"
	if late {
		when, and = append(when, "at the deadline"), append(and, "!_TIMEOUT")
	}
	if failed {
		when, and = append(when, "after an error"), append(and, `_ERROR == ""`)
		either = "let one condition read both"
	}
	if len(when) == 0 || !d.overDefaults(s, c, condition.Values{RC: noCode}) {
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

// overDefaults says whether a condition is TRUE over the defaults of an output, beside these words, within
// the effort.
func (d *draft) overDefaults(s *step, c *Condition, words condition.Values) bool {
	loaded, err := condition.Load(c.Checked, s.scope())
	if err != nil {
		return false
	}
	holds, err := loaded.EvalWithin(&d.left.defaults, container.New(s.Output), &words)
	return err == nil && holds
}
