package thread

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// script drives one machine, at a node A, over a model of its store. Nothing happens but what
// the script says; what follows is shown. What is under way is named by a part of how it was
// shown, and is the oldest that fits.
//
//	define [cache=0]     the process; the machine begins
//	restart              the machine begins anew over the store
//	start 1              instance 1 is to be started
//	arrive s x 1 [FALSE] [@SCOPE] [#N]   a message from s for x of instance 1 comes into the store
//	cancel s x 1 [@SCOPE]   s cancels x of instance 1: that comes into the store
//	refused s x 1        one that does not fit
//	recall s x 1 N       a restart of s recalls what it has sent x, under number N: that comes into the store
//	recalled y x 1 N [REASON]   y has given that back to x, or says why not
//	ended x 1 [stopped]  x of instance 1 of another process has ended
//	event go x 1 2       event go, which has met x of instance 1 in its second round, comes into the store
//	marker 1             the marker of instance 1 comes into the store
//	mark suspend 1 [x] [new] [N]   ann suspends instance 1, or x of it, by word N: that comes into the store, as a mark that is to be
//	                     acted on (new), or as one with nothing to act on; or mark resume 1 [new] N LIFTED, mark expedite 1 [new] N
//	born 1               what begins instance 1 for activity c of instance 50 of q@1 comes into the store
//	returns x 1 2 [REASON]   instance 2, which x of instance 1 has begun, comes back
//	mail                 the mailbox is read
//	read WHAT            what was asked for is read, and not answered yet
//	answer WHAT          it is answered, with what was read, or is read now
//	damaged WHAT         it cannot be read
//	write WHAT           transactions up to that one are on disk, and nobody is told
//	told WHAT [END]      the machine is told of one, which is written first; or that it was stale, too-large, failed, stopped
//	grant WHAT           there is a place
//	hold WHAT            it would send where nothing more may wait
//	room                 there is room again
//	end WHAT             a program ends
//	fail WHAT            it fails
//	due x 1 [NAME]       the time of a timer has come; one that is not set was taken at that moment
//	again WHAT           what was answered first is answered once more, in the same way
//	retry x 1 [saw=ITERATION.RUN] [reply] [again=N]   an operator's word comes into the store: a new one, or number N once more
//	staff ann bob        who may have work items from now on; dora administers the process
//	work claim x 1 ann [operator] [to=bob] [again=N] [site=B] [for=PERSON] [seen=CLAIM]   what somebody says about the item of x of instance 1,
//	                     or somebody of another node that offers it, comes into the store
//	                     x!0 in the place of x, here and of due: its first notice
//	finish x 1, skip x 1   likewise: x ends by hand
//	drop 1, redeliver 1  words of operators about refused messages
//	rest                 everything is done and answered until programs run only
//	state                what is in memory
type script struct {
	*testing.T
	store   *modelStore
	process behaviour.Process
	machine *Machine
	limits  instancetable.Limits
	asked   map[Token]Effect
	shown   map[Token]string
	were    map[Token]Event // answers that were read, and not given yet
	answers map[Token]Event // that were given
	words   Token
	orders  int // operators' words
	now     time.Time
	out     []string
	staff   []string
}

func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			s.T = t
			s.do(d)
			lines := s.out
			s.out = nil
			if len(lines) == 0 {
				return "nothing\n"
			}
			return strings.Join(lines, "\n") + "\n"
		})
	})
}

