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

// asking is a term over the data, or of whoever did an activity.
func asking(t testing.TB, is processtable.WhoIs, text string) *processtable.Who {
	t.Helper()
	w := &processtable.Who{Is: is}
	if is == processtable.WhoDid || is == processtable.WhoManages {
		w.Activity = processtable.ActivityID(text)
		return w
	}
	c, problems := condition.CheckExpr(text, condition.Scope{Members: data}, w.Wants())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	w.Of = &c
	return w
}

// telling is x, as noticing makes it, whose notice is for people.
func telling(t testing.TB, repeats bool, program processtable.ProgramID, staff *processtable.Who) *Activity {
	return noticing(t, repeats, func(row *processtable.Activity) {
		row.Notify[0].Program, row.Notify[0].Staff = program, staff
	})
}

// due is the notice of x as it is when its time has come.
func due(t testing.TB, x *Activity) (*notice, *noticed) {
	t.Helper()
	n, s := noticeOf(t, x, x.Decide(folded(t, x, from(t, x, processtable.Source, T, `{"n": 4}`)), noon))
	if !n.Offers() || n.Item(s) != nil {
		t.Errorf("before its time people are shown %+v", n.Item(s))
	}
	n.follow(t, s, n.Decide(s, noon))
	n.comes(t, s)
	return n, s
}

func complete(by string, change func(*behaviour.Work)) behaviour.Work {
	w := behaviour.Work{Wish: message.WishComplete, By: message.Doer{Person: by}}
	if change != nil {
		change(&w)
	}
	return w
}

// R51, R52: a notice whose time has come is shown, with the activity's input, until somebody takes it off; then it has ended.
func TestR51ANoticeIsShownToPeople(t *testing.T) {
	n, s := due(t, telling(t, false, "", asking(t, processtable.WhoRole, "text")))
	shown := n.Decide(s, noon.Add(time.Hour))
	if o := shown.Outcome; shown.Ends || len(shown.Timers) > 0 || o.What != behaviour.Escalated || o.Iteration != 1 || o.Attempt != 1 || o.Reason != "" || o.By != "" {
		t.Fatalf("it comes to %+v", shown)
	}
	n.follow(t, s, shown)
	if e := n.Decide(s, noon); !e.Waits() || len(s.Timers()) > 0 {
		t.Errorf("shown, it comes to %s", show(n.of.process, e))
	}
	i := n.Item(s)
	if i == nil || !i.Offered.Equal(noon.Add(time.Hour)) || i.Notice.Of != (message.Entry{Instance: s.Entry.Instance, Activity: "x"}) || i.Input.Fields[0] != int64(4) || i.Title != "x" || i.Staff != n.of.Notify[0].Staff || i.Notice.Holder {
		t.Fatalf("people are shown %+v", i)
	}
	for _, wrong := range []struct {
		work behaviour.Work
		want string
	}{
		{complete("ann@A", func(w *behaviour.Work) { w.Wish = message.WishClaim }), "to claim the work say so of the item of x"},
		{complete("ann@A", func(w *behaviour.Work) { w.Output = []byte(`{}`) }), "has no output"},
	} {
		if _, err := n.Command(s, wrong.work, noon); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%s: %v", wrong.work.Wish, err)
		}
	}
	off, err := n.Command(s, complete("ann@A", func(w *behaviour.Work) { w.By.For, w.Operator, w.Why = "bob@A", "alice at A", "seen" }), noon)
	if o := off.Outcome; err != nil || !off.Ends || o.What != behaviour.Escalated || o.By != "ann@A" || o.For != "bob@A" || o.Operator != "alice at A" || o.Reason != "seen" || o.Attempt != 1 {
		t.Errorf("taken off, it comes to %+v, %v", off, err)
	}
}

