package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/internal/failpoint"
	"fmqm/internal/task"
	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/queue"
)

// mailbox is where a process thread's messages arrive. *queue.Mailbox is one.
type mailbox interface {
	Wake() *task.Bell
	Take(limit int) []queue.Delivery
	AskAgain() bool
}

// Bounds of a thread's turn.
const (
	takeLimit  = 256  // entries taken from the mailbox
	spareLimit = 4096 // for how much that was posted room is kept
)

// processThread is the process thread: one task that serves one process queue (paper
// §3.2). It tells its machine what has happened, and does what follows: transactions,
// activity threads, answers.
type processThread struct {
	node    *Node
	process behaviour.Process
	mailbox mailbox
	places  *threadPlaces
	log     zerolog.Logger
	meter   processMeter
	shown   *executing

	// Of the thread's own task.
	machine *thread.Machine
	now     time.Time      // of this turn
	answers []thread.Event // to what was asked in this turn, for the machine
	out     []thread.Effect
	browse  *thread.Browse // to be read at the end of this turn
	look    bool           // the machine wants its mail to be read
	failed  bool           // the machine cannot go on
	asked   map[processtable.ProgramID]thread.Ask
	runs    map[thread.Token]*invocation
	closing bool     // no more activity threads: the node is stopping
	spare   []posted // room for what is posted

	mu      sync.Mutex
	posted  []posted
	word    thread.Token // said last
	waiting map[thread.Token]*task.Answer[thread.Answer]

	wake     *task.Bell      // something was posted
	life     context.Context // of the thread's task
	quit     context.CancelFunc
	ended    *task.Gate  // open once it has ended
	programs *task.Group // activity threads
}

// posted is what other tasks have for the thread: an event, and with it what the thread is
// to look at; or one of the others.
type posted struct {
	event   thread.Event
	written *queue.Tx              // it is on disk
	granted processtable.ProgramID // a place of it; with isPlace
	isPlace bool
	closing bool
	ask     *task.Answer[thread.Gauges] // how much the machine holds
}

func newThread(n *Node, p behaviour.Process) *processThread {
	t := &processThread{
		node:    n,
		process: p,
		mailbox: n.queue.Mailbox(p.Table().Process),
		log:     n.log.With().Stringer("process", p.Table().Process).Logger(),
		asked:   map[processtable.ProgramID]thread.Ask{},
		runs:    map[thread.Token]*invocation{},
		waiting: map[thread.Token]*task.Answer[thread.Answer]{},
		shown:   newExecuting(),

		wake: n.sched.Bell(), ended: n.sched.Gate(), programs: task.NewGroup(n.sched),
	}
	t.life, t.quit = n.sched.WithCancel(context.Background())
	t.places = n.slots.of(func(id processtable.ProgramID) { t.post(posted{granted: id, isPlace: true}) })
	t.machine = thread.New(thread.Config{
		Self: n.name, Process: p, Reach: n.reachOf(p), Losses: n.lossesNow(),
		Limits: instancetable.Limits{Entries: n.options.CacheEntries, Bytes: n.options.CacheBytes, Shared: n.cache, Seed: n.seed},
	})
	t.meter.inError.Store(-1) // until it was counted
	return t
}

func (t *processThread) id() processtable.ProcessID { return t.process.Table().Process }

// post hands something to the thread. What is posted after the thread has stopped is
// dropped: the queue says at the next start how far everything came.
func (t *processThread) post(p posted) {
	t.mu.Lock()
	t.posted = append(t.posted, p)
	t.mu.Unlock()
	t.wake.Ring()
}

// tell lets the thread's machine know what has happened.
func (t *processThread) tell(e thread.Event) { t.post(posted{event: e}) }

// gauges waits until the thread has done all that was posted before, or for ctx, and says how
// much its machine holds then.
func (t *processThread) gauges(ctx context.Context) (thread.Gauges, error) {
	answer := task.NewAnswer[thread.Gauges](t.node.sched)
	t.post(posted{ask: answer})
	return await(ctx, t, answer)
}

// close lets no more activity threads begin.
func (t *processThread) close(ctx context.Context) error {
	t.post(posted{closing: true})
	_, err := t.gauges(ctx)
	return err
}

// await waits for an answer of the thread.
func await[A any](ctx context.Context, t *processThread, answer *task.Answer[A]) (A, error) {
	a, which, err := answer.Wait(ctx, t.ended)
	if err == nil && which >= 0 {
		err = queue.ErrStopped
	}
	return a, err
}

// newWord gives the token of a word.
func (t *processThread) newWord() thread.Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.word++
	return t.word
}

