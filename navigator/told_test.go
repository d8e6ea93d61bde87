package navigator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// tellingOf is the sink of a process with notices of what happens, in the order of ons, and its entry with the instance's record. The first is
// for who has started it; the others run programs.
func tellingOf(t testing.TB, ons ...processtable.Occasions) (*Activity, *State) {
	t.Helper()
	m := newModel(t, "x").control("source -> x", "x -> sink").data("x -> sink: n = n")
	m.table.Deadlines = true
	sink := m.set(processtable.Sink, func(row *processtable.Activity) {
		for i, on := range ons {
			n := processtable.Notice{On: on, Staff: &processtable.Who{Is: processtable.WhoDid, Activity: processtable.Source}}
			if i > 0 {
				n.Program, n.Staff = "tell", nil
			}
			row.Notify = append(row.Notify, n)
		}
	}).activity(processtable.Sink)
	input, err := container.EncodeCBOR(value(t, `{"n": 8}`))
	if err != nil {
		t.Fatal(err)
	}
	record := message.Record{Process: sink.process.table.Process, Started: noon, Input: input, By: message.Doer{Person: "ann@A"}}
	return sink, folded(t, sink, own(sink, message.KindRecord, message.EncodeRecord(record)))
}

// says is what x tells sink, at a place in the order of arrival; 0: it is not in the store yet.
func says(s *State, n message.Notice, commit uint64) message.Message {
	m := message.Message{Header: message.Header{
		Instance: instance, Origin: origin, Activity: processtable.Sink, Source: "x", Kind: message.KindNotice, Clock: s.Clock + 1,
	}, Body: message.EncodeNotice(n), Arrival: message.Arrival{Commit: commit}}
	if n.TimedOut {
		m.Number = message.NoticeOfDeadline
	}
	return m
}

