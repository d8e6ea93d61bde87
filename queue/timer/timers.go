package timer

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

const (
	// lookEvery is how long the timers wait at most before they read the clock again: so
	// late it is noticed that the machine slept, or that the clock was set.
	lookEvery = time.Minute
	// leap is how far back the clock must have been set for pauses to be looked at again.
	leap = time.Minute
)

// maxCome is how many timers become messages in one transaction.
const maxCome = 256

// Committer takes the transactions of the timers.
type Committer interface{ Submit(*record.Tx) }

// Room says for how many entries more there is room in mailboxes.
type Room interface{ Spare() int }

// Config is what timers need of the store that they are in.
type Config struct {
	Node      processtable.NodeID
	Records   read.Records
	Scheduler task.Scheduler
	Committer Committer
	Room      Room
	Kick      *task.Bell // has the timers look: also rung when there is room again
}

// Timers are those of one store.
type Timers struct {
	Config
	quit *task.Gate
	done *task.Gate

	mu      sync.Mutex
	armed   uint64 // due time for which a wake-up is set
	disarm  func() bool
	reached time.Time // what the clock has shown, or must show by now
	review  bool      // all timers are to be looked at: the clock may have been set back
}

// New gives timers that do not run yet.
func New(c Config) *Timers {
	return &Timers{Config: c, quit: c.Scheduler.Gate(), done: c.Scheduler.Gate(), armed: math.MaxUint64, review: true}
}

// now is the wall's time. The monotonic clock that Go compares otherwise stands still
// while the machine sleeps, and says nothing of timers that are stored.
func (t *Timers) now() time.Time { return t.Scheduler.Now().Round(0) }

// Run is the timers' task.
func (t *Timers) Run() {
	defer t.done.Open()
	t.Kick.Ring()
	for {
		if _, _ = t.Scheduler.Wait(context.Background(), t.quit, t.Kick); t.quit.IsOpen() {
			return
		}
		if err := t.fire(); err != nil {
			_ = t.Records.Judge(err)
			return
		}
	}
}

// Stop ends the task and waits for it.
func (t *Timers) Stop() {
	t.quit.Open()
	_, _ = t.Scheduler.Wait(context.Background(), t.done)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.disarm != nil {
		t.disarm()
	}
}

// fire makes messages of whatever is due by now, as long as mailboxes have room, and arms the next.
func (t *Timers) fire() error {
	for !t.quit.IsOpen() {
		now := t.now()
		t.look(now)
		come, next, err := t.due(now)
		if err != nil {
			return err
		}
		if len(come) == 0 {
			if next != math.MaxUint64 {
				t.mu.Lock()
				t.arm(next, t.now())
				t.mu.Unlock()
			}
			return nil
		}
		tx := &record.Tx{Came: come}
		for i := range come {
			tx.Put = append(tx.Put, come[i].Message(t.Node))
		}
		done := task.NewAnswer[error](t.Scheduler)
		tx.Done = done.Give
		t.Committer.Submit(tx)
		if failed, _, _ := done.Wait(context.Background()); failed != nil {
			return nil // the manager ends: they come at the next start
		}
	}
	return nil
}

// look notes what the clock shows, and whether it was set back.
func (t *Timers) look(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.review = t.review || now.Before(t.reached.Add(-leap))
	t.reached, t.armed = now, math.MaxUint64
}

// due gives timers that are due, the nearest first, no more than mailboxes have room for, and the
// time of the next one.
func (t *Timers) due(now time.Time) (come []record.Timer, next uint64, err error) {
	t.mu.Lock()
	review := t.review
	t.mu.Unlock()
	upto, room, whole := record.TimerDue(now), min(t.Room.Spare(), maxCome), true
	next = math.MaxUint64
	var failed error
	err = t.Records.Scan(store.ScanOptions{Prefix: []byte{record.ClassTimer}}, func(key, value []byte) bool {
		var timer record.Timer
		if timer, failed = record.ReadTimer(key, value); failed != nil {
			return false
		}
		due := record.TimerDue(timer.Due)
		early := timer.Pause > 0 && timer.Due.Sub(now) > timer.Pause+leap
		switch {
		case due > upto && !early:
			next = min(next, due)
			return review
		case len(come) == room: // goes on when the mailboxes have room: see Config.Kick
			whole = false
			return false
		}
		come = append(come, timer)
		return true
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, 0, err
	}
	if review && whole && len(come) == 0 {
		t.mu.Lock()
		t.review = false
		t.mu.Unlock()
	}
	if !whole && len(come) == 0 {
		next = math.MaxUint64
		if t.Room.Spare() > 0 {
			t.Kick.Ring()
		}
	}
	return come, next, nil
}

// arm sets a wake-up for due, instead of a later one. The caller holds mu.
func (t *Timers) arm(due uint64, now time.Time) {
	if due >= t.armed {
		return
	}
	if t.disarm != nil {
		t.disarm()
	}
	t.armed = due
	wait := min(max(0, record.DueTime(min(due, math.MaxInt64)).Sub(now)), lookEvery)
	t.disarm = t.Scheduler.AfterFunc(wait, func() {
		t.mu.Lock()
		if then := now.Add(wait); then.After(t.reached) {
			t.reached = then
		}
		t.mu.Unlock()
		t.Kick.Ring()
	})
}

// Set tells of a timer that is durable.
func (t *Timers) Set(timer *record.Timer) {
	due, now := record.TimerDue(timer.Due), t.now()
	if due <= record.TimerDue(now) {
		t.Kick.Ring()
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arm(due, now)
}
