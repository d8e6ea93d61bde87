package navigator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// composed is what an entry of a block, or its source, has of others.
type composed struct {
	begun   bool            // of a source: what began it has come
	input   []byte          // with it
	did     message.Doers   // with it: who did what the element, or the offer, asks for (R42)
	due     time.Time       // with it: of an offer, when home ends it whatever people do
	by      message.Doer    // with it: who has started the outermost instance (R29)
	parent  *message.Parent // with it: the activity that has begun the instance (R29)
	returns []returned
}

// with is what it is when something has come back, perhaps once more.
func (c *composed) with(r returned) *composed {
	var all []returned
	if c != nil {
		all = slices.DeleteFunc(slices.Clone(c.returns), func(o returned) bool {
			return o.scope == r.scope && o.source == r.source && o.number == r.number
		})
	}
	next := composed{}
	if c != nil {
		next = *c
	}
	next.returns = append(all, r)
	return &next
}

// returned is what has come back of an iteration.
type returned struct {
	source processtable.ActivityID // sink; source, where the iteration was given up (R24); or what is in error (R22)
	scope  message.Scope           // of source
	number uint64                  // of a subprocess's child (R29)
	output []byte                  // CBOR container
	err    string                  // why there is none
	rc     int64                   // of the work of a call (R33), as the next
	ending message.Ending
}

// foldBegin takes what begins a block's iteration, at the block's source (R20).
func (a *Activity) foldBegin(s *State, m message.Message) error {
	if (a.Kind != processtable.KindSource || len(a.Path) == 0) && !a.Begun() {
		return refuse("%s begins nothing: only the source of a block does, and what a bundle or a call has done", a.Name)
	}
	begin, err := message.DecodeBegin(m.Body)
	if err != nil {
		return refuse("begin of %s: %v", m.Scope, err)
	}
	next := composed{begun: true, input: begin.Input, did: begin.Did, due: begin.Due}
	if s.inner != nil {
		next.returns = s.inner.returns
	}
	s.inner = &next
	s.seen(m)
	return nil
}

// foldReturn takes what an iteration of a block has come to (R20), or that something inside of it
// would wait for an operator (R22).
func (a *Activity) foldReturn(s *State, m message.Message) error {
	switch {
	case a.Kind == processtable.KindProcess:
		return a.foldChild(s, m)
	case a.Kind == processtable.KindBundle:
		return a.foldElement(s, m)
	case a.Kind == processtable.KindCall, len(a.elsewhere) > 0:
		return a.foldCalled(s, m)
	}
	ends := (m.Source == processtable.Sink || m.Source == processtable.Source) && m.SourceScope.Leave() == m.Scope && m.SourceScope.Inside() == a.Name
	if a.Kind != processtable.KindBlock || m.Number != 0 || !ends && !a.Continues {
		return refuse("%s has begun nothing of which %s in %q could return", a.Name, m.Source, m.SourceScope)
	}
	r, err := message.DecodeReturn(m.Body)
	if err != nil {
		return refuse("return of %s: %v", m.SourceScope, err)
	}
	if !ends && r.Error == "" {
		return refuse("return of %s in %s: it tells of no error, and only source and sink of the block return without one", m.Source, m.SourceScope)
	}
	s.inner = s.inner.with(returned{source: m.Source, scope: m.SourceScope, output: r.Output, err: r.Error})
	s.dropReturns()
	s.seen(m)
	return nil
}

// dropReturns lets go of what came back of iterations, and children, that are over.
func (s *State) dropReturns() {
	if s.inner == nil || s.Snapshot == nil || len(s.inner.returns) == 0 {
		return
	}
	next := *s.inner
	next.returns = slices.DeleteFunc(slices.Clone(s.inner.returns), func(r returned) bool {
		ofChild := r.number != 0 && r.scope == s.Entry.Scope
		return s.over(r.scope, s.Snapshot) || ofChild && (!s.Snapshot.Begun || r.number != s.Snapshot.Child.Number())
	})
	s.inner = &next
}

// over says whether an iteration, by the scope of something inside, came before the one that the
// block's snapshot is of, or was of a run before: nothing of it means anything any more.
func (s *State) over(inside message.Scope, at *message.Snapshot) bool {
	around, err := s.Entry.Scope.Frames()
	if err != nil {
		return false
	}
	frames, err := inside.Frames()
	if err != nil || len(frames) <= len(around) {
		return false
	}
	f := frames[len(around)]
	return f.Iteration < at.Iteration || f.Iteration == at.Iteration && f.Run < at.Run
}

