package navigator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// approval is a manual activity between source and sink, with the input of source.
func approval(t testing.TB, change func(*model)) *Activity {
	m := newModel(t, "approve").control("source -> approve", "approve -> sink").data("source -> approve: n = n, text = text", "approve -> sink: n = n")
	m.set("approve", func(row *processtable.Activity) {
		row.Kind, row.Program = processtable.KindManual, ""
		row.Manual = &processtable.Manual{
			Staff: &processtable.Who{Is: processtable.WhoRole}, Title: []processtable.TitlePart{{Text: "Approve "}, {Member: container.Path{0}}, {Text: " of "}, {Member: container.Path{1}}},
		}
	})
	if change != nil {
		change(m)
	}
	return m.activity("approve")
}

var (
	ann = message.Doer{Person: "ann@H"}
	bob = message.Doer{Person: "bob@H", For: "carl@H"}
)

// offered is an approval that people may claim.
func offered(t testing.TB, a *Activity) *State {
	t.Helper()
	s := folded(t, a, from(t, a, processtable.Source, message.True, `{"n": 3, "text": "tyres"}`))
	e := a.Decide(s, noon)
	if e.Outcome.What != behaviour.Offered || e.Invoke != nil || e.Ends {
		t.Fatalf("decided TRUE it comes to %+v", e)
	}
	kept(t, a, s, e)
	if again := a.Decide(s, noon); !again.Waits() {
		t.Fatalf("once it is offered it comes to %+v", again)
	}
	return s
}

// said is what a word comes to, folded: its lines of history, or why not.
func said(t testing.TB, a *Activity, s *State, w behaviour.Work) string {
	t.Helper()
	e, err := a.Command(s, w, noon.Add(time.Minute))
	switch {
	case err != nil:
		return err.Error()
	case e.Waits():
		return "nothing"
	case !e.Ends:
		kept(t, a, s, e)
	}
	return tales(e)
}

