package node

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/message"
	"fmqm/processtable"
)

// counter is a second behaviour, for tests: it waits until each activity that leads to it has
// brought a number, then a while, and sends the sum onward. A sum over its limit puts it in
// error, until an operator gives one or takes it as it is. What it reads of its row's Spec are
// the while, in nanoseconds, and the limit.
type counter struct {
	table *processtable.Table
	row   *processtable.Activity
	pause time.Duration
	most  int64
}

var counters = behaviour.Registry{"counter": newCounter}

func newCounter(t *processtable.Table, row *processtable.Activity) (behaviour.Behaviour, error) {
	r := cbor.NewReader(row.Spec)
	r.Tuple(2)
	c := &counter{table: t, row: row, pause: time.Duration(r.Int()), most: r.Int()}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("spec of a counter: %w", err)
	}
	return c, nil
}

func counterSpec(pause time.Duration, most int64) []byte {
	return cbor.AppendInt(cbor.AppendInt(cbor.AppendArray(nil, 2), int64(pause)), most)
}

// asCounter makes a row of a table a counter's.
func asCounter(t *processtable.Table, name processtable.ActivityID, spec []byte, path ...processtable.Composite) {
	i := slices.IndexFunc(t.Activities, func(a *processtable.Activity) bool { return a.Name == name })
	row := t.Activities[i]
	t.Format = 4
	t.Activities[i] = &processtable.Activity{
		Name: row.Name, Behaviour: "counter", Spec: spec, Path: path, Input: row.Input, Output: row.Output,
		InControl: row.InControl, OutControl: row.OutControl, InData: row.InData, OutData: row.OutData,
	}
}

// count is the state of a counter.
type count struct {
	behaviour.Basis
	brought map[processtable.ActivityID]int64
	memory  *countMemory
	at      uint64 // the clock of the message that memory is of
}

// countMemory is what a counter remembers of itself: the body of its snapshot.
type countMemory struct {
	due    time.Time
	error  string // it waits for an operator
	source processtable.ActivityID
}

func (m *countMemory) encode() []byte {
	w := cbor.BeginMap(nil)
	w.Time(0, m.due)
	w.Text(1, m.error)
	w.Text(2, string(m.source))
	return w.B
}

func readCountMemory(data []byte) (*countMemory, error) {
	m := &countMemory{}
	r := cbor.NewReader(data)
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			m.due = f.Time()
		case 1:
			m.error = f.Text(message.MaxText)
		case 2:
			m.source = processtable.ActivityID(f.Text(processtable.MaxName))
		default:
			f.Unknown()
		}
	}
	return m, r.End()
}

func (s *count) Interrupted() bool { return s.Stopped }

func (s *count) InError() bool { return s.memory != nil && s.memory.error != "" }

// Timers: one, of the name "pause".
func (s *count) Timers() []behaviour.Timer {
	if s.memory == nil || s.memory.due.IsZero() {
		return nil
	}
	return []behaviour.Timer{{Name: "pause", Due: s.memory.due}}
}

// pausing: its timer is set, and has not come.
func (s *count) pausing() bool {
	return slices.ContainsFunc(s.Timers(), func(t behaviour.Timer) bool { return !s.Came(t) })
}

func (s *count) Bytes() int { return 256 + 64*len(s.brought) }

func (s *count) Clone() behaviour.State {
	c := *s
	c.Keys, c.Consumed = slices.Clone(s.Keys), slices.Clone(s.Consumed)
	c.brought = map[processtable.ActivityID]int64{}
	for from, n := range s.brought {
		c.brought[from] = n
	}
	return &c
}

func (s *count) sum() (sum int64) {
	for _, n := range s.brought {
		sum += n
	}
	return sum
}

func (c *counter) Empty(e message.Entry) behaviour.State {
	return &count{Basis: behaviour.Basis{Entry: e}, brought: map[processtable.ActivityID]int64{}}
}

