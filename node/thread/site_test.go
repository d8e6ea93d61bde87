package thread

import (
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// open makes the machine anew: all that is known is in the store.
func (s *site) open(concurrency int) {
	s.events, s.reads, s.running, s.answers, s.look, s.held, s.words, s.told = nil, nil, nil, map[Token]Answer{}, true, 0, 0, time.Time{}
	s.replies = map[message.WordID]message.Answer{}
	s.free = &freePlaces{limit: concurrency, used: map[processtable.ProgramID]int{}, queue: map[processtable.ProgramID][]Token{}}
	s.machine = New(Config{Self: s.name, Process: s.process, Limits: s.limits, Reach: s.reach})
	if s.bound > 0 {
		s.machine.bound = s.bound
	}
}

// step lets the machine know what has happened, and does what follows.
func (s *site) step(e Event) {
	now := s.told
	if now.IsZero() {
		now = s.world.now
	}
	for _, effect := range slices.Clone(s.machine.Step(now, e)) {
		s.perform(effect)
	}
	if s.failure == nil {
		return
	}
	s.world.t.Fatalf("%s: %v\n%s", s.name, s.failure, s.world.given)
}

func (s *site) perform(e Effect) {
	switch e := e.(type) {
	case Load, List, Browse:
		s.loads++
		read := &pendingRead{asked: e}
		s.reads = append(s.reads, read)
		if !s.world.slow || s.world.rand.IntN(2) == 0 {
			s.read(len(s.reads) - 1)
		}
	case Ask:
		s.ask(e)
	case GiveBack:
		s.release(e.Program)
	case Commit:
		s.checkPinned(e.Tx)
		s.store.submit(e.Tx, e.Token)
	case Invoke:
		s.invoke(e)
	case Interrupt:
		for _, run := range s.running {
			run.cancelled = run.cancelled || run.token == e.Token
		}
	case Look:
		s.look = true
	case Answer:
		if _, again := s.answers[e.Word]; again || e.Word == 0 || e.Word > s.words {
			s.world.t.Fatalf("%s: word %d is answered twice, or was not said\n%s", s.name, e.Word, s.world.given)
		}
		s.answers[e.Word] = e
	case Replied:
		if s.world.told[e.Word]++; s.world.told[e.Word] > s.world.came[e.Word] {
			s.world.t.Fatalf("%s: word %s is answered twice\n%s", s.name, e.Word, s.world.given)
		}
		s.replies[e.Word] = e.Answer
	case Evaluate:
		r := e.Result
		r.Judged = e.Behaviour.Judge(&r)
		s.event(Evaluated{e.Token, r})
	case Fail:
		s.failure = e.Err
	}
}

// read reads what was asked for; where reads are prompt, it is answered before anything else
// happens.
func (s *site) read(i int) {
	if r := s.reads[i]; r.answer == nil {
		r.answer = s.store.answer(r.asked)
		if s.world.slow && s.world.rand.IntN(2) == 0 {
			return
		}
	}
	answer := s.reads[i].answer
	s.reads = slices.Delete(s.reads, i, i+1)
	s.step(answer)
}

// ask is the node's, for a place of a program: it may be there, come later, or be of no use
// now.
func (s *site) ask(e Ask) {
	f, w := s.free, s.world
	switch {
	case w.holds > 0 && e.Program != Routing && w.rand.IntN(4) == 0:
		w.holds--
		s.held++
		s.event(HeldBack{e.Token})
	case f.used[e.Program] < f.limit && len(f.queue[e.Program]) == 0:
		f.used[e.Program]++
		s.event(Granted{e.Token})
	default:
		f.queue[e.Program] = append(f.queue[e.Program], e.Token)
	}
}

// event happens at once, or some time later.
func (s *site) event(e Event) {
	if s.world.slow {
		s.events = append(s.events, e)
	} else {
		s.step(e)
	}
}

// release gives a place back, to who has waited longest.
func (s *site) release(program processtable.ProgramID) {
	f := s.free
	if next := f.queue[program]; len(next) > 0 {
		f.queue[program] = next[1:]
		s.events = append(s.events, Granted{next[0]})
	} else {
		f.used[program]--
	}
	if len(f.queue[program]) == 0 {
		delete(f.queue, program)
	}
	if f.used[program] == 0 {
		delete(f.used, program)
	}
}

// say says a word.
func (s *site) say(make func(Token) Event) Token {
	s.words++
	word := s.words
	s.step(make(word))
	return word
}

// due: there is something for a turn.
func (s *site) due() bool {
	return len(s.store.mailbox) > 0 || len(s.store.ended) > 0 || len(s.events) > 0 || s.look
}

// turn is the shell's: newcomers first. Timers may come between its reading of the clock and
// of the mailbox, and the clock may be set.
func (s *site) turn() {
	s.told = s.world.now
	if s.world.hasty && s.world.rand.IntN(4) == 0 {
		s.world.advance()
	}
	if s.world.leaps > 0 && s.world.rand.IntN(10) == 0 {
		s.world.leap()
	}
	s.look = false
	newcomers := s.store.take(1 + s.world.rand.IntN(4))
	s.step(Coming{newcomers}) // as the shell says: none of them may be passed by in a cascade of another
	for _, d := range newcomers {
		s.step(Delivered{d})
	}
	s.step(MailRead{})
	events := append(s.store.ended, s.events...)
	s.store.ended, s.events = nil, nil
	for _, event := range events {
		s.step(event)
	}
	s.told = time.Time{}
}

// checkPinned: the entries of a transaction under way stay in memory, or another copy
// of one could be decided beside it.
func (s *site) checkPinned(tx *record.Tx) {
	for _, a := range tx.Audit {
		e := message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}
		if held := s.machine.table.Get(e); a.Activity != processtable.Source && a.Event != record.EventPassed && a.Event != record.EventAnswered && len(tx.Settle) == 0 && (held == nil || held.Phase != instancetable.Settling) {
			s.world.t.Fatalf("%s: %s is being settled and is not held\n%s", s.name, a.Activity, s.world.given)
		}
	}
}

