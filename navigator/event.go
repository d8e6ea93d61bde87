package navigator

import (
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// signal is what an activity that receives or sends events has prepared.
type signal struct {
	key, to  *condition.Expr // nil: it has none
	keep     moment
	shape    message.Shape // of what is sent
	echo     []echoed      // of the input, into what is sent
	receives map[processtable.EventID]receivable
}

// receivable is an event that an activity receives.
type receivable struct {
	*container.Type
	shape message.Shape
	echo  []echoed // into the output
}

func prepareSignal(row *processtable.Activity) (*signal, error) {
	g := &signal{receives: map[processtable.EventID]receivable{}}
	var err error
	text := func(c *condition.Checked) *condition.Expr {
		if c == nil || err != nil {
			return nil
		}
		var e *condition.Expr
		if e, err = condition.LoadExpr(*c, inputScope(row.Input), container.Scalar(container.String)); err != nil {
			err = fmt.Errorf("expression %q: %w", c.Text, err)
		}
		return e
	}
	if r := row.Receive; r != nil {
		g.key = text(r.Key)
		for _, e := range r.Events {
			g.receives[e.Name] = receivable{e.Type, container.Fingerprint(e.Type), echoOf(e.Type, row.Output)}
		}
	}
	if s := row.Send; s != nil {
		g.key, g.to = text(s.Key), text(s.ToExpr)
		g.shape, g.echo = container.Fingerprint(s.Type), echoOf(row.Input, s.Type)
		if err == nil {
			g.keep, err = prepareMoment(s.Keep, row.Input)
		}
	}
	return g, err
}

// text evaluates an expression over the input that gives a text.
func (a *Activity) text(s *State, e *condition.Expr, input *container.Struct) (string, error) {
	v, err := e.Eval(&condition.Spent{}, input, &condition.Values{Instance: s.Entry.Instance.String()})
	if err != nil {
		return "", err
	}
	return v.(string), nil
}

// eventKey is the key of what an activity receives or sends; empty: it has none.
func (a *Activity) eventKey(s *State, input *container.Struct) (string, error) {
	if a.signal.key == nil {
		return "", nil
	}
	key, err := a.text(s, a.signal.key, input)
	switch {
	case err != nil:
		return "", fmt.Errorf("key: %w", err)
	case key == "":
		return "", fmt.Errorf("the key of %s is empty: give it a text, or leave `key` out to mean events without one", a.Name)
	case len(key) > processtable.MaxEventKey:
		return "", fmt.Errorf("the key of %s has %d bytes, and at most %d are allowed: use something short, such as an order number", a.Name, len(key), processtable.MaxEventKey)
	}
	return key, nil
}

// received is an event that the receive was given.
type received struct {
	token processtable.ActivityID
	event message.Event
	order message.Arrival
}

// foldEvent takes an event that has met this receive (R37).
func (a *Activity) foldEvent(s *State, m message.Message) error {
	if a.Kind != processtable.KindReceive {
		return refuse("%s receives no events", a.Name)
	}
	e, err := message.DecodeEvent(m.Body)
	if err != nil {
		return refuse("event for %s: %v", a.Name, err)
	}
	if known, receives := a.signal.receives[e.Name]; !receives || known.shape != e.Shape || e.Taker == nil {
		return refuse("event %s of %s: %s does not wait for such", e.Name, e.Node, a.Name)
	}
	s.events = append(slices.DeleteFunc(slices.Clone(s.events), func(o received) bool { return o.token == m.Source }), received{m.Source, e, m.Arrival})
	s.seen(m)
	return nil
}

// given are the events that the receive has and no transaction has taken, the first first.
func (s *State) given() []received {
	if len(s.events) == 0 {
		return nil
	}
	s.events = slices.DeleteFunc(slices.Clone(s.events), func(r received) bool {
		return !slices.Contains(s.Keys, message.Key{Kind: message.KindEvent, Source: r.token, Scope: s.Entry.Scope})
	})
	slices.SortFunc(s.events, func(a, b received) int { return a.order.Compare(b.order) })
	return s.events
}

// of says whether an event was taken for the round under way: else that was over before it came.
func (r *received) of(at *message.Snapshot) bool {
	return at.Begun && *r.event.Taker == message.Round{Iteration: at.Iteration, Run: at.Run}
}

// first is the event that the round under way has come to; nil: none has come.
func (s *State) first(at *message.Snapshot) *received {
	given := s.given()
	for i := range given {
		if given[i].of(at) {
			return &given[i]
		}
	}
	return nil
}

// receive is a KindReceive's that was decided TRUE (R37): it waits in the entry of each event that it receives,
// and terminates with the first that comes.
func (a *Activity) receive(s *State, input *container.Struct, now time.Time) behaviour.Effects {
	at := s.progress()
	if at.Begun {
		return a.takes(s, &at, now)
	}
	key, err := a.eventKey(s, input)
	if err != nil {
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	pause, err := a.decided(s, &at, input, now)
	if err != nil {
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	at.Begun, at.Started, at.Due = true, now, time.Time{}
	e := a.set(a.keep(s, at, behaviour.Outcome{}), timerDeadline, pause)
	wait := message.Wait{Key: key, Taker: a.round(s, &at), Clock: message.Next(s.Clock), Since: now}
	for _, r := range a.Receive.Events {
		wait.Name = r.Name
		h := message.ToMeeting(a.process.table.Node, a.meeting(r.Name, key), wait.Token(), message.KindWait)
		h.Clock, h.Trace = wait.Clock, s.Trace
		e.Put = append(e.Put, message.Message{Header: h, Body: message.EncodeWait(wait)})
	}
	return e
}

func (a *Activity) meeting(name processtable.EventID, key string) message.Entry {
	return message.MeetingOf(name, a.signal.receives[name].shape, key)
}

// round names the execution under way.
func (a *Activity) round(s *State, at *message.Snapshot) message.Parent {
	p := a.parentOf(s, at)
	p.Attempt = 0
	return p
}

// takes ends a round with the first event that has come, if one has.
func (a *Activity) takes(s *State, at *message.Snapshot, now time.Time) behaviour.Effects {
	first := s.first(at)
	if first == nil {
		return behaviour.Effects{}
	}
	ref := first.event.Ref()
	known := a.signal.receives[first.event.Name]
	v, err := container.DecodeCBOR(known.Type, first.event.Data)
	data, is := v.(*container.Struct)
	if err == nil && !is {
		err = errNoStructure
	}
	if err != nil {
		at.Begun = false
		e := a.fail(s, *at, message.CauseResult, fmt.Sprintf("read event %s of %s: %v", ref.Name, ref.Node, err), now)
		e.Outcome.About = &ref
		return e
	}
	r := behaviour.Result{Output: container.New(a.Output), Started: at.Started, Ended: now, Event: &ref}
	for _, m := range known.echo {
		r.Output.Assign(container.Path{m.to}, data.Fields[m.from])
	}
	if a.Slow(&r) {
		return behaviour.Effects{Invoke: &behaviour.Invoke{
			Iteration: at.Iteration, Attempt: at.Attempt + 1, Run: at.Run, Input: r.Output, Output: a.Output, Event: r.Event,
		}}
	}
	return a.conclude(s, &r, now)
}

// tidy adds what a receive owes the event queue (R38): when a round is over, its waits go, and what came beside the
// event that it took goes back to its place; so does what came when its round was over.
func (a *Activity) tidy(s *State, e *behaviour.Effects) {
	if a.Kind != processtable.KindReceive || e.Invoke != nil {
		return
	}
	at := s.progress()
	given := s.given()
	if !at.Begun && len(given) == 0 {
		return
	}
	over, waits := at.Begun && (e.Ends || a.leaves(s, &at, e)), e.Waits()
	came := map[processtable.EventID]bool{}
	for i := range given {
		r := &given[i]
		current := r.of(&at)
		if current {
			came[r.event.Name] = true
		}
		used := current && e.Outcome.About != nil && e.Outcome.About.Token == r.token
		if current && !over {
			continue
		}
		if !e.Ends {
			e.Takes = append(e.Takes, message.Key{Kind: message.KindEvent, Source: r.token, Scope: s.Entry.Scope})
		}
		if !used {
			back := r.event.Back(a.process.table.Node)
			back.Clock = message.Next(s.Clock)
			e.Put = append(e.Put, back)
		}
	}
	if over {
		e.Put = append(e.Put, a.unwait(s, &at, came)...)
	}
	if waits && !e.Waits() { // its deadline stays set
		e.Timers = s.pending()
	}
}

// leaves says whether effects end the round of a snapshot without ending the entry.
func (a *Activity) leaves(s *State, at *message.Snapshot, e *behaviour.Effects) bool {
	for i := range e.Put {
		if m := &e.Put[i]; m.Kind == message.KindSnapshot && m.Entry() == s.Entry {
			next, err := message.DecodeSnapshot(m.Body)
			return err == nil && (!next.Begun || next.Iteration != at.Iteration || next.Run != at.Run)
		}
	}
	return false
}

// unwait takes the waits of a round out of the event queue, but for those of events that came.
func (a *Activity) unwait(s *State, at *message.Snapshot, came map[processtable.EventID]bool) (out []message.Message) {
	input, err := a.InputOf(s)
	if err != nil {
		return nil // it never waited
	}
	key, err := a.eventKey(s, input)
	if err != nil {
		return nil
	}
	round := a.round(s, at)
	for _, r := range a.Receive.Events {
		if came[r.Name] {
			continue
		}
		h := message.ToMeeting(a.process.table.Node, a.meeting(r.Name, key), message.WaitToken(&round), message.KindOver)
		h.Clock = message.Next(s.Clock)
		out = append(out, message.Message{Header: h})
	}
	return out
}

// event is the one that a KindSend sends when it ends (R39); it fails where an expression does, or gives what
// cannot be.
func (a *Activity) event(s *State, input *container.Struct, now time.Time) (message.Message, error) {
	key, err := a.eventKey(s, input)
	if err != nil {
		return message.Message{}, err
	}
	to := a.Send.To.At(s.Origin)
	if a.signal.to != nil {
		text, err := a.text(s, a.signal.to, input)
		if err != nil {
			return message.Message{}, fmt.Errorf("to: %w", err)
		}
		if to = processtable.NodeID(text); !slices.Contains(a.Send.Of, to) {
			return message.Message{}, fmt.Errorf("event %s is to be sent to %q, and the nodes are %v: correct what gives it, or name the node in of", a.Send.Event, text, a.Send.Of)
		}
	}
	var keep time.Duration
	if a.Send.Keep != nil {
		if _, keep, err = a.signal.keep.of(s, input, now); err != nil {
			return message.Message{}, fmt.Errorf("keep: %w", err)
		}
		if keep <= 0 || keep > message.MaxKeep {
			return message.Message{}, fmt.Errorf("keep of event %s is %s: it has to be above 0, and at most %s: correct what gives it", a.Send.Event, keep, message.MaxKeep)
		}
	}
	data := container.New(a.Send.Type)
	for _, m := range a.signal.echo {
		data.Assign(container.Path{m.to}, input.Fields[m.from])
	}
	encoded, err := container.EncodeCBOR(data)
	if err != nil {
		return message.Message{}, fmt.Errorf("encode event %s: %w", a.Send.Event, err)
	}
	at := s.progress()
	sender := a.round(s, &at)
	m := (&message.Event{
		Name: a.Send.Event, Key: key, Shape: a.signal.shape, Data: encoded, Sent: now, Keep: keep, Node: a.process.table.Node, Sender: &sender,
	}).Message(to)
	m.Clock, m.Trace = message.Next(s.Clock), s.Trace
	return m, nil
}

// send is a KindSend's that was decided TRUE: what cannot be sent is told of before it ends, and what is
// for another node waits for room in the queue to there (R39).
func (a *Activity) send(s *State, input *container.Struct, now time.Time) behaviour.Effects {
	m, err := a.event(s, input, now)
	switch {
	case err != nil:
		return a.fail(s, s.progress(), message.CauseInput, err.Error(), now)
	case m.Queue.Node != a.process.table.Node: // S3
		return a.apart(s, input, now, m.Queue.Node)
	}
	return a.echoes(s, input, now)
}

// sent are the messages of an activity that ends, about what it sends; nothing where somebody has given
// its output by hand, who has seen to that.
func (a *Activity) sent(s *State, r *behaviour.Result) ([]message.Message, error) {
	if a.Kind != processtable.KindSend || r.Given {
		return nil, nil
	}
	input, err := a.InputOf(s)
	if err != nil {
		return nil, err
	}
	m, err := a.event(s, input, r.Ended)
	return []message.Message{m}, err
}

// awaits gives what a receive waits for, for people.
func (a *Activity) awaits(s *State) (events []processtable.EventID, key string) {
	if a.Kind != processtable.KindReceive || !s.reached().Begun {
		return nil, ""
	}
	for _, e := range a.Receive.Events {
		events = append(events, e.Name)
	}
	if input, err := a.InputOf(s); err == nil {
		key, _ = a.eventKey(s, input) // it was evaluated before
	}
	return events, key
}