// tales are the lines of history that effects write.
func tales(e behaviour.Effects) string {
	words := map[behaviour.What]string{
		behaviour.Offered: "offered", behaviour.Claimed: "claimed", behaviour.Released: "released", behaviour.Transferred: "transferred", behaviour.Saved: "saved",
		behaviour.Completed: "completed", behaviour.Withdrawn: "withdrawn", behaviour.Terminated: "terminated", behaviour.Iterated: "iterated", behaviour.Cancelled: "cancelled",
		behaviour.InError: "in error", behaviour.Retried: "retried", behaviour.Stopped: "stopped", behaviour.Skipped: "skipped",
	}
	var all []string
	for _, o := range append(slices.Clone(e.Lines), e.Outcome) {
		text := words[o.What]
		for _, name := range []string{o.By, o.For, o.To} {
			if name != "" {
				text += " " + strings.TrimSuffix(name, "@H")
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// R44, R45: an item is offered, claimed by one, saved and completed; its output is the draft, which begins with
// what the input has.
func TestR45AnItemIsClaimedSavedAndCompleted(t *testing.T) {
	a := approval(t, nil)
	s := offered(t, a)
	item := a.Item(s)
	if item == nil || item.Title != "Approve 3 of tyres" || item.Priority != processtable.DefaultPriority || item.By != (message.Doer{}) || !item.Offered.Equal(noon) {
		t.Fatalf("the item is %+v", item)
	}
	for _, step := range []struct {
		word behaviour.Work
		want string
	}{
		{behaviour.Work{Wish: message.WishSave, By: ann}, "nobody has claimed it: claim it first"},
		{behaviour.Work{Wish: message.WishRelease, By: ann}, "nothing"},
		{behaviour.Work{Wish: message.WishTransfer, By: ann, To: bob}, "nobody has claimed it: claim it first"},
		{behaviour.Work{Wish: message.WishClaim, By: bob}, "claimed bob carl"},
		{behaviour.Work{Wish: message.WishClaim, By: bob}, "nothing"},
		{behaviour.Work{Wish: message.WishClaim, By: ann}, "bob@H has claimed it"},
		{behaviour.Work{Wish: message.WishRelease, By: ann}, "bob@H has claimed it"},
		{behaviour.Work{Wish: message.WishComplete, By: ann}, "bob@H has claimed it"},
		{behaviour.Work{Wish: message.WishSave, By: bob, Output: []byte(`{"text": "four tyres"}`)}, "saved bob carl"},
		{behaviour.Work{Wish: message.WishSave, By: bob, Output: []byte(`{"text": "four tyres"}`)}, "nothing"},
		{behaviour.Work{Wish: message.WishTransfer, By: bob, To: ann}, "transferred bob carl ann"},
		{behaviour.Work{Wish: message.WishRelease, By: bob, Over: true}, "released bob carl"},
		{behaviour.Work{Wish: message.WishClaim, By: ann}, "claimed ann"},
		{behaviour.Work{Wish: message.WishRelease, By: ann, Claim: 1}, "you saw claim 1 of it, and it has been given to somebody 2 more times since"},
	} {
		if got := said(t, a, s, step.word); got != step.want {
			t.Fatalf("%s by %s comes to %q, want %q", step.word.Wish, step.word.By, got, step.want)
		}
	}
	if got := said(t, a, s, behaviour.Work{Wish: message.WishComplete, By: ann, Output: []byte(`{"n": "two"}`)}); !strings.Contains(got, "expected int") {
		t.Errorf("a wrong output comes to %q", got)
	}
	e, err := a.Command(s, behaviour.Work{Wish: message.WishComplete, By: ann, Output: []byte(`{"n": 2}`)}, noon)
	if err != nil || !e.Ends || tales(e) != "completed ann, terminated ann" {
		t.Fatalf("completed it comes to %s, %v", tales(e), err)
	}
	output, err := container.DecodeCBOR(data, e.Outcome.Output)
	if want := value(t, `{"n": 2, "text": "four tyres"}`); err != nil || !container.Equal(output, want) {
		t.Errorf("its output is %v, %v", output, err)
	}
}

// N28: history has who said it, the operator who acts in his name, and why; without a person the operator alone.
func TestN28HistoryHasWhoAndWhy(t *testing.T) {
	a := approval(t, nil)
	s := offered(t, a)
	for _, step := range []struct {
		word         behaviour.Work
		by, operator string
	}{
		{behaviour.Work{Wish: message.WishClaim, By: ann, Why: "asked on the phone", Operator: "alice at H"}, "ann@H", "alice at H"},
		{behaviour.Work{Wish: message.WishSave, By: ann, Why: "a start", Output: []byte(`{"n": 2}`)}, "ann@H", ""},
		{behaviour.Work{Wish: message.WishTransfer, To: bob, Over: true, Why: "she is ill", Operator: "alice at H"}, "alice at H", ""},
		{behaviour.Work{Wish: message.WishRelease, Over: true, Why: "so is he", Operator: "alice at H"}, "alice at H", ""},
		{behaviour.Work{Wish: message.WishComplete, By: ann, Why: "by letter", Operator: "alice at H"}, "ann@H", "alice at H"},
	} {
		e, err := a.Command(s, step.word, noon)
		if err != nil {
			t.Fatal(err)
		}
		lines := e.Lines
		if step.word.Wish != message.WishComplete {
			lines = append(lines, e.Outcome)
			kept(t, a, s, e)
		} else if len(lines) != 2 {
			t.Fatalf("it comes to %s", tales(e))
		}
		for _, o := range lines {
			if o.By != step.by || o.Operator != step.operator || o.Reason != step.word.Why {
				t.Errorf("%s: by %q, said by %q: %q", step.word.Wish, o.By, o.Operator, o.Reason)
			}
		}
	}
}

// R46: complete of what is offered claims it first, in one transaction; and one that is repeated finds it gone.
func TestR46CompleteClaimsWhatIsOffered(t *testing.T) {
	a := approval(t, nil)
	s := offered(t, a)
	e, err := a.Command(s, behaviour.Work{Wish: message.WishComplete, By: bob}, noon)
	if err != nil || tales(e) != "claimed bob carl, completed bob carl, terminated bob carl" {
		t.Errorf("it comes to %s, %v", tales(e), err)
	}
}

// R6, R44: each iteration is offered anew, with the feedback, and nobody has it.
func TestR44AnIterationIsOfferedAnew(t *testing.T) {
	a := approval(t, func(m *model) { m.exit("approve", "n > 5").data("approve -> approve: text = text") })
	s := offered(t, a)
	first := a.Item(s).At
	if got := said(t, a, s, behaviour.Work{Wish: message.WishComplete, By: ann, Output: []byte(`{"text": "more"}`)}); got != "claimed ann, completed ann, iterated ann" {
		t.Fatalf("it comes to %s", got)
	}
	if a.Item(s) != nil {
		t.Fatal("between two iterations there is an item")
	}
	kept(t, a, s, a.Decide(s, noon))
	item := a.Item(s)
	if item == nil || item.At == first || item.By != (message.Doer{}) || item.Title != "Approve 3 of more" {
		t.Errorf("the next item is %+v", item)
	}
	if got := said(t, a, s, behaviour.Work{Wish: message.WishComplete, By: bob, Output: []byte(`{"n": 6}`)}); got != "claimed bob carl, completed bob carl, terminated bob carl" {
		t.Errorf("the second comes to %s", got)
	}
}

// R46: who loses an item before it is completed, by a deadline, another activity, an operator, is told so in history.
func TestR46AnItemIsWithdrawn(t *testing.T) {
	deadline := func(m *model) {
		m.set("approve", func(row *processtable.Activity) { row.Deadline = &processtable.Moment{Fixed: int64(time.Hour)} })
	}
	for _, c := range []struct {
		what string
		ends func(a *Activity, s *State) behaviour.Effects
		want string
	}{
		{"its deadline", func(a *Activity, s *State) behaviour.Effects {
			due := message.Message{Header: message.Header{
				Queue: message.Queue{Process: a.process.table.Process, Node: here}, Instance: instance, Activity: a.Name, Source: timerDeadline, Kind: message.KindDue,
				Number: message.DueNumber(noon.Add(time.Hour)),
			}}
			fold(t, a, s, due)
			return a.Decide(s, noon.Add(time.Hour))
		}, "withdrawn ann, terminated"},
		{"another activity", func(a *Activity, s *State) behaviour.Effects {
			m := own(a, message.KindCancel, message.EncodeCancel(message.Cancel{Reason: "enough"}))
			m.Source = "other"
			fold(t, a, s, m)
			return a.Decide(s, noon)
		}, "withdrawn ann, cancelled"},
		{"an operator's terminate", func(a *Activity, s *State) behaviour.Effects {
			fold(t, a, s, own(a, message.KindMarker, message.EncodeMarker(message.Marker{Reason: "x", Time: noon})))
			return a.Decide(s, noon)
		}, "withdrawn ann, stopped"},
	} {
		a := approval(t, deadline)
		s := offered(t, a)
		if got := said(t, a, s, behaviour.Work{Wish: message.WishClaim, By: ann}); got != "claimed ann" {
			t.Fatal(got)
		}
		e := c.ends(a, s)
		if got := tales(e); got != c.want || !e.Ends {
			t.Errorf("%s comes to %s, want %s", c.what, got, c.want)
		}
		if _, err := a.Command(s, behaviour.Work{Wish: message.WishComplete, By: ann}, noon); err == nil || a.Item(s) != nil {
			t.Errorf("after %s it can be completed: %v", c.what, err)
		}
	}
}

// R46, R50: an operator's hand withdraws the item, and history has with it who it was.
func TestR46WhoHasWithdrawnAnItemIsTold(t *testing.T) {
	a := approval(t, nil)
	s := offered(t, a)
	said(t, a, s, behaviour.Work{Wish: message.WishClaim, By: ann})
	e := byHand(t, a, s, hand(t, ""))
	if got := tales(e); got != "withdrawn ann, skipped alice at B" || e.Lines[0].Operator != "alice at B" || e.Lines[0].Reason != "done on paper" {
		t.Errorf("%s: %+v", got, e.Lines)
	}
}

// R12, R46: where a condition fails over what a person has made of it, the output is kept with who it was: a
// retry evaluates again, and asks nobody.
func TestR46WhatFollowsFails(t *testing.T) {
	a := approval(t, func(m *model) {
		row := m.rows["approve"]
		row.OutControl[0].Condition = m.check("list[n] > 0")
	})
	s := offered(t, a)
	if got := said(t, a, s, behaviour.Work{Wish: message.WishComplete, By: ann}); got != "claimed ann, completed ann, in error ann" {
		t.Fatalf("it comes to %s", got)
	}
	if a.Item(s) != nil {
		t.Error("in error it has an item")
	}
	r, err := a.Review(s, behaviour.Retry{}, noon)
	if err != nil || r.By != ann {
		t.Errorf("a retry evaluates what %+v did, %v", r, err)
	}
}

// R1, N11: whoever claims at once, one of them is given the item, and no word of the others changes that, in
// any order of words; and what is there is the same however often the snapshots are folded.
func TestR45OneOfManyIsGivenAnItem(tb *testing.T) {
	rapid.Check(tb, func(t *rapid.T) {
		a := approval(tb, nil)
		s := offered(tb, a)
		holder := ""
		for i := range rapid.IntRange(1, 20).Draw(t, "words") {
			who := message.Doer{Person: fmt.Sprintf("p%d@H", rapid.IntRange(0, 3).Draw(t, "who"))}
			wish := rapid.SampledFrom([]message.Wish{message.WishClaim, message.WishRelease, message.WishSave}).Draw(t, "wish")
			e, err := a.Command(s, behaviour.Work{Wish: wish, By: who, Output: fmt.Appendf(nil, `{"n": %d}`, i)}, noon)
			switch {
			case wish == message.WishClaim && (err == nil) != (holder == "" || holder == who.Person),
				wish == message.WishRelease && (err == nil) != (holder == "" || holder == who.Person),
				wish == message.WishSave && (err == nil) != (holder == who.Person):
				t.Fatalf("%s of %s, while %q has it: %v", wish, who, holder, err)
			case err != nil || e.Waits():
				continue
			case wish == message.WishClaim:
				holder = who.Person
			case wish == message.WishRelease:
				holder = ""
			}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				kept(tb, a, s, e)
			}
			if has := a.Item(s).By.Person; has != holder {
				t.Fatalf("%q has it, want %q", has, holder)
			}
		}
	})
}

// R44: who may do it, and how urgent it is, is asked of the input once it is known: where that has no answer,
// nothing is offered, and the activity waits for an operator.
func TestWhatHasNoAnswerIsOfferedToNobody(t *testing.T) {
	over := func(row *processtable.Activity, text string, want container.Kind) *condition.Checked {
		of, problems := condition.CheckExpr(text, inputScope(row.Input), container.Scalar(want))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", text, problems)
		}
		return &of
	}
	data := func(row *processtable.Activity) *processtable.Who {
		return &processtable.Who{Is: processtable.WhoData, Of: over(row, "n / (n - 3) > 1", container.Bool)}
	}
	for want, change := range map[string]func(*processtable.Activity){
		"who may do it: ": func(row *processtable.Activity) {
			row.Manual.Staff.Of = over(row, "string(n / (n - 3))", container.String)
		},
		"who may do it:": func(row *processtable.Activity) {
			row.Manual.Staff = &processtable.Who{Is: processtable.WhoOr, Parts: []*processtable.Who{row.Manual.Staff, data(row)}}
		},
		"who may do it": func(row *processtable.Activity) {
			row.Manual.Staff = &processtable.Who{Is: processtable.WhoNot, Parts: []*processtable.Who{data(row)}}
		},
		"priority: ": func(row *processtable.Activity) {
			row.Priority = &processtable.Priority{Expr: over(row, "n / (n - 3)", container.Int)}
		},
	} {
		a := approval(t, func(m *model) { m.set("approve", change) })
		s := folded(t, a, from(t, a, processtable.Source, message.True, `{"n": 3, "text": "tyres"}`))
		kept(t, a, s, a.Decide(s, noon))
		if !s.InError() || a.Item(s) != nil || !strings.HasPrefix(s.Snapshot.Error, want) {
			t.Errorf("%s: in error: %v, its item: %+v, %+v", want, s.InError(), a.Item(s), s.Snapshot)
		}
	}
}