// R51: what comes again takes the place of what is there, or is shown again; taken off, it is kept for its next time.
func TestR51ANoticeComesAgain(t *testing.T) {
	n, s := due(t, telling(t, true, "", asking(t, processtable.WhoRole, "text")))
	for i := range 3 {
		at := noon.Add(time.Hour + time.Duration(i)*10*time.Minute)
		e := n.Decide(s, at)
		if e.Outcome.What != behaviour.Escalated || e.Outcome.Iteration != i+1 || len(e.Timers) != 1 || !e.Timers[0].Due.Equal(at.Add(10*time.Minute)) {
			t.Fatalf("number %d is %+v", i+1, e)
		}
		n.follow(t, s, e)
		if item := n.Item(s); item == nil || !item.Offered.Equal(at) || item.At != message.NoticeExecution {
			t.Fatalf("number %d is shown as %+v", i+1, item)
		}
		if i == 1 {
			off, err := n.Command(s, complete("ann@A", nil), at)
			if err != nil || off.Ends || len(off.Timers) != 1 || len(off.Takes) > 0 {
				t.Fatalf("taken off, it comes to %+v, %v", off, err)
			}
			n.follow(t, s, off)
			if _, err := n.Command(s, complete("bob@A", nil), at); err == nil || n.Item(s) != nil {
				t.Errorf("taken off twice: %v", err)
			}
		}
		n.comes(t, s)
	}
}

// R51: with a program as well, people are shown it first, whatever becomes of that; the program is told of them, and the notice ends
// once both are done.
func TestR51ANoticeWithAProgramToo(t *testing.T) {
	n, s := due(t, telling(t, false, "remind", asking(t, processtable.WhoRole, "text")))
	shown := n.Decide(s, noon)
	if shown.Invoke != nil || len(shown.Takes) > 0 || shown.Outcome.What != behaviour.Escalated {
		t.Fatalf("at its time it comes to %+v", shown)
	}
	n.follow(t, s, shown)
	call := n.Decide(s, noon).Invoke
	if call == nil || call.Program != "remind" || call.People == nil || call.People.Staff != n.of.Notify[0].Staff || n.Item(s) == nil {
		t.Fatalf("shown, it comes to %+v", call)
	}
	ended := n.Conclude(s, behaviour.Result{RC: 1, Started: noon, Ended: noon}, noon)
	if ended.Ends || ended.Outcome.What != behaviour.Notified {
		t.Fatalf("its program ended, it comes to %+v", ended)
	}
	n.follow(t, s, ended)
	if e := n.Decide(s, noon); !e.Waits() || n.Item(s) == nil {
		t.Errorf("then it comes to %+v", e)
	}
	if off, err := n.Command(s, complete("ann@A", nil), noon); err != nil || !off.Ends {
		t.Errorf("taken off, it comes to %+v, %v", off, err)
	}
}

// R51: where it cannot be said who sees it nobody does, history says why, and its program runs.
func TestR51ANoticeThatNobodyCanBeShown(t *testing.T) {
	n, s := due(t, telling(t, false, "", asking(t, processtable.WhoData, "1 / (n - 4) == 1")))
	e := n.Decide(s, noon)
	if !e.Ends || e.Outcome.What != behaviour.Escalated || !strings.HasPrefix(e.Outcome.Reason, "who may see it: ") {
		t.Errorf("it comes to %+v", e)
	}
	n, s = due(t, telling(t, false, "remind", asking(t, processtable.WhoData, "1 / (n - 4) == 1")))
	n.follow(t, s, n.Decide(s, noon))
	if call := n.Decide(s, noon).Invoke; call == nil || n.Item(s) != nil {
		t.Errorf("with a program it comes to %+v", call)
	}
}

