package processtable

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/internal/cbor"
)

// Limits of events (N24).
const (
	MaxEvents   = 64                        // that one activity waits for
	MaxEventKey = 256                       // bytes of a key
	MaxKeep     = 10 * 366 * 24 * time.Hour // how long one may be kept
)

// EventID names an event; names are as of programs.
type EventID string

// Receive is what an activity of KindReceive waits for: the first event that has one of the names, and
// the key (N24).
type Receive struct {
	Events []ReceivedEvent    // in file order; one, or one_of; at most MaxEvents
	Key    *condition.Checked // over the input, a text; nil: it takes those that were sent without a key
}

// ReceivedEvent is one that an activity may receive. What it brings has the shape of Type; the activity's
// output takes the members of the same name and type.
type ReceivedEvent struct {
	Name EventID
	Type *container.Type // never nil; the empty structure where the event has no data
}

// Send is what an activity of KindSend sends (N24): its data are the members of the input that have the
// name and type of one of Type.
type Send struct {
	Event EventID
	Type  *container.Type    // as of ReceivedEvent
	Key   *condition.Checked // over the input, a text; nil: without a key
	To    NodeID             // where it is sent, or Origin; empty: ToExpr says so
	// ToExpr is over the input, a text: one of Of, else the activity is in error. Both are only set
	// where To is empty.
	ToExpr *condition.Checked
	Of     []NodeID // in file order; they may include the activity's own node
	Keep   *Moment  // how long it is kept, counted from when it is sent, never At; nil: as the node that it is sent to says
}

// Targets names the nodes that an event may be sent to.
func (s *Send) Targets() []NodeID {
	if s.To != "" {
		return []NodeID{s.To}
	}
	return s.Of
}

// Event gives what is received under a name; nil: nothing is.
func (r *Receive) Event(name EventID) *ReceivedEvent {
	if i := slices.IndexFunc(r.Events, func(e ReceivedEvent) bool { return e.Name == name }); i >= 0 {
		return &r.Events[i]
	}
	return nil
}

// Keys of a receive, of one of its events, and of a send.
const (
	keyEvents  = 1 // list of [name, index of a structure]
	keyByKey   = 2 // index of a condition
	keySent    = 1 // [name, index of a structure]
	keySentKey = 2
	keySentTo  = 3
	keyToExpr  = 4
	keyToOf    = 5
	keyKeep    = 6
)

// events says whether a row is about events: such rows are of format 7 on.
func (a *Activity) events() bool {
	return a.Kind == KindReceive || a.Kind == KindSend || a.Receive != nil || a.Send != nil
}

// events writes what a row has of events.
func (e *encoder) events(of *cbor.Map, a *Activity) {
	if r := a.Receive; r != nil {
		of.Key(keyReceive)
		m := cbor.BeginMap(of.B)
		list(&m, keyEvents, r.Events, func(b []byte, got ReceivedEvent) []byte { return e.event(b, a.Name, got.Name, got.Type) })
		if r.Key != nil {
			writeIndex(&m, keyByKey, e.condition(r.Key))
		}
		of.B = m.B
	}
	if s := a.Send; s != nil {
		of.Key(keySend)
		m := cbor.BeginMap(of.B)
		m.Key(keySent)
		m.B = e.event(m.B, a.Name, s.Event, s.Type)
		if s.Key != nil {
			writeIndex(&m, keySentKey, e.condition(s.Key))
		}
		m.Text(keySentTo, string(s.To))
		if s.ToExpr != nil {
			writeIndex(&m, keyToExpr, e.condition(s.ToExpr))
		}
		list(&m, keyToOf, s.Of, appendName[NodeID])
		e.moment(&m, keyKeep, s.Keep)
		of.B = m.B
	}
}

func (e *encoder) event(b []byte, activity ActivityID, name EventID, data *container.Type) []byte {
	b = appendName(cbor.AppendArray(b, 2), name)
	return cbor.AppendUint(b, uint64(e.structure(fmt.Sprintf("%s: event %s", activity, name), data)))
}

var (
	receiveFields = []string{keyEvents: "events", keyByKey: "key"}
	sendFields    = []string{keySent: "event", keySentKey: "key", keySentTo: "to", keyToExpr: "node", keyToOf: "of", keyKeep: "keep"}
)