func (s *script) do(d *datadriven.TestData) {
	words := make([]string, len(d.CmdArgs))
	for i, a := range d.CmdArgs {
		words[i] = a.Key
	}
	token := func() Token { return s.find(strings.Join(words, " "), false) }
	switch d.Cmd {
	case "define":
		s.define(d)
	case "restart":
		s.store.crash()
		s.begin()
	case "start":
		s.say(Start{Word: s.word(), Start: behaviour.Start{
			Instance: identifier(s.number(words[0])), Input: container.New(s.process.Table().Input), Now: s.now,
		}})
	case "arrive", "refused":
		s.arrive(s.message(words, d.Cmd == "refused"))
	case "cancel":
		m := s.message(words, false)
		m.Kind, m.Control, m.Body = message.KindCancel, message.Unresolved, message.EncodeCancel(message.Cancel{Reason: words[0] + " cancels it"})
		s.arrive(m)
	case "recall", "recalled":
		s.arrive(s.recall(d.Cmd, words))
	case "event":
		s.arrive(s.met(s.entry(words[1], words[2]), processtable.EventID(words[0]), s.number(words[3])))
	case "ended":
		r := record.AuditRecord{
			Process: processtable.ProcessID{Name: "q", Version: 1}, Event: record.EventTerminated,
			Instance: identifier(s.number(words[1])), Activity: processtable.ActivityID(words[0]),
		}
		if len(words) > 2 {
			r.Event = record.EventStopped
		}
		s.store.audits = append(s.store.audits, r)
	case "mark":
		s.arrive(s.mark(words))
	case "born":
		s.arrive(s.born(identifier(s.number(words[0]))))
	case "returns":
		s.arrive(s.returning(s.entry(words[0], words[1]), identifier(s.number(words[2])), strings.Join(words[3:], " ")))
	case "marker":
		s.arrive(message.Message{Header: message.Header{
			Queue: message.Queue{Process: s.machine.id(), Node: "A"}, Instance: identifier(s.number(words[0])), Origin: "A", Kind: message.KindMarker,
		}})
	case "mail":
		all := s.store.take(100)
		s.step(Coming{all})
		for _, d := range all {
			s.step(Delivered{d})
		}
		s.step(MailRead{})
	case "read":
		t := token()
		s.were[t] = s.store.answer(s.asked[t])
	case "answer":
		t := token()
		e := s.were[t]
		if ask, is := s.asked[t].(Inquire); is {
			e = s.found(ask)
		} else if e == nil {
			e = s.store.answer(s.asked[t])
		}
		s.give(t, e)
	case "damaged":
		s.give(token(), Unread{token(), errors.New("it is damaged")})
	case "write":
		s.write(s.findCommit(strings.Join(words, " ")), nil)
	case "told":
		s.told(words)
	case "grant":
		s.grant(token())
	case "hold":
		s.give(token(), HeldBack{token()})
	case "room":
		s.step(Room{})
	case "end":
		s.end(token())
	case "fail":
		run := s.asked[token()].(Invoke)
		s.give(token(), Ended{token(), run.Entry, &behaviour.Result{Err: "no such file", Started: s.now, Ended: s.now}})
	case "due":
		s.due(s.entry(words[0], words[1]), strings.Join(words[2:], ""))
	case "again":
		s.step(s.answers[s.find(strings.Join(words, " "), true)])
	case "retry", "finish", "skip":
		s.hand(d, s.entry(words[0], words[1]))
	case "staff":
		s.staff = words
	case "work":
		s.work(d, words)
	case "drop", "redeliver":
		s.judge(uint64(s.number(words[0])), d.Cmd == "drop")
	case "rest":
		s.rest()
	case "state":
		s.state()
	default:
		d.Fatalf(s.T, "unknown command %s", d.Cmd)
	}
}

func (s *script) define(d *datadriven.TestData) {
	w := openWorld(s.T, "process: p\nversion: 1\n"+d.Input, 1)
	site := w.site("A")
	s.store, s.process, s.limits = site.store, site.process, site.limits
	if d.HasArg("cache") {
		s.limits.Entries = 0
	}
	s.begin()
}

func (s *script) begin() {
	s.asked, s.answers, s.were, s.shown = map[Token]Effect{}, map[Token]Event{}, map[Token]Event{}, map[Token]string{}
	s.machine = New(Config{Self: "A", Process: s.process, Limits: s.limits, Reach: Reach{All: true}})
	s.step(MailRead{})
}

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *script) entry(activity, instance string) message.Entry {
	name, notice, is := strings.Cut(activity, "!")
	e := message.Entry{Instance: identifier(s.number(instance)), Activity: processtable.ActivityID(name)}
	if is {
		e.Scope = e.Scope.Notice(s.number(notice))
	}
	return e
}

func (s *script) message(words []string, foreign bool) message.Message {
	m := message.Message{Header: message.Header{
		Queue: message.Queue{Process: s.machine.id(), Node: "A"}, Definition: s.process.Definition(),
		Instance: identifier(s.number(words[2])), Origin: "A", Kind: message.KindConnector, Control: message.True,
		Source: processtable.ActivityID(words[0]), Activity: processtable.ActivityID(words[1]),
	}}
	m.From = "B"
	if foreign {
		m.Definition[0]++
	}
	for _, w := range words[3:] {
		scope, scoped := strings.CutPrefix(w, "@")
		switch {
		case w == "FALSE":
			m.Control = message.False
		case strings.HasPrefix(w, "#"):
			m.Number = uint64(s.number(w[1:]))
		case scoped:
			m.Scope, m.SourceScope = message.Scope(scope), message.Scope(scope)
		default:
			m.Origin = processtable.NodeID(w)
		}
	}
	return m
}