// R51: with its activity a notice goes from the worklists.
func TestR51ANoticeGoesWithItsActivity(t *testing.T) {
	n, s := due(t, telling(t, true, "", asking(t, processtable.WhoRole, "text")))
	n.follow(t, s, n.Decide(s, noon))
	over := message.Message{Header: message.Header{Scope: s.Entry.Scope, Activity: "x", Source: "x", Kind: message.KindCancel}, Body: message.EncodeCancel(message.Cancel{Reason: "x has ended"})}
	if err := n.Fold(s, over); err != nil {
		t.Fatal(err)
	}
	if e := n.Decide(s, noon); n.Item(s) != nil || !e.Ends || e.Outcome.What != behaviour.Nothing {
		t.Errorf("it comes to %+v", e)
	}
}

// R51, R42: who did what its staff expression asks for goes with it from its begin; who started the instance, where it is of the process.
func TestR51WhoDidWhatANoticeAsksFor(t *testing.T) {
	m := newModel(t, "x").control("source -> x", "x -> sink")
	sink := m.set(processtable.Sink, func(row *processtable.Activity) {
		row.Notify = []processtable.Notice{{Staff: asking(t, processtable.WhoManages, "source"), First: processtable.Moment{Fixed: int64(time.Hour)}}}
	}).activity(processtable.Sink)
	input, err := container.EncodeCBOR(value(t, `{"n": 8}`))
	if err != nil {
		t.Fatal(err)
	}
	by := message.Doer{Person: "ann@A", For: "bob@A"}
	s := folded(t, sink, own(sink, message.KindRecord, message.EncodeRecord(message.Record{Process: sink.process.table.Process, Started: noon, Input: input, By: by})))
	n, about := noticeOf(t, sink, sink.Decide(s, noon))
	n.follow(t, about, n.Decide(about, noon))
	n.comes(t, about)
	n.follow(t, about, n.Decide(about, noon))
	i := n.Item(about)
	if i == nil || len(i.Did) != 1 || i.Did[processtable.Source] != by || i.Title != sink.process.table.Process.Name || i.Notice.Of.Activity != processtable.Sink || i.Notice.Own != nil {
		t.Errorf("people are shown %+v", i)
	}
}

// R51: a notice of a manual activity without a staff expression is for who has that, or may have it; with one it may ask who has it. What
// the activity's own asks for comes with the one that needs it.
func TestR51ANoticeOfWhatPeopleDo(t *testing.T) {
	after := processtable.Moment{Fixed: int64(time.Hour)}
	a := approval(t, func(m *model) {
		m.set("approve", func(row *processtable.Activity) {
			row.Notify = []processtable.Notice{{First: after}, {First: after, Staff: asking(t, processtable.WhoManages, "approve")}, {First: after, Program: "remind"}}
		})
	})
	begun := a.Decide(folded(t, a, from(t, a, processtable.Source, message.True, `{"n": 3, "text": "tyres"}`)), noon)
	n := a.process.Activity(processtable.RowID{Name: "approve", Inside: processtable.Noticing}).(*notice)
	for number, want := range []struct {
		staff  *processtable.Who
		holder bool
	}{{a.Manual.Staff, true}, {a.Notify[1].Staff, false}, {nil, false}} {
		entry := message.Entry{Instance: begun.Put[0].Instance, Scope: message.Scope("").Notice(number), Activity: "approve"}
		s := n.Empty(entry).(*noticed)
		for _, m := range begun.Put {
			if m.Scope == entry.Scope {
				n.follow(t, s, behaviour.Effects{Put: []message.Message{m}})
			}
		}
		n.follow(t, s, n.Decide(s, noon))
		n.comes(t, s)
		n.follow(t, s, n.Decide(s, noon))
		i := n.Item(s)
		if want.staff == nil {
			if call := n.Decide(s, noon).Invoke; i != nil || call == nil || call.People != nil {
				t.Errorf("notice %d: people are shown %+v, and the program is given %+v", number, i, call)
			}
			continue
		}
		if i == nil || i.Staff != want.staff || i.Notice.Holder != want.holder || i.Title != "Approve 3 of tyres" || i.Notice.Own.Activity != "approve" || i.Notice.Own.Is != processtable.WhoDid {
			t.Errorf("notice %d: people are shown %+v", number, i)
		}
	}
}
