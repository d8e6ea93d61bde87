package queue

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// sleeper is a Scheduler that notes for how long the timers sleep.
type sleeper struct {
	*task.Site
	world *task.World
	until time.Duration // of what elapses; negative: they do not
}

func (s *sleeper) AfterFunc(d time.Duration, f func()) func() bool {
	s.until = s.world.Elapsed() + d
	stop := s.Site.AfterFunc(d, func() {
		s.until = -1
		f()
	})
	return func() bool {
		s.until = -1
		return stop()
	}
}

// timersWorld is a manager on a real store, in a world of its own, and the reader of one
// process queue.
type timersWorld struct {
	*testing.T
	world   *task.World
	offset  time.Duration // of the site's clock: what elapses and what it shows are two things
	by      *sleeper
	m       *Manager
	engine  store.Engine
	mailbox *Mailbox
	limit   int
	out     strings.Builder
}

var dawn = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *timersWorld) open() {
	if w.by != nil {
		w.by.Kill()
	}
	w.by = &sleeper{Site: w.world.NewSite(w.offset), world: w.world, until: -1}
	w.run(func() {
		var err error
		if w.m, err = Open(w.engine, Options{Node: "A", Scheduler: w.by, DirtyLimit: w.limit}); err != nil {
			w.Error(err)
			return
		}
		w.mailbox = w.m.Mailbox(drivenProcess)
	})
}

// run lets a task do something, and the site what follows from it.
func (w *timersWorld) run(f func()) {
	w.by.Go(f)
	w.pass(0)
}

// pass lets time go by.
func (w *timersWorld) pass(d time.Duration) {
	for _, d := range []time.Duration{d, 0} {
		over := false
		w.by.Site.AfterFunc(d, func() { over = true })
		for !over {
			if !w.world.Step() {
				w.Fatal(w.world.Failure())
			}
		}
	}
}

func (w *timersWorld) commit(tx *Tx) {
	err := errors.New("it has not ended")
	tx.Done = func(e error) { err = e }
	w.run(func() { w.m.Submit(tx) })
	if err != nil {
		w.Fatal(err)
	}
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
	w.pass(0)
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
		w := &timersWorld{T: t, engine: engine, world: task.NewWorld(1, dawn), limit: 5}
		w.open()
		defer func() { w.by.Kill() }()
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
		w.commit(&Tx{Timers: []Timer{timerOf(number(word(0)), w.by.Now().Add(span(1)))}})
	case "many":
		tx := &Tx{}
		for n := range number(word(0)) {
			tx.Timers = append(tx.Timers, timerOf(n+1, w.by.Now().Add(span(1))))
		}
		w.commit(tx)
	case "consume":
		timer := known(number(word(0)))
		w.commit(&Tx{Consume: []Consume{{Process: timer.Process, Entry: timer.Entry, Due: timer.Due}}})
	case "ask":
		timer, pause := known(number(word(0))), span(1)
		w.run(func() { w.m.Wake(timer, pause) })
	case "pass":
		w.pass(span(0))
	case "clock":
		w.offset += span(0)
		w.by.SetClock(w.offset)
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
	if w.by.until >= 0 {
		fmt.Fprintf(&w.out, "it is %s; the timers sleep for %s\n", at(w.by.Now()), w.by.until-w.world.Elapsed())
	}
	if w.out.Len() == 0 {
		w.out.WriteString("nothing\n")
	}
}
