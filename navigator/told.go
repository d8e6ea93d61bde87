package navigator

import (
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Whoever has started an instance, or another whom its process names, is told of its end, of errors and of deadlines (R58, R59, R61; paper,
// section 4): sink begins a notice each time, which is an entry of its own, and lives on when the instance has ended.

// happened is something that sink has heard, of which a notice is to tell.
type happened struct {
	key  message.Key
	at   message.Arrival // zero: it is not in the store yet
	what message.Told
}

// foldHappened takes what a notice to sink says. The last that an activity says of its errors counts: what is over is not told any more.
func (a *Activity) foldHappened(s *State, m message.Message) {
	if a.Tells()&(processtable.OnError|processtable.OnDeadline) == 0 {
		return
	}
	n, err := message.DecodeNotice(m.Body)
	if err != nil { // sink makes nothing else of one
		return
	}
	key := m.Key()
	if i := slices.IndexFunc(s.heard, func(h happened) bool { return h.key == key }); i >= 0 {
		if before := s.heard[i].at; !unnumbered(m.Arrival) && (unnumbered(before) || before.Compare(m.Arrival) > 0) {
			return
		}
		s.heard = slices.Delete(s.heard, i, i+1)
	}
	what := message.Told{On: processtable.OnError, Scope: m.SourceScope, Activity: m.Source, Text: n.Error, Time: n.Time}
	switch {
	case n.TimedOut:
		what.On, what.Text = processtable.OnDeadline, ""
	case n.Cleared:
		return
	}
	if a.Tells()&what.On == 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(s.heard, m.Arrival, func(h happened, at message.Arrival) int {
		if unnumbered(at) {
			return -1
		}
		if unnumbered(h.at) {
			return 1
		}
		return h.at.Compare(at)
	})
	s.heard = slices.Insert(s.heard, at, happened{key, m.Arrival, what})
}

// untold is the first thing of which sink has not told yet; nil: there is none, or it has told of as many as it may. One that is not in
// the store yet is none of those that it has told of.
func (a *Activity) untold(s *State) *happened {
	if len(s.heard) == 0 || s.Record == nil {
		return nil
	}
	upto := message.Arrival{}
	if t := s.reached().Telling; t != nil {
		if upto = t.Upto; t.Count >= processtable.MaxTold {
			return nil
		}
	}
	for i := range s.heard {
		if at := s.heard[i].at; unnumbered(at) || at.Compare(upto) > 0 {
			return &s.heard[i]
		}
	}
	return nil
}

// tells begins the notices of the first thing of which sink has not told, and remembers that it has (R58). It goes before all that sink
// may come to: so nothing that is known when the instance ends is lost. What is not in the store yet, in a cascade, has it wait for that.
func (a *Activity) tells(s *State, h *happened) behaviour.Effects {
	if unnumbered(h.at) {
		return behaviour.Effects{}
	}
	at := s.progress()
	begun := a.tellsOf(s, &at, &h.what)
	at.Telling.Upto = h.at
	e := a.keep(s, at, behaviour.Outcome{})
	e.Put = append(e.Put, begun...)
	return e
}

// tellsOf are the notices of an error or a deadline, counted in sink's snapshot.
func (a *Activity) tellsOf(s *State, at *message.Snapshot, what *message.Told) []message.Message {
	next := message.Telling{}
	if at.Telling != nil {
		next = *at.Telling
	}
	at.Telling = &next
	if next.Count >= processtable.MaxTold {
		return nil
	}
	next.Count++
	return a.toldNotices(s, next.Count, what, nil)
}

// tellsItself is tellsOf of what sink itself has come to: it is in error, or the process's deadline has come.
func (a *Activity) tellsItself(s *State, at *message.Snapshot, what message.Told) []message.Message {
	if a.Kind != processtable.KindSink || !a.top() || s.Record == nil || a.Tells()&what.On == 0 {
		return nil
	}
	return a.tellsOf(s, at, &what)
}

// tellsEnd adds the notices of the end of an instance to the transaction that ends its sink (R58).
func (a *Activity) tellsEnd(s *State, e *behaviour.Effects) {
	if !e.Ends || a.Kind != processtable.KindSink || !a.top() || s.Record == nil || a.Tells()&processtable.OnEnd == 0 {
		return
	}
	what := message.Told{On: processtable.OnEnd}
	switch e.Outcome.What {
	case behaviour.Terminated:
	case behaviour.Stopped:
		what.Text = e.Outcome.Reason
	default:
		return
	}
	count := 0
	if t := s.reached().Telling; t != nil {
		count = t.Count
	}
	e.Put = append(e.Put, a.toldNotices(s, count+1, &what, e.Outcome.Output)...)
}

// toldNotices are the first messages of the notices that tell of what has happened, the nth of its instance. The input is that of the
// instance; output: that of the process, at its end.
func (a *Activity) toldNotices(s *State, nth int, what *message.Told, output []byte) (all []message.Message) {
	for i := range a.Notify {
		if a.Notify[i].On&what.On == 0 {
			continue
		}
		m := a.onward(s, target{activity: a.Name, node: a.process.table.Node})
		m.Source, m.Kind, m.Scope = "", message.KindSnapshot, s.Entry.Scope.Told(i, nth)
		m.SourceScope = m.Scope
		m.Body = message.EncodeSnapshot(message.Snapshot{
			Iteration: 1, Input: s.Record.Input, HasOutput: output != nil, Output: output, Told: what, Item: unshown(a.noticeDoers(s, i)),
		})
		all = append(all, m)
	}
	return all
}

// isTold says whether a notice tells of what has happened: then nothing that ends its instance ends it (R59).
func (s *noticed) isTold() bool { return s.at != nil && s.at.Told != nil }

// isOver says whether a notice has nothing more to do.
func (s *noticed) isOver() bool { return s.over || s.at == nil || s.Stopped && !s.isTold() }

// nth says which of the things that happened to its instance a notice tells of, from 1; 0: none, it comes at a time.
func (s *noticed) nth() int {
	frames, err := s.Entry.Scope.Frames()
	if err != nil || len(frames) == 0 {
		return 0
	}
	return frames[len(frames)-1].Iteration
}

// which is for history how often a notice has come, or which of the things that happened it tells of, and that one, without its text:
// what is wrong history has.
func (s *noticed) which() (nth int, of *message.Told) {
	if !s.isTold() {
		return s.at.Iteration, nil
	}
	t := *s.at.Told
	t.Text = ""
	return s.nth(), &t
}

// maxHeading is how long the title of a notice that tells of something is, in bytes.
const maxHeading = 200

// heading is the title of a notice that tells of what has happened.
func (n *notice) heading(t *message.Told) string {
	name := n.of.process.table.Process.Name
	about := t.Path()
	switch {
	case t.On == processtable.OnError:
		name += ": " + about + " is in error"
	case t.On == processtable.OnDeadline && about == "":
		name += ": its deadline has come"
	case t.On == processtable.OnDeadline:
		name += ": the deadline of " + about + " has come"
	case t.Text != "":
		name += " was terminated"
	default:
		name += " has finished"
	}
	return name[:min(len(name), maxHeading)]
}

// output is the process's, at its end; nil: there is none.
func (n *notice) output(s *noticed) *container.Struct {
	if !s.at.HasOutput {
		return nil
	}
	v, err := container.DecodeCBOR(n.of.process.table.Output, s.at.Output)
	if err != nil {
		return nil // of a store that is damaged
	}
	output, _ := v.(*container.Struct)
	return output
}

// OutputMember is the member of what a program of a notice of the end is given beside the process's input: the process's output.
const OutputMember = "_OUTPUT"

// withOutput is what a program of a notice is given: the process's input, and at its end, where it has finished, the output too. Where both
// together are above the limit of a container it is the input only.
func (n *notice) withOutput(s *noticed, input *container.Struct) *container.Struct {
	output, of := n.output(s), n.of.process.table
	if output == nil || len(s.at.Input)+len(s.at.Output) > container.MaxEncoded {
		return input
	}
	members := append(slices.Clone(of.Input.Members), container.Member{Name: OutputMember, Type: of.Output})
	both := container.New(container.NewStructure(of.Input.Name, members))
	copy(both.Fields, input.Fields)
	both.Fields[len(both.Fields)-1] = output
	return both
}

// tellDeadline has the origin told that a deadline has ended the activity, where its process wants to know (R61). It goes before
// everything else: so sink has it before what is sent of the end, as far as that takes the same way.
func (a *Activity) tellDeadline(s *State, e *behaviour.Effects, now time.Time) {
	if !e.Ends || !e.Outcome.TimedOut || !a.process.table.Deadlines || s.Origin == "" || a.Kind == processtable.KindSink {
		return
	}
	m := a.onward(s, target{activity: processtable.Sink, node: processtable.Origin})
	m.Kind, m.Scope, m.Number = message.KindNotice, "", message.NoticeOfDeadline
	m.Body = message.EncodeNotice(message.Notice{Cleared: true, TimedOut: true, Time: now})
	e.Put = slices.Insert(e.Put, 0, m)
}
