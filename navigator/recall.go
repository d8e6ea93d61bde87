package navigator

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// The restart of an activity that has terminated (R53 to R57). What is here is the side of its home; see tombstone.go for that of
// its successors.

// Restart is that what the entry had come to is being recalled; nil: it is not.
func (s *State) Restart() *message.Restart { return s.reached().Restart }

// recallSent asks for what an activity that has terminated had sent (R53), or says why that cannot be (R57).
func (a *Activity) recallSent(s *State, c *behaviour.Restart, now time.Time) (behaviour.Effects, error) {
	if err := a.takesRestart(s, c); err != nil {
		return behaviour.Effects{}, fmt.Errorf("restart %s: %w", s.Entry.Path(), err)
	}
	wanted := c.Wanted
	edition := uint64(0)
	for _, to := range wanted.Sent {
		edition = max(edition, to.Number)
	}
	at := message.Snapshot{
		Iteration: c.Iteration, Run: c.Run, Attempt: c.Attempt, HasOutput: true, Output: c.Output, RC: c.RC, Ending: c.Ending, Started: c.Started,
		Edition: edition + 1, Restart: &wanted,
	}
	e := a.keep(s, at, behaviour.Outcome{What: behaviour.Recalled, Iteration: c.Iteration, Run: c.Run, By: wanted.By, Reason: wanted.Why})
	for _, to := range wanted.Sent {
		m := a.onward(s, target{activity: to.Activity, node: to.Node})
		m.Kind, m.Number, m.Lane, m.Body = message.KindRecall, at.Edition, to.Lane, message.EncodeRecall(message.Recall{})
		e.Put = append(e.Put, m)
	}
	return e, nil
}

// takesRestart says why an activity cannot be restarted, whatever its successors say (R57); nil: it may be.
func (a *Activity) takesRestart(s *State, c *behaviour.Restart) error {
	switch {
	case a.Kind == processtable.KindSource || a.Kind == processtable.KindSink:
		return errors.New("it is the engine's own: restart an activity, or start a new instance")
	case a.isElement():
		return fmt.Errorf("it is one element of a bundle, which goes on by itself: name the bundle, %s", s.Entry.Scope.Leave().Path(a.Name))
	case a.isWork():
		return fmt.Errorf("it was begun for an activity: name that, %s", s.Entry.Scope.Leave().Path(a.Name))
	case a.First > 0:
		return errors.New("it begins with the first of its connectors, and they cannot come again as they came: start a new instance")
	case c.Events || a.Send != nil:
		return errors.New("it has taken or sent an event, which cannot be taken back: start a new instance")
	case len(a.Cancels) > 0:
		return fmt.Errorf("it has cancelled %s, which cannot be taken back: start a new instance", a.Cancels[0].Activity)
	case len(c.Wanted.Sent) == 0:
		return errors.New("nothing that it has sent is known: start a new instance")
	}
	for _, to := range c.Wanted.Sent {
		if to.Control.IsFalse() && to.Node != a.process.table.Node && a.process.detours[to.Activity] != nil {
			return fmt.Errorf("%s was skipped because of what it has come to, which cannot be taken back: start a new instance", to.Activity)
		}
	}
	return nil
}

// withdrawRestart gives a restart up, since its operator does not want it any more (R56).
func (a *Activity) withdrawRestart(s *State, c behaviour.Withdraw, now time.Time) (behaviour.Effects, error) {
	r := s.Restart()
	switch {
	case r == nil:
		return behaviour.Effects{}, fmt.Errorf("withdraw the restart of %s: it is not being restarted", s.Entry.Path())
	case r.Refused != "":
		return behaviour.Effects{}, fmt.Errorf("withdraw the restart of %s: it is given up already: %s", s.Entry.Path(), r.Refused)
	}
	at, next := s.progress(), *r
	at.Failed, at.Error, at.Cause = false, "", message.CauseUnknown
	next.Refused = "its restart was withdrawn by " + c.By
	at.Restart = &next
	return a.keep(s, at, behaviour.Outcome{What: behaviour.Kept, Iteration: at.Iteration, Run: at.Run, By: c.By, Reason: c.Why}), nil
}

// leadsTo says whether a connector leads to an activity.
func (a *Activity) leadsTo(to processtable.ActivityID) bool {
	return slices.ContainsFunc(a.targets, func(t target) bool { return t.activity == to })
}

// answer is what a successor has answered.
type answer struct {
	edition uint64
	message.Recalled
}

