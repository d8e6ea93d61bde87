package node

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/queuetest"
	"fmqm/queue/record"
)

// judging is a story in which nobody can evaluate conditions that may take long, until it
// says so: as if somebody had been at one for minutes. What happens before that has happened
// without them.
type judging struct {
	*story
	busyPlaces int      // nobody can evaluate while these are taken
	errors     []string // of activities that went in error, or were tried again
}

func newJudging(t *testing.T, text string) *judging {
	s := &judging{story: &story{T: t, clock: &storyClock{Clock: queuetest.NewClock(dawn)}}}
	var err error
	s.node, err = Open(Options{
		Name: "A", Engine: memoryEngine(t), Scheduler: task.Goroutines{Clock: s.clock}, Log: zerolog.Nop(), Observe: s.observe,
		Registry: program.RegistryOf(map[processtable.ProgramID]program.Entry{"p": {Program: &keeping{}, Kind: program.KindExec, Concurrency: 8}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.node.Stop(context.Background()) })
	s.define(text)
	s.busy()
	return s
}

func (s *judging) observe(r record.AuditRecord) {
	what := map[record.Event]string{record.EventInError: "in error", record.EventRetried: "retried"}[r.Event]
	switch {
	case what == "":
		s.story.observe(r)
	case r.Instance == instanceOf(1):
		s.errors = append(s.errors, what)
	}
}

// busy lets none be evaluated.
func (s *judging) busy() {
	for s.node.execution.Judging.TryAcquire() {
		s.busyPlaces++
	}
}

// now lets them be evaluated.
func (s *judging) now() {
	for ; s.busyPlaces > 0; s.busyPlaces-- {
		s.node.execution.Judging.Release()
	}
	s.rest()
}

func (s *judging) expects(want ...string) {
	s.Helper()
	got := strings.Split(strings.TrimSpace(s.what()), "\n")
	if slices.Sort(got); !slices.Equal(got, want) {
		s.Errorf("got %q, want %q", got, want)
	}
}

const long = `lines.exists(l, l == "x")`

// Whatever is evaluated of an empty activity: the thread goes on beside it, and what it
// cannot decide yet is decided in the end, once.
func TestConditionsOfAnEmptyActivityHoldUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJudging(t, `
structures:
  N: {lines: [string]}
activities:
  mark: {node: A, empty: true}
  slow: {node: A, empty: true, input: N, output: N, start: any}
  then: {node: A, empty: true}
  other: {node: A, empty: true}
control:
  - mark -> slow
  - slow -> then: `+long+`
  - slow -> other: otherwise
`)
		s.start(1)
		s.rest()
		s.expects("1: mark ran")
		for n := 2; n < 84; n++ { // beyond what has a place
			s.start(n)
		}
		s.rest()
		s.expects("82 instances: mark ran")
		s.now()
		s.expects("83 instances: other ran", "83 instances: slow ran")
	})
}

// Who is terminated meanwhile is terminated.
func TestAnInstanceIsTerminatedBesideItsConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJudging(t, `
structures:
  N: {lines: [string]}
activities:
  slow: {node: A, empty: true, input: N, output: N}
  then: {node: A, empty: true}
control:
  - slow -> then: `+long+`
`)
		s.start(1)
		s.rest()
		go func() { _ = s.node.Terminate(t.Context(), instanceOf(1), "") }()
		synctest.Wait()
		s.rest()
		s.now()
		if r, err := s.node.answers.Report(report.Question{Instance: instanceOf(1)}); err != nil || r.State != api.InstanceTerminated {
			t.Errorf("%+v, %v", r, err)
		}
		if slices.ContainsFunc(s.heard, func(l string) bool { return strings.Contains(l, "slow ran") }) {
			t.Errorf("heard %q", s.heard)
		}
	})
}

func instanceOf(n int) (id message.InstanceID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// An operator's retry evaluates again what the program gave, or what he gives.
func TestConditionsOfARetryHoldUpNothing(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		errors []string
		want   []string
	}{
		"of what the program gave": {"", []string{"in error", "retried", "in error"}, []string{"nothing"}},
		"of what the operator gives": {
			`{"lines": ["x"]}`,
			[]string{"in error", "retried"},
			[]string{"1: then ran"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newJudging(t, `
structures:
  N: {lines: [string]}
activities:
  x: {node: A, program: p, output: N}
  mark: {node: A, empty: true}
  then: {node: A, empty: true}
control:
  - x -> then: lines[0] == "x" || `+long+`
`)
				s.start(1)
				s.now()
				s.expects("1: mark ran")
				s.busy()
				retried := make(chan error, 1)
				go func() {
					_, err := s.node.Retry(t.Context(), instanceOf(1), api.RetryRequest{Activity: "x", Output: json.RawMessage(c.output)})
					retried <- err
				}()
				synctest.Wait()
				s.rest()
				if !slices.Equal(s.errors, []string{"in error"}) {
					t.Errorf("before its conditions can be evaluated: %q", s.errors)
				}
				s.start(2)
				s.rest()
				s.expects("2: mark ran")
				s.now()
				synctest.Wait()
				s.rest()
				if err := <-retried; err != nil {
					t.Error(err)
				}
				if !slices.Equal(s.errors, c.errors) {
					t.Errorf("errors %q, want %q", s.errors, c.errors)
				}
				got := strings.Split(strings.TrimSpace(s.what()), "\n")
				if slices.Sort(got); !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// What source asks about a start's input is evaluated where the start is asked for; what the source of
// a block asks, as of an empty activity.
func TestConditionsOutOfSourceHoldUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newJudging(t, `
structures:
  N: {lines: [string]}
input: N
activities:
  mark: {node: A, empty: true}
  round:
    node: A
    input: N
    activities:
      then: {node: A, empty: true}
      other: {node: A, empty: true}
    control:
      - source -> then: `+long+`
      - source -> other: otherwise
control:
  - source -> mark: lines.size() == 0
  - source -> round
data:
  - source -> round
`)
		started := make(chan error, 1)
		go func() {
			started <- s.node.Begin(t.Context(), api.StartRequest{Instance: instanceOf(1), Process: "p@1", Input: json.RawMessage(`{}`)})
		}()
		synctest.Wait()
		s.start(2) // the thread is told of it, and nobody is asked before
		s.rest()
		s.expects("2: mark ran")
		s.now()
		synctest.Wait()
		s.rest()
		if err := <-started; err != nil {
			t.Error(err)
		}
		s.expects("1 2: other ran", "1 2: round ran", "1 2: sink ran", "1 2: source ran", "1: mark ran")
	})
}