func (c *counter) Fold(of behaviour.State, m message.Message) error {
	s := of.(*count)
	switch m.Kind {
	case message.KindMarker:
		s.Stop(m)
		return nil
	case message.KindSnapshot:
		memory, err := readCountMemory(m.Body)
		if err != nil {
			return &behaviour.Refusal{Reason: err.Error()}
		}
		if m.Clock >= s.at {
			s.memory, s.at = memory, m.Clock
		}
		s.Note(m)
	case message.KindDue:
		s.Note(m)
	case message.KindConnector:
		if slices.Contains(s.Keys, m.Key()) {
			return nil
		}
		values, err := c.Values(m)
		if err != nil {
			return &behaviour.Refusal{Reason: fmt.Sprintf("number from %s: %v", m.Source, err)}
		}
		if len(values) != 1 || m.Number != 0 {
			return &behaviour.Refusal{Reason: fmt.Sprintf("%s does not bring one number", m.Source)}
		}
		s.brought[m.Source], _ = values[0].Value.(int64)
		s.Note(m)
		s.Consumed = append(s.Consumed, behaviour.Resolved{Key: m.Key(), Control: m.Control, Data: m.Data, Clock: m.Clock})
	default:
		return &behaviour.Refusal{Reason: fmt.Sprintf("a counter takes no message of kind %d", m.Kind)}
	}
	if !slices.Contains(s.Keys, m.Key()) {
		s.Keys = append(s.Keys, m.Key())
	}
	return nil
}

func (c *counter) waits(s *count) (from []processtable.ActivityID) {
	for _, in := range c.row.InControl {
		if _, has := s.brought[in.From]; !has {
			from = append(from, in.From)
		}
	}
	return from
}

func (c *counter) Decide(of behaviour.State, now time.Time) behaviour.Effects {
	s := of.(*count)
	switch {
	case s.Stopped:
		return behaviour.Effects{Ends: true, Outcome: behaviour.Outcome{What: behaviour.Stopped, Clock: message.Next(s.Clock), By: s.StoppedBy}}
	case s.InError(), len(c.waits(s)) > 0, s.pausing():
		return behaviour.Effects{}
	case s.memory == nil:
		return c.remember(s, &countMemory{due: now.Add(c.pause)}, behaviour.Outcome{What: behaviour.Iterated, Iteration: 1})
	case s.sum() > c.most:
		return c.fail(s, &countMemory{error: fmt.Sprintf("the sum is %d, and at most %d is allowed", s.sum(), c.most)}, now)
	}
	return c.end(s, s.sum(), now)
}

// onward is a message to an activity, or to itself.
func (c *counter) onward(s *count, to processtable.ActivityID, node processtable.NodeID) message.Message {
	if node == processtable.Origin {
		node = s.Origin
	}
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: c.table.Process, Node: node}, Definition: c.table.Definition.Short(),
		Instance: s.Entry.Instance, Origin: s.Origin, Scope: s.Entry.Scope, Activity: to, SourceScope: s.Entry.Scope, Source: c.row.Name,
		Kind: message.KindConnector, Lane: message.LaneControl, Clock: message.Next(s.Clock), Trace: s.Trace,
	}}
}

// remember replaces the counter's memory.
func (c *counter) remember(s *count, memory *countMemory, o behaviour.Outcome) behaviour.Effects {
	m := c.onward(s, c.row.Name, c.table.Node)
	m.Kind, m.Source, m.Body = message.KindSnapshot, "", memory.encode()
	o.Clock = m.Clock
	e := behaviour.Effects{Put: []message.Message{m}, Takes: s.Passing(), Outcome: o}
	if !memory.due.IsZero() {
		e.Timers = []behaviour.Timer{{Name: "pause", Due: memory.due, Pause: c.pause}}
	}
	return e
}

func (c *counter) tell(s *count, e behaviour.Effects, n message.Notice) behaviour.Effects {
	m := c.onward(s, processtable.Sink, processtable.Origin)
	m.Kind, m.Scope, m.Body = message.KindNotice, "", message.EncodeNotice(n)
	e.Put = append(e.Put, m)
	return e
}

func (c *counter) fail(s *count, memory *countMemory, now time.Time) behaviour.Effects {
	e := c.remember(s, memory, behaviour.Outcome{What: behaviour.InError, Iteration: 1, Reason: memory.error})
	return c.tell(s, e, message.Notice{Error: memory.error, Time: now})
}

func (c *counter) output(sum int64) *container.Struct {
	out := container.New(c.row.Output)
	out.Fields[0] = sum
	return out
}

func (c *counter) end(s *count, sum int64, now time.Time) behaviour.Effects {
	out := c.output(sum)
	encoded, err := container.EncodeCBOR(out)
	if err != nil {
		return c.fail(s, &countMemory{error: err.Error()}, now)
	}
	e := behaviour.Effects{Ends: true, Outcome: behaviour.Outcome{
		What: behaviour.Terminated, Clock: message.Next(s.Clock), Iteration: 1, Attempt: 1, Started: now, Output: encoded,
	}}
	for _, to := range c.row.OutControl {
		m := c.onward(s, to.To, to.Node)
		m.Control = message.True
		if body, err := c.carried(out, to.To); err == nil && body != nil {
			m.Data, m.Lane, m.Body = message.DataPresent, message.LaneData, body
		}
		e.Put = append(e.Put, m)
	}
	return e
}