// say says a word, and waits for the answer, or for ctx. What was said stays said.
func (t *processThread) say(ctx context.Context, word thread.Token, e thread.Event) (thread.Answer, error) {
	answer := task.NewAnswer[thread.Answer](t.node.sched)
	t.mu.Lock()
	t.waiting[word] = answer
	t.mu.Unlock()
	t.tell(e)
	a, err := await(ctx, t, answer)
	switch {
	case err != nil:
		return a, err
	case a.Code == thread.Closed:
		return a, queue.ErrStopped
	case a.Code == thread.NotDone:
		return a, errors.New(a.Text)
	}
	return a, nil
}

// answer gives the answer of a word to who waits for it.
func (t *processThread) answer(a thread.Answer) {
	t.mu.Lock()
	waiting := t.waiting[a.Word]
	delete(t.waiting, a.Word)
	t.mu.Unlock()
	if waiting != nil {
		waiting.Give(a)
	}
}

func (t *processThread) run() {
	defer t.ended.Open()
	wakes := []task.Signal{t.wake, t.mailbox.Wake()}
	for {
		for t.turn() {
			if t.life.Err() != nil {
				return
			}
		}
		if _, err := t.node.sched.Wait(t.life, wakes...); err != nil {
			return
		}
	}
}

// settle waits until no program of the thread runs and their ends are durable, or ctx ends.
func (t *processThread) settle(ctx context.Context) error {
	if err := t.programs.Wait(ctx); err != nil {
		return err
	}
	// Two questions: the first comes after the ends that were posted, the second after the
	// transactions that followed from them were submitted.
	for range 2 {
		if _, err := t.gauges(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end ends the thread, if it was begun, and waits for it and its activity threads.
func (t *processThread) end(begun bool) error {
	t.quit()
	var err error
	if begun {
		_, err = t.node.sched.Wait(context.Background(), t.ended)
	}
	return errors.Join(err, t.programs.Wait(context.Background())) // after the thread's last turn, which may have begun one
}

// turn does what there is to do, newcomers first, and reports whether there may be
// more. The browse of recovery comes last: it goes on beside new work. Nothing depends
// on when the clock is read: timers come through the mailbox.
func (t *processThread) turn() bool {
	t.now, t.look = t.node.sched.Now(), false
	if t.mailbox.AskAgain() {
		t.step(thread.ClockSetBack{})
	}
	deliveries := t.mailbox.Take(takeLimit)
	if len(deliveries) > 0 {
		failpoint.Hit("thread.taken")
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

// take does what another task has posted.
func (t *processThread) take(p *posted) {
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
func (t *processThread) step(e thread.Event) {
	t.sort(t.machine.Step(t.now, e))
	for i := 0; i < len(t.answers); i++ {
		t.sort(t.machine.Step(t.now, t.answers[i]))
	}
	clear(t.answers)
	t.answers = t.answers[:0]
}

// sort does at once what is to be answered, and keeps the rest for the end of the turn.
func (t *processThread) sort(effects []thread.Effect) {
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
func (t *processThread) perform() {
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
		case thread.Wake:
			t.node.queue.Wake(e.Timer, e.Pause)
		case thread.Answer:
			t.answer(e)
		case thread.Fail:
			t.failed = true
			t.node.fatal(e.Err)
		}
	}
	clear(t.out)
	t.out = t.out[:0]
}

// commit submits a transaction.
func (t *processThread) commit(e thread.Commit) {
	tx, instance := e.Tx, e.Tx.Consume[0].Entry.Instance
	tx.Done = func(err error) {
		if err != nil {
			t.tell(thread.Committed{Token: e.Token, End: endOf(err), Text: err.Error()})
			return
		}
		t.shown.written(tx) // before the thread can begin what comes next
		t.node.refusals.taken(tx.TakeAside)
		t.post(posted{event: thread.Committed{Token: e.Token}, written: tx})
		t.meter.committed(tx)
		t.node.meters.setAside.Add(uint64(len(tx.SetAside)))
		t.node.observe(tx)
		t.node.changes.tell(instance, decisive(tx))
	}
	failpoint.Hit("thread.decided")
	t.node.queue.Submit(tx)
}

// endOf is what the machine is told of a transaction that was not done.
func endOf(err error) thread.End {
	switch {
	case errors.Is(err, queue.ErrStale):
		return thread.Stale
	case errors.Is(err, queue.ErrTooLarge):
		return thread.TooLarge
	case errors.Is(err, queue.ErrNotAside):
		return thread.NotAside
	case errors.Is(err, queue.ErrStopped):
		return thread.Stopped
	}
	return thread.Failed
}

// warn says in the log which activities have gone in error: once each time, since a
// restart commits nothing of it again.
func (t *processThread) warn(records []queue.AuditRecord) {
	for i := range records {
		if r := &records[i]; r.Event == queue.EventInError {
			t.log.Warn().Stringer("instance", r.Instance).Str("activity", string(r.Activity)).
				Str("reason", r.Reason).Msg("activity in error")
		}
	}
}
