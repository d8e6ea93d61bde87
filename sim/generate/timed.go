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
	if d.in(2, "history") {
		d.line("history: {iterations: %d}", 1+d.upTo(2, "iterations kept"))
	}
	d.notices(&step{input: d.input})
}

// everies are how often a program runs again: seldom, since what is in error waits for hours.
var everies = []string{"2m", "20m", "3h"}

// notices draws what runs beside the work of s.
func (d *drawing) notices(s *step) {
	if !d.timed || !d.in(2, "notify") {
		return
	}
	var all []string
	for range 1 + d.upTo(1, "notices") {
		text := fmt.Sprintf("{%s, program: %s", d.moment(s, "after", "at"), pick(d, Programs, "program of a notice"))
		if d.in(3, "every") {
			text += ", every: " + pick(d, everies, "how often")
		}
		all = append(all, text+"}")
	}
	d.line("notify: [%s]", strings.Join(all, ", "))
}

// lasting is an exit condition that comes true after more iterations than history keeps, and than are looked at once.
func (d *drawing) lasting(*step) string { return "i0 > 17 && i0 < 100" }
