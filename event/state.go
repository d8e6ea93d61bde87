package event

import (
	"fmt"
	"maps"
	"slices"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// State is what the messages of an entry say. Thousands may lie in one entry, so it does not list their keys, as others do:
// what a transaction takes, and what it costs to find it, is of the number that it takes.
type State struct {
	behaviour.Basis
	events, waits line
	past          map[id]remembered
	earliest      line                           // of past, by when that was
	repeated      map[id]processtable.ActivityID // what is among events, and past
	passing       map[message.Key]bool           // of over and dues
	over          []message.Key                  // of what is to go
	dues          []message.Key                  // of timers that have come
}

// remembered is a KindPast.
type remembered struct {
	message.Past
	token processtable.ActivityID
}

var _ behaviour.State = (*State)(nil)

// Empty gives the state of an entry without messages.
func (meeting) Empty(e message.Entry) behaviour.State {
	return &State{Basis: behaviour.Basis{Entry: e}}
}

// Clone gives a State that can be folded on without changing s.
func (s *State) Clone() behaviour.State {
	c := *s
	c.events, c.waits, c.earliest = s.events.clone(), s.waits.clone(), s.earliest.clone()
	c.past, c.repeated, c.passing = maps.Clone(s.past), maps.Clone(s.repeated), maps.Clone(s.passing)
	c.over, c.dues = slices.Clone(s.over), slices.Clone(s.dues)
	return &c
}

// What things take in memory, about.
const (
	stateBytes   = 256
	placedBytes  = 112 // in a line, beside the body
	pastBytes    = 800
	passingBytes = 240
)

// Bytes estimates the memory that the state takes.
func (s *State) Bytes() int {
	return stateBytes + s.events.bytes + s.waits.bytes + placedBytes*(s.events.len()+s.waits.len()) + pastBytes*len(s.past) + passingBytes*len(s.passing)
}

// InError: no entry waits for an operator.
func (s *State) InError() bool { return false }

// Interrupted: nothing runs.
func (s *State) Interrupted() bool { return false }

// Timers are none that a decision would have to name: each event's was set with it, and is taken with it.
func (s *State) Timers() []behaviour.Timer { return nil }

// Empty reports that there is no message.
func (s *State) Empty() bool {
	return s.events.len()+s.waits.len()+len(s.past)+len(s.passing) == 0
}

// Holds says whether a message was folded.
func (s *State) Holds(k message.Key) bool {
	switch k.Kind {
	case message.KindEvent:
		return s.events.has(idOf(k.Source))
	case message.KindWait:
		return s.waits.has(idOf(k.Source))
	case message.KindPast:
		_, there := s.past[idOf(k.Source)]
		return there
	default:
		return s.passing[k]
	}
}

// Fold adds what a message says (E1).
func (meeting) Fold(of behaviour.State, m message.Message) error {
	s := of.(*State)
	if err := s.add(&m); err != nil {
		return &behaviour.Refusal{Reason: fmt.Sprintf("message of kind %s: %v", m.Kind, err)}
	}
	s.Note(m)
	return nil
}

func (s *State) add(m *message.Message) error {
	i := idOf(m.Source)
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
		s.events.add(placed{order, m.Clock, i, string(m.Body)})
		if _, known := s.past[i]; known {
			s.repeats(i, m.Source)
		}
	case message.KindWait:
		if _, err := message.DecodeWait(m.Body); err != nil {
			return err
		}
		s.waits.add(placed{m.Arrival, m.Clock, i, string(m.Body)})
	case message.KindPast:
		p, err := message.DecodePast(m.Body)
		if err != nil {
			return err
		}
		if s.past == nil {
			s.past = map[id]remembered{}
		}
		s.past[i] = remembered{p, m.Source}
		s.earliest.add(placed{order: message.Arrival{Commit: uint64(max(0, p.At.UnixNano()))}, id: i})
		if s.events.has(i) {
			s.repeats(i, m.Source)
		}
	case message.KindOver:
		s.over = s.pass(s.over, m.Key())
	case message.KindDue:
		s.dues = s.pass(s.dues, m.Key())
	default:
		return fmt.Errorf("it is for no event queue")
	}
	return nil
}

func (s *State) repeats(i id, token processtable.ActivityID) {
	if s.repeated == nil {
		s.repeated = map[id]processtable.ActivityID{}
	}
	s.repeated[i] = token
}

// pass adds the key of what the next decisions take.
func (s *State) pass(to []message.Key, k message.Key) []message.Key {
	if s.passing[k] {
		return to
	}
	if s.passing == nil {
		s.passing = map[message.Key]bool{}
	}
	s.passing[k] = true
	return append(to, k)
}

// Forget takes messages out that a transaction has removed.
func (s *State) Forget(taken []message.Key) {
	passed := false
	for _, k := range taken {
		i := idOf(k.Source)
		switch k.Kind {
		case message.KindEvent:
			s.events.remove(i)
			delete(s.repeated, i)
		case message.KindWait:
			s.waits.remove(i)
		case message.KindPast:
			delete(s.past, i)
			delete(s.repeated, i)
			s.earliest.remove(i)
		default:
			delete(s.passing, k)
			passed = true
		}
	}
	if passed {
		gone := func(k message.Key) bool { return !s.passing[k] }
		s.over, s.dues = slices.DeleteFunc(s.over, gone), slices.DeleteFunc(s.dues, gone)
	}
}