// foldRecalled takes the answer of a successor. The last one counts, and of an earlier recall none.
func (a *Activity) foldRecalled(s *State, m message.Message) error {
	r, err := message.DecodeRecalled(m.Body)
	if err != nil {
		return refuse("answer of %s to a recall: %v", m.Source, err)
	}
	if !a.leadsTo(m.Source) {
		return refuse("no connector leads from %s to %s, and that answers a recall", a.Name, m.Source)
	}
	s.seen(m)
	if before, known := s.back.answers[m.Source]; known && before.edition > m.Number {
		return nil
	}
	if s.back.answers == nil {
		s.back.answers = map[processtable.ActivityID]answer{}
	}
	s.back.answers[m.Source] = answer{m.Number, r}
	return nil
}

// recalls goes on with a restart: it waits, restarts the activity, or gives that up.
func (a *Activity) recalls(s *State, now time.Time) behaviour.Effects {
	at := s.progress()
	if s.InError() { // what is to follow is too large for a transaction
		return behaviour.Effects{}
	}
	open, why := a.openRecalls(s, &at)
	switch {
	case s.Stopped:
		return a.keepsEnd(s, at, "the instance is terminated", nil, now)
	case at.Restart.Refused != "":
		why = at.Restart.Refused
	case s.cancel != nil:
		why = s.cancel.reason
	}
	switch {
	case why == "" && len(open) > 0:
		return behaviour.Effects{}
	case why == "":
		return a.restarts(s, at, now)
	}
	return a.keepsEnd(s, at, why, open, now)
}

// openRecalls are the successors that have not answered, and what stands in the way by the word of those that have.
func (a *Activity) openRecalls(s *State, at *message.Snapshot) (open []processtable.ActivityID, why string) {
	for _, to := range at.Restart.Sent {
		switch answered, known := s.back.answers[to.Activity]; {
		case !known || answered.edition != at.Edition:
			open = append(open, to.Activity)
		case !answered.Taken && why == "":
			why = answered.Why
		}
	}
	return open, why
}

// restarts begins the next run of an activity of which all that it had sent was taken out (R55).
func (a *Activity) restarts(s *State, at message.Snapshot, now time.Time) behaviour.Effects {
	r := at.Restart
	next := message.Snapshot{Iteration: 1, Run: at.Run + 1, Edition: at.Edition, Input: r.Input}
	e := a.keep(s, next, behaviour.Outcome{What: behaviour.Restarted, Iteration: 1, Run: next.Run, By: r.By, Reason: r.Why})
	e.Takes = append(e.Takes, s.answerKeys()...)
	e.Recall = &behaviour.RecallEnd{Word: r.Word, Answer: message.Answer{Word: r.Word, Result: message.WordDone}, Superseded: true}
	for i := range r.Consumed {
		c := &r.Consumed[i]
		m := message.Message{Header: message.Header{
			Queue: message.Queue{Process: a.process.table.Process, Node: a.process.table.Node}, Definition: a.process.Definition(),
			Instance: s.Entry.Instance, Origin: s.Origin, Rank: s.Rank, Scope: s.Entry.Scope, Activity: a.Name, SourceScope: s.Entry.Scope, Source: c.Activity,
			Number: c.Number, Kind: message.KindConnector, Control: c.Control, Data: c.Data, Lane: message.LaneControl, Clock: c.Clock, Trace: s.Trace,
		}}
		if c.Data > message.DataAbsent { // its host has the values
			node, known := a.process.table.HostOf(s.Entry.Scope.Row(c.Activity), s.Origin)
			if !known {
				continue // the table has a connector from what it does not have
			}
			m = a.onward(s, target{activity: c.Activity, node: node})
			m.Kind, m.Number, m.Body = message.KindRecall, at.Edition, message.EncodeRecall(message.Recall{Again: true})
		}
		e.Put = append(e.Put, m)
	}
	return e
}

// keepsEnd gives a restart up (R56): those who have taken out what the activity had sent get it back. Without open the entry ends.
func (a *Activity) keepsEnd(s *State, at message.Snapshot, why string, open []processtable.ActivityID, now time.Time) behaviour.Effects {
	next := *at.Restart
	next.Settled = slices.Clone(next.Settled)
	back := make([]message.Message, 0, len(next.Sent))
	for i := range next.Sent {
		to := &next.Sent[i]
		if s.Stopped || slices.Contains(open, to.Activity) || slices.Contains(next.Settled, to.Activity) {
			continue
		}
		next.Settled = append(next.Settled, to.Activity)
		if !s.back.answers[to.Activity].Taken {
			continue
		}
		m, err := a.sentAgain(s, &at, to)
		if err != nil {
			return a.fail(s, at, message.CauseUnsent, fmt.Sprintf("its restart is given up (%s), and what it had sent cannot be sent again: %v", why, err), now)
		}
		back = append(back, m)
	}
	told := next.Told
	if told && len(next.Settled) == len(at.Restart.Settled) && len(open) > 0 {
		return behaviour.Effects{} // nobody has answered since
	}
	next.Refused, next.Told = why, true
	at.Restart = &next
	o := behaviour.Outcome{What: behaviour.Kept, Iteration: at.Iteration, Run: at.Run, By: next.By, Reason: why}
	var e behaviour.Effects
	if len(open) > 0 {
		e = a.keep(s, at, o)
	} else {
		o.Clock = message.Next(s.Clock)
		e = behaviour.Effects{Ends: true, Outcome: o}
	}
	e.Put = append(e.Put, back...)
	if !told {
		e.Recall = &behaviour.RecallEnd{Word: next.Word, Edition: at.Edition, Answer: message.Answer{
			Word: next.Word, Result: message.WordRefused, Text: fmt.Sprintf("restart %s: %s", s.Entry.Path(), why), Remedy: a.insteadOf(s),
		}}
	}
	return e
}