// mark is one of an instance that was started here.
func (s *script) mark(words []string) message.Message {
	mark := message.Mark{Time: s.now}
	var numbers []int
	for _, w := range words[2:] {
		if n, err := strconv.Atoi(w); err == nil {
			numbers = append(numbers, n)
		} else if w == "new" {
			mark.New = true
		} else {
			mark.Activity = processtable.ActivityID(w)
		}
	}
	mark.ID = wordID(numbers[0])
	switch words[0] {
	case "resume":
		mark.Lifts = []message.WordID{wordID(numbers[1])}
	case "expedite":
		mark.Rank = message.MaxRank
	}
	return mark.Message(message.Queue{Process: s.machine.id(), Node: "A"}, identifier(s.number(words[1])), "A", uint64(10+numbers[0]))
}

func (s *script) arrive(m message.Message) {
	s.store.deliver(s.store.put(m))
}

// due puts the message of a timer of an entry, as the queue's timers do.
func (s *script) due(e message.Entry, name string) {
	came := record.Timer{Name: name, Due: s.now, Process: s.machine.id(), Entry: e}
	for key, timer := range s.store.timers {
		if key.entry == e && key.name == name {
			came = timer
			delete(s.store.timers, key)
		}
	}
	s.arrive(came.Message("A"))
}

func (s *script) word() Token {
	s.words++
	return s.words
}

func (s *script) say(e Event) { s.step(e) }

func (s *script) hand(d *datadriven.TestData, e message.Entry) {
	o := message.Word{Wish: message.Wish(d.Cmd), Operator: "ann", Site: "B", Reply: d.HasArg("reply")}
	number := s.orders + 1
	if d.HasArg("again") {
		d.ScanArgs(s.T, "again", &number)
	} else {
		s.orders++
	}
	if d.HasArg("saw") {
		var saw string
		d.ScanArgs(s.T, "saw", &saw)
		o.Saw = &message.Execution{}
		if _, err := fmt.Sscanf(saw, "%d.%d", &o.Saw.Iteration, &o.Saw.Run); err != nil {
			s.Fatal(err)
		}
	}
	if o.Wish == message.WishFinish {
		o.Output = []byte("{}")
	}
	if d.HasArg("wish") {
		d.ScanArgs(s.T, "wish", (*string)(&o.Wish))
	}
	o.ID = wordID(number)
	s.arrive(wordTo(s.machine, e, o))
}

func (s *script) judge(number uint64, drop bool) {
	v := Verdict{Number: number, Drop: drop, By: "ann"}
	if i := s.store.setAside(number); i >= 0 {
		m, err := message.Decode(s.store.aside[i].Message)
		if err != nil {
			s.Fatal(err)
		}
		v.Message = m
	}
	s.say(Judge{s.word(), v})
}

func isCommit(e Effect) bool {
	_, is := e.(Commit)
	return is
}

// findCommit is find among the transactions under way.
func (s *script) findCommit(text string) Token {
	for token := Token(1); token <= s.machine.token; token++ {
		if isCommit(s.asked[token]) && s.answers[token] == nil && strings.Contains(s.shown[token], text) {
			return token
		}
	}
	s.Fatalf("no transaction with %q is under way, of %v", text, s.shown)
	return 0
}

// find gives the oldest of what is under way, or was answered, that is shown with a text.
// Transactions under way are found by findCommit.
func (s *script) find(text string, answered bool) Token {
	for token := Token(1); token <= s.machine.token; token++ {
		if was := s.answers[token] != nil; was == answered && (answered || !isCommit(s.asked[token])) && s.asked[token] != nil && strings.Contains(s.shown[token], text) {
			return token
		}
	}
	s.Fatalf("there is no %q; under way is %v", text, s.shown)
	return 0
}

// write puts transactions on disk, up to one that is refused as err says.
func (s *script) write(upto Token, err error) {
	for len(s.store.pending) > 0 && s.were[upto] == nil {
		token := s.store.pending[0].token
		s.store.commit(1, func(*record.Tx) error {
			if token == upto {
				return err
			}
			return nil
		})
		for _, e := range s.store.ended {
			s.were[e.(Committed).Token] = e
		}
		s.store.ended = nil
	}
}

func (s *script) told(words []string) {
	var err error
	if last := len(words) - 1; last > 0 {
		err = map[string]error{
			"stale": commit.ErrStale, "too-large": commit.ErrTooLarge, "stopped": queue.ErrStopped, "failed": errors.New("the disk is gone"),
		}[words[last]]
		if err != nil {
			words = words[:last]
		}
	}
	s.tell(s.findCommit(strings.Join(words, " ")), err)
}

