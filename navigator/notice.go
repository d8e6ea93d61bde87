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

// prepareNotices makes ready what an activity has run beside its work (R36).
func (a *Activity) prepareNotices(input *container.Type) error {
	for i, n := range a.Notify {
		first, err := prepareMoment(&n.First, input)
		if err != nil {
			return fmt.Errorf("notice %d: %w", i, err)
		}
		every, err := prepareMoment(n.Every, input)
		if err != nil {
			return fmt.Errorf("notice %d: every: %w", i, err)
		}
		asked, err := prepareWho(n.Staff, input)
		if err != nil {
			return fmt.Errorf("notice %d: staff: %w", i, err)
		}
		a.notices = append(a.notices, noticeReady{first, every, asked})
	}
	if a.Kind == processtable.KindManual {
		a.own = &processtable.Who{Is: processtable.WhoDid, Activity: a.Name}
	}
	return nil
}

// noticeReady is a notice made ready: when it is due, first, and then every so often, if that is any time; and what its
// staff expression asks of the input.
type noticeReady struct {
	first, every moment
	asked        []*condition.Expr
}

// notifies adds to what decides an activity TRUE, or is the record of an instance, what begins its notices: each
// gets its snapshot, with its time and the input, in a frame of its own (R36). It is done once; at is the snapshot that is
// put.
func (a *Activity) notifies(s *State, at *message.Snapshot, input *container.Struct, now time.Time) ([]message.Message, error) {
	encoded, err := container.EncodeCBOR(input)
	if err != nil {
		return nil, fmt.Errorf("encode the input: %w", err)
	}
	at.Notices = true
	var all []message.Message
	for i, n := range a.notices {
		if a.Notify[i].On != 0 { // they begin when it has happened (R58)
			continue
		}
		due, _, err := n.first.of(s, input, now)
		if err != nil {
			return nil, fmt.Errorf("notify: %w", err)
		}
		notice := message.Snapshot{Iteration: 1, Due: due, Input: encoded, Deadline: a.dueOf(s, at), Item: unshown(a.noticeDoers(s, i))}
		if n.every.Moment != nil {
			after, _, err := n.every.of(s, input, now)
			if err != nil {
				return nil, fmt.Errorf("notify: every: %w", err)
			}
			notice.Every = max(after.Sub(now), time.Millisecond)
		}
		m := a.onward(s, target{activity: a.Name, node: a.process.table.Node})
		m.Source, m.Kind, m.Scope = "", message.KindSnapshot, s.Entry.Scope.Notice(i)
		m.SourceScope, m.Body = m.Scope, message.EncodeSnapshot(notice)
		all = append(all, m)
	}
	return all, nil
}