// passing are the messages that mean nothing any more once the entry has decided something: of
// timers that came, and returns of all that it has begun. To a site that has lost its store
// peers send again what was inside: it may come back before the block begins that iteration anew.
func (a *Activity) passing(s *State) []message.Key {
	if a.Kind == processtable.KindBundle {
		return slices.DeleteFunc(s.Passing(), func(k message.Key) bool { return k.Kind == message.KindReturn })
	}
	if a.Kind == processtable.KindProcess { // what was begun, and what comes back of it, are in one store
		return s.Passing()
	}
	at := s.progress()
	return slices.DeleteFunc(s.Passing(), func(k message.Key) bool {
		return k.Kind == message.KindReturn && !s.over(k.Scope, &at) && (!at.Begun || k.Scope != a.within(s, &at))
	})
}

// within is the scope of what is inside of a block in an iteration.
func (a *Activity) within(s *State, at *message.Snapshot) message.Scope {
	return s.Entry.Scope.Enter(message.Frame{Composite: a.Name, Run: at.Run, Iteration: at.Iteration, Element: -1})
}

// goInside has a block's iteration done by what is inside of it (R20): it begins it, or takes what
// has come back.
func (a *Activity) goInside(s *State, now time.Time) behaviour.Effects {
	at := s.progress()
	if !at.Begun {
		_, encoded, pause, err := a.enters(s, &at, now)
		if err != nil {
			return a.fail(s, at, message.CauseInput, err.Error(), now)
		}
		return a.set(a.begin(s, at, encoded, behaviour.Outcome{}, now), timerDeadline, pause)
	}
	if reason, caught := a.catches(s, &at); caught {
		return a.caught(s, reason, now)
	}
	r, err := a.returned(s, &at, now)
	switch {
	case err != nil:
		return a.fail(s, at, message.CauseResult, err.Error(), now)
	case r == nil:
		return behaviour.Effects{}
	case a.Slow(r):
		return behaviour.Effects{Invoke: &behaviour.Invoke{Iteration: at.Iteration, Attempt: at.Attempt + 1, Run: at.Run, Input: r.Output, Output: a.Output}}
	}
	return a.Conclude(s, *r, now)
}

// enters gives the input with which a composite begins, also as a message has it; at gets its deadline, which is so far away.
func (a *Activity) enters(s *State, at *message.Snapshot, now time.Time) (input *container.Struct, encoded []byte, pause time.Duration, err error) {
	if input, err = a.InputOf(s); err != nil {
		return nil, nil, 0, err
	}
	if encoded, err = container.EncodeCBOR(input); err != nil {
		return nil, nil, 0, fmt.Errorf("encode the input: %w", err)
	}
	pause, err = a.decided(s, at, input, now)
	return input, encoded, pause, err
}

// begin begins an iteration: at is the block's snapshot of it.
func (a *Activity) begin(s *State, at message.Snapshot, input []byte, o behaviour.Outcome, now time.Time) behaviour.Effects {
	at.Begun, at.Started, at.Cancelled = true, now, 0
	e := a.keep(s, at, o)
	m := a.onward(s, target{activity: processtable.Source, node: a.process.table.Node})
	m.Kind, m.Lane, m.Scope = message.KindBegin, message.LaneData, a.within(s, &at)
	m.Body = message.EncodeBegin(message.Begin{Input: input})
	e.Put = append(e.Put, m)
	return e
}

// returned is the result of the iteration under way; nil: nothing of it has come back. What came
// of another iteration, or of another run, is none.
func (a *Activity) returned(s *State, at *message.Snapshot, now time.Time) (*behaviour.Result, error) {
	if !at.Begun || s.inner == nil {
		return nil, nil
	}
	within := a.within(s, at)
	of := func(source processtable.ActivityID) *returned {
		i := slices.IndexFunc(s.inner.returns, func(r returned) bool { return r.scope == within && r.source == source })
		if i < 0 {
			return nil
		}
		return &s.inner.returns[i]
	}
	r := cmp.Or(of(processtable.Source), of(processtable.Sink))
	switch {
	case r == nil:
		return nil, nil
	case r.err != "":
		return nil, errors.New(r.err)
	}
	output, err := a.output(r.output)
	if err != nil {
		return nil, fmt.Errorf("read what %s has returned: %w", within, err)
	}
	return &behaviour.Result{Output: output, Started: at.Started, Ended: now}, nil
}

// catches says whether something inside of the iteration under way would wait for an operator, and
// what (R22).
func (a *Activity) catches(s *State, at *message.Snapshot) (reason string, caught bool) {
	if !at.Begun || s.inner == nil {
		return "", false
	}
	within := a.within(s, at)
	for _, r := range s.inner.returns {
		if said := fmt.Sprintf("%s: %s", r.source, r.err); r.source != processtable.Sink && r.source != processtable.Source && r.scope.Within(within) && (!caught || said < reason) {
			reason, caught = said, true
		}
	}
	return reason, caught
}

