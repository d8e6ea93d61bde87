package navigator

import (
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// tombstone is a recall of what an activity has sent that leads here (R54).
type tombstone struct {
	m        message.Message
	answered bool // what it voids was taken out
}

// foldRecall takes that something is recalled, or asked for once more: of what has not ended that comes at its end.
func (a *Activity) foldRecall(s *State, m message.Message) error {
	r, err := message.DecodeRecall(m.Body)
	if err != nil {
		return refuse("recall of %s: %v", m.Source, err)
	}
	if r.Again {
		if !a.leadsTo(m.Source) {
			return refuse("no connector leads from %s to %s, which asks for it again", a.Name, m.Source)
		}
		s.seen(m)
		return nil
	}
	if !a.Follows(m.Source) {
		return refuse("no connector leads from %s to %s, and it is recalled", m.Source, a.Name)
	}
	s.seen(m)
	stone := tombstone{m, r.Answered}
	i, known := slices.BinarySearchFunc(s.back.stones, stone, compareStones)
	if known {
		s.back.stones[i] = stone
	} else {
		s.back.stones = slices.Insert(s.back.stones, i, stone)
	}
	if r.Answered && s.back.editions[m.Source] < m.Number {
		a.vacate(s, m.Source)
	}
	return nil
}

// voids says whether a connector message does not count, since it was taken out before, or comes after that. The record of a dead
// path does: what follows from it has been sent (R18).
func (r *recalling) voids(m *message.Message) bool {
	return !m.Onward && slices.ContainsFunc(r.stones, func(t tombstone) bool {
		return t.answered && t.m.Source == m.Source && m.Number < t.m.Number
	})
}

// came notes the edition of a connector message that counts, and when it came.
func (r *recalling) came(m *message.Message) {
	if m.Number != 0 {
		if r.editions == nil {
			r.editions = map[processtable.ActivityID]uint64{}
		}
		r.editions[m.Source] = m.Number
	}
	if m.Arrival.Compare(r.latest) > 0 {
		r.latest = m.Arrival
	}
}

// supersedes says whether a connector message counts beside what has come from its source: where that is of a lower edition it
// makes room for it.
func (s *State) supersedes(a *Activity, m *message.Message) bool {
	before := s.back.editions[m.Source]
	switch {
	case !s.has(a, m.Source) || before == m.Number:
		return true
	case before > m.Number:
		return false
	}
	a.vacate(s, m.Source)
	return true
}

// has says whether a connector from a source is resolved.
func (s *State) has(a *Activity, source processtable.ActivityID) bool {
	if s.control == nil {
		return false
	}
	ci, control := a.inControl[source]
	di, data := a.inData[source]
	return control && s.control[ci] != message.Unresolved || data && s.data[di] != message.DataNone
}

// vacate makes the connectors from a source unresolved.
func (a *Activity) vacate(s *State, source processtable.ActivityID) {
	if !s.has(a, source) {
		return
	}
	if i, control := a.inControl[source]; control {
		s.control[i] = message.Unresolved
		s.unresolved++
	}
	if i, data := a.inData[source]; data {
		s.bytes = max(0, s.bytes-container.Footprint(s.values[i]))
		s.data[i], s.values[i] = message.DataNone, nil
		s.unresolved++
	}
	if s.dead != nil && s.dead.Source == source {
		s.dead = nil
	}
	delete(s.back.editions, source)
	s.Consumed = slices.DeleteFunc(s.Consumed, func(c behaviour.Resolved) bool { return c.Key.Source == source })
	s.came = slices.DeleteFunc(s.came, func(c arrived) bool { return c.from == source })
}

// standsInTheWay says why what a recall wants back cannot be taken out; empty: it can.
func (a *Activity) standsInTheWay(s *State, t *tombstone) string {
	at := s.reached()
	switch {
	case a.First > 0:
		return fmt.Sprintf("%s begins with the first of what leads to it, and nothing of that is taken back", a.Name)
	case s.passed || s.dead != nil:
		return fmt.Sprintf("%s is skipped because of what %s has come to", a.Name, t.m.Source)
	case at.Restart != nil || at.Edition > 0:
		return fmt.Sprintf("%s is restarted itself", a.Name)
	case s.Waiting(a) == 0 && s.back.latest.Compare(t.m.Arrival) < 0:
		return decidedOn(a.Name, t.m.Source)
	}
	return ""
}

func decidedOn(activity, source processtable.ActivityID) string {
	return fmt.Sprintf("%s has been decided on %s's result", activity, source)
}

// answersRecall answers the first recall that is not answered, before anything else is decided (R54).
func (a *Activity) answersRecall(s *State) (behaviour.Effects, bool) {
	i := slices.IndexFunc(s.back.stones, func(t tombstone) bool { return !t.answered })
	if i < 0 || s.Stopped {
		return behaviour.Effects{}, false
	}
	t := &s.back.stones[i]
	why := a.standsInTheWay(s, t)
	o := behaviour.Outcome{What: behaviour.Recalled, Clock: message.Next(s.Clock), Iteration: s.progress().Iteration, Run: s.reached().Run}
	if why != "" {
		o.Reason, o.RC = why, noCode
		return behaviour.Effects{Takes: []message.Key{t.m.Key()}, Put: []message.Message{a.answerTo(s, t, why)}, Timers: s.pending(), Outcome: o}, true
	}
	o.Reason = fmt.Sprintf("%s is to be restarted: what it had come to is taken out here", t.m.Source)
	stays := t.m
	stays.Body, stays.From, stays.Arrival = message.EncodeRecall(message.Recall{Answered: true}), "", message.Arrival{}
	e := behaviour.Effects{Put: []message.Message{stays, a.answerTo(s, t, "")}, Timers: s.pending(), Outcome: o}
	for _, k := range s.Keys {
		if (k.Kind == message.KindConnector || k.Kind == message.KindRecall) && k.Source == t.m.Source && k.Scope == s.Entry.Scope && k.Number < t.m.Number {
			e.Takes = append(e.Takes, k)
		}
	}
	return e, true
}

// Forget takes messages out of the state that were removed while the entry goes on: a recall that was refused as well, so that
// it is answered once.
func (s *State) Forget(taken []message.Key) {
	s.Basis.Forget(taken)
	s.back.stones = slices.DeleteFunc(s.back.stones, func(t tombstone) bool { return !t.answered && slices.Contains(taken, t.m.Key()) })
}

// refuseRecalls answers, with the end of an activity, the recalls that nobody has answered: it was decided before.
func (a *Activity) refuseRecalls(s *State, e *behaviour.Effects) {
	if !e.Ends || s.Stopped {
		return
	}
	for i := range s.back.stones {
		if t := &s.back.stones[i]; !t.answered {
			e.Put = append(e.Put, a.answerTo(s, t, decidedOn(a.Name, t.m.Source)))
		}
	}
}

// answerTo answers a recall; why is empty where what it wants is taken out.
func (a *Activity) answerTo(s *State, t *tombstone, why string) message.Message {
	home, _ := a.process.table.HostOf(t.m.SourceRow(), s.Origin)
	m := t.m.Recalled(home, why)
	m.Clock = message.Next(s.Clock)
	return m
}
