package generate

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// TimedAt draws processes as RacingAt does, in which programs run beside the work at their times (N23), which may have a
// deadline of their own, and of whose loops, some of which are long, the history keeps few iterations (N16).
func TimedAt(nodes []string) *rapid.Generator[*Case] {
	return cases(nodes, func(d *drawing) {
		d.races, d.timed, d.steady = true, true, !d.in(3, "unsteady")
		d.process()
	})
}

// times writes what the process itself has of that.
func (d *drawing) times() {
	if !d.timed {
		return
	}
	if d.in(3, "deadline of the process") {
		d.line("deadline: {%s}", d.moment(&step{input: d.input}, "after", "at"))
	}
	if d.thins = d.in(2, "history"); d.thins {
		d.line("history: {iterations: %d}", 1+d.upTo(5, "iterations kept"))
	}
}

// everies are how often a program runs again: seldom, since what is in error waits for hours.
var everies = []string{"2m", "20m", "3h"}

// notices draws what runs beside the work of s.
func (d *drawing) notices(s *step) { d.notify(d.inTime(s)) }

// notify writes notices, if there are any.
func (d *drawing) notify(all []string) {
	if len(all) > 0 {
		d.line("notify: [%s]", strings.Join(all, ", "))
	}
}

// inTime draws programs that run beside the work of s at their times.
func (d *drawing) inTime(s *step) (all []string) {
	if !d.timed || !d.in(2, "notify") {
		return nil
	}
	for range 1 + d.upTo(1, "notices") {
		text := fmt.Sprintf("{%s, program: %s", d.moment(s, "after", "at"), pick(d, Programs, "program of a notice"))
		if d.in(3, "every") {
			text += ", every: " + pick(d, everies, "how often")
		}
		all = append(all, text+"}")
	}
	return all
}

// happenings draws who is told of what happens to an instance (R58), where its process is about people or times: a program, people by
// their role, or who has started it.
func (d *drawing) happenings() (all []string) {
	if !d.timed && !d.people || !d.in(2, "told") {
		return nil
	}
	for range 1 + d.upTo(2, "told lines") {
		text := fmt.Sprintf("{on: [%s]", strings.Join(d.subset([]string{"end", "error", "deadline"}, "occasion"), ", "))
		if d.people && d.in(2, "told a role") {
			text += ", staff: " + quoted(pick(d, []string{`role("clerk")`, `role("chief")`}, "role that is told"))
		}
		if !d.people || d.in(3, "told a program") {
			text += ", program: " + pick(d, Programs, "program that is told")
		}
		all = append(all, text+"}")
	}
	return all
}

// lasting is an exit condition that comes true after more iterations than history keeps, and soon after the first look at
// them (which is at the sixteenth), so that what that has to leave is still what history keeps.
func (d *drawing) lasting(*step) string { return "i0 > 16 && i0 < 100" }

// lasts draws whether an activity that has an exit condition takes that one.
func (d *drawing) lasts(s *step) bool {
	return d.timed && d.steady && s.output != nil && d.deepest <= 1 && (d.in(3, "lasting") || d.thins && s.block && d.in(2, "more lasting"))
}