// invoke begins a program. P1: no program runs beside an older attempt of itself.
func (s *site) invoke(e Invoke) {
	for _, other := range s.running {
		if other.entry == e.Entry {
			s.world.t.Fatalf("%s is invoked while it runs\n%s", e.Entry.Activity, s.world.given)
		}
	}
	if wrong := misinvoked(s.machine, e); wrong != "" {
		s.world.t.Fatalf("%s: %s is invoked with %s\n%s", s.name, e.Entry.Activity, wrong, s.world.given)
	}
	s.running = append(s.running, &invocation{token: e.Token, entry: e.Entry, activity: e.Behaviour, call: *e.Call, started: s.world.now})
	if e.Call.Program == Routing || e.Call.Program == behaviour.Begin { // its conditions are evaluated apart; it says that there is room
		return
	}
	s.world.invoked[execution{e.Entry, e.Call.Iteration, e.Call.Attempt, e.Call.Run}]++
}

// finish ends one of the programs that run.
func (s *site) finish(i int) {
	run := s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	var result behaviour.Result
	if run.call.Program == Routing {
		result = run.activity.Compute(run.call, run.started)
		result.Judged = run.activity.Judge(&result)
	} else if run.call.Program == behaviour.Begin {
		result = behaviour.Result{Begins: true}
	} else {
		result = s.world.result(run)
	}
	result.Started, result.Ended = run.started, s.world.now
	if run.cancelled {
		result = behaviour.Result{Err: "ended early", Started: run.started, Ended: s.world.now}
	}
	s.release(run.call.Program)
	s.events = append(s.events, Ended{run.token, run.entry, &result})
}

// commit writes some of what was submitted. Now and then a transaction is refused as
// stale though nothing came for it: that may cost time, and nothing else.
func (s *site) commit() {
	n := 1 + s.world.rand.IntN(len(s.store.pending))
	remote := s.store.commit(n, func(*record.Tx) error {
		if s.world.stales > 0 && s.world.rand.IntN(4) == 0 {
			s.world.stales--
			return fmt.Errorf("%w: as it was drawn", commit.ErrStale)
		}
		return nil
	})
	s.send(remote)
}

// send puts messages on the wire. Invariant 11: their receivers will take them of this
// node.
func (s *site) send(remote []message.Message) {
	for _, m := range remote {
		if m.Kind == message.KindAnswer {
			s.world.noteAnswer(m)
			continue
		}
		to := s.world.site(m.Queue.Node)
		if reason := to.process.Refuses(s.name, &m.Header); reason != "" {
			s.world.t.Fatalf("%s sends %s what it will not take: %s\n%s", s.name, to.name, reason, s.world.given)
		}
	}
	s.world.wire = append(s.world.wire, slices.DeleteFunc(remote, func(m message.Message) bool { return m.Kind == message.KindAnswer })...)
}
