package navigator

import (
	"strings"
	"testing"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// noticing is x, which reminds somebody after an hour, and then every ten minutes if repeats says so.
func noticing(t testing.TB, repeats bool, change func(*processtable.Activity)) *Activity {
	n := processtable.Notice{Program: "remind", First: processtable.Moment{Fixed: int64(time.Hour)}}
	if repeats {
		n.Every = &processtable.Moment{Fixed: int64(10 * time.Minute)}
	}
	m := newModel(t, "x", "y").control("source -> x", "x -> y").data("source -> x: n = n")
	return m.set("x", func(row *processtable.Activity) {
		row.Notify = []processtable.Notice{n}
		if change != nil {
			change(row)
		}
	}).activity("x")
}

// noticeOf is a notice's state after what e has put for it.
func noticeOf(t testing.TB, x *Activity, e behaviour.Effects) (*notice, *noticed) {
	t.Helper()
	n := x.process.Activity(processtable.RowID{Name: x.Name, Inside: processtable.Noticing}).(*notice)
	var s *noticed
	for _, m := range e.Put {
		if _, is := m.Scope.OfNotice(); is {
			if s == nil {
				s = n.Empty(m.Entry()).(*noticed)
			}
			if err := n.Fold(s, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s == nil {
		t.Fatalf("no notice is begun: %s", show(x.process, e))
	}
	return n, s
}

// follow folds what a notice puts for itself.
func (n *notice) follow(t testing.TB, s *noticed, e behaviour.Effects) {
	t.Helper()
	s.Forget(e.Takes)
	for _, m := range e.Put {
		if err := n.Fold(s, m); err != nil {
			t.Fatal(err)
		}
	}
}

func (n *notice) comes(t testing.TB, s *noticed) {
	t.Helper()
	m := message.Message{Header: message.Header{Instance: s.Entry.Instance, Scope: s.Entry.Scope, Activity: n.of.Name, Kind: message.KindDue, Number: message.DueNumber(s.at.Due), SourceScope: s.Entry.Scope}}
	if err := n.Fold(s, m); err != nil {
		t.Fatal(err)
	}
}

// R36: what decides an activity TRUE begins its notices, once, and then its program runs; a notice sets its
// timer, runs its program when that has come, with the activity's input, and ends.
func TestR36ANotice(t *testing.T) {
	x := noticing(t, false, nil)
	s := folded(t, x, from(t, x, processtable.Source, T, `{"n": 4}`))
	e := x.Decide(s, noon)
	n, about := noticeOf(t, x, e)
	kept(t, x, s, e)
	expect(t, x, x.Decide(s, noon), `invokes iteration 1 attempt 1 run 0: {"n":4,"text":"none","list":[],"inner":{"a":7,"b":""}}`)

	set := n.Decide(about, noon.Add(time.Second))
	if len(set.Timers) != 1 || !set.Timers[0].Due.Equal(noon.Add(time.Hour)) || set.Timers[0].Pause != time.Hour-time.Second {
		t.Errorf("it sets %+v", set.Timers)
	}
	n.follow(t, about, set)
	if e := n.Decide(about, noon); !e.Waits() {
		t.Errorf("before its time it comes to %s", show(x.process, e))
	}
	n.comes(t, about)
	call := n.Decide(about, noon).Invoke
	if call == nil || call.Program != "remind" || call.Iteration != 1 || call.Input.Fields[0] != int64(4) {
		t.Fatalf("at its time it comes to %+v", call)
	}
	end := n.Conclude(about, behaviour.Result{RC: 3, Started: noon, Ended: noon}, noon)
	if !end.Ends || end.Outcome.What != behaviour.Notified || end.Outcome.Reason != "remind has failed: return code 3" || len(end.Put) > 0 {
		t.Errorf("it ends as %+v", end)
	}
}

// R36: one that repeats runs under a number of its own each time, and does not make up for what was missed.
func TestR36ANoticeRepeats(t *testing.T) {
	x := noticing(t, true, nil)
	e := x.Decide(folded(t, x, from(t, x, processtable.Source, T, "")), noon)
	n, s := noticeOf(t, x, e)
	n.follow(t, s, n.Decide(s, noon))
	for i, now := range []time.Duration{time.Hour + time.Second, 70 * time.Minute, 3 * time.Hour} {
		n.comes(t, s)
		if call := n.Decide(s, noon).Invoke; call == nil || call.Iteration != i+1 {
			t.Fatalf("number %d is %+v", i+1, call)
		}
		next := n.Conclude(s, behaviour.Result{Started: noon, Ended: noon}, noon.Add(now))
		want := []time.Duration{70 * time.Minute, 80 * time.Minute, 3*time.Hour + 10*time.Minute}[i]
		if next.Ends || len(next.Timers) != 1 || !next.Timers[0].Due.Equal(noon.Add(want)) || next.Outcome.Reason != "remind" {
			t.Errorf("after number %d it comes to %+v", i+1, next)
		}
		n.follow(t, s, next)
	}
}

// R36: with its activity a notice ends, whether its time has come or not, and what runs of it is ended.
func TestR36ANoticeEndsWithItsActivity(t *testing.T) {
	x := noticing(t, true, func(row *processtable.Activity) { row.Retry.Attempts = 2 })
	s := folded(t, x, from(t, x, processtable.Source, T, ""))
	e := x.Decide(s, noon)
	n, about := noticeOf(t, x, e)
	kept(t, x, s, e)
	again := x.Conclude(s, failed("no"), noon)
	if strings.Contains(show(x.process, again), "source[0]") {
		t.Errorf("it begins its notices anew: %s", show(x.process, again))
	}
	kept(t, x, s, again)
	come(t, x, s, s.Snapshot.Due)
	end := x.Conclude(s, ran(t, 0, ""), noon)
	expect(t, x, end, "terminated, ends", "to y at H: TRUE", "cancels x of source[0] at H")
	n.follow(t, about, n.Decide(about, noon))
	n.comes(t, about)
	for _, m := range end.Put[1:] {
		if err := n.Fold(about, m); err != nil {
			t.Fatal(err)
		}
	}
	if e := n.Decide(about, noon); !about.Interrupted() || !e.Ends || e.Outcome.What != behaviour.Nothing {
		t.Errorf("it comes to %s", show(x.process, e))
	}
	if e := n.Conclude(about, behaviour.Result{}, noon); !e.Ends || e.Outcome.What != behaviour.Nothing {
		t.Errorf("what has run comes to %s", show(x.process, e))
	}
}

// R36: where a time cannot be reckoned the activity is in error, and has begun nothing.
func TestR36ATimeThatCannotBe(t *testing.T) {
	x := noticing(t, false, func(row *processtable.Activity) {
		c, problems := condition.CheckExpr("duration(text)", condition.Scope{Members: data}, container.Scalar(container.Duration))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		row.Notify[0].First = processtable.Moment{Expr: &c}
	})
	s := folded(t, x, from(t, x, processtable.Source, T, ""))
	e := x.Decide(s, noon)
	if e.Outcome.What != behaviour.InError || !strings.HasPrefix(e.Outcome.Reason, "notify: ") || strings.Contains(show(x.process, e), "source[0]") {
		t.Errorf("it comes to %s", show(x.process, e))
	}
}

// R36: the notices of a process are sink's, over the instance's input.
func TestR36TheNoticesOfAProcess(t *testing.T) {
	m := newModel(t, "x").control("source -> x", "x -> sink")
	sink := m.set(processtable.Sink, func(row *processtable.Activity) {
		row.Notify = []processtable.Notice{{Program: "remind", First: processtable.Moment{Fixed: int64(time.Hour)}}}
	}).activity(processtable.Sink)
	input, err := container.EncodeCBOR(value(t, `{"n": 8}`))
	if err != nil {
		t.Fatal(err)
	}
	s := folded(t, sink, own(sink, message.KindRecord, message.EncodeRecord(message.Record{Process: sink.process.table.Process, Started: noon, Input: input})))
	e := sink.Decide(s, noon)
	n, about := noticeOf(t, sink, e)
	kept(t, sink, s, e)
	expect(t, sink, sink.Decide(s, noon), "waits")
	n.follow(t, about, n.Decide(about, noon))
	n.comes(t, about)
	if call := n.Decide(about, noon).Invoke; call == nil || call.Input.Fields[0] != int64(8) {
		t.Errorf("its program is given %+v", call)
	}
	fold(t, sink, s, from(t, sink, "x", T, ""))
	if end := sink.Decide(s, noon); !strings.Contains(show(sink.process, end), "cancels sink of source[0]") {
		t.Errorf("the end is %s", show(sink.process, end))
	}
}

// R36, N12: what a block begins goes with its notices, in one transaction: whatever ends it finds it begun, or not decided.
func TestR36ABlockBeginsWithItsNotices(t *testing.T) {
	m := newModel(t, "b", "i", "x").block("b", "i").
		control("source -> b", "b -> x", "b/source -> i", "i -> b/sink").
		data("source -> b: n = n", "b/source -> i: n = n", "i -> b/sink: n = n")
	p := m.set("b", func(row *processtable.Activity) {
		row.Notify = []processtable.Notice{{Program: "remind", First: processtable.Moment{Fixed: int64(time.Hour)}}}
	}).prepare()
	b := rowIn(p, "b", "")
	s := folded(t, b, from(t, b, processtable.Source, T, `{"n": 4}`))
	e := b.Decide(s, noon)
	noticeOf(t, b, e)
	comes(t, rowIn(p, processtable.Source, "b"), e, message.KindBegin)
	kept(t, b, s, e)
	expect(t, b, b.Decide(s, noon), "waits")
}

// R36, S3: what waits for room before it begins, begins its notices with its work, once.
func TestR36ABundleBeginsWithItsNotices(t *testing.T) {
	table := counting(t, plan{parallel: 2}).table
	for _, row := range table.Activities {
		if row.Bundle != nil {
			row.Notify = []processtable.Notice{{Program: "remind", First: processtable.Moment{Fixed: int64(time.Hour)}}}
		}
	}
	p, err := Prepare(table, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := rowIn(p, "count", "")
	input, err := container.DecodeJSON(table.Input, []byte(numbers(2)))
	if err != nil {
		t.Fatal(err)
	}
	m := from(t, b, processtable.Source, message.Unresolved, "")
	m.Control, m.Data = T, message.DataPresent
	copied := mappings{b.InData[0].Mappings, make([]*condition.Expr, len(b.InData[0].Mappings))}
	values, err := copied.values(&behaviour.Result{Output: input}, m.Data, nil, b.Name)
	if err != nil {
		t.Fatal(err)
	}
	if m.Body, err = container.EncodeValues(values); err != nil {
		t.Fatal(err)
	}
	s := folded(t, b, m)
	asks := b.Decide(s, noon)
	if asks.Invoke == nil || asks.Invoke.Program != behaviour.Begin {
		t.Fatalf("it does not ask for room: %s", show(p, asks))
	}
	e := b.Conclude(s, behaviour.Result{Begins: true}, noon)
	noticeOf(t, b, e)
	if n := len(e.Put); n < 4 { // its state, the notice, two elements
		t.Errorf("it begins %s", show(p, e))
	}
	kept(t, b, s, e)
	expect(t, b, b.Decide(s, noon), "waits")
}
