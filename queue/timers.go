package queue

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"sync"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/queue/record"
)

const (
	// lookEvery is how long the timers wait at most before they read the clock again: so
	// late it is noticed that the machine slept, or that the clock was set.
	lookEvery = time.Minute
	// leap is how far back the clock must have been set for pauses to be looked at again.
	leap = time.Minute
)

// timers wakes entries when their time has come. The timer queue is in the store, only
// the nearest timer is waited for, and of those that were handed out nothing is kept but
// how far it got.
//
// Clocks are set, and stand still while a machine sleeps; only here is one asked whether
// a time has come. Nobody else decides that, so it does not matter who reads it first. A
// timer is lost by nothing: it stays in the store until its entry takes it away, and an
// entry that still waits for one asks for it (Wake), which hands it out or puts it back.
type timers struct {
	m    *Manager
	kick *task.Bell
	quit *task.Gate
	done *task.Gate

	mu      sync.Mutex
	next    []byte // every timer below this key was handed out, or is being handed out
	armed   uint64 // due time for which a wake-up is set
	disarm  func() bool
	reached time.Time // what the clock has shown, or must show by now
}

func newTimers(m *Manager) *timers {
	return &timers{
		m: m, kick: m.sched.Bell(), quit: m.sched.Gate(), done: m.sched.Gate(),
		next: []byte{record.ClassTimer}, armed: math.MaxUint64,
	}
}

// now is the wall's time. The monotonic clock that Go compares otherwise stands still
// while the machine sleeps, and says nothing of timers that are stored.
func (t *timers) now() time.Time { return t.m.sched.Now().Round(0) }

// run is the timers' task.
func (t *timers) run() {
	defer t.done.Open()
	t.kick.Ring()
	for {
		if _, _ = t.m.sched.Wait(context.Background(), t.quit, t.kick); t.quit.IsOpen() {
			return
		}
		if err := t.fire(); err != nil {
			t.m.failReading(err)
			return
		}
	}
}

// stop ends the task and waits for it.
func (t *timers) stop() {
	t.quit.Open()
	_, _ = t.m.sched.Wait(context.Background(), t.done)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.disarm != nil {
		t.disarm()
	}
}

// fire hands out whatever is due by now, as long as mailboxes have room, and arms the next.
func (t *timers) fire() error {
	now := t.now()
	from, upto := t.begin(now)
	var next, stopped []byte
	var failed error
	err := t.m.engine.Scan(store.ScanOptions{Prefix: []byte{record.ClassTimer}, From: from, KeysOnly: true}, func(key, _ []byte) bool {
		if bytes.Compare(key, upto) >= 0 {
			next = bytes.Clone(key)
			return false
		}
		if t.m.load.congested() {
			stopped = bytes.Clone(key)
			return false
		}
		var timer Timer
		if timer, failed = record.ReadTimer(key); failed == nil {
			t.wake(timer)
		}
		return failed == nil
	})
	if err = first1(failed, err); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if stopped != nil { // goes on when the mailboxes have room: load.relaxed
		t.back(stopped)
		if !t.m.load.congested() {
			t.kick.Ring()
		}
	}
	if next != nil {
		t.arm(binary.BigEndian.Uint64(next[1:]), now)
	}
	return nil
}

// begin gives the keys from and up to which timers are to be handed out. Where the clock
// was set back there are none: those who wait are told to ask again.
func (t *timers) begin(now time.Time) (from, upto []byte) {
	upto = binary.BigEndian.AppendUint64([]byte{record.ClassTimer}, record.TimerDue(now)+1)
	t.mu.Lock()
	from = t.next
	if bytes.Compare(upto, from) > 0 {
		t.next = upto // before the scan: what is committed after it, set wakes
	} else {
		upto = from
	}
	setBack := now.Before(t.reached.Add(-leap))
	t.reached, t.armed = now, math.MaxUint64
	t.mu.Unlock()
	if setBack {
		t.m.askAgain()
	}
	return from, upto
}

// back has the timers from a key on handed out again. The caller holds mu.
func (t *timers) back(key []byte) {
	if bytes.Compare(key, t.next) < 0 {
		t.next = key
	}
}

// arm sets a wake-up for due, instead of a later one. The caller holds mu.
func (t *timers) arm(due uint64, now time.Time) {
	if due >= t.armed {
		return
	}
	if t.disarm != nil {
		t.disarm()
	}
	t.armed = due
	wait := min(max(0, record.DueTime(min(due, math.MaxInt64)).Sub(now)), lookEvery)
	t.disarm = t.m.sched.AfterFunc(wait, func() {
		t.mu.Lock()
		if then := now.Add(wait); then.After(t.reached) {
			t.reached = then
		}
		t.mu.Unlock()
		t.kick.Ring()
	})
}

// set tells of a timer that is durable, and was not handed out or is to be once more.
func (t *timers) set(timer Timer) {
	key, now := record.AppendTimerKey(nil, &timer), t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	due := record.TimerDue(timer.Due)
	if bytes.Compare(key, t.next) < 0 && due <= record.TimerDue(now) {
		t.wake(timer)
		return
	}
	t.back(key)
	t.arm(due, now)
}

// wake hands a timer to the mailbox that it is for.
func (t *timers) wake(timer Timer) { t.m.process(timer.Process).wakeUp(&timer.Entry, timer.Due) }

// refire sets what was handed out for p before it had a reader.
func (t *timers) refire(p *process) error {
	t.mu.Lock()
	upto := t.next
	t.mu.Unlock()
	var failed error
	err := t.m.engine.Scan(store.ScanOptions{Prefix: []byte{record.ClassTimer}, KeysOnly: true}, func(key, _ []byte) bool {
		if bytes.Compare(key, upto) >= 0 {
			return false
		}
		var timer Timer
		if timer, failed = record.ReadTimer(key); failed != nil {
			return false
		}
		if timer.Process == p.id {
			t.set(timer)
		}
		return true
	})
	return first1(failed, err)
}

// Wake asks for a timer whose entry finds that it still waits for it. Its mailbox gets
// the timer when its time has come, also where it had it before: whoever asks each time
// that he considers the entry misses none, whatever became of a delivery in memory, and
// however the clock was set. Pause is how long the timer was to wait when it was set.
// One that would wait longer, by more than a minute, was set by a clock that has been
// set back since: it comes at once, rather than as late as that clock was wrong.
func (m *Manager) Wake(timer Timer, pause time.Duration) {
	if timer.Due.Sub(m.timers.now()) > pause+leap {
		m.timers.wake(timer)
		return
	}
	m.timers.set(timer)
}

// askAgain has those who wait for timers ask for them: the clock was set back.
func (m *Manager) askAgain() {
	for _, p := range m.allProcesses() {
		p.askAgain()
	}
}