// hasReturned says whether the iteration under way has come back.
func (a *Activity) hasReturned(s *State) bool {
	at := s.progress()
	switch {
	case a.Kind == processtable.KindProcess:
		return s.backFrom(&at) != nil
	case a.Kind == processtable.KindCall:
		back := s.backFromCall(a, &at)
		return back != nil && back.err == ""
	}
	if a.Kind == processtable.KindReceive {
		return s.first(&at) != nil
	}
	if a.Kind != processtable.KindBlock || s.inner == nil {
		return false
	}
	within := a.within(s, &at)
	return at.Begun && slices.ContainsFunc(s.inner.returns, func(r returned) bool {
		return r.scope == within && (r.source == processtable.Sink || r.source == processtable.Source)
	})
}

// release terminates a block's source, which has the iteration's input (R20), or that of an instance
// which an activity has begun (R29).
func (a *Activity) release(s *State, now time.Time) behaviour.Effects {
	if s.inner == nil || !s.inner.begun {
		return behaviour.Effects{}
	}
	input, err := a.output(s.inner.input)
	if err != nil && a.top() {
		return a.fail(s, s.progress(), message.CauseInput, fmt.Sprintf("read the input: %v", err), now)
	}
	if err != nil {
		return a.abandon(s, fmt.Sprintf("read the input: %v", err))
	}
	r := behaviour.Result{Output: input, Instance: s.Entry.Instance.String(), By: s.inner.by, Started: now, Ended: now}
	if a.Slow(&r) {
		return behaviour.Effects{Invoke: &behaviour.Invoke{Iteration: 1, Attempt: 1, Input: r.Output, Instance: r.Instance, Output: a.Output}}
	}
	return a.Conclude(s, r, now)
}

// abandon ends a block's source, of which a condition failed, say (R24): what is inside is on a dead path,
// and the error is the block's, which people know.
func (a *Activity) abandon(s *State, reason string) behaviour.Effects {
	back := a.back(s, message.Return{Error: fmt.Sprintf("source of %s: %s", s.Entry.Scope, reason)})
	return behaviour.Effects{Ends: true, Put: append(a.dead(s), back), Outcome: behaviour.Outcome{
		What: behaviour.Terminated, Clock: message.Next(s.Clock), Iteration: 1, Reason: reason,
	}}
}

// giveBack terminates a block's sink: its input is the block's output in this iteration (R20).
// Where that cannot be made it is the block that is in error.
func (a *Activity) giveBack(s *State) behaviour.Effects {
	encoded, err := a.encodedInput(s)
	back := message.Return{Output: encoded}
	if err != nil {
		back.Error = fmt.Sprintf("encode the block's output: %v", err)
	}
	return behaviour.Effects{Ends: true, Put: []message.Message{a.back(s, back)}, Outcome: behaviour.Outcome{
		What: behaviour.Terminated, Clock: message.Next(s.Clock), Iteration: 1, Output: back.Output, Reason: back.Error,
	}}
}

// back is the message that returns to the block.
func (a *Activity) back(s *State, r message.Return) message.Message {
	m := a.onward(s, target{activity: a.Inside(), node: a.process.table.Node})
	m.Kind, m.Lane, m.Scope = message.KindReturn, message.LaneData, s.Entry.Scope.Leave()
	m.Body = message.EncodeReturn(r)
	return m
}

// encodedInput is the input that the connectors have brought, as an output is kept.
func (a *Activity) encodedInput(s *State) ([]byte, error) {
	input, err := a.build(s, (*container.Struct).Assign)
	if err != nil {
		return nil, err
	}
	return container.EncodeCBOR(input)
}

var errNoStructure = errors.New("it is no structure")

// output reads an output container of the activity.
func (a *Activity) output(encoded []byte) (*container.Struct, error) {
	v, err := container.DecodeCBOR(a.Output, encoded)
	if err != nil {
		return nil, err
	}
	output, ok := v.(*container.Struct)
	if !ok {
		return nil, errNoStructure
	}
	return output, nil
}

// top says whether the activity is inside of nothing: of source and sink, that they are the process's.
func (a *Activity) top() bool { return len(a.Path) == 0 }

// unsentReturn is what the iteration under way had come to when the transaction that followed from
// it turned out too large.
func (a *Activity) unsentReturn(s *State, r *behaviour.Result, now time.Time) *behaviour.Result {
	at := s.progress()
	switch {
	case r != nil:
		return r
	case a.Kind == processtable.KindCall:
		r, _ = a.called(s, &at, now) // as the next two
		return r
	case a.Kind == processtable.KindProcess:
		r, _ = a.returnedChild(s, &at, now) // what cannot be read is told of by comesBack
		return r
	case a.Kind != processtable.KindBlock:
		return nil
	}
	r, _ = a.returned(s, &at, now) // what cannot be read is told of by goInside
	return r
}
