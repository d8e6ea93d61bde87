package execute

import (
	"errors"
	"slices"

	"fmqm/internal/failpoint"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// Bounds of a thread's turn.
const (
	takeLimit  = 256  // entries taken from the mailbox
	spareLimit = 4096 // for how much that was posted room is kept
)

// Run takes turns until End. It is the thread's task.
func (t *Thread) Run() {
	defer t.ended.Open()
	wakes := []task.Signal{t.wake, t.mailbox.Wake()}
	for {
		for t.Turn() {
			if t.life.Err() != nil {
				return
			}
		}
		if _, err := t.of.Scheduler.Wait(t.life, wakes...); err != nil {
			return
		}
	}
}

// Turn does what there is to do, newcomers first, and reports whether there may be
// more. The browse of recovery comes last: it goes on beside new work. Nothing depends
// on when the clock is read: timers come through the mailbox.
func (t *Thread) Turn() bool {
	t.now, t.look = t.of.Scheduler.Now(), false
	deliveries := t.mailbox.Take(takeLimit)
	if len(deliveries) > 0 {
		failpoint.Hit("thread.taken")
	}
	if failpoint.Enabled && begins(deliveries) {
		failpoint.Hit("thread.born")
	}
	if len(deliveries) > 1 {
		t.step(thread.Coming{Deliveries: deliveries})
	}
	for i := range deliveries {
		t.step(thread.Delivered{Delivery: deliveries[i]})
	}
	t.step(thread.MailRead{})
	t.mu.Lock()
	all := t.posted
	t.posted = t.spare
	t.mu.Unlock()
	for i := range all {
		t.take(&all[i])
	}
	clear(all)
	if t.spare = all[:0]; cap(all) > spareLimit {
		t.spare = nil
	}
	if b := t.browse; b != nil {
		t.browse = nil
		t.step(t.readOn(*b))
		failpoint.Hit("thread.browsed")
	}
	t.meter.note(t.machine.Gauges())
	t.perform()
	return !t.failed && (len(deliveries) > 0 || len(all) > 0 || t.look)
}

// begins says whether what begins the instance of a subprocess is among deliveries.
func begins(deliveries []record.Delivery) bool {
	return slices.ContainsFunc(deliveries, func(d record.Delivery) bool {
		return slices.ContainsFunc(d.Messages, func(m message.Message) bool { return m.Kind == message.KindStart })
	})
}

// take does what another task has posted.
func (t *Thread) take(p *posted) {
	if p.written != nil {
		t.warn(p.written.Audit)
	}
	if e, ended := p.event.(thread.Ended); ended {
		delete(t.runs, e.Token)
	}
	switch {
	case p.event != nil:
		t.step(p.event)
	case p.isPlace:
		t.granted(p.granted)
	case p.closing:
		t.closing = true
	}
	if p.ask != nil {
		p.ask.Give(t.machine.Gauges())
	}
}

// step tells the machine what has happened. What it asks for is read at once, and answered
// before anything else happens.
func (t *Thread) step(e thread.Event) {
	t.sort(t.machine.Step(t.now, e))
	for i := 0; i < len(t.answers); i++ {
		t.sort(t.machine.Step(t.now, t.answers[i]))
	}
	clear(t.answers)
	t.answers = t.answers[:0]
}

// sort does at once what is to be answered, and keeps the rest for the end of the turn.
func (t *Thread) sort(effects []thread.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case thread.Load:
			t.answers = append(t.answers, t.load(e))
		case thread.List:
			t.answers = append(t.answers, t.list(e))
		case thread.Ask:
			if a := t.askPlace(e); a != nil {
				t.answers = append(t.answers, a)
			}
		case thread.Inquire:
			t.answers = append(t.answers, t.of.Site.Inquire(t.process, &e))
		case thread.Show:
			t.of.Site.Show(t.process, &e)
		case thread.Browse:
			t.browse = &e
		case thread.Look:
			t.look = true
		default:
			t.out = append(t.out, e)
		}
	}
}

