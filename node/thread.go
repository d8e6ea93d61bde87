package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/internal/failpoint"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue"
)

// mailbox is where a process thread's messages arrive. *queue.Mailbox is one.
type mailbox interface {
	Wake() <-chan struct{}
	Take(limit int) []queue.Delivery
	AskAgain() bool
}

// Bounds of a thread's turn.
const (
	takeLimit     = 256  // entries taken from the mailbox in one turn
	inFlightLimit = 2048 // transactions under way beyond which a browse waits
)

// thread is the process thread: one goroutine that serves one process queue (paper
// §3.2). It turns what happens into events of its core, and the core's commands into
// transactions and activity threads.
type thread struct {
	node    *Node
	process *navigator.Process
	core    *core
	mailbox mailbox
	places  *threadPlaces
	log     zerolog.Logger
	meter   processMeter
	shown   *executing

	mu     sync.Mutex
	events []func(now time.Time)
	wake   chan struct{}
	quit   chan struct{}
	ended  chan struct{}

	programs sync.WaitGroup // activity threads
	closing  bool           // the thread's own: no more of them, the node is stopping
}

func newThread(n *Node, p *navigator.Process) *thread {
	t := &thread{
		node:    n,
		process: p,
		mailbox: n.queue.Mailbox(p.Table.Process),
		log:     n.log.With().Stringer("process", p.Table.Process).Logger(),
		wake:    make(chan struct{}, 1),
		quit:    make(chan struct{}),
		ended:   make(chan struct{}),
		shown:   newExecuting(),
	}
	t.places = n.slots.of(func(id processtable.ProgramID) {
		t.post(func(now time.Time) { t.core.granted(id, now) })
	})
	t.core = newCore(n.name, p, n.queue, t.places, instancetable.Limits{
		Entries: n.options.CacheEntries, Bytes: n.options.CacheBytes, Shared: n.cache,
	})
	t.core.holds = n.pressure.holds
	t.core.reaches = n.pathTo
	t.meter.inError.Store(-1) // until it was counted
	t.core.anew, t.core.losses = n.anew.Load, n.losses.Load
	return t
}

func (t *thread) id() processtable.ProcessID { return t.process.Table.Process }

