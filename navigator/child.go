package navigator

import (
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// comesBack takes what the instance that was begun for a subprocess has come to (R29): its output, or
// that it has ended otherwise, which is a failed attempt. What came of another one is none.
func (a *Activity) comesBack(s *State, now time.Time) behaviour.Effects {
	at := s.progress()
	r, err := a.returnedChild(s, &at, now)
	switch {
	case err != nil:
		at.Begun = false
		return a.fail(s, at, message.CauseResult, err.Error(), now)
	case r == nil:
		return behaviour.Effects{}
	case a.Slow(r):
		return behaviour.Effects{Invoke: &behaviour.Invoke{Iteration: at.Iteration, Attempt: at.Attempt + 1, Run: at.Run, Input: r.Output, Output: a.Output}}
	}
	return a.Conclude(s, *r, now)
}

// foldChild takes what an instance that was begun for the activity has come to (R29).
func (a *Activity) foldChild(s *State, m message.Message) error {
	if m.Number == 0 || m.Source != processtable.Sink || m.SourceScope != m.Scope {
		return refuse("%s has begun an instance of %s, and nothing else returns to it", a.Name, a.Child)
	}
	r, err := message.DecodeReturn(m.Body)
	if err != nil {
		return refuse("return of an instance of %s: %v", a.Child, err)
	}
	s.inner = s.inner.with(returned{source: m.Source, scope: m.SourceScope, number: m.Number, output: r.Output, err: r.Error})
	s.seen(m)
	return nil
}

// backFrom is what the child that is under way has come to; nil: nothing yet.
func (s *State) backFrom(at *message.Snapshot) *returned {
	if !at.Begun || s.inner == nil {
		return nil
	}
	for i := range s.inner.returns {
		if r := &s.inner.returns[i]; r.number == at.Child.Number() {
			return r
		}
	}
	return nil
}

// returnedChild is the result of the child that is under way; nil: it has not returned. It fails
// where what has come cannot be read.
func (a *Activity) returnedChild(s *State, at *message.Snapshot, now time.Time) (*behaviour.Result, error) {
	back := s.backFrom(at)
	switch {
	case back == nil:
		return nil, nil
	case back.err != "":
		return &behaviour.Result{Err: fmt.Sprintf("instance %s of %s: %s", at.Child.Instance, at.Child.Process, back.err), Started: at.Started, Ended: now}, nil
	}
	output, err := a.output(back.output)
	if err != nil {
		return nil, fmt.Errorf("read what instance %s of %s has returned: %w", at.Child.Instance, at.Child.Process, err)
	}
	return &behaviour.Result{Output: output, Started: at.Started, Ended: now}, nil
}

// beginChild begins the instance of which the invocation has found that it can be (R29).
func (a *Activity) beginChild(s *State, r *behaviour.Result, now time.Time) behaviour.Effects {
	at := s.progress()
	input, err := a.encodedInput(s)
	if err != nil {
		return a.fail(s, at, message.CauseInput, fmt.Sprintf("encode the input: %v", err), now)
	}
	at.Begun, at.Child, at.Started, at.Due = true, r.Child, now, time.Time{}
	e := a.keep(s, at, behaviour.Outcome{
		What: behaviour.Began, Iteration: at.Iteration, Attempt: at.Attempt + 1, Run: at.Run, Started: now, Child: at.Child,
	})
	e.Put = append(e.Put, message.Message{
		Header: message.Header{
			Queue: message.Queue{Process: r.Child.Process, Node: a.process.table.Node}, Instance: r.Child.Instance, Origin: a.process.table.Node,
			Activity: processtable.Source, Kind: message.KindStart, Clock: message.Next(s.Clock), Trace: s.Trace, Rank: a.givesChild(s),
		},
		Body: message.EncodeStart(message.Start{Parent: a.parentOf(s, &at), Input: input, By: a.Doers(s)[processtable.Source]}),
	})
	return e
}

// parentOf names the execution under way.
func (a *Activity) parentOf(s *State, at *message.Snapshot) message.Parent {
	return message.Parent{
		Process: a.process.table.Process, Node: a.process.table.Node, Instance: s.Entry.Instance, Scope: s.Entry.Scope, Activity: a.Name,
		Iteration: at.Iteration, Run: at.Run, Attempt: at.Attempt + 1,
	}
}

// abort is the marker that ends the child under way, unless it is independent (R29): its home, which is
// here, tells the other nodes of it when it ends sink.
func (a *Activity) abort(s *State, reason string, now time.Time) []message.Message {
	at := s.progress()
	if a.Kind != processtable.KindProcess || a.Independent || !at.Begun || s.backFrom(&at) != nil {
		return nil
	}
	here := a.process.table.Node
	return []message.Message{{
		Header: message.Header{
			Queue: message.Queue{Process: at.Child.Process, Node: here}, Instance: at.Child.Instance, Origin: here,
			Kind: message.KindMarker, Lane: message.LaneControl,
		},
		Body: message.EncodeMarker(message.Marker{
			Reason: reason, Time: now, By: fmt.Sprintf("%s of instance %s", a.Name, s.Entry.Instance), Relay: true,
		}),
	}}
}

// foldStart takes that an activity begins the instance, at its source (R29).
func (a *Activity) foldStart(s *State, m message.Message) error {
	if a.Kind != processtable.KindSource || !a.top() {
		return refuse("%s starts nothing: only the source of a process does", a.Name)
	}
	start, err := message.DecodeStart(m.Body)
	if err != nil {
		return refuse("start of instance %s: %v", m.Instance, err)
	}
	s.inner = &composed{begun: true, input: start.Input, by: start.By, parent: &start.Parent}
	s.seen(m)
	return nil
}

// begins says whether an activity has begun the instance, and this is its source: it terminates also
// where the instance was stopped, so that it is known and its end returns (R29).
func (s *State) begins() bool { return s.inner != nil && s.inner.parent != nil }

// toParent is what sink returns to the activity that has begun the instance, and the markers to the other
// nodes where that has ended it (R29).
func (a *Activity) toParent(s *State, r message.Return) (out []message.Message) {
	if s.Record == nil || s.Record.Parent == nil {
		return nil
	}
	m := s.Record.Parent.Back(message.Child{Instance: s.Entry.Instance, Process: a.process.table.Process}, r)
	m.Clock, m.Trace = message.Next(s.Clock), s.Trace
	return []message.Message{m}
}

// relayed are the markers to the other nodes, of an instance whose parent has ended it (R29).
func (a *Activity) relayed(s *State) (out []message.Message) {
	if s.Marker == nil || !s.Marker.Relay || s.Origin != a.process.table.Node {
		return nil
	}
	marker := *s.Marker
	marker.Relay = false
	body := message.EncodeMarker(marker)
	told := map[processtable.NodeID]bool{a.process.table.Node: true}
	for _, node := range a.process.table.Nodes() {
		if told[node] || !a.process.table.Hosting(node) {
			continue
		}
		told[node] = true
		out = append(out, message.Message{Header: message.Header{
			Queue: message.Queue{Process: a.process.table.Process, Node: node}, Instance: s.Entry.Instance, Origin: s.Origin,
			Kind: message.KindMarker, Lane: message.LaneControl,
		}, Body: body})
	}
	return out
}

// parent is who has begun the instance of which this is source or sink; nil: nobody has.
func (s *State) parent() *message.Parent {
	switch {
	case s.Record != nil:
		return s.Record.Parent
	case s.inner != nil:
		return s.inner.parent
	}
	return nil
}
