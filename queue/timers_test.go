package queue

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// handClock is a clock that a story sets. What elapses and what the wall shows are two
// things.
type handClock struct {
	now     time.Time
	elapsed time.Duration
	alarms  map[int]handAlarm
	next    int
}

type handAlarm struct {
	at time.Duration
	f  func()
}

func (c *handClock) Now() time.Time { return c.now }

func (c *handClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.next++
	n := c.next
	c.alarms[n] = handAlarm{c.elapsed + d, f}
	return func() bool {
		_, found := c.alarms[n]
		delete(c.alarms, n)
		return found
	}
}

// ring calls the alarms that are due.
func (c *handClock) ring() (rang bool) {
	for n, a := range c.alarms {
		if a.at <= c.elapsed {
			delete(c.alarms, n)
			a.f()
			rang = true
		}
	}
	return rang
}

// timersWorld is a manager without goroutines, on a real store, and the reader of one
// process queue.
type timersWorld struct {
	*testing.T
	m       *Manager
	engine  store.Engine
	clock   *handClock
	mailbox *Mailbox
	limit   int
	out     strings.Builder
}

var dawn = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *timersWorld) open() {
	w.clock.alarms = map[int]handAlarm{}
	w.m = newManager(w.engine, Options{Node: "A", Clock: w.clock, DirtyLimit: w.limit})
	w.m.core.version = w.engine.Last()
	w.mailbox = w.m.Mailbox(drivenProcess)
	signal(w.m.timers.kick)
	w.rest()
}

// rest lets the timers do what they have to, as their goroutine does.
func (w *timersWorld) rest() {
	for {
		select {
		case <-w.m.timers.kick:
			if err := w.m.timers.fire(); err != nil {
				w.Fatal(err)
			}
			continue
		default:
		}
		if !w.clock.ring() {
			return
		}
	}
}

// pass lets time go by, alarm by alarm.
func (w *timersWorld) pass(d time.Duration) {
	for end := w.clock.elapsed + d; ; {
		next := end
		for _, a := range w.clock.alarms {
			next = min(next, a.at)
		}
		w.clock.now = w.clock.now.Add(next - w.clock.elapsed)
		w.clock.elapsed = next
		w.rest()
		if next == end {
			return
		}
	}
}

func (w *timersWorld) commit(tx *Tx) {
	var err error
	tx.Done = func(e error) { err = e }
	work := w.m.prepare(tx)
	for i := range work.consumes {
		work.consumes[i].process.hold(&work.consumes[i].consume.Entry)
	}
	w.m.submitted++
	work.seq = w.m.submitted
	w.m.core.add(work)
	if groupErr := w.m.commitGroup(); groupErr != nil || err != nil {
		w.Fatal(groupErr, err)
	}
	w.rest()
}

// at shows a time as its distance from the beginning of the story.
func at(t time.Time) string { return t.Sub(dawn).String() }

func timerOf(n int, due time.Time) Timer {
	return Timer{Due: due, Process: drivenProcess, Entry: message.Entry{
		Instance: message.InstanceID{6: 0x70, 14: byte(n >> 8), 15: byte(n)}, Activity: processtable.ActivityID(fmt.Sprintf("e%d", n)),
	}}
}

// take shows what the mailbox gives. More than three of one time are counted.
func (w *timersWorld) take(limit int) {
	if w.mailbox.AskAgain() {
		w.out.WriteString("the clock was set back: ask again\n")
	}
	var dues []time.Time
	names := map[time.Time][]string{}
	for _, d := range w.mailbox.Take(limit) {
		if names[d.Due] == nil {
			dues = append(dues, d.Due)
		}
		names[d.Due] = append(names[d.Due], string(d.Entry.Activity))
	}
	for _, due := range dues {
		who := strings.Join(names[due], " ")
		if n := len(names[due]); n > 3 {
			who = fmt.Sprintf("%d entries", n)
		}
		fmt.Fprintf(&w.out, "%s: timer of %s\n", who, at(due))
	}
	if len(dues) == 0 {
		w.out.WriteString("nothing\n")
	}
	w.rest()
}

