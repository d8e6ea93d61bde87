package node

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/rs/zerolog"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store/badger"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/execute"
	"fmqm/node/tables"
	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/queuetest"
	"fmqm/queue/record"
)

// storyClock is a clock that a story sets. Between is called once, after the clock was
// read and before who read it goes on.
type storyClock struct {
	*queuetest.Clock
	between func()
}

func (c *storyClock) Now() time.Time {
	now := c.Clock.Now()
	if f := c.between; f != nil {
		c.between = nil
		f()
	}
	return now
}

// story is a node with its store and its queues, whose process thread takes a turn when
// the story says so.
type story struct {
	*testing.T
	dir    string
	clock  *storyClock
	node   *Node
	thread *execute.Thread
	heard  []string
}

var dawn = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *story) open() {
	engine, err := badger.Open(badger.Options{Dir: s.dir})
	if err != nil {
		s.Fatal(err)
	}
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"fail": {Kind: program.KindBuiltin, Builtin: "fail", Concurrency: 1},
		"echo": {Kind: program.KindBuiltin, Builtin: "echo", Concurrency: 1},
	}, program.Options{})
	if err != nil {
		s.Fatal(err)
	}
	s.node, err = Open(Options{
		Name: "A", Engine: engine, Registry: registry, Scheduler: task.Goroutines{Clock: s.clock}, Log: zerolog.Nop(),
		CacheEntries: 1, // so that what waits is often in the store only
		DirtyLimit:   5, Observe: s.observe,
	})
	if err != nil {
		s.Fatal(err)
	}
	s.thread = s.node.thread(processtable.ProcessID{Name: "p", Version: 1})
}

func (s *story) close() {
	if err := s.node.Stop(context.Background()); err != nil {
		s.Error(err)
	}
	s.node.registry().Close()
}

// observe is called by the committer, while the story waits for it.
func (s *story) observe(r record.AuditRecord) {
	n := binary.BigEndian.Uint64(r.Instance[8:])
	switch r.Event {
	case record.EventFailed:
		s.heard = append(s.heard, fmt.Sprintf("%d: attempt %d failed", n, r.Attempt))
	case record.EventInError:
		s.heard = append(s.heard, fmt.Sprintf("%d: attempt %d failed, in error", n, r.Attempt))
	case record.EventTerminated:
		if r.Activity != "x" {
			s.heard = append(s.heard, fmt.Sprintf("%d: %s ran", n, r.Activity))
		}
	case record.EventNotified:
		s.heard = append(s.heard, fmt.Sprintf("%d: %s notifies, number %d: %s", n, r.Activity, r.Iteration, r.Reason))
	case record.EventDecided:
		s.heard = append(s.heard, fmt.Sprintf("%d: %s begins with %v", n, r.Activity, r.Counted))
	case record.EventRaced:
		s.heard = append(s.heard, fmt.Sprintf("%d: %s: %s", n, r.Activity, r.Reason))
	case record.EventStarted, record.EventEnded, record.EventSkipped, record.EventStopped,
		record.EventIterated, record.EventRetried, record.EventPassed, record.EventDropped, record.EventAsked, record.EventAnswered,
		record.EventCancelled, record.EventCancelling, record.EventBegun, record.EventReturned,
		record.EventSent, record.EventReceived, record.EventPutBack, record.EventThinned, record.EventForced, record.EventSuspended, record.EventResumed, record.EventExpedited, record.EventRestarted, record.EventRecalled, record.EventKept, record.EventErased,
		record.EventOffered, record.EventClaimed, record.EventReleased, record.EventTransferred, record.EventSaved, record.EventCompleted, record.EventWithdrawn, record.EventEscalated:
	}
}

// rest lets everything happen that can.
func (s *story) rest() {
	for again := s.thread != nil; again; again = s.thread.Turn() {
		for s.thread.Turn() {
		}
		synctest.Wait()
	}
}

// pass lets time go by, from one alarm to the next.
func (s *story) pass(d time.Duration) {
	for d > 0 {
		step := d
		if armed := s.clock.Armed(); len(armed) > 0 {
			step = min(step, armed[0].Sub(s.clock.Now()))
		}
		s.clock.Advance(step)
		s.rest()
		d -= step
	}
}

func (s *story) define(text string) {
	compiled := definitiontest.Compile(s.T, "process: p\nversion: 1\n"+text, definition.CompileOptions{})
	p, isNew, err := s.node.tables.Judge(compiled.Encoded[0], false)
	if err != nil || !isNew {
		s.Fatal(isNew, err)
	}
	done := make(chan error, 1)
	s.node.queue.Submit(&record.Tx{Tables: []record.TableRecord{tables.Record(p, compiled.Encoded[0])}, Done: func(err error) { done <- err }})
	if err := <-done; err != nil {
		s.Fatal(err)
	}
	s.node.tables.Install(p)
	s.thread = s.node.thread(p.Table().Process)
}

func (s *story) start(n int) {
	var id message.InstanceID
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	input := container.New(s.thread.Process().Table().Input)
	s.thread.Tell(thread.Start{Word: thread.Token(n), Start: behaviour.Start{Instance: id, Input: input, Now: s.clock.Now()}})
}

// what shows what was heard; equal lines of more than three instances are counted.
func (s *story) what() string {
	var b strings.Builder
	var order []string
	who := map[string][]string{}
	for _, line := range s.heard {
		n, what, _ := strings.Cut(line, ": ")
		if who[what] == nil {
			order = append(order, what)
		}
		who[what] = append(who[what], n)
	}
	s.heard = nil
	for _, what := range order {
		slices.Sort(who[what])
		if n := len(who[what]); n > 3 {
			fmt.Fprintf(&b, "%d instances: %s\n", n, what)
		} else {
			fmt.Fprintf(&b, "%s: %s\n", strings.Join(who[what], " "), what)
		}
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// The stories in testdata/timers tell that an activity which is to be tried again is
// tried again, once, whoever reads the clock when, and however it is set: a real store,
// real queues and a process thread, with a clock that the story sets.
//
//	define             the process
//	start 3            instances, numbered from where the last ended
//	pass 20ms          time goes by
//	between 20ms       the same, in a turn of the process thread: after it has read the clock
//	clock -1h          the clock is set; nothing elapses: also how a machine sleeps
//	restart            the node stops and starts
func TestStoriesOfTimers(t *testing.T) {
	datadriven.Walk(t, "testdata/timers", func(t *testing.T, path string) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			s := &story{T: t, dir: dir, clock: &storyClock{Clock: queuetest.NewClock(dawn)}}
			s.open()
			defer func() { s.close() }()
			started := 0
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				s.T = t
				span := func() time.Duration {
					v, err := time.ParseDuration(d.CmdArgs[0].Key)
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					return v
				}
				switch d.Cmd {
				case "define":
					s.define(d.Input)
				case "start":
					n, err := strconv.Atoi(d.CmdArgs[0].Key)
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					for range n {
						started++
						s.start(started)
					}
				case "pass":
					s.pass(span())
				case "between":
					s.clock.between = func() {
						s.clock.Advance(span())
						synctest.Wait()
					}
					s.thread.Turn()
				case "clock":
					s.clock.Set(span())
				case "restart":
					s.close()
					s.open()
				default:
					d.Fatalf(t, "unknown command %s", d.Cmd)
				}
				s.rest()
				return s.what()
			})
		})
	})
}
