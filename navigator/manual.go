package navigator

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	lines "fmqm/internal/text"
	"fmqm/message"
	"fmqm/processtable"
)

// What people do: a manual activity is offered, claimed by one, and completed (R44 to R46).

// prepareManual makes ready what only a manual activity has.
func (a *Activity) prepareManual() error {
	if a.Kind != processtable.KindManual {
		return nil
	}
	a.prepareOffer()
	var err error
	if a.asked, err = prepareWho(a.Manual.Staff, a.Input); err != nil {
		return fmt.Errorf("staff: %w", err)
	}
	return nil
}

// prepareWho makes ready what a staff expression asks of an input.
func prepareWho(w *processtable.Who, input *container.Type) (asked []*condition.Expr, err error) {
	w.All(func(term *processtable.Who) {
		if term.Of == nil || err != nil {
			return
		}
		var of *condition.Expr
		if of, err = condition.LoadExpr(*term.Of, inputScope(input), term.Wants()); err == nil {
			asked = append(asked, of)
		}
	})
	return asked, err
}

// manual offers a KindManual that was decided TRUE, and lets people have the word (R44); at other nodes once there is room
// for that (R47).
func (a *Activity) manual(s *State, input *container.Struct, room bool, now time.Time) behaviour.Effects {
	at := s.progress()
	if ended := a.offerEnded(s, &at); ended != "" {
		return a.offerAnew(s, at, ended)
	}
	if at.Item != nil {
		return a.follow(s, at)
	}
	if err := a.offers(s, input); err != nil {
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	if len(a.elsewhere) > 0 && a.undated(s) {
		return a.date(s, input, now)
	}
	pause, err := a.decided(s, &at, input, now)
	if err != nil {
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	if len(a.elsewhere) > 0 && !room {
		return a.askRoom(s, at, a.elsewhere...)
	}
	begins, body, err := a.beginsOffers(s, &at, input)
	if err != nil {
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	at.Item, at.Due = s.told(&message.Item{Offered: now}), time.Time{}
	e := a.keep(s, at, behaviour.Outcome{What: behaviour.Offered, Iteration: at.Iteration, Run: at.Run, Output: body})
	e.Put = append(e.Put, begins...)
	return a.set(e, timerDeadline, pause)
}

// offers is why an input says of nobody whether he may have the item, or how urgent it is; nil: it says both. What
// it comes to is each node's to say, by its own staff.
func (a *Activity) offers(s *State, input *container.Struct) error {
	if err := answers(a.asked, s.Entry.Instance, input); err != nil {
		return fmt.Errorf("who may do it: %w", err)
	}
	_, err := a.ranks(s, input)
	return err
}

// answers is why what a staff expression asks of an input has no answer; nil: it has.
func answers(asked []*condition.Expr, of message.InstanceID, input *container.Struct) error {
	var spent condition.Spent // over all that is asked
	for _, x := range asked {
		if _, err := x.Eval(&spent, input, &condition.Values{Instance: of.String()}); err != nil {
			return err
		}
	}
	return nil
}

// Offers says whether entries of the activity may be offered to people.
func (a *Activity) Offers() bool { return a.Kind == processtable.KindManual }

// item is the one that people may do something about; nil: there is none.
func (a *Activity) item(s *State) *message.Item {
	if a.Kind != processtable.KindManual || s.Stopped || s.InError() || a.isCancelled(s) || a.isExpired(s) {
		return nil
	}
	return s.reached().Item
}

// Item gives the work item of an entry.
func (a *Activity) Item(of behaviour.State) *behaviour.Item {
	s := of.(*State)
	item := a.item(s)
	if item == nil {
		return nil
	}
	at := s.reached()
	out := &behaviour.Item{
		Item: *item, At: message.Execution{Iteration: at.Iteration, Run: at.Run}, Due: at.Deadline, Did: a.Doers(s), Staff: a.Manual.Staff,
	}
	if a.isOffer() {
		a.ofHome(s, out)
	} else {
		a.offered(out)
	}
	input, err := a.InputOf(s)
	if err != nil { // it was made when the item was offered
		out.Title = string(a.Name)
		return out
	}
	out.Input, out.Title = input, a.title(input)
	rank, _ := a.ranks(s, input)
	out.Priority = rank.Priority(processtable.DefaultPriority)
	return out
}

// title fills the title of an item, cut to what people are shown of one, in one line.
func (a *Activity) title(input *container.Struct) string {
	var b bytes.Buffer
	for _, part := range a.Manual.Title {
		if part.Member == nil {
			b.WriteString(part.Text)
			continue
		}
		switch v := input.Get(part.Member).(type) {
		case string:
			b.WriteString(v)
		default:
			if shown, err := container.EncodeJSON(v); err == nil {
				b.Write(bytes.Trim(shown, `"`))
			}
		}
	}
	return cutTitle(lines.Line(b.String()))
}

func cutTitle(s string) string {
	if runes := []rune(s); len(runes) > processtable.MaxTitle {
		return string(runes[:processtable.MaxTitle-1]) + "…"
	}
	return s
}

// Draft is what the output of an item is so far (R45).
func (a *Activity) Draft(of behaviour.State) (*container.Struct, error) {
	s := of.(*State)
	if item := a.item(s); item != nil {
		return a.draft(s, item)
	}
	return nil, errors.New("it is not offered to anybody")
}

func (a *Activity) draft(s *State, item *message.Item) (*container.Struct, error) {
	if item.Draft != nil {
		return a.output(item.Draft)
	}
	input, err := a.InputOf(s)
	if err != nil {
		return nil, err
	}
	return a.Echo(input, time.Time{}).Output, nil
}

// changed is the draft with what a word changes of it.
func (a *Activity) changed(s *State, item *message.Item, changes []byte) (*container.Struct, error) {
	draft, err := a.draft(s, item)
	if err != nil || len(changes) == 0 {
		return draft, err
	}
	if draft, err = container.MergeJSON(draft, changes); err != nil {
		return nil, err
	}
	return draft, container.CheckSize(draft)
}

// work says what follows from a person's word (R45, R46); nothing, where it is so already.
func (a *Activity) work(s *State, w behaviour.Work, now time.Time) (behaviour.Effects, error) {
	item := a.item(s)
	if item == nil {
		return behaviour.Effects{}, errNotOffered
	}
	if a.isOffer() {
		return behaviour.Effects{}, fmt.Errorf("%s decides who has it", a.around().node.At(s.Origin))
	}
	if w.Claim > item.Claim { // by a slip, or seen before this node lost its store
		return behaviour.Effects{}, fmt.Errorf("there is no claim %d of it: it has been given to somebody %s: look at it again", w.Claim, lines.Counted(item.Claim, "time", "times"))
	}
	if w.Claim != 0 && w.Claim != item.Claim {
		return behaviour.Effects{}, fmt.Errorf("you saw claim %d of it, and it has been given to somebody %s since", w.Claim, lines.Counted(item.Claim-w.Claim, "more time", "more times"))
	}
	switch w.Wish {
	case message.WishClaim:
		return a.claim(s, item, &w, now)
	case message.WishRelease:
		return a.letGo(s, item, &w)
	case message.WishTransfer:
		return a.transfer(s, item, &w, now)
	case message.WishSave:
		return a.save(s, item, &w)
	case message.WishComplete:
		return a.completed(s, item, &w, now)
	case message.WishRetry, message.WishFinish, message.WishSkip, message.WishRestart, message.WishWithdraw: // operators' words, of any activity
	}
	return behaviour.Effects{}, fmt.Errorf("%q is nothing that is done to a work item", w.Wish)
}

var errNotOffered = errors.New("it is not offered to anybody now")

// has says why an item is not somebody's, or nothing.
func has(item *message.Item, who *message.Doer) error {
	switch item.By.Person {
	case who.Person:
		return nil
	case "":
		return errors.New("nobody has claimed it: claim it first")
	}
	return fmt.Errorf("%s has claimed it", item.By.Person)
}

// handed is an item that somebody is given.
func handed(item *message.Item, to message.Doer, now time.Time) message.Item {
	next := *item
	next.By, next.Claimed = to, now
	next.Claim++
	return next
}

// with keeps an item as it is now, and tells that in history.
func (a *Activity) with(s *State, item message.Item, what behaviour.What, w *behaviour.Work) behaviour.Effects {
	at := s.progress()
	at.Item = &item
	o := behaviour.Outcome{What: what, Iteration: at.Iteration, Run: at.Run, By: w.By.Person, For: w.By.For}
	credit(&o, w)
	if what == behaviour.Transferred {
		o.To = w.To.Person
	}
	e := a.keep(s, at, o)
	if item.Change() != s.reached().Item.Change() {
		a.tellOffers(s, &at, &e, w)
	}
	return e
}

// credit has a line of history tell who said the word, and why: the person, and the operator who acts in his name; or
// the operator alone, in nobody's.
func credit(o *behaviour.Outcome, w *behaviour.Work) {
	o.Reason = w.Why
	if o.By == "" {
		o.By = w.Operator
	} else {
		o.Operator = w.Operator
	}
}

func (a *Activity) claim(s *State, item *message.Item, w *behaviour.Work, now time.Time) (behaviour.Effects, error) {
	switch item.By.Person {
	case w.By.Person:
		if w.Asked == (message.WordID{}) {
			return behaviour.Effects{}, nil
		}
		// He has it by a word of which nobody may have told him, and which his node may be giving back: so it is given to him anew,
		// under a number that that does not name.
		return a.with(s, handed(item, w.By, now), behaviour.Claimed, w), nil
	case "":
		return a.with(s, handed(item, w.By, now), behaviour.Claimed, w), nil
	}
	return behaviour.Effects{}, has(item, &w.By)
}

// letGo offers an item again. What was saved stays.
func (a *Activity) letGo(s *State, item *message.Item, w *behaviour.Work) (behaviour.Effects, error) {
	switch {
	case item.By == message.Doer{}:
		return behaviour.Effects{}, nil
	case item.By.Person != w.By.Person && !w.Over:
		return behaviour.Effects{}, has(item, &w.By)
	}
	next := *item
	next.By, next.Claimed = message.Doer{}, time.Time{}
	return a.with(s, next, behaviour.Released, w), nil
}

func (a *Activity) transfer(s *State, item *message.Item, w *behaviour.Work, now time.Time) (behaviour.Effects, error) {
	switch {
	case item.By.Person == w.To.Person:
		return behaviour.Effects{}, nil
	case item.By.Person != w.By.Person && !w.Over:
		return behaviour.Effects{}, has(item, &w.By)
	}
	return a.with(s, handed(item, w.To, now), behaviour.Transferred, w), nil
}

func (a *Activity) save(s *State, item *message.Item, w *behaviour.Work) (behaviour.Effects, error) {
	if err := has(item, &w.By); err != nil {
		return behaviour.Effects{}, err
	}
	draft, err := a.changed(s, item, w.Output)
	if err != nil {
		return behaviour.Effects{}, err
	}
	next := *item
	if next.Draft, err = container.EncodeCBOR(draft); err != nil {
		return behaviour.Effects{}, fmt.Errorf("encode the draft: %w", err)
	}
	if bytes.Equal(next.Draft, item.Draft) {
		return behaviour.Effects{}, nil
	}
	next.Saved++
	return a.with(s, next, behaviour.Saved, w), nil
}

// completed ends an iteration with what a person has made of it. What nobody has yet is given to him first (R46).
func (a *Activity) completed(s *State, item *message.Item, w *behaviour.Work, now time.Time) (behaviour.Effects, error) {
	r, next, err := a.madeOf(s, item, w, now)
	if err != nil {
		return behaviour.Effects{}, err
	}
	if before := w.Reviewed; before != nil {
		if !container.Equal(r.Output, before.Output) || r.By != before.By {
			return behaviour.Effects{}, fmt.Errorf("complete %s: %w", s.Entry.Path(), behaviour.ErrReviewed)
		}
		r.Judged = before.Judged
	}
	at := s.progress()
	at.Item = next
	having := s.clone()
	having.Snapshot = &at
	e := a.evaluate(having, r, now)
	line := behaviour.Outcome{What: behaviour.Completed, Clock: e.Outcome.Clock, Iteration: at.Iteration, Run: at.Run, By: next.By.Person, For: next.By.For}
	credit(&line, w)
	if item.Claim != next.Claim {
		claimed := line
		claimed.What = behaviour.Claimed
		e.Lines = append(e.Lines, claimed)
	}
	e.Lines = append(e.Lines, line)
	e.Outcome.By, e.Outcome.For = next.By.Person, next.By.For
	return e, nil
}

// madeOf is the result of an item that is completed, and the item as it is then.
func (a *Activity) madeOf(s *State, item *message.Item, w *behaviour.Work, now time.Time) (*behaviour.Result, *message.Item, error) {
	next := *item
	if item.By == (message.Doer{}) {
		next = handed(item, w.By, now)
	}
	if err := has(&next, &w.By); err != nil {
		return nil, nil, err
	}
	output, err := a.changed(s, item, w.Output)
	if err != nil {
		return nil, nil, err
	}
	return &behaviour.Result{Output: output, By: next.By, Started: next.Claimed, Ended: now}, &next, nil
}

// reviewWork is Review of a person's word.
func (a *Activity) reviewWork(s *State, w behaviour.Work, now time.Time) (*behaviour.Result, error) {
	item := a.item(s)
	switch {
	case item == nil:
		return nil, errNotOffered
	case w.Wish != message.WishComplete:
		return nil, nil
	}
	r, _, err := a.madeOf(s, item, &w, now)
	return r, err
}

// withdraw tells in history that people lose an item which nobody has completed (R46), and which operator has ended it,
// if one has.
func (a *Activity) withdraw(s *State, e *behaviour.Effects) {
	if a.Kind != processtable.KindManual || s.InError() || s.reached().Item == nil || !e.Ends && e.Outcome.What != behaviour.InError {
		return
	}
	for i := range e.Lines {
		if e.Lines[i].What == behaviour.Completed {
			return
		}
	}
	at := s.reached()
	e.Lines = append(e.Lines, behaviour.Outcome{What: behaviour.Withdrawn, Clock: e.Outcome.Clock, Iteration: at.Iteration, Run: at.Run, By: at.Item.By.Person, For: at.Item.By.For, Operator: e.Outcome.By, Reason: e.Outcome.Reason})
}

// doer is who has completed the item that an activity in error was, before what follows from that failed.
func (s *State) doer() message.Doer {
	if at := s.reached(); at.Item != nil && at.HasOutput {
		return at.Item.By
	}
	return message.Doer{}
}