// perform carries out the machine's effects, in their order.
func (t *Thread) perform() {
	for _, e := range t.out {
		switch e := e.(type) {
		case thread.Commit:
			t.commit(e)
		case thread.Invoke:
			t.invoke(e)
		case thread.Interrupt:
			if run := t.runs[e.Token]; run != nil {
				run.end()
			}
		case thread.GiveBack:
			t.places.Release(e.Program)
		case thread.Answer:
			t.answer(e)
		case thread.Replied:
			t.of.Site.Answered(e.Entry, e.Answer)
		case thread.Evaluate:
			t.evaluate(e)
		case thread.Fail:
			t.failed = true
			t.of.Site.Fatal(e.Err)
		}
	}
	clear(t.out)
	t.out = t.out[:0]
}

// commit submits a transaction.
func (t *Thread) commit(e thread.Commit) {
	tx, instance := e.Tx, instanceOf(e.Tx)
	if err := t.keepEvents(tx); err != nil {
		t.failed = true
		t.of.Site.Fatal(err)
		return
	}
	if err := t.supersede(tx); err != nil {
		t.failed = true
		t.of.Site.Fatal(err)
		return
	}
	tx.Done = func(err error) {
		if err != nil {
			t.Tell(thread.Committed{Token: e.Token, End: endOf(err), Text: err.Error()})
			return
		}
		if e.Settles {
			t.shown.written(tx.Consume[0].Entry) // before the thread can begin what comes next
		}
		t.of.Site.RefusedTaken(tx.Settle)
		t.post(posted{event: thread.Committed{Token: e.Token}, written: tx})
		t.meter.committed(tx)
		t.of.Site.Written(tx, instance)
	}
	failpoint.Hit("thread.decided")
	t.of.Queue.Submit(tx)
}

// supersede adds to a transaction what becomes of ends that do not stand as they are (N30).
func (t *Thread) supersede(tx *record.Tx) error {
	for _, s := range tx.Supersede {
		ops, rewrite, err := t.of.Queue.Superseding(s)
		if err != nil {
			return err
		}
		tx.Forget = append(tx.Forget, ops...)
		if rewrite != nil {
			tx.Rewrite = append(tx.Rewrite, *rewrite)
		}
	}
	return nil
}

// instanceOf is whose transaction it is: that of the entry which it was decided on, or of the marks that it puts.
func instanceOf(tx *record.Tx) message.InstanceID {
	if len(tx.Consume) > 0 {
		return tx.Consume[0].Entry.Instance
	}
	return tx.Put[0].Instance
}

// endOf is what the machine is told of a transaction that was not done.
func endOf(err error) thread.End {
	switch {
	case errors.Is(err, commit.ErrStale):
		return thread.Stale
	// What a program gave stops no node, nor what begins when the node has given its final word (N31).
	case errors.Is(err, commit.ErrTooLarge), errors.Is(err, message.ErrFormat), errors.Is(err, commit.ErrClosed):
		return thread.TooLarge
	case errors.Is(err, commit.ErrNotRefused):
		return thread.NotAside
	case errors.Is(err, queue.ErrStopped):
		return thread.Stopped
	}
	return thread.Failed
}

// warn says in the log which activities have gone in error: once each time, since a
// restart commits nothing of it again.
func (t *Thread) warn(records []record.AuditRecord) {
	for i := range records {
		if r := &records[i]; r.Event == record.EventInError {
			t.log.Warn().Stringer("instance", r.Instance).Str("activity", string(r.Activity)).
				Str("reason", r.Reason).Msg("activity in error")
		}
	}
}

// granted takes a place that was asked for.
func (t *Thread) granted(program processtable.ProgramID) {
	e, asked := t.asked[program]
	delete(t.asked, program)
	switch {
	case !asked:
		t.places.Release(program)
	case t.holds(e):
		t.places.Release(program)
		t.step(thread.HeldBack{Token: e.Token})
	default:
		t.step(thread.Granted{Token: e.Token, Program: program})
	}
}