// post hands an event to the thread. What is posted after the thread has stopped is
// dropped: the queue says at the next start how far everything came.
func (t *thread) post(event func(now time.Time)) {
	t.mu.Lock()
	t.events = append(t.events, event)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// ask runs f on the thread and waits for it, or for ctx.
func (t *thread) ask(ctx context.Context, f func(now time.Time)) error {
	done := make(chan struct{})
	t.post(func(now time.Time) {
		f(now)
		close(done)
	})
	select {
	case <-done:
		return nil
	case <-t.ended:
		return queue.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle waits until no program of the thread runs and their ends are durable, or ctx ends.
func (t *thread) settle(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		t.programs.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	// Two questions: the first comes after the ends that were posted, the second after the
	// transactions that followed from them were submitted.
	for range 2 {
		if err := t.ask(ctx, func(time.Time) {}); err != nil {
			return err
		}
	}
	return nil
}

// end ends the thread, if it was begun, and waits for it and its activity threads.
func (t *thread) end(begun bool) {
	close(t.quit)
	if begun {
		<-t.ended
	}
	t.programs.Wait() // after the thread's last turn, which may have begun one
}

func (t *thread) run() {
	defer close(t.ended)
	for {
		for t.turn() {
			select {
			case <-t.quit:
				return
			default:
			}
		}
		select {
		case <-t.wake:
		case <-t.mailbox.Wake():
		case <-t.quit:
			return
		}
	}
}

// turn does what there is to do, newcomers first, and reports whether there may be
// more. The browse of recovery comes last: it goes on beside new work. Nothing depends
// on when the clock is read: timers come through the mailbox.
func (t *thread) turn() bool {
	now := t.node.sched.Now()
	if t.mailbox.AskAgain() {
		t.core.browseAgain()
	}
	deliveries := t.mailbox.Take(takeLimit)
	if len(deliveries) > 0 {
		failpoint.Hit("thread.taken")
	}
	for _, d := range deliveries {
		t.core.deliver(d, now)
	}
	t.core.reconsider(now)
	t.mu.Lock()
	events := t.events
	t.events = nil
	t.mu.Unlock()
	for _, event := range events {
		event(now)
	}
	browsed := t.core.browsing && t.core.inFlight < inFlightLimit
	if browsed {
		t.core.browse(now)
		failpoint.Hit("thread.browsed")
	}
	t.core.tidy()
	t.meter.note(t.core)
	t.perform()
	if t.core.failure != nil {
		t.node.fatal(t.core.failure)
		return false
	}
	return len(deliveries) > 0 || len(events) > 0 || browsed || len(t.core.stale) > 0 || len(t.core.undropped) > 0
}

// perform carries out the core's commands.
func (t *thread) perform() {
	out := t.core.out
	t.core.out = nil
	for _, c := range out {
		switch {
		case c.submit != nil:
			then, instance := c.then, c.submit.Consume[0].Entry.Instance
			c.submit.Done = func(err error) {
				if err == nil {
					t.shown.written(c.submit) // before the thread can begin what comes next
					t.node.refusals.taken(c.submit.TakeAside)
				}
				t.post(func(now time.Time) {
					if err == nil {
						t.warn(c.submit.Audit)
					}
					then(err, now)
				})
				if err == nil {
					t.meter.committed(c.submit)
					t.node.meters.setAside.Add(uint64(len(c.submit.SetAside)))
					t.node.observe(c.submit)
					t.node.changes.tell(instance, decisive(c.submit))
				}
			}
			failpoint.Hit("thread.decided")
			t.node.queue.Submit(c.submit)
		case c.invoke != nil:
			t.invoke(c.invoke)
		case c.cancel != nil:
			if c.cancel.end != nil {
				c.cancel.end()
			}
		case c.wake != nil:
			t.node.queue.Wake(*c.wake, c.pause)
		}
	}
}

// warn says in the log which activities have gone in error: once each time, since a
// restart commits nothing of it again.
func (t *thread) warn(records []queue.AuditRecord) {
	for i := range records {
		if r := &records[i]; r.Event == queue.EventInError {
			t.log.Warn().Stringer("instance", r.Instance).Str("activity", string(r.Activity)).
				Str("reason", r.Reason).Msg("activity in error")
		}
	}
}

// invoke starts an activity thread (paper §3.3): a goroutine that lives as long as
// the program runs.
func (t *thread) invoke(run *invocation) {
	if t.closing { // a place that was granted before the node began to stop
		t.places.Release(run.activity.Program)
		return
	}
	ctx, cancel := context.WithCancel(t.node.running)
	run.end = cancel
	t.programs.Add(1)
	if run.activity.Kind == processtable.KindEmpty {
		go func() {
			defer t.programs.Done()
			defer cancel()
			t.echo(ctx, run)
		}()
		return
	}
	t.shown.begin(run)
	t.meter.attempts.Add(1)
	t.meter.running.Add(1)
	go func() {
		defer t.programs.Done()
		defer cancel()
		failpoint.Hit("program.begin")
		result := t.attempt(ctx, run)
		if result != nil {
			result.Judged, _ = t.node.judge(t.node.running, run.activity, *result) // not if the node is stopping
		}
		failpoint.Hit("program.ended")
		t.meter.running.Add(-1)
		t.places.Release(run.activity.Program)
		if t.node.running.Err() != nil || result == nil {
			return // the node is stopping: this attempt never happened
		}
		t.node.meters.program(run.activity.Program).ended(result.RC, result.Err != "", result.Ended.Sub(result.Started))
		t.shown.end(run.entry)
		t.post(func(now time.Time) { t.core.finished(run, *result, now) })
	}()
}

// attempt runs the program once. It gives nil if it never ran: the node is stopping, or
// ends, since the program could not be noted where it would be found after a crash (P2).
func (t *thread) attempt(ctx context.Context, run *invocation) *navigator.Result {
	a := run.activity
	r := t.whileShort(ctx, run)
	switch {
	case errors.Is(r.Err, program.ErrLedger):
		t.node.fatal(r.Err)
		return nil
	case errors.Is(r.Err, program.ErrShort) && t.node.begins.Err() != nil:
		return nil
	}
	out := &navigator.Result{RC: r.RC, Output: r.Output, Final: r.Final, Started: r.Started, Ended: r.Ended, Said: run.said.String()}
	if r.Err != nil {
		out.Err = r.Err.Error()
	} else if err := t.node.checkSize(r.Output); err != nil {
		out.Err = fmt.Sprintf("output of program %s: %v", a.Program, err)
	}
	return out
}

// runProgram runs the program that is registered now, if one is.
func (t *thread) runProgram(ctx context.Context, run *invocation) program.Result {
	a := run.activity
	entry, ok := t.node.registry().Lookup(a.Program)
	if !ok {
		return program.Result{Started: run.started, Ended: run.started, Err: fmt.Errorf(
			"program %s is not registered at %s: add it to `programs` in the node's configuration, reload, and retry", a.Program, t.node.name)}
	}
	return entry.Program.Run(ctx, program.Call{
		Process:   t.id().String(),
		Instance:  run.entry.Instance.String(),
		Activity:  string(a.Name),
		Node:      string(t.node.name),
		Iteration: run.call.Iteration, Attempt: run.call.Attempt,
		Key:   idempotencyKey(run.entry, run.call.Iteration, run.call.Run),
		Input: run.call.Input, OutputType: a.Output,
		NoOutput: a.NoOutput, RCIsData: a.RCIsData, RCContinue: a.RCContinue,
		Log: func(line string) {
			run.said.add(line)
			t.log.Info().Stringer("instance", run.entry.Instance).Str("activity", string(a.Name)).
				Str("program", string(a.Program)).Msg(line)
		},
	})
}

// idempotencyKey is the same for every attempt of one execution, and for no other (P1).
func idempotencyKey(e message.Entry, iteration, run int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		e.Instance.String(), string(e.Scope), string(e.Activity), strconv.Itoa(iteration), strconv.Itoa(run),
	}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// checkSize holds a container to the node's limit, where that is below the language's.
func (n *Node) checkSize(c *container.Struct) error {
	limit := n.limits.Load().Container
	if limit <= 0 || limit >= container.MaxEncoded || c == nil {
		return nil
	}
	encoded, err := container.EncodeCBOR(c)
	if err != nil {
		return err
	}
	if len(encoded) > limit {
		return fmt.Errorf("the container has %d bytes, this node takes %d (limits.container)", len(encoded), limit)
	}
	return nil
}

// decisive reports whether an instance may not run any more after tx.
func decisive(tx *queue.Tx) bool {
	return slices.ContainsFunc(tx.Audit, func(r queue.AuditRecord) bool {
		return r.Event == queue.EventEnded || r.Event == queue.EventStopped || r.Event == queue.EventInError
	})
}

func (n *Node) observe(tx *queue.Tx) {
	if n.options.Observe == nil {
		return
	}
	for i := range tx.Audit {
		n.options.Observe(tx.Audit[i])
	}
}
