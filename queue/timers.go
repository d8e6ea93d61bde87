package queue

import (
	"bytes"
	"encoding/binary"
	"math"
	"sync"
	"time"

	"fmqm/internal/store"
)

// timers wakes entries when they are due. The timer queue is in the store; only the
// nearest timer is armed, and of those that fired nothing is kept but how far it got.
type timers struct {
	m    *Manager
	kick chan struct{}
	quit chan struct{}
	done chan struct{}

	mu     sync.Mutex
	fired  []byte // every timer whose key is below it was fired, or is being fired
	armed  uint64 // due time for which a wake-up is set
	disarm func() bool
}

func newTimers(m *Manager) *timers {
	return &timers{
		m: m, kick: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
		fired: []byte{classTimer}, armed: math.MaxUint64,
	}
}

// run is the timers' goroutine.
func (t *timers) run() {
	defer close(t.done)
	signal(t.kick)
	for {
		select {
		case <-t.quit:
			return
		case <-t.kick:
			if err := t.fire(); err != nil {
				t.m.failReading(err)
				return
			}
		}
	}
}

// stop ends the goroutine and waits for it.
func (t *timers) stop() {
	close(t.quit)
	<-t.done
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.disarm != nil {
		t.disarm()
	}
}

// fire wakes whatever is due by now, as long as mailboxes have room, and arms the next.
func (t *timers) fire() error {
	due := timerDue(t.m.clock.Now())
	t.mu.Lock()
	from := t.fired
	upto := binary.BigEndian.AppendUint64([]byte{classTimer}, due+1)
	if bytes.Compare(upto, from) > 0 {
		t.fired = upto // before the scan: what is committed after it, added wakes
	} else {
		upto = from
	}
	t.armed = math.MaxUint64
	t.mu.Unlock()

	var next, stopped []byte
	var failed error
	err := t.m.engine.Scan(store.ScanOptions{Prefix: []byte{classTimer}, From: from, KeysOnly: true}, func(key, _ []byte) bool {
		if bytes.Compare(key, upto) >= 0 {
			next = bytes.Clone(key)
			return false
		}
		if t.m.load.congested() {
			stopped = bytes.Clone(key)
			return false
		}
		failed = t.wake(key)
		return failed == nil
	})
	if err = first1(failed, err); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if stopped != nil { // goes on when the mailboxes have room: load.relaxed
		t.fired = stopped
		if !t.m.load.congested() {
			signal(t.kick)
		}
	}
	if next != nil {
		t.arm(binary.BigEndian.Uint64(next[1:]))
	}
	return nil
}

// arm sets a wake-up for due, instead of a later one. The caller holds mu.
func (t *timers) arm(due uint64) {
	if due >= t.armed {
		return
	}
	if t.disarm != nil {
		t.disarm()
	}
	t.armed = due
	wait := time.Unix(0, int64(min(due, math.MaxInt64))).Sub(t.m.clock.Now())
	t.disarm = t.m.clock.AfterFunc(max(0, wait), func() { signal(t.kick) })
}

// added tells of a timer that is durable now.
func (t *timers) added(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bytes.Compare(key, t.fired) < 0 {
		if err := t.wake(key); err != nil {
			t.m.failReading(err)
		}
		return
	}
	t.arm(binary.BigEndian.Uint64(key[1:]))
}

// wake hands a timer to the mailbox that it is for.
func (t *timers) wake(key []byte) error {
	timer, err := readTimer(key)
	if err != nil {
		return err
	}
	t.m.process(timer.Process).wakeUp(&timer.Entry)
	return nil
}

// refire wakes what was fired of p before it had a reader.
func (t *timers) refire(p *process) error {
	t.mu.Lock()
	upto := t.fired
	t.mu.Unlock()
	var failed error
	err := t.m.engine.Scan(store.ScanOptions{Prefix: []byte{classTimer}, KeysOnly: true}, func(key, _ []byte) bool {
		if bytes.Compare(key, upto) >= 0 {
			return false
		}
		var timer Timer
		if timer, failed = readTimer(key); failed != nil {
			return false
		}
		if timer.Process == p.id {
			p.wakeUp(&timer.Entry)
		}
		return true
	})
	return first1(failed, err)
}

func readTimer(key []byte) (Timer, error) {
	k := keyReader{rest: key[1:]}
	t := Timer{Due: time.Unix(0, int64(k.uint64())).UTC(), Process: k.process(), Entry: k.entry()}
	if err := k.end(); err != nil {
		return t, damaged(key, err.Error())
	}
	return t, nil
}
