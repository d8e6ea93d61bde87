package execute

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/logs"
	"fmqm/node/report"
	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// mailbox is where a process thread's messages arrive. *mailbox.Reader is one.
type mailbox interface {
	Wake() *task.Bell
	Take(limit int) []record.Delivery
}

// Thread is the process thread: one task that serves one process queue (paper
// §3.2). It tells its machine what has happened, and does what follows: transactions,
// activity threads, answers.
type Thread struct {
	of      *Execution
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
	written *record.Tx             // it is on disk
	granted processtable.ProgramID // a place of it; with isPlace
	isPlace bool
	closing bool
	ask     *task.Answer[thread.Gauges] // how much the machine holds
}

// NewThread makes the process thread of a process, which does nothing before Run. It is told how the
// nodes of the process are reached, and which stores were lost; see Tell.
func (x *Execution) NewThread(p behaviour.Process, reach thread.Reach, losses thread.Losses) *Thread {
	t := &Thread{
		of:      x,
		process: p,
		mailbox: x.Queue.Mailbox(p.Table().Process),
		log:     x.Log.With().Stringer("process", p.Table().Process).Logger(),
		asked:   map[processtable.ProgramID]thread.Ask{},
		runs:    map[thread.Token]*invocation{},
		waiting: map[thread.Token]*task.Answer[thread.Answer]{},
		shown:   newExecuting(),

		wake: x.Scheduler.Bell(), ended: x.Scheduler.Gate(), programs: task.NewGroup(x.Scheduler),
	}
	t.life, t.quit = x.Scheduler.WithCancel(context.Background())
	t.places = x.slots.of(func(id processtable.ProgramID) { t.post(posted{granted: id, isPlace: true}) })
	t.machine = thread.New(thread.Config{
		Self: x.Self, Process: p, Reach: reach, Losses: losses,
		Limits: instancetable.Limits{Entries: x.CacheEntries, Bytes: x.CacheBytes, Shared: x.cache, Seed: x.Seed},
	})
	t.meter.inError.Store(-1) // until it was counted
	return t
}

// Process is what the table of the thread's process says.
func (t *Thread) Process() behaviour.Process { return t.process }

// ID is the thread's process.
func (t *Thread) ID() processtable.ProcessID { return t.process.Table().Process }

// Attempts gives those of an instance that are under way, from their begin until what came of them
// is on disk. The thread is not asked.
func (t *Thread) Attempts(i message.InstanceID) map[message.Entry]report.Run { return t.shown.of(i) }

// Logs gives what those of them have written that run.
func (t *Thread) Logs(i message.InstanceID) []logs.Attempt { return t.shown.logs(t.ID(), i) }

// Stats gives what was counted of the process since the start. The thread is not asked.
func (t *Thread) Stats() ProcessStats { return t.meter.stats(t.ID()) }

// post hands something to the thread. What is posted after the thread has stopped is
// dropped: the queue says at the next start how far everything came.
func (t *Thread) post(p posted) {
	t.mu.Lock()
	t.posted = append(t.posted, p)
	t.mu.Unlock()
	t.wake.Ring()
}

// Tell lets the thread's machine know what has happened.
func (t *Thread) Tell(e thread.Event) { t.post(posted{event: e}) }

// Gauges waits until the thread has done all that was posted before, or for ctx, and says how
// much its machine holds then.
func (t *Thread) Gauges(ctx context.Context) (thread.Gauges, error) {
	answer := task.NewAnswer[thread.Gauges](t.of.Scheduler)
	t.post(posted{ask: answer})
	return await(ctx, t, answer)
}

// Close lets no more activity threads begin.
func (t *Thread) Close(ctx context.Context) error {
	t.post(posted{closing: true})
	_, err := t.Gauges(ctx)
	return err
}

// await waits for an answer of the thread.
func await[A any](ctx context.Context, t *Thread, answer *task.Answer[A]) (A, error) {
	a, which, err := answer.Wait(ctx, t.ended)
	if err == nil && which >= 0 {
		err = queue.ErrStopped
	}
	return a, err
}

// Start has the thread start an instance, and waits for its answer, or for ctx. What was said stays
// said. What source asks about the input is evaluated first.
func (t *Thread) Start(ctx context.Context, s behaviour.Start) (thread.Answer, error) {
	if source := t.process.Activity(processtable.RowID{Name: processtable.Source}); source != nil {
		var err error
		if s.Judged, err = t.of.judge(ctx, source, &behaviour.Result{Output: s.Input, Instance: s.Instance.String()}); err != nil {
			return thread.Answer{}, err
		}
	}
	word := t.newWord()
	return t.say(ctx, word, thread.Start{Word: word, Start: s})
}

// Judge has the thread decide about a refused message, as Start.
func (t *Thread) Judge(ctx context.Context, v thread.Verdict) (thread.Answer, error) {
	word := t.newWord()
	return t.say(ctx, word, thread.Judge{Word: word, Verdict: v})
}

// newWord gives the token of a word.
func (t *Thread) newWord() thread.Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.word++
	return t.word
}

// say says a word, and waits for the answer, or for ctx. What was said stays said.
func (t *Thread) say(ctx context.Context, word thread.Token, e thread.Event) (thread.Answer, error) {
	answer := task.NewAnswer[thread.Answer](t.of.Scheduler)
	t.mu.Lock()
	t.waiting[word] = answer
	t.mu.Unlock()
	t.Tell(e)
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
func (t *Thread) answer(a thread.Answer) {
	t.mu.Lock()
	waiting := t.waiting[a.Word]
	delete(t.waiting, a.Word)
	t.mu.Unlock()
	if waiting != nil {
		waiting.Give(a)
	}
}

// Settle waits until no program of the thread runs and their ends are durable, or ctx ends.
func (t *Thread) Settle(ctx context.Context) error {
	if err := t.programs.Wait(ctx); err != nil {
		return err
	}
	// Two questions: the first comes after the ends that were posted, the second after the
	// transactions that followed from them were submitted.
	for range 2 {
		if _, err := t.Gauges(ctx); err != nil {
			return err
		}
	}
	return nil
}

// End ends the thread, if it was begun, and waits for it and its activity threads.
func (t *Thread) End(begun bool) error {
	t.quit()
	var err error
	if begun {
		_, err = t.of.Scheduler.Wait(context.Background(), t.ended)
	}
	return errors.Join(err, t.programs.Wait(context.Background())) // after the thread's last turn, which may have begun one
}

// askPlace takes a place for an activity, if there is one; else it comes through granted.
// Nil: it is not there yet.
func (t *Thread) askPlace(e thread.Ask) thread.Event {
	delete(t.asked, e.Program) // it takes the place of what was asked before
	switch {
	case t.holds(e):
		return thread.HeldBack{Token: e.Token}
	case t.places.TryAcquire(e.Program, e.Turn):
		return thread.Granted{Token: e.Token, Program: e.Program}
	}
	t.asked[e.Program] = e
	return nil
}

// holds says whether an activity that could run must stay ready, since a transmission
// queue into which it would send is at its quota (S3).
func (t *Thread) holds(e thread.Ask) bool {
	_, held := t.of.Site.HeldBy(e.To)
	return held || e.Program == behaviour.Subprocess && t.holdsChild(e.Row)
}