// begun are the entries of the notices that e begins, each with its state.
func begun(t testing.TB, sink *Activity, e behaviour.Effects) (n *notice, all []*noticed) {
	t.Helper()
	n = sink.process.Activity(processtable.RowID{Name: sink.Name, Inside: processtable.Noticing}).(*notice)
	for _, m := range e.Put {
		if _, is := m.Scope.OfNotice(); !is || m.Kind != message.KindSnapshot {
			continue
		}
		if reason := behaviour.Misplaced(sink.process.table, m.Activity, m.Scope); reason != "" {
			t.Fatal(reason)
		}
		s := n.Empty(m.Entry()).(*noticed)
		if err := n.Fold(s, m); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return n, all
}

// R58, R59: with the end of an instance its notices begin, in the same transaction; people are shown one, a program is given input and
// output; neither needs the instance any more.
func TestR58TheEndIsTold(t *testing.T) {
	sink, s := tellingOf(t, processtable.OnEnd, processtable.OnEnd|processtable.OnError, processtable.OnError)
	expect(t, sink, sink.Decide(s, noon), "waits")
	fold(t, sink, s, from(t, sink, "x", T, `{"n": 5}`))
	end := sink.Decide(s, noon)
	n, all := begun(t, sink, end)
	if !end.Ends || end.Outcome.What != behaviour.Terminated || len(all) != 2 || strings.Contains(show(sink.process, end), "cancels") {
		t.Fatalf("the end is %s", show(sink.process, end))
	}
	people, program := all[0], all[1]
	if people.Entry.Scope != "source[0]#1" || program.Entry.Scope != "source[1]#1" {
		t.Errorf("they are %s and %s", people.Entry.Scope, program.Entry.Scope)
	}
	shown := n.Decide(people, noon.Add(time.Minute))
	if o := shown.Outcome; shown.Ends || o.What != behaviour.Escalated || o.Told == nil || o.Told.On != processtable.OnEnd || o.Attempt != 1 || o.Iteration != 1 {
		t.Fatalf("it comes to %+v", shown)
	}
	n.follow(t, people, shown)
	i := n.Item(people)
	if i == nil || i.Title != "p has finished" || i.Notice.Told.On != processtable.OnEnd || i.Notice.Output.Fields[0] != int64(5) || i.Did[processtable.Source].Person != "ann@A" || i.Input.Fields[0] != int64(8) {
		t.Fatalf("people are shown %+v", i)
	}
	if e := n.Decide(people, noon); !e.Waits() {
		t.Errorf("shown, it comes to %s", show(sink.process, e))
	}
	off, err := n.Command(people, complete("ann@A", nil), noon)
	if err != nil || !off.Ends || off.Outcome.By != "ann@A" || off.Outcome.Told == nil {
		t.Errorf("taken off, it comes to %+v, %v", off, err)
	}

	call := n.Decide(program, noon).Invoke
	if call == nil || call.Program != "tell" || call.Told.On != processtable.OnEnd || call.Input.Fields[0] != int64(8) {
		t.Fatalf("the program is given %+v", call)
	}
	last := len(call.Input.Fields) - 1
	if out, is := call.Input.Fields[last].(*container.Struct); !is || out.Fields[0] != int64(5) || call.Input.Type.Members[last].Name != OutputMember {
		t.Errorf("the output is %+v", call.Input.Fields[last])
	}
	done := n.Conclude(program, behaviour.Result{Started: noon, Ended: noon}, noon)
	if !done.Ends || done.Outcome.What != behaviour.Notified || done.Outcome.Told.On != processtable.OnEnd {
		t.Errorf("it ends as %+v", done)
	}
}

// R58, R59: a termination is an end as well; its marker ends no notice that tells of what has happened.
func TestR58ATerminationIsTold(t *testing.T) {
	sink, s := tellingOf(t, processtable.OnEnd)
	marker := own(sink, message.KindMarker, message.EncodeMarker(message.Marker{Reason: message.TerminatedBy("alice at B", "no more"), By: "alice at B", Time: noon}))
	marker.Activity = ""
	s.Stop(marker)
	end := sink.Decide(s, noon)
	n, all := begun(t, sink, end)
	if len(all) == 1 && all[0].at.Told.Text != "instance terminated by alice at B: no more" {
		t.Errorf("it is told %q", all[0].at.Told.Text)
	}
	if !end.Ends || end.Outcome.What != behaviour.Stopped || len(all) != 1 {
		t.Fatalf("the end is %s", show(sink.process, end))
	}
	all[0].Stop(marker)
	if all[0].Interrupted() {
		t.Error("the marker ends it")
	}
	n.follow(t, all[0], n.Decide(all[0], noon))
	if i := n.Item(all[0]); i == nil || i.Title != "p was terminated" {
		t.Errorf("people are shown %+v", i)
	}
	if off, err := n.Command(all[0], complete("ann@A", nil), noon); err != nil || !off.Ends {
		t.Errorf("taken off, it comes to %+v, %v", off, err)
	}
}

// R58: each error is told once, in the order of arrival, whatever is evicted; what was over before sink came to it is not; nor is one
// told that nobody wants to know.
func TestR58ErrorsAreTold(t *testing.T) {
	sink, s := tellingOf(t, processtable.OnError, processtable.OnEnd)
	fold(t, sink, s, says(s, message.Notice{Error: "no luck", Time: noon}, 7))
	e := sink.Decide(s, noon)
	n, all := begun(t, sink, e)
	if e.Ends || len(all) != 1 || all[0].at.Told.Text != "no luck" || all[0].at.Told.Path() != "x" || all[0].Entry.Scope != "source[0]#1" {
		t.Fatalf("it comes to %s", show(sink.process, e))
	}
	if at := kept(t, sink, s, e); at.Telling == nil || *at.Telling != (message.Telling{Count: 1, Upto: message.Arrival{Commit: 7}}) {
		t.Fatalf("it remembers %+v", at.Telling)
	}
	expect(t, sink, sink.Decide(s, noon), "waits")
	fold(t, sink, s, says(s, message.Notice{Error: "no luck", Time: noon}, 7)) // read once more, after an eviction
	expect(t, sink, sink.Decide(s, noon), "waits")

	fold(t, sink, s, says(s, message.Notice{Cleared: true}, 9), says(s, message.Notice{Error: "again", Time: noon}, 12), says(s, message.Notice{Cleared: true, TimedOut: true}, 13))
	e = sink.Decide(s, noon)
	if _, all := begun(t, sink, e); len(all) != 1 || all[0].at.Told.Text != "again" || all[0].Entry.Scope != "source[0]#2" {
		t.Errorf("it comes to %s", show(sink.process, e))
	}
	kept(t, sink, s, e)
	fold(t, sink, s, says(s, message.Notice{Error: "a third", Time: noon}, 20), says(s, message.Notice{Cleared: true}, 21))
	expect(t, sink, sink.Decide(s, noon), "waits")

	n.follow(t, all[0], n.Decide(all[0], noon))
	if i := n.Item(all[0]); i == nil || i.Title != "p: x is in error" {
		t.Errorf("people are shown %+v", i)
	}
	fold(t, sink, s, from(t, sink, "x", T, ""))
	if _, all := begun(t, sink, sink.Decide(s, noon)); len(all) != 1 || all[0].Entry.Scope != "source[1]#3" {
		t.Errorf("the end begins %d", len(all))
	}
}

// R58: what is known when the instance ends is told first; what is not in the store yet has sink wait for that.
func TestR58NothingIsLostWithTheEnd(t *testing.T) {
	sink, s := tellingOf(t, processtable.OnDeadline)
	next := s.clone()
	late := message.Notice{Cleared: true, TimedOut: true, Time: noon}
	fold(t, sink, next, says(s, late, 0), from(t, sink, "x", T, ""))
	expect(t, sink, sink.Decide(next, noon), "waits")
	fold(t, sink, s, says(s, late, 7), from(t, sink, "x", T, ""))
	e := sink.Decide(s, noon)
	if _, all := begun(t, sink, e); e.Ends || len(all) != 1 || all[0].at.Told.On != processtable.OnDeadline {
		t.Fatalf("it comes to %s", show(sink.process, e))
	}
	kept(t, sink, s, e)
	if e := sink.Decide(s, noon); !e.Ends {
		t.Errorf("then it comes to %s", show(sink.process, e))
	}
}

// R58: no more than so many errors of one instance are told, and the end all the same.
func TestR58NotMoreThanSoMany(t *testing.T) {
	sink, s := tellingOf(t, processtable.OnError|processtable.OnEnd)
	s.Snapshot = &message.Snapshot{Iteration: 1, Telling: &message.Telling{Count: processtable.MaxTold - 1, Upto: message.Arrival{Commit: 4}}}
	fold(t, sink, s, says(s, message.Notice{Error: "no luck"}, 7))
	kept(t, sink, s, sink.Decide(s, noon))
	fold(t, sink, s, says(s, message.Notice{Error: "no luck"}, 9))
	expect(t, sink, sink.Decide(s, noon), "waits")
	fold(t, sink, s, from(t, sink, "x", T, ""))
	if _, all := begun(t, sink, sink.Decide(s, noon)); len(all) != 1 {
		t.Errorf("the end begins %d", len(all))
	}
}

// R59: with staff and a program people are shown it, then the program runs once, whatever people do meanwhile; a cancel ends it.
func TestR59PeopleAndAProgram(t *testing.T) {
	sink, s := tellingOf(t, processtable.OnEnd)
	sink.Notify[0].Program = "tell"
	fold(t, sink, s, from(t, sink, "x", T, ""))
	n, all := begun(t, sink, sink.Decide(s, noon))
	at := all[0]
	n.follow(t, at, n.Decide(at, noon))
	call := n.Decide(at, noon).Invoke
	if call == nil || call.People == nil {
		t.Fatalf("its program is given %+v", call)
	}
	before := at.Clone().(*noticed)
	off, err := n.Command(before, complete("ann@A", nil), noon)
	if err != nil || off.Ends {
		t.Fatalf("taken off before the program has run, it comes to %+v, %v", off, err)
	}
	n.follow(t, before, off)
	if e := n.Decide(before, noon); e.Invoke == nil {
		t.Errorf("then it comes to %s", show(sink.process, e))
	}
	if e := n.Conclude(before, behaviour.Result{}, noon); !e.Ends {
		t.Errorf("and then to %s", show(sink.process, e))
	}
	ran := n.Conclude(at, behaviour.Result{}, noon)
	if ran.Ends || ran.Outcome.What != behaviour.Notified {
		t.Fatalf("run, it comes to %+v", ran)
	}
	n.follow(t, at, ran)
	if e := n.Decide(at, noon); !e.Waits() || n.Item(at) == nil {
		t.Errorf("run, it comes to %s", show(sink.process, e))
	}
	cancel := message.Message{Header: message.Header{Instance: instance, Scope: at.Entry.Scope, SourceScope: "", Source: processtable.Sink, Activity: processtable.Sink, Kind: message.KindCancel}, Body: message.EncodeCancel(message.Cancel{})}
	if err := n.Fold(at, cancel); err != nil {
		t.Fatal(err)
	}
	if e := n.Decide(at, noon); !e.Ends || n.Item(at) != nil {
		t.Errorf("cancelled, it comes to %s", show(sink.process, e))
	}
}

// R61: what a deadline has ended tells the origin, before it sends anything else, where its process wants to know.
func TestR61ADeadlineIsTold(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		m := newModel(t, "x", "y").control("source -> x", "x -> y")
		m.table.Deadlines = wanted
		x := m.set("x", func(row *processtable.Activity) { row.Deadline = &processtable.Moment{Fixed: int64(time.Hour)} }).activity("x")
		s := folded(t, x, from(t, x, processtable.Source, T, ""))
		kept(t, x, s, x.Decide(s, noon))
		comeTime(t, x, s, timerDeadline, s.Snapshot.Deadline)
		e := x.Decide(s, noon.Add(time.Hour))
		i := slices.IndexFunc(e.Put, func(m message.Message) bool { return m.Kind == message.KindNotice })
		if !e.Ends || !wanted && i >= 0 || wanted && i != 0 {
			t.Fatalf("it comes to %s", show(x.process, e))
		}
		if !wanted {
			continue
		}
		n, err := message.DecodeNotice(e.Put[0].Body)
		if err != nil || !n.TimedOut || !n.Cleared || e.Put[0].Activity != processtable.Sink || e.Put[0].Queue.Node != origin || e.Put[0].Number != message.NoticeOfDeadline {
			t.Errorf("it tells %+v, %+v, %v", e.Put[0].Header, n, err)
		}
	}
}