func (d *decoder) event() (e ReceivedEvent) {
	d.Tuple(2)
	return ReceivedEvent{Name: EventID(d.Text(MaxName)), Type: d.structureAt()}
}

func (d *decoder) receive() *Receive {
	d.since(BundleFormat)
	r := &Receive{}
	for key := range d.Named(receiveFields) {
		switch key {
		case keyEvents:
			r.Events = items(d, MaxEvents, d.event)
		case keyByKey:
			r.Key = d.conditionAt()
		}
	}
	return r
}

func (d *decoder) send() *Send {
	d.since(BundleFormat)
	s := &Send{}
	for key := range d.Named(sendFields) {
		switch key {
		case keySent:
			e := d.event()
			s.Event, s.Type = e.Name, e.Type
		case keySentKey:
			s.Key = d.conditionAt()
		case keySentTo:
			s.To = NodeID(d.Text(MaxName))
		case keyToExpr:
			s.ToExpr = d.conditionAt()
		case keyToOf:
			s.Of = items(d, maxActivities, name[NodeID](d))
		case keyKeep:
			s.Keep = d.moment()
		}
	}
	return s
}

// events checks what a row has of events.
func (v *validator) events(a *Activity) error {
	switch {
	case (a.Kind == KindReceive) != (a.Receive != nil), (a.Kind == KindSend) != (a.Send != nil):
		return errors.New("a receive, and nothing else, names what it receives, a send, and nothing else, what it sends")
	case a.Send != nil && (a.Exit != nil || a.Deadline != nil):
		return errors.New("a send has neither exit condition nor deadline")
	case a.Receive != nil:
		return a.Receive.valid()
	case a.Send != nil:
		return a.Send.valid()
	}
	return nil
}

func (r *Receive) valid() error {
	if n := len(r.Events); n < 1 || n > MaxEvents {
		return fmt.Errorf("it receives %d events: want 1 to %d", n, MaxEvents)
	}
	seen := map[EventID]bool{}
	for _, e := range r.Events {
		if !ValidProgram(string(e.Name)) || seen[e.Name] || e.Type == nil {
			return fmt.Errorf("event %q is not a name, occurs twice, or has no structure", e.Name)
		}
		seen[e.Name] = true
	}
	return nil
}

func (s *Send) valid() error {
	if !ValidProgram(string(s.Event)) || s.Type == nil {
		return fmt.Errorf("event %q is not a name, or has no structure", s.Event)
	}
	if (s.To != "") == (s.ToExpr != nil) || (s.ToExpr != nil) != (len(s.Of) > 0) {
		return errors.New("it is sent to a node, or to what an expression gives, one of those named")
	}
	seen := map[NodeID]bool{}
	for _, n := range s.Targets() {
		if !ValidNode(string(n)) && (n != Origin || s.To == "") || seen[n] {
			return fmt.Errorf("it is sent to %q: that is not a name, or occurs twice", n)
		}
		seen[n] = true
	}
	if k := s.Keep; k != nil && (k.At || (k.Expr != nil) == (k.Fixed != 0) || k.Fixed < 0) {
		return errors.New("it is kept for a fixed time above 0, or for what an expression gives")
	}
	return nil
}

// HasEvent says whether activities of the table receive or send an event of a name.
func (t *Table) HasEvent(name EventID) bool {
	return slices.ContainsFunc(t.Activities, func(a *Activity) bool {
		if a.Send != nil && a.Send.Event == name {
			return true
		}
		return a.Receive != nil && slices.ContainsFunc(a.Receive.Events, func(e ReceivedEvent) bool { return e.Name == name })
	})
}

// ReceivedHere gives the events that activities of the table receive, in its order, each shape of a
// name once.
func (t *Table) ReceivedHere() (all []ReceivedEvent) {
	for _, a := range t.Activities {
		if a.Receive == nil {
			continue
		}
		for _, e := range a.Receive.Events {
			if !slices.ContainsFunc(all, func(b ReceivedEvent) bool { return b.Name == e.Name && container.Misfit(b.Type, e.Type) == "" }) {
				all = append(all, e)
			}
		}
	}
	return all
}