// insteadOf is what people can do where an activity cannot be restarted.
func (a *Activity) insteadOf(s *State) string {
	for _, to := range s.Restart().Sent {
		if answered, known := s.back.answers[to.Activity]; known && !answered.Taken && to.Activity != processtable.Sink {
			return fmt.Sprintf("start a new instance, or finish %s by hand", to.Activity)
		}
	}
	return "see fmqm status"
}

// sentAgain is a connector message of the activity once more, of the new edition.
func (a *Activity) sentAgain(s *State, at *message.Snapshot, to *message.Connected) (message.Message, error) {
	m, err := a.Again(behaviour.Spoken{
		Instance: s.Entry.Instance, Origin: s.Origin, Scope: s.Entry.Scope, Source: a.Name, Clock: message.Next(s.Clock), RC: at.RC, Ending: at.Ending,
		Output: at.Output, By: at.Restart.Doer, Number: at.Edition, Within: s.Entry.Scope, Target: to.Activity, Node: to.Node,
		Control: to.Control, Data: to.Data, Lane: to.Lane, Rank: s.Rank,
	})
	m.Trace = s.Trace
	return m, err
}

// recalledAgain is the answer to a recall once more.
func recalledAgain(m message.Message, s *behaviour.Spoken) message.Message {
	r := message.Recalled{Taken: s.RC == 0}
	if !r.Taken {
		r.Why = cmp.Or(s.Reason, decidedOn(s.Source, s.Target))
	}
	m.Body = message.EncodeRecalled(r)
	return m
}

// answerKeys are the answers to recalls that lie in the entry.
func (s *State) answerKeys() (keys []message.Key) {
	for _, k := range s.Keys {
		if k.Kind == message.KindRecalled {
			keys = append(keys, k)
		}
	}
	return keys
}

// restartText says for people how it is with a restart; empty: there is none.
func (a *Activity) restartText(s *State) string {
	r := s.Restart()
	if r == nil {
		return ""
	}
	at := s.reached()
	open, _ := a.openRecalls(s, at)
	text := "to be restarted, as " + r.By + " wants"
	if r.Refused != "" {
		text = "its restart is given up: " + r.Refused
	}
	if len(open) == 0 {
		return text
	}
	return fmt.Sprintf("%s; no answer yet of %s", text, join(open))
}

// recalling is what an entry has of recalls: of answers to its own, and of those of what leads to it.
type recalling struct {
	answers map[processtable.ActivityID]answer // of its successors
	stones  []tombstone                        // by their sources and editions
	// editions are those of the connector messages that count, where they are not 0.
	editions map[processtable.ActivityID]uint64
	latest   message.Arrival // of the connector messages that count, or counted: when the last of them came
}

func (r *recalling) clone() recalling {
	return recalling{maps.Clone(r.answers), slices.Clone(r.stones), maps.Clone(r.editions), r.latest}
}

func (r *recalling) bytes() (n int) {
	for _, a := range r.answers {
		n += answerBytes + len(a.Why)
	}
	return n + tombstoneBytes*len(r.stones) + editionBytes*len(r.editions)
}

// What of it takes in memory, beside the State.
const (
	answerBytes    = 96
	tombstoneBytes = 320
	editionBytes   = 48
	connectedBytes = 64
)

func restartBytes(r *message.Restart) int {
	return restartBase + len(r.Input) + len(r.Why) + len(r.Refused) + connectedBytes*(len(r.Consumed)+len(r.Sent)) + nameBytes*len(r.Settled)
}

const restartBase = 256

// compareStones orders recalls: what is done about them must not depend on what came first.
func compareStones(a, b tombstone) int {
	return cmp.Or(strings.Compare(string(a.m.Source), string(b.m.Source)), cmp.Compare(a.m.Number, b.m.Number))
}
