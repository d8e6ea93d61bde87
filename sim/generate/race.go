package generate

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Racing draws processes in which activities end otherwise than by themselves as well: they have
// deadlines, catch errors, cancel each other, wait, and take the first match. How their races come
// out is for the run to say.
func Racing() *rapid.Generator[*Case] { return RacingAt(Nodes) }

// RacingAt is Racing with other sites.
func RacingAt(nodes []string) *rapid.Generator[*Case] {
	return cases(nodes, func(d *drawing) {
		d.races, d.steady = true, !d.in(3, "unsteady")
		d.process()
	})
}

// early draws how an activity may end before its work is done, and that it takes the first match.
func (d *drawing) early(s *step) {
	if !d.races {
		return
	}
	if s.out > 0 && d.in(3, "deadline") {
		s.late = true
		d.line("deadline: {%s}", d.moment(s, "after", "at"))
	}
	if d.in(3, "on_error") {
		s.continues = true
		d.line("on_error: continue")
	}
	if s.out > 1 && d.in(3, "choice") {
		d.line("choice: first_match")
	}
	d.notices(s)
}

// Times that programs, most of which are quick and some slow, come before and after; worlds begin at
// eight o'clock.
var (
	pauses  = []string{"1ms", "5ms", "15ms", "100ms", "2s", "10s", "2m", "1h"}
	moments = []string{"2020-01-02T03:04:05Z", "2026-03-02T08:00:20Z", "2026-03-02T08:10:00Z", "2026-03-02T09:30:00Z"}
)

// moment draws a time that is counted, or one of the calendar.
func (d *drawing) moment(s *step, counted, calendar string) string {
	after := pauses
	if given := s.input.of("duration"); len(given) > 0 && d.in(3, "given") {
		after = given
	}
	if d.in(5, "calendar") {
		return fmt.Sprintf("%s: %s", calendar, pick(d, moments, "time"))
	}
	return fmt.Sprintf("%s: %s", counted, pick(d, after, "pause"))
}

// waits makes an activity that would be empty one that waits.
func (d *drawing) waits(s *step) bool {
	if !d.races || s.exit || !d.in(2, "wait") {
		return false
	}
	d.line("wait: {%s}", d.moment(s, "for", "until"))
	return true
}

// first has an activity begin with the first connectors.
func (d *drawing) first(s *step) bool {
	if !d.races || len(s.before) < 2 || !d.in(2, "first") {
		return false
	}
	if k := 1 + d.upTo(len(s.before)-2, "k"); k > 1 {
		d.line("start: {first: %d}", k)
	} else {
		d.line("start: first")
	}
	s.first = true
	return true
}

// cancels draws whom an activity cancels: others that neither come before it nor after.
func (d *drawing) cancels(g *graph, s *step) {
	if !d.races {
		return
	}
	var beside []string
	for _, other := range g.steps {
		if other != s && !s.above[other] && !other.above[s] {
			beside = append(beside, other.name)
		}
	}
	if len(beside) > 0 && d.in(3, "cancels") {
		d.line("cancels: [%s]", strings.Join(d.subset(beside, "cancelled"), ", "))
	}
}

// atDeadline draws a condition that asks whether the deadline has ended s.
func (d *drawing) atDeadline(s *step) string {
	if s.bundle != nil {
		return pick(d, []string{"_FAILED > 0", "_FAILED == 0", `_ERRORS.exists(e, e == "deadline")`, "_FAILED > 0 || _DONE > 1"}, "at the deadline")
	}
	switch d.upTo(3, "at the deadline") {
	case 0:
		return "_TIMEOUT"
	case 1:
		return "!_TIMEOUT"
	case 2:
		return fmt.Sprintf("_TIMEOUT || %s", d.term(s))
	}
	return fmt.Sprintf("!_TIMEOUT && %s", d.term(s))
}

// word draws a comparison that asks how s has ended, or nothing.
func (d *drawing) word(s *step) string {
	switch {
	case len(s.receives) > 0 && d.in(2, "which event"):
		return d.came(s)
	case s.manual && d.in(3, "who"):
		return d.who()
	case s.late && d.in(6, "timeout"):
		return pick(d, []string{"_TIMEOUT", "!_TIMEOUT"}, "timeout")
	case s.continues && d.in(4, "error"):
		return pick(d, []string{`_ERROR == ""`, `_ERROR != ""`, "size(_ERROR) > 30"}, "error")
	}
	return ""
}

// words are the engine's of a type, that mappings out of s may take; nil is source, which has none.
func (s *step) words(of string) []string {
	switch {
	case s == nil:
	case of == "int":
		return []string{"_RC"}
	case of == "bool" && s.late:
		return []string{"_TIMEOUT"}
	case of == "string" && len(s.receives) > 0:
		return []string{"_EVENT"}
	case of == "string" && s.manual:
		return []string{"_BY"}
	case of == "string" && s.continues:
		return []string{"_ERROR"}
	}
	return nil
}