func (s *script) tell(token Token, err error) {
	s.write(token, err)
	s.give(token, s.were[token])
}

func (s *script) give(token Token, e Event) {
	s.answers[token] = e
	s.step(e)
}

func (s *script) end(token Token) {
	run := s.asked[token].(Invoke)
	r := behaviour.Result{Output: container.New(run.Call.Output), Started: s.now, Ended: s.now, Begins: run.Call.Program == behaviour.Begin}
	if c := run.Call.Child; c != nil { // a child is called by the attempt that has begun it
		r.Child = message.Child{Process: processtable.ProcessID{Name: c.Name, Version: 1}, Instance: identifier(100*run.Call.Run + run.Call.Attempt)}
	}
	s.give(token, Ended{token, run.Entry, &r})
}

// born is what begins an instance for an activity of another process here.
func (s *script) born(id message.InstanceID) message.Message {
	input, err := container.EncodeCBOR(container.New(s.process.Table().Input))
	if err != nil {
		s.Fatal(err)
	}
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: s.machine.id(), Node: "A"}, Instance: id, Origin: "A", Activity: processtable.Source, Kind: message.KindStart,
	}, Body: message.EncodeStart(message.Start{Input: input, Parent: message.Parent{
		Process: processtable.ProcessID{Name: "q", Version: 1}, Node: "A", Instance: identifier(50), Activity: "c", Iteration: 1, Attempt: 1,
	}})}
}

// returning is what an instance that an activity has begun comes back with.
func (s *script) returning(e message.Entry, child message.InstanceID, reason string) message.Message {
	r := message.Return{Error: reason}
	if reason == "" {
		var err error
		if r.Output, err = container.EncodeCBOR(container.New(s.process.Table().Activity(e.Row()).Output)); err != nil {
			s.Fatal(err)
		}
	}
	p := message.Parent{Process: s.machine.id(), Node: "A", Instance: e.Instance, Activity: e.Activity}
	return p.Back(message.Child{Instance: child, Process: processtable.ProcessID{Name: "line", Version: 1}}, r)
}

// rest answers all that is asked, at once, and shows nothing but what people are told.
func (s *script) rest() {
	for range 1000 {
		before := len(s.out)
		for _, d := range s.store.take(100) {
			s.step(Delivered{d})
		}
		s.step(MailRead{})
		for token := Token(1); token <= s.machine.token; token++ {
			if s.answers[token] != nil {
				continue
			}
			switch e := s.asked[token].(type) {
			case Load, List, Browse:
				s.give(token, s.store.answer(e))
			case Commit:
				s.tell(token, nil)
			case Ask:
				s.grant(token)
			case Inquire:
				s.give(token, s.found(e))
			}
		}
		if len(s.out) == before {
			break
		}
	}
	s.out = slices.DeleteFunc(s.out, func(line string) bool {
		return !strings.Contains(line, "invoke") && !strings.HasPrefix(line, "item") && !strings.HasPrefix(line, "word") && !strings.Contains(line, "commit") && !strings.Contains(line, "interrupt")
	})
}

func (s *script) step(e Event) {
	for _, effect := range s.machine.Step(s.now, e) {
		s.out = append(s.out, s.show(effect))
	}
}

func (s *script) show(e Effect) string {
	ask := func(token Token, format string, args ...any) string {
		s.asked[token], s.shown[token] = e, fmt.Sprintf(format, args...)
		return fmt.Sprintf("%d: %s", token, s.shown[token])
	}
	switch e := e.(type) {
	case Load:
		var what, of []string
		for i, w := range []string{"messages", "end", "marker", "answer of a word"} {
			if e.What&(1<<i) != 0 {
				what = append(what, w)
			}
		}
		for _, key := range e.Entries {
			of = append(of, named(key))
		}
		return ask(e.Token, "load %s: %s", strings.Join(of, ", "), strings.Join(what, ", "))
	case List:
		return ask(e.Token, "list %d", binary.BigEndian.Uint64(e.Instance[8:]))
	case Browse:
		return ask(e.Token, "browse after %s", named(e.After))
	case Ask:
		return ask(e.Token, "a place of %q for %s", e.Program, e.Row.Name)
	case Commit:
		s.store.submit(e.Tx, e.Token)
		if at := s.primary(e.Tx); at != nil && at.Phase >= instancetable.Running && !e.Settles {
			return ask(e.Token, "commit beside what runs: %s", txShown(e.Tx))
		}
		return ask(e.Token, "commit: %s", txShown(e.Tx))
	case Invoke:
		if wrong := misinvoked(s.machine, e); wrong != "" {
			s.Fatalf("%s is invoked with %s", named(e.Entry), wrong)
		}
		return ask(e.Token, "invoke %s", named(e.Entry))
	case Inquire:
		return ask(e.Token, "inquire about %s %s", strings.Join(e.People, ", "), e.Over)
	case Show:
		return itemShown(e)
	case Interrupt:
		return fmt.Sprintf("interrupt %d", e.Token)
	case GiveBack:
		return fmt.Sprintf("give back a place of %q", e.Program)
	case Look:
		return "look"
	case Answer:
		code := [...]string{"OK", "known", "conflict", "refused", "delivered", "resolved", "removed", "pointless", "gone", "closed", "not done"}[e.Code]
		return strings.TrimSpace(fmt.Sprintf("word %d: %s %s", e.Word, code, e.Text))
	case Replied:
		result := [...]string{1: "done", 2: "refused", 3: "overtaken"}[e.Result]
		return strings.TrimSpace(fmt.Sprintf("word of ann %d: %s %s", e.Word[15], result, e.Text))
	case Fail:
		return "fail: " + e.Err.Error()
	}
	return fmt.Sprintf("%T", e)
}

