package node

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"fmqm/container"
	"fmqm/internal/task"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/queuetest"
)

// keeping is a program that keeps the output that it gives.
type keeping struct{ output *container.Struct }

func (k *keeping) Run(_ context.Context, call *program.Call) program.Result {
	k.output = container.New(call.OutputType)
	return program.Result{Output: k.output}
}

// A condition may search long texts and lists. It is evaluated where the program ran: when
// the process thread takes its next turn, and everything else that it has to do, what the
// conditions made of the output is known. (Health and the watchdog ask the threads.)
func TestConditionsAreEvaluatedOffTheThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &keeping{}
		s := &story{T: t, clock: &storyClock{Clock: queuetest.NewClock(dawn)}}
		var err error
		s.node, err = Open(Options{
			Name: "A", Engine: memoryEngine(t), Scheduler: task.Goroutines{Clock: s.clock}, Log: zerolog.Nop(), Observe: s.observe,
			Registry: program.RegistryOf(map[processtable.ProgramID]program.Entry{"p": {Program: p, Kind: program.KindExec}}),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.node.Stop(context.Background()) }()
		s.define(`
structures:
  N: {n: int}
activities:
  x: {node: A, program: p, output: N}
  then: {node: A, empty: true}
  other: {node: A, empty: true}
control:
  - x -> then: n == 0
  - x -> other: otherwise
`)
		s.start(1)
		for p.output == nil {
			s.thread.Turn()
			synctest.Wait()
		}
		p.output.Fields[0] = int64(1) // n == 0 was TRUE
		s.rest()
		if got := s.what(); got != "1: then ran\n" {
			t.Errorf("got %q", got)
		}
	})
}