// stored gives the timers that are in the store.
func (w *timersWorld) stored() (found []Timer) {
	err := w.m.engine.Scan(store.ScanOptions{Prefix: []byte{record.ClassTimer}, KeysOnly: true}, func(key, _ []byte) bool {
		timer, err := record.ReadTimer(bytes.Clone(key))
		if err != nil {
			w.Fatal(err)
		}
		found = append(found, timer)
		return true
	})
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// The stories in testdata/timers tell what becomes of timers, however clocks go:
//
//	set e1 20ms        a transaction sets a timer for e1, so long from now
//	many 7 20ms        one for each of seven entries, of one moment
//	consume e1         its entry takes its timer away
//	ask e1 20ms        its entry asks for it: it was a pause so long
//	pass 1h            time goes by
//	clock +1h          the clock is set; nothing elapses: also how a machine sleeps
//	restart            the node stops and starts
//	take               what is in the mailbox
//	left               what is in the store, and for how long the timers sleep
func TestStoriesOfTimers(t *testing.T) {
	datadriven.Walk(t, "testdata/timers", func(t *testing.T, path string) {
		engine, err := badger.Open(badger.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
		}()
		w := &timersWorld{T: t, engine: engine, clock: &handClock{now: dawn}, limit: 5}
		w.open()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.T = t
			w.out.Reset()
			w.do(d)
			return w.out.String()
		})
	})
}

func (w *timersWorld) do(d *datadriven.TestData) {
	word := func(i int) string {
		if i >= len(d.CmdArgs) {
			d.Fatalf(w.T, "%s wants more words", d.Cmd)
		}
		return d.CmdArgs[i].Key
	}
	span := func(i int) time.Duration {
		v, err := time.ParseDuration(word(i))
		if err != nil {
			d.Fatalf(w.T, "%v", err)
		}
		return v
	}
	number := func(text string) (n int) {
		if _, err := fmt.Sscanf(strings.TrimPrefix(text, "e"), "%d", &n); err != nil {
			d.Fatalf(w.T, "%v", err)
		}
		return n
	}
	known := func(n int) Timer {
		stored := w.stored()
		i := slices.IndexFunc(stored, func(t Timer) bool { return t.Entry == timerOf(n, dawn).Entry })
		if i < 0 {
			d.Fatalf(w.T, "e%d has no timer", n)
		}
		return stored[i]
	}
	switch d.Cmd {
	case "set":
		w.commit(&Tx{Timers: []Timer{timerOf(number(word(0)), w.clock.now.Add(span(1)))}})
	case "many":
		tx := &Tx{}
		for n := range number(word(0)) {
			tx.Timers = append(tx.Timers, timerOf(n+1, w.clock.now.Add(span(1))))
		}
		w.commit(tx)
	case "consume":
		timer := known(number(word(0)))
		w.commit(&Tx{Consume: []Consume{{Process: timer.Process, Entry: timer.Entry, Due: timer.Due}}})
	case "ask":
		w.m.Wake(known(number(word(0))), span(1))
		w.rest()
	case "pass":
		w.pass(span(0))
	case "clock":
		w.clock.now = w.clock.now.Add(span(0))
	case "restart":
		w.open()
	case "take":
		w.take(w.limit)
	case "left":
		w.left()
	default:
		d.Fatalf(w.T, "unknown command %s", d.Cmd)
	}
}

func (w *timersWorld) left() {
	for _, timer := range w.stored() {
		fmt.Fprintf(&w.out, "%s: timer of %s\n", timer.Entry.Activity, at(timer.Due))
	}
	for _, a := range w.clock.alarms {
		fmt.Fprintf(&w.out, "it is %s; the timers sleep for %s\n", at(w.clock.now), a.at-w.clock.elapsed)
	}
	if w.out.Len() == 0 {
		w.out.WriteString("nothing\n")
	}
}