// primary is the entry in memory that a transaction is about; nil: none is.
func (s *script) primary(tx *record.Tx) *instancetable.Entry {
	if len(tx.Consume) == 0 {
		return nil
	}
	return s.machine.table.Get(tx.Consume[0].Entry)
}

func named(e message.Entry) string {
	if e == (message.Entry{}) {
		return "nothing"
	}
	name := string(e.Activity)
	if n, notice := e.Scope.OfNotice(); notice {
		name += fmt.Sprintf("!%d", n)
	}
	return fmt.Sprintf("%s of %d", name, binary.BigEndian.Uint64(e.Instance[8:]))
}

func txShown(tx *record.Tx) string {
	var parts []string
	for _, c := range tx.Consume {
		if len(c.Keys) > 0 {
			parts = append(parts, fmt.Sprintf("takes %d from %s", len(c.Keys), c.Entry.Activity))
		}
	}
	for _, m := range tx.Put {
		if m.Kind == message.KindAnswer {
			parts = append(parts, "answers "+string(m.Queue.Node))
			continue
		}
		line := fmt.Sprintf("puts %s -> %s", m.Source, m.Activity)
		if m.Kind == message.KindConnector && m.Number != 0 {
			line += fmt.Sprintf(" #%d", m.Number)
		}
		switch {
		case m.Kind == message.KindRecall || m.Kind == message.KindRecalled:
			parts = append(parts, recallShown(&m))
		case m.Kind == message.KindStart:
			parts = append(parts, fmt.Sprintf("starts %d of %s", binary.BigEndian.Uint64(m.Instance[8:]), m.Queue.Process))
		case m.Kind == message.KindMark:
			parts = append(parts, "a mark is done")
		case m.Kind == message.KindMarker:
			parts = append(parts, fmt.Sprintf("ends %d of %s at %s", binary.BigEndian.Uint64(m.Instance[8:]), m.Queue.Process, m.Queue.Node))
		case m.Kind == message.KindReturn && m.Number != 0:
			parts = append(parts, fmt.Sprintf("returns to %s of %s", m.Activity, m.Queue.Process))
		default:
			parts = append(parts, line)
		}
	}
	for _, a := range tx.Audit {
		name := eventNames[a.Event]
		parts = append(parts, fmt.Sprintf("%s %s", a.Activity, name))
	}
	parts = append(parts, supersededShown(tx)...)
	for _, a := range tx.Refuse {
		parts = append(parts, "sets aside: "+a.Reason)
	}
	for _, n := range tx.Settle {
		parts = append(parts, fmt.Sprintf("takes refused message %d", n))
	}
	return strings.Join(parts, "; ")
}

// state shows what is in memory.
func (s *script) state() {
	s.machine.table.All(func(e *instancetable.Entry) bool {
		line := named(e.Key) + " is " + [...]string{"waiting", "ready", "running", "settling"}[e.Phase]
		if suspended(e) {
			line += ", suspended"
		}
		if e.State.InError() {
			line += ", in error: " + e.Behaviour.View(e.State, s.now).Error
		}
		s.out = append(s.out, line)
		return true
	})
	slices.Sort(s.out)
	if c := s.machine.census; c.complete {
		s.out = append(s.out, fmt.Sprintf("%d in error", c.inError))
	}
}

// grant gives a place that was asked for.
func (s *script) grant(token Token) {
	ask, _ := s.asked[token].(Ask)
	s.give(token, Granted{token, ask.Program})
}
