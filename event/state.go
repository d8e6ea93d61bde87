package event

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// State is what the messages of an entry say.
type State struct {
	behaviour.Basis
	events []kept    // in the order in which they came
	waits  []waiting // likewise
	past   map[processtable.ActivityID]message.Past
	over   []message.Key // of what is to go
	dues   []message.Key // of timers that have come
	known  map[message.Key]bool
	bytes  int // of the data of events
}

// kept is an event.
type kept struct {
	event message.Event
	token processtable.ActivityID
	order message.Arrival
	clock uint64 // of the message that brought it
}

// waiting is a receive that waits.
type waiting struct {
	wait  message.Wait
	token processtable.ActivityID
	order message.Arrival
}

var _ behaviour.State = (*State)(nil)

// Empty gives the state of an entry without messages.
func (meeting) Empty(e message.Entry) behaviour.State {
	return &State{Basis: behaviour.Basis{Entry: e}}
}

// Clone gives a State that can be folded on without changing s.
func (s *State) Clone() behaviour.State {
	c := *s
	c.Keys = slices.Clone(s.Keys)
	c.events, c.waits = slices.Clone(s.events), slices.Clone(s.waits)
	c.over, c.dues = slices.Clone(s.over), slices.Clone(s.dues)
	c.past, c.known = maps.Clone(s.past), maps.Clone(s.known)
	return &c
}

// What things take in memory, about.
const (
	stateBytes = 256
	keyBytes   = 160 // in the list and the map of them, with its text
	eventBytes = 480
	waitBytes  = 320
	pastBytes  = 640
)

// Bytes estimates the memory that the state takes.
func (s *State) Bytes() int {
	return stateBytes + s.bytes + keyBytes*len(s.Keys) + eventBytes*len(s.events) + waitBytes*len(s.waits) + pastBytes*len(s.past)
}

// InError: no entry waits for an operator.
func (s *State) InError() bool { return false }

// Interrupted: nothing runs.
func (s *State) Interrupted() bool { return false }

// Timers are none that a decision would have to name: each event's was set with it, and is taken with it.
func (s *State) Timers() []behaviour.Timer { return nil }

// Fold adds what a message says (E1).
func (meeting) Fold(of behaviour.State, m message.Message) error {
	s := of.(*State)
	s.sync()
	if err := s.add(&m); err != nil {
		return &behaviour.Refusal{Reason: fmt.Sprintf("message of kind %s: %v", m.Kind, err)}
	}
	s.Note(m)
	if key := m.Key(); !s.known[key] {
		if s.known == nil {
			s.known = map[message.Key]bool{}
		}
		s.known[key] = true
		s.Keys = append(s.Keys, key)
	}
	return nil
}

func (s *State) add(m *message.Message) error {
	switch m.Kind {
	case message.KindEvent:
		e, err := message.DecodeEvent(m.Body)
		if err != nil {
			return err
		}
		order := m.Arrival
		if e.Arrival != (message.Arrival{}) { // E2
			order = e.Arrival
		}
		s.dropEvent(m.Source)
		s.events = insert(s.events, kept{e, m.Source, order, m.Clock}, func(k *kept) (message.Arrival, processtable.ActivityID) { return k.order, k.token })
		s.bytes += len(e.Data)
	case message.KindWait:
		w, err := message.DecodeWait(m.Body)
		if err != nil {
			return err
		}
		s.waits = slices.DeleteFunc(s.waits, func(o waiting) bool { return o.token == m.Source })
		s.waits = insert(s.waits, waiting{w, m.Source, m.Arrival}, func(w *waiting) (message.Arrival, processtable.ActivityID) { return w.order, w.token })
	case message.KindPast:
		p, err := message.DecodePast(m.Body)
		if err != nil {
			return err
		}
		if s.past == nil {
			s.past = map[processtable.ActivityID]message.Past{}
		}
		s.past[m.Source] = p
	case message.KindOver:
		if key := m.Key(); !s.known[key] {
			s.over = append(s.over, key)
		}
	case message.KindDue:
		if key := m.Key(); !s.known[key] {
			s.dues = append(s.dues, key)
		}
	default:
		return fmt.Errorf("it is for no event queue")
	}
	return nil
}

// insert puts one where it belongs by its arrival; most come last.
func insert[T any](all []T, one T, order func(*T) (message.Arrival, processtable.ActivityID)) []T {
	at, token := order(&one)
	i, _ := slices.BinarySearchFunc(all, one, func(o, _ T) int {
		other, otherToken := order(&o)
		return cmp.Or(other.Compare(at), cmp.Compare(otherToken, token))
	})
	return slices.Insert(all, i, one)
}

func (s *State) dropEvent(token processtable.ActivityID) {
	if !s.known[message.Key{Kind: message.KindEvent, Source: token}] {
		return
	}
	s.events = slices.DeleteFunc(s.events, func(k kept) bool {
		if k.token == token {
			s.bytes -= len(k.event.Data)
		}
		return k.token == token
	})
}

// sync forgets what a transaction has taken since: the messages that are not among Keys any more.
func (s *State) sync() {
	if len(s.Keys) == len(s.known) {
		return
	}
	clear(s.known)
	for _, k := range s.Keys {
		s.known[k] = true
	}
	has := func(kind message.Kind, token processtable.ActivityID) bool {
		return s.known[message.Key{Kind: kind, Source: token}]
	}
	s.events = slices.DeleteFunc(s.events, func(k kept) bool {
		gone := !has(message.KindEvent, k.token)
		if gone {
			s.bytes -= len(k.event.Data)
		}
		return gone
	})
	s.waits = slices.DeleteFunc(s.waits, func(w waiting) bool { return !has(message.KindWait, w.token) })
	maps.DeleteFunc(s.past, func(token processtable.ActivityID, _ message.Past) bool { return !has(message.KindPast, token) })
	gone := func(k message.Key) bool { return !s.known[k] }
	s.over, s.dues = slices.DeleteFunc(s.over, gone), slices.DeleteFunc(s.dues, gone)
}