// carried encodes what goes to an activity; nil: nothing.
func (c *counter) carried(out *container.Struct, to processtable.ActivityID) ([]byte, error) {
	for _, d := range c.row.OutData {
		if d.To == to {
			return container.EncodeValues([]container.Value{out.Get(d.Mappings[0].From)})
		}
	}
	return nil, nil
}

// Conclude: a counter invokes nothing.
func (c *counter) Conclude(behaviour.State, behaviour.Result, time.Time) behaviour.Effects {
	return behaviour.Effects{}
}

func (c *counter) Command(of behaviour.State, command behaviour.Command, now time.Time) (behaviour.Effects, error) {
	s := of.(*count)
	switch word := command.(type) {
	case behaviour.Retry:
		if !s.InError() {
			return behaviour.Effects{}, errors.New("the counter is not in error")
		}
		sum := s.sum()
		if word.Output != nil {
			sum, _ = word.Output.Fields[0].(int64)
		} else if len(c.waits(s)) > 0 {
			return behaviour.Effects{}, errors.New("numbers are missing: give the sum")
		}
		return c.tell(s, c.end(s, sum, now), message.Notice{Cleared: true, Time: now}), nil
	case behaviour.Refuse:
		s.Entry, s.Origin = word.Message.Entry(), word.Message.Origin
		return c.fail(s, &countMemory{error: word.Reason, source: word.Message.Source}, now), nil
	case behaviour.Forgive:
		if !s.InError() || s.memory.source != word.Message.Source {
			return behaviour.Effects{}, nil
		}
		e := c.remember(s, &countMemory{due: now.Add(c.pause)}, behaviour.Outcome{})
		return c.tell(s, e, message.Notice{Cleared: true, Time: now}), nil
	case behaviour.TooLarge:
		return c.fail(s, &countMemory{error: word.Reason}, now), nil
	}
	return behaviour.Effects{}, fmt.Errorf("a counter knows no command of type %T", command)
}

func (c *counter) Review(of behaviour.State, _ behaviour.Reviewable, _ time.Time) (*behaviour.Result, error) {
	if !of.(*count).InError() {
		return nil, errors.New("the counter is not in error")
	}
	return nil, nil
}

func (c *counter) Without(of behaviour.State, refused message.Message) (message.Message, string) {
	m := c.onward(of.(*count), c.row.Name, c.table.Node)
	m.Instance, m.Origin, m.Source, m.Control, m.Data = refused.Instance, refused.Origin, refused.Source, message.False, message.DataAbsent
	return m, fmt.Sprintf("the number from %s is 0", refused.Source)
}

func (c *counter) View(of behaviour.State, _ time.Time) behaviour.View {
	s := of.(*count)
	v := behaviour.View{Waits: c.waits(s), Own: s.Own}
	if s.pausing() {
		v.Due = s.memory.due
	}
	for from := range s.brought {
		v.Has = append(v.Has, from)
	}
	slices.Sort(v.Has)
	if s.InError() {
		v.Progress, v.Error = behaviour.Erring, s.memory.error
	}
	return v
}

func (c *counter) MayEnd(*message.Message) bool { return true }

func (c *counter) Follows(from processtable.ActivityID) bool { return c.row.Follows(from) }

func (c *counter) Again(s behaviour.Spoken) (message.Message, error) {
	m := s.Message(c.table)
	if s.Data != message.DataPresent {
		return m, nil
	}
	v, err := container.DecodeCBOR(c.row.Output, s.Output)
	if err == nil {
		m.Body, err = c.carried(v.(*container.Struct), s.Target)
	}
	return m, err
}

func (c *counter) Compute(behaviour.Invoke, time.Time) behaviour.Result { return behaviour.Result{} }
func (c *counter) Slow(*behaviour.Result) bool                          { return false }
func (c *counter) Judge(*behaviour.Result) behaviour.Judgement          { return nil }

// Values gives the number that a message brings: 0 where its source was skipped.
func (c *counter) Values(m message.Message) ([]behaviour.Value, error) {
	if m.Data != message.DataPresent {
		return []behaviour.Value{{Target: "number", Value: int64(0)}}, nil
	}
	values, err := container.DecodeValues([]*container.Type{container.Scalar(container.Int)}, m.Body)
	if err != nil {
		return nil, err
	}
	return []behaviour.Value{{Target: "number", Value: values[0]}}, nil
}
