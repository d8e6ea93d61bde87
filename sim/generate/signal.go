package generate

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"fmqm/definition"
)

// SignalsAt draws processes as RacingAt does, in which activities send events and others receive them as
// well, by the instance as their key. Every receive has a deadline, so that none waits for ever.
func SignalsAt(nodes []string) *rapid.Generator[*Case] {
	return cases(nodes, func(d *drawing) {
		d.races, d.signals, d.steady = true, true, !d.in(3, "unsteady")
		d.process()
	})
}

// event is one that the process declares.
type event struct {
	name string
	data *structure // nil: none
}

// declare writes the events of the process.
func (d *drawing) declare() {
	if !d.signals {
		return
	}
	var written []string
	for i := range 1 + d.upTo(2, "events") {
		data, e := "{}", event{data: d.maybeStructure("data of an event")}
		if e.data != nil {
			data = e.data.name
		}
		// No two processes mean events with other data by one name.
		e.name = fmt.Sprintf("e%d-%08x", i, crc32.ChecksumIEEE([]byte(d.text.String()+data)))
		d.events = append(d.events, e)
		written = append(written, fmt.Sprintf("%s: %s", e.name, data))
	}
	d.line("events: {%s}", strings.Join(written, ", "))
}

// signal draws whether an activity receives events, or sends one.
func (d *drawing) signal(g *graph, s *step) {
	if !d.signals || s.block || g.counts(s) {
		return
	}
	switch n := d.upTo(5, "signal"); {
	case n > 2 && s.out > 0:
		s.receives = d.subset(d.eventNames(), "received")
		slices.Sort(s.receives)
	case n > 0 && !s.exit:
		s.sends = true
	}
}

// meeting is a site where events are received: mostly the first one, so that they meet.
func (d *drawing) meeting() string {
	if d.in(8, "far") {
		return pick(d, d.nodes, "meeting")
	}
	return d.nodes[0]
}

func (d *drawing) eventNames() []string {
	names := make([]string, len(d.events))
	for i, e := range d.events {
		names[i] = e.name
	}
	return names
}

// key is mostly the same, so that events meet who waits for them.
func (d *drawing) key() string {
	if d.in(8, "another key") {
		return `'_INSTANCE + "/2"'`
	}
	return "_INSTANCE"
}

// patience is how long a receive waits: mostly long enough for what is sent.
var patience = []string{"15ms", "2s", "10s", "2m", "1h"}

// receive writes that an activity receives events.
func (d *drawing) receive(g *graph, s *step) {
	s.late = true
	when := "after: " + pick(d, patience, "patience")
	if d.in(4, "any time") {
		when = d.moment(s, "after", "at")
	}
	d.line("deadline: {%s}", when)
	if s.out > 1 && d.in(3, "choice") {
		d.line("choice: first_match")
	}
	d.cancels(g, s)
	what := "event: " + s.receives[0]
	if len(s.receives) > 1 || d.in(2, "of one") {
		what = fmt.Sprintf("one_of: [%s]", strings.Join(s.receives, ", "))
	}
	d.line("receive: {%s, key: %s}", what, d.key())
}

// send writes that an activity sends an event, to any site.
func (d *drawing) send(g *graph, s *step) {
	d.cancels(g, s)
	text := fmt.Sprintf("event: %s, key: %s", pick(d, d.events, "sent").name, d.key())
	switch d.upTo(6, "to") {
	case 1, 2, 3, 4, 5:
		to := d.meeting()
		if d.atOrigin && d.in(2, "to the origin") {
			to = definition.OriginNode
		}
		text += ", to: " + to
	case 6:
		text += fmt.Sprintf(", to: {node: '\"%s\"', of: [%s]}", d.meeting(), strings.Join(d.nodes, ", "))
	}
	if d.in(4, "keep") {
		text += ", keep: " + pick(d, []string{"1m", "1h", "30d"}, "how long")
	}
	d.line("send: {%s}", text)
}

// came draws a comparison that asks which event has come.
func (d *drawing) came(s *step) string {
	return d.form([]string{
		fmt.Sprintf(`_EVENT == "%s"`, s.receives[0]), fmt.Sprintf(`_EVENT != "%s"`, s.receives[len(s.receives)-1]), `_EVENT == ""`, `_EVENT != ""`,
	}, "event")
}
