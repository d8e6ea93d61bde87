package definition

import (
	"slices"
	"strings"

	"fmqm/container"
	"fmqm/processtable"
)

// Limits of events.
const (
	MaxEventKey = processtable.MaxEventKey // bytes of a key
	MaxKeep     = processtable.MaxKeep     // how long one may be kept
)

// Event is one that a process receives or sends (N24).
type Event struct {
	Pos  Pos
	Name string
	Type *container.Type // of its data; container.Empty: it has none
}

// Receive is what an activity waits for: the first of Events that has the key (N24).
type Receive struct {
	Pos    Pos
	Events []*Event   // in file order; at least one
	Key    *Condition // over the input, a text; nil: it takes those sent without a key
}

// Names gives the names of the events, in file order.
func (r *Receive) Names() []string {
	names := make([]string, len(r.Events))
	for i, e := range r.Events {
		names[i] = e.Name
	}
	return names
}

// Send is what an activity sends (N24): the event's data are the members of its input of the same name
// and type.
type Send struct {
	Pos   Pos
	Event *Event
	Key   *Condition // over the input, a text; nil: without a key
	// To is the node that it is sent to, the activity's own where the file names none; empty: ToExpr, over the
	// input, gives one of Of.
	To     string
	ToExpr *Condition
	Of     []string
	Keep   *Moment // how long it is kept there, never At; nil: as that node has it
}

// Targets names the nodes that the event may be sent to.
func (s *Send) Targets() []string {
	if s.To != "" {
		return []string{s.To}
	}
	return s.Of
}

// inTable is the receive as tables have it.
func (r *Receive) inTable() *processtable.Receive {
	if r == nil {
		return nil
	}
	t := &processtable.Receive{}
	for _, e := range r.Events {
		t.Events = append(t.Events, processtable.ReceivedEvent{Name: processtable.EventID(e.Name), Type: e.Type})
	}
	if r.Key != nil {
		t.Key = &r.Key.Checked
	}
	return t
}

// inTable is the send as tables have it.
func (s *Send) inTable() *processtable.Send {
	if s == nil {
		return nil
	}
	t := &processtable.Send{Event: processtable.EventID(s.Event.Name), Type: s.Event.Type, To: placeOf(s.To), Keep: s.Keep.inTable()}
	if s.Key != nil {
		t.Key = &s.Key.Checked
	}
	if s.ToExpr != nil {
		t.ToExpr = &s.ToExpr.Checked
	}
	for _, n := range s.Of {
		t.Of = append(t.Of, processtable.NodeID(n))
	}
	return t
}

// receives says what a receive takes, for people: "part_arrived or repair_cancelled, key job".
func receives(r *processtable.Receive) string {
	names := make([]string, len(r.Events))
	for i, e := range r.Events {
		names[i] = string(e.Name)
	}
	text := strings.Join(names, " or ")
	if r.Key != nil {
		text += ", key " + r.Key.Text
	}
	return text
}

// sends says what a send sends, for people: "part_arrived, key job, to office, keep 60d".
func sends(s *processtable.Send) string {
	text := string(s.Event)
	if s.Key != nil {
		text += ", key " + s.Key.Text
	}
	text += ", to "
	if s.ToExpr == nil {
		text += s.To.Word()
	} else {
		var of []string
		for _, n := range s.Of {
			of = append(of, string(n))
		}
		text += s.ToExpr.Text + " of " + strings.Join(of, ", ")
	}
	if s.Keep != nil {
		_, value, _ := strings.Cut(deadlineForm.written(s.Keep), " ")
		text += ", keep " + value
	}
	return text
}

// eventsOf gives what the activities of a process receive and send, each once, sorted by name.
func eventsOf(p *Process) []*Event {
	var all []*Event
	for _, a := range p.All() {
		if a.Receive != nil {
			all = append(all, a.Receive.Events...)
		}
		if a.Send != nil {
			all = append(all, a.Send.Event)
		}
	}
	slices.SortFunc(all, func(a, b *Event) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(all)
}
