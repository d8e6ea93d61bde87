package timer_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/mailbox"
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
	m       *queue.Manager
	engine  store.Engine
	mailbox *mailbox.Reader
	limit   int
	out     strings.Builder
}

var procP = processtable.ProcessID{Name: "p", Version: 1}

var dawn = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *timersWorld) open() {
	if w.by != nil {
		w.by.Kill()
	}
	w.by = &sleeper{Site: w.world.NewSite(w.offset), world: w.world, until: -1}
	w.run(func() {
		var err error
		if w.m, err = queue.Open(w.engine, queue.Options{Node: "A", Scheduler: w.by, DirtyLimit: w.limit}); err != nil {
			w.Error(err)
			return
		}
		w.mailbox = w.m.Mailbox(procP)
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

func (w *timersWorld) commit(tx *record.Tx) {
	err := errors.New("it has not ended")
	tx.Done = func(e error) { err = e }
	w.run(func() { w.m.Submit(tx) })
	if err != nil {
		w.Fatal(err)
	}
}

// at shows a time as its distance from the beginning of the story.
func at(t time.Time) string { return t.Sub(dawn).String() }

func timerOf(n int, due time.Time) record.Timer {
	return record.Timer{Due: due, Process: procP, Entry: message.Entry{
		Instance: message.InstanceID{6: 0x70, 14: byte(n >> 8), 15: byte(n)}, Activity: processtable.ActivityID(fmt.Sprintf("e%d", n)),
	}}
}

// take shows what the mailbox gives. More than three of one time are counted.
func (w *timersWorld) take(limit int) {
	var dues []time.Time
	names := map[time.Time][]string{}
	for _, d := range w.mailbox.Take(limit) {
		for _, m := range d.Messages {
			due := record.DueTime(m.Number)
			if names[due] == nil {
				dues = append(dues, due)
			}
			name := string(m.Activity)
			if m.Source != "" {
				name += "." + string(m.Source)
			}
			names[due] = append(names[due], name)
		}
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
func (w *timersWorld) stored() (found []record.Timer) {
	err := w.engine.Scan(store.ScanOptions{Prefix: []byte{record.ClassTimer}}, func(key, value []byte) bool {
		timer, err := record.ReadTimer(bytes.Clone(key), bytes.Clone(value))
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
//	set e1 20ms        a transaction sets a timer for e1, so long from now; e1.late: one with a name
//	until e1 20ms      the same, of a time of the calendar: it is no pause
//	many 7 20ms        one for each of seven entries, of one moment
//	consume e1         its entry takes its timer away, or the message that it has become
//	decide e1          its entry decides on what it has, and has not taken what came since
//	pass 1h            time goes by
//	clock +1h          the clock is set; nothing elapses: also how a machine sleeps
//	restart            the node stops and starts
//	take               what is in the mailbox
//	left               what is in the store, and for how long the timers sleep
func TestStoriesOfTimers(t *testing.T) {
	datadriven.Walk(t, "testdata/timers", func(t *testing.T, path string) {
		engine, err := memory.NewDisk("A").Open(memory.Options{})
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
	named := func(text string, due time.Time, pause time.Duration) record.Timer {
		entry, name, _ := strings.Cut(text, ".")
		timer := timerOf(number(entry), due)
		timer.Name, timer.Pause = name, pause
		return timer
	}
	switch d.Cmd {
	case "set":
		w.commit(&record.Tx{Timers: []record.Timer{named(word(0), w.by.Now().Add(span(1)), span(1))}})
	case "until":
		w.commit(&record.Tx{Timers: []record.Timer{named(word(0), w.by.Now().Add(span(1)), 0)}})
	case "many":
		tx := &record.Tx{}
		for n := range number(word(0)) {
			tx.Timers = append(tx.Timers, named(fmt.Sprintf("e%d", n+1), w.by.Now().Add(span(1)), span(1)))
		}
		w.commit(tx)
	case "consume":
		w.consume(named(word(0), dawn, 0))
	case "decide":
		w.decide(named(word(0), dawn, 0))
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

// consume takes all that an entry has of a name, timers and what they have become.
func (w *timersWorld) consume(of record.Timer) {
	c := record.Consume{Process: of.Process, Entry: of.Entry}
	for _, timer := range w.stored() {
		if timer.Entry == of.Entry && timer.Name == of.Name {
			c.Timers = append(c.Timers, timer)
		}
	}
	found, err := w.m.Browse(of.Process, of.Entry)
	if err != nil {
		w.Fatal(err)
	}
	for i := range found {
		if string(found[i].Source) == of.Name {
			c.Keys = append(c.Keys, found[i].Key())
		}
	}
	if len(c.Timers)+len(c.Keys) == 0 {
		w.Fatalf("%s has nothing of %q", of.Entry.Activity, of.Name)
	}
	w.commit(&record.Tx{Consume: []record.Consume{c}})
}

// decide has the entry commit a decision.
func (w *timersWorld) decide(of record.Timer) {
	err := errors.New("it has not ended")
	tx := &record.Tx{Consume: []record.Consume{{Process: of.Process, Entry: of.Entry}}, Done: func(e error) { err = e }}
	w.run(func() { w.m.Submit(tx) })
	switch {
	case errors.Is(err, commit.ErrStale):
		w.out.WriteString("stale\n")
	case err != nil:
		w.Fatal(err)
	}
}

func (w *timersWorld) left() {
	shown := func(what string, e message.Entry, name string, due time.Time) {
		if name != "" {
			name = "." + name
		}
		fmt.Fprintf(&w.out, "%s%s: %s of %s\n", e.Activity, name, what, at(due))
	}
	for _, timer := range w.stored() {
		shown("timer", timer.Entry, timer.Name, timer.Due)
	}
	entries, _, err := w.m.BrowseFrom(procP, message.Entry{}, 1000)
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range entries {
		for i := range e.Messages {
			m := &e.Messages[i]
			shown("message", e.Entry, string(m.Source), record.DueTime(m.Number))
		}
	}
	if w.by.until >= 0 {
		fmt.Fprintf(&w.out, "it is %s; the timers sleep for %s\n", at(w.by.Now()), w.by.until-w.world.Elapsed())
	}
	if w.out.Len() == 0 {
		w.out.WriteString("nothing\n")
	}
}
