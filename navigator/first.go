package navigator

import (
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// arrived is a connector message into an activity that is decided with the first connectors (R35).
type arrived struct {
	from processtable.ActivityID
	at   message.Arrival
}

// arrive notes in which order messages came (N11). What the store has not numbered yet comes last.
func (s *State) arrive(m *message.Message) {
	later := func(o arrived) bool {
		return unnumbered(o.at) && !unnumbered(m.Arrival) || !unnumbered(m.Arrival) && o.at.Compare(m.Arrival) > 0
	}
	i := slices.IndexFunc(s.came, later)
	if i < 0 {
		i = len(s.came)
	}
	s.came = slices.Insert(s.came, i, arrived{m.Source, m.Arrival})
}

func unnumbered(at message.Arrival) bool { return at == message.Arrival{} }

// verdict is how an activity comes out that is decided with the first connectors (R35).
type verdict struct {
	decided, holds bool
	// counted are the sources of what counts, in the order in which it came, and came those of all other
	// connectors that had come by then.
	counted, came []processtable.ActivityID
}

// verdict judges by the order of arrival; once that is in the snapshot, by this.
func (a *Activity) verdict(s *State) (v verdict) {
	if at := s.Snapshot; at != nil && len(at.Counted) > 0 {
		return verdict{true, true, at.Counted, at.Came}
	}
	left, dead := a.First, 0
	input := a.awaitsInput()
	for _, c := range s.came {
		i, control := a.inControl[c.from]
		switch {
		case !control:
			v.counted = append(v.counted, c.from)
			input = input && c.from != processtable.Source
		case !s.control[i].IsTrue():
			v.came = append(v.came, c.from)
			dead++
		case left > 0:
			v.counted = append(v.counted, c.from)
			left--
		}
		switch {
		case dead > len(a.InControl)-a.First:
			return verdict{decided: true, came: v.came}
		case left == 0 && !input:
			v.decided, v.holds = true, true
			return v
		}
	}
	return verdict{}
}

// awaitsInput says whether source sends the activity data, and does not begin it: what source sends was sent when
// the graph began, and is waited for, so that no race decides whether an activity has the input.
func (a *Activity) awaitsInput() bool {
	_, data := a.inData[processtable.Source]
	_, control := a.inControl[processtable.Source]
	return data && !control
}

// isDecided says whether nothing more is waited for (R2, R35).
func (a *Activity) isDecided(s *State) bool { return a.First > 0 && a.verdict(s).decided }

// joined says whether the data of a source are for the activity: where it is decided with the first
// connectors, those of what counted.
func (a *Activity) joined(v *verdict, from processtable.ActivityID) bool {
	return a.First == 0 || slices.Contains(v.counted, from)
}

// decideFirst begins with the first connectors: which counted, and the input of what had come by then, are kept before
// anything runs, so that it is the same whatever comes later (R35, N14).
func (a *Activity) decideFirst(s *State, now time.Time) behaviour.Effects {
	at, v := s.progress(), a.verdict(s)
	at.Counted, at.Came = v.counted, v.came
	input, err := a.InputOf(s)
	if err == nil {
		at.Input, err = container.EncodeCBOR(input)
	}
	if err != nil {
		return a.fail(s, at, message.CauseInput, fmt.Sprintf("with %v: %v", v.counted, err), now)
	}
	return a.keep(s, at, behaviour.Outcome{What: behaviour.Decided, Counted: v.counted})
}

// tellRace says in the outcome which connectors counted, and at the end which came too late.
func (a *Activity) tellRace(s *State, e *behaviour.Effects) {
	if a.First == 0 || e.Outcome.What == behaviour.Nothing || s.Snapshot == nil || len(s.Snapshot.Counted) == 0 {
		return
	}
	e.Outcome.Counted = s.Snapshot.Counted
	if !e.Ends {
		return
	}
	for _, c := range s.came {
		if !slices.Contains(s.Snapshot.Counted, c.from) && !slices.Contains(s.Snapshot.Came, c.from) {
			e.Outcome.Raced = append(e.Outcome.Raced, c.from)
		}
	}
}