// beginNotices begins the notices of an activity that was decided TRUE (R36); room: what is to begin has it.
func (a *Activity) beginNotices(s *State, room bool, now time.Time) behaviour.Effects {
	at := s.progress()
	input, err := a.InputOf(s)
	if err != nil {
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	pause, err := a.decided(s, &at, input, now)
	if err != nil {
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	begun, err := a.notifies(s, &at, input, now)
	if err != nil {
		at.Notices = false
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	if a.isComposite() {
		return a.beginsNoticed(s, room, at, pause, begun, now)
	}
	e := a.set(a.keep(s, at, behaviour.Outcome{}), timerDeadline, pause)
	e.Put = append(e.Put, begun...)
	return e
}

// beginsNoticed begins what a block, a bundle or a call has done in the same transaction as its notices, so that neither is
// there without the other: what ends it finds it begun (N12). One that ends at once has none.
func (a *Activity) beginsNoticed(s *State, room bool, at message.Snapshot, pause time.Duration, begun []message.Message, now time.Time) behaviour.Effects {
	next := s.clone()
	next.Snapshot = &at
	begin := a.decide
	if room {
		begin = a.beginsAhead
	}
	e := begin(next, now)
	if e.Ends || e.Invoke != nil { // what is evaluated apart, or asks for room, comes back to s, which has begun none
		return e
	}
	e = a.set(e, timerDeadline, pause)
	e.Put = append(e.Put, begun...)
	return e
}

// notifiesProcess says whether sink has still to begin the notices of its process, which it does once it knows the
// instance, as it sets the deadline (R30, R36).
func (a *Activity) notifiesProcess(s *State) bool {
	return a.comesInTime() && a.Kind == processtable.KindSink && s.Record != nil && !s.reached().Notices
}

// comesInTime says whether the activity has a notice that comes at a time.
func (a *Activity) comesInTime() bool {
	return slices.ContainsFunc(a.Notify, func(n processtable.Notice) bool { return n.On == 0 })
}

// beginProcessNotices begins the notices of the process.
func (a *Activity) beginProcessNotices(s *State, now time.Time) behaviour.Effects {
	at := s.progress()
	v, err := container.DecodeCBOR(a.process.table.Input, s.Record.Input)
	if err != nil {
		return a.fail(s, at, message.CauseInput, fmt.Sprintf("notify: read the input: %v", err), now)
	}
	begun, err := a.notifies(s, &at, v.(*container.Struct), now)
	if err != nil {
		at.Notices = false
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	e := a.keep(s, at, behaviour.Outcome{})
	e.Put = append(e.Put, begun...)
	return e
}

// endNotices ends the notices with their activity (R36).
func (a *Activity) endNotices(s *State, e *behaviour.Effects) {
	if !e.Ends || s.Snapshot == nil || !s.Snapshot.Notices || e.Outcome.What == behaviour.Stopped { // all of the instance is stopped then
		return
	}
	body := message.EncodeCancel(message.Cancel{Reason: string(a.Name) + " has ended"})
	for i := range a.notices {
		if a.Notify[i].On != 0 { // they live on (R59)
			continue
		}
		m := a.onward(s, target{activity: a.Name, node: a.process.table.Node})
		m.Kind, m.Scope, m.Body = message.KindCancel, s.Entry.Scope.Notice(i), body
		e.Put = append(e.Put, m)
	}
}

// notice is what runs beside the work of an activity (R36): one of its entries is one notice, by the number in
// its scope.
type notice struct{ of *Activity }

// noticed is the state of a notice.
type noticed struct {
	behaviour.Basis
	at    *message.Snapshot // nil: it has none, so it is over, or never was
	clock uint64            // of the message that at is from
	over  bool              // its activity has ended
}

var (
	_ behaviour.Behaviour = (*notice)(nil)
	_ behaviour.State     = (*noticed)(nil)
)

// Clone gives a State that can be folded on without changing s.
func (s *noticed) Clone() behaviour.State {
	c := *s
	c.Keys = append([]message.Key(nil), s.Keys...)
	return &c
}

// Bytes estimates the memory that the state takes.
func (s *noticed) Bytes() int {
	n := stateBytes + keyBytes*len(s.Keys)
	if s.at != nil {
		n += snapshotBytes + len(s.at.Input)
		if s.at.Told != nil {
			n += toldBytes + len(s.at.Told.Text) + len(s.at.Output)
		}
		if s.at.Item != nil {
			n += itemBytes + doerBytes*len(s.at.Item.Did)
		}
	}
	return n
}

// InError reports nothing: what goes wrong with a notice is told in history, and nobody waits for it.
func (s *noticed) InError() bool { return false }

// Interrupted reports that what runs is to be ended: nothing is left to be told.
func (s *noticed) Interrupted() bool { return s.isOver() }

// Timers is when the notice is due, once that is set, and as long as it is to come.
func (s *noticed) Timers() []behaviour.Timer {
	if s.at == nil || !s.at.Notices || s.at.Due.IsZero() {
		return nil
	}
	return []behaviour.Timer{{Due: s.at.Due}}
}

// Empty gives the state of a notice without messages.
func (n *notice) Empty(e message.Entry) behaviour.State {
	return &noticed{Basis: behaviour.Basis{Entry: e}}
}

// Fold adds what a message says.
func (n *notice) Fold(of behaviour.State, m message.Message) error {
	s := of.(*noticed)
	switch m.Kind {
	case message.KindSnapshot:
		at, err := message.DecodeSnapshot(m.Body)
		if err != nil {
			return refuse("snapshot of a notice of %s: %v", n.of.Name, err)
		}
		if s.at == nil || m.Clock >= s.clock {
			s.at, s.clock = &at, m.Clock
		}
	case message.KindCancel:
		s.over, s.Cancelled = true, true
	case message.KindMarker:
		s.Stop(m)
		return nil // the marker is the instance's, and stays (N7)
	case message.KindDue: // R19
	default:
		return refuse("a message of kind %d is not for a notice of %s", m.Kind, n.of.Name)
	}
	s.Note(m)
	if key := m.Key(); !s.has(key) {
		s.Keys = append(s.Keys, key)
	}
	return nil
}

func (s *noticed) has(key message.Key) bool {
	for _, k := range s.Keys {
		if k == key {
			return true
		}
	}
	return false
}

// Decide says what should happen: the timer is set; when its time has come people are shown it, and the program runs (R36, R51).
func (n *notice) Decide(of behaviour.State, now time.Time) behaviour.Effects {
	s := of.(*noticed)
	switch {
	case s.isOver():
		return behaviour.Effects{Ends: len(s.Keys) > 0 || s.Stopped}
	case s.isTold() && s.at.Notices: // it was told, and people have still to take it off
		return behaviour.Effects{}
	case s.isTold():
	case !s.at.Notices:
		at := *s.at
		at.Notices = true
		pause := time.Duration(0)
		if !n.row(s).First.At {
			pause = max(0, at.Due.Sub(now))
		}
		return n.keep(s, at, pause, behaviour.Outcome{})
	case s.at.Due.IsZero() || !s.Came(behaviour.Timer{Due: s.at.Due}):
		return behaviour.Effects{}
	}
	row := n.row(s)
	input, err := n.input(s)
	switch {
	case err != nil && row.ForPeople(): // of a store that is damaged, as below: nobody waits for it
		return behaviour.Effects{Ends: true, Outcome: n.escalated(s, err.Error())}
	case err != nil:
		return behaviour.Effects{Ends: true, Outcome: n.told(s, err.Error(), 0)}
	case row.ForPeople() && s.at.Attempt == 0:
		return n.shows(s, &row, input, now)
	}
	call := &behaviour.Invoke{
		Program: row.Program, Iteration: s.at.Iteration, Attempt: 1, Input: n.withOutput(s, input), Output: container.Empty, NoOutput: true, Deadline: s.at.Deadline, Told: s.at.Told,
	}
	if row.ForPeople() {
		call.People = n.shown(s, &message.Item{})
	}
	return behaviour.Effects{Invoke: call}
}

// input is that of its activity, or of the process, as it was when the notice began.
func (n *notice) input(s *noticed) (*container.Struct, error) {
	v, err := container.DecodeCBOR(n.of.noticeInput(), s.at.Input)
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	input, _ := v.(*container.Struct)
	return input, nil
}

// noticeInput is the type of what notices, and deadlines, are over: of the process's sink, the process's input.
func (a *Activity) noticeInput() *container.Type {
	if a.Kind == processtable.KindSink && a.top() {
		return a.process.table.Input
	}
	return a.Input
}

func (n *notice) row(s *noticed) processtable.Notice {
	number, _ := s.Entry.Scope.OfNotice()
	return n.of.Notify[number] // a scope with another one makes no entry (N10)
}

// Conclude tells in history that the program has run, and goes on.
func (n *notice) Conclude(of behaviour.State, r behaviour.Result, now time.Time) behaviour.Effects {
	s := of.(*noticed)
	if s.isOver() {
		return behaviour.Effects{Ends: true}
	}
	failure := r.Err
	if failure == "" && r.RC != 0 {
		failure = fmt.Sprintf("return code %d", r.RC)
	}
	told := n.told(s, failure, r.RC)
	told.Started = r.Started
	return n.goOn(s, *s.at, told, now)
}

// goOn sets the next time, if there is one; else the notice ends, once no people are shown it any more. One that was missed is
// not made up for.
func (n *notice) goOn(s *noticed, at message.Snapshot, o behaviour.Outcome, now time.Time) behaviour.Effects {
	at.Attempt = 0
	if at.Told != nil && isShown(&at) { // people have still to take it off
		at.Notices = true
		return n.keep(s, at, 0, o)
	}
	switch {
	case at.Every == 0 && !isShown(&at):
		return behaviour.Effects{Ends: true, Outcome: o}
	case at.Every == 0:
		at.Due = time.Time{}
		return n.keep(s, at, 0, o)
	}
	at.Iteration++
	if at.Due = at.Due.Add(at.Every); !at.Due.After(now) {
		at.Due = now.Add(at.Every)
	}
	return n.keep(s, at, at.Due.Sub(now), o)
}

func (n *notice) told(s *noticed, failure string, rc int64) behaviour.Outcome {
	o := behaviour.Outcome{What: behaviour.Notified, Clock: message.Next(s.Clock), RC: rc, Reason: string(n.row(s).Program)}
	o.Iteration, o.Told = s.which()
	if failure != "" {
		o.Reason, o.Failure = o.Reason+" has failed: "+failure, failure
	}
	return o
}

// keep replaces the notice's snapshot, with its timer.
func (n *notice) keep(s *noticed, at message.Snapshot, pause time.Duration, o behaviour.Outcome) behaviour.Effects {
	e := behaviour.Effects{
		Put: []message.Message{{Header: message.Header{
			Queue:      message.Queue{Process: n.of.process.table.Process, Node: n.of.process.table.Node},
			Definition: n.of.process.Definition(), Instance: s.Entry.Instance, Origin: s.Origin, Scope: s.Entry.Scope, SourceScope: s.Entry.Scope,
			Activity: n.of.Name, Kind: message.KindSnapshot, Lane: message.LaneControl, Clock: message.Next(s.Clock), Trace: s.Trace, Rank: s.Rank,
		}, Body: message.EncodeSnapshot(at)}},
		Takes:   s.Passing(),
		Outcome: o,
	}
	if !at.Due.IsZero() {
		e.Timers = []behaviour.Timer{{Due: at.Due, Pause: pause}}
	}
	return e
}

// MayEnd is so for what ends its activity.
func (n *notice) MayEnd(*message.Message) bool { return true }

// Command takes a person's word about one that he is shown. An operator has nothing to say about a notice.
func (n *notice) Command(of behaviour.State, c behaviour.Command, _ time.Time) (behaviour.Effects, error) {
	if w, is := c.(behaviour.Work); is {
		return n.work(of.(*noticed), &w)
	}
	return behaviour.Effects{}, fmt.Errorf("a notice of %s takes no command: it is not in error", n.of.Name)
}

// Review gives nothing: no condition is asked.
func (n *notice) Review(_ behaviour.State, of behaviour.Reviewable, _ time.Time) (*behaviour.Result, error) {
	if _, is := of.(behaviour.Work); is {
		return nil, nil
	}
	return nil, fmt.Errorf("a notice of %s is not in error", n.of.Name)
}

// Without gives what a refused message would have resolved: no connector leads to a notice.
func (n *notice) Without(_ behaviour.State, refused message.Message) (message.Message, string) {
	return refused, "no connector leads to a notice"
}

// View gives what others may see.
func (n *notice) View(of behaviour.State, _ time.Time) behaviour.View {
	s := of.(*noticed)
	v := behaviour.View{Own: s.Own}
	if s.at != nil {
		v.Iterations, v.Due = s.at.Iteration, s.at.Due
		if s.Came(behaviour.Timer{Due: s.at.Due}) {
			v.Progress = behaviour.Ready
		}
	}
	return v
}

// Follows says that no connector leads to it.
func (n *notice) Follows(processtable.ActivityID) bool { return false }

// Again says that it has sent nothing.
func (n *notice) Again(sp behaviour.Spoken) (message.Message, error) {
	return message.Message{}, fmt.Errorf("a notice of %s has sent nothing", sp.Source)
}

// Compute is not asked: a notice has a program.
func (n *notice) Compute(call behaviour.Invoke, started time.Time) behaviour.Result {
	return behaviour.Result{Output: call.Input, Started: started, Ended: started}
}

// Slow, Judge and Values: a notice evaluates nothing.
func (n *notice) Slow(*behaviour.Result) bool { return false }

// Judge gives nothing.
func (n *notice) Judge(*behaviour.Result) behaviour.Judgement { return nil }

// Values gives nothing.
func (n *notice) Values(message.Message) ([]behaviour.Value, error) { return nil, nil }
