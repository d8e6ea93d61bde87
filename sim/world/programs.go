package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/container"
	"fmqm/internal/task"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// play is what the programs of all sites do, and what was seen of it: each gives what its
// case says, whenever and wherever it is asked.
type play struct {
	world    *World
	cases    map[string]*generate.Case   // of processes that somebody uploads, by name@version
	attempts map[string][]oracle.Attempt // by instance
	keys     map[execution]string        // the idempotency key under which it ran
	of       map[string]execution        // that ran under a key
	running  map[place]int
}

// execution is what an idempotency key stands for.
type execution struct {
	instance, path string
	iteration      int
}

// place is a key at a site.
type place struct {
	site name
	key  string
}

func newPlay(w *World) *play {
	return &play{
		world: w, cases: map[string]*generate.Case{}, attempts: map[string][]oracle.Attempt{},
		keys: map[execution]string{}, of: map[string]execution{}, running: map[place]int{},
	}
}

// registry registers the programs at a life of a site: some are often waited for.
func (p *play) registry(at name, by task.Scheduler) *program.Registry {
	entries := map[processtable.ProgramID]program.Entry{}
	for program_, concurrency := range map[string]int{"many": 64, "few": 3, "one": 1} {
		entries[processtable.ProgramID(program_)] = program.Entry{Program: actor{p, at, by}, Kind: program.KindExec, Concurrency: concurrency}
	}
	return program.RegistryOf(entries)
}

// actor is a program at a life of a site.
type actor struct {
	play *play
	site name
	by   task.Scheduler
}

// Run gives the result of the case, after a while.
func (a actor) Run(ctx context.Context, call *program.Call) program.Result {
	p, began := a.play, a.by.Now()
	c := p.enter(a.site, call)
	defer p.leave(a.site, call)
	if err := a.linger(ctx); err != nil {
		return program.Result{Err: fmt.Errorf("stopped by the node: %w", err), Started: began, Ended: a.by.Now()}
	}
	r := c.Result(generate.Call{
		Activity: call.Activity, Scope: call.Scope, Iteration: call.Iteration, Attempt: call.Attempt,
		Input: call.Input, Output: call.OutputType, RCIsData: call.RCIsData,
	})
	out := program.Result{RC: r.RC, Output: r.Output, Started: began, Ended: a.by.Now()}
	if r.Err != "" {
		out.Err = errors.New(r.Err)
	}
	return out
}

// linger takes as long as the program does: most are quick, some slow, some hang until they
// are ended or much later, and some go on although they are told to end.
func (a actor) linger(ctx context.Context) error {
	r := a.play.world.random
	short := time.Duration(r.Int64N(int64(20 * time.Millisecond)))
	switch n := r.IntN(100); {
	case n < 80, a.play.world.plan.Brisk:
		return task.Sleep(ctx, a.by, short)
	case n < 95:
		return task.Sleep(ctx, a.by, short*500)
	case n < 98:
		return task.Sleep(ctx, a.by, 20*time.Minute)
	}
	_ = task.Sleep(context.Background(), a.by, short*200)
	return nil
}

func (p *play) enter(at name, call *program.Call) *generate.Case {
	w, path := p.world, cmp.Or(call.Scope, call.Activity)
	input, err := container.EncodeJSON(call.Input)
	if err != nil {
		w.breaks("12", "%s %s was given an input that cannot be written: %v", call.Instance, path, err)
	}
	w.journal.tell(string(at), "runs %s of %s, iteration %d, attempt %d", path, call.Instance, call.Iteration, call.Attempt)
	w.journal.note(string(at), "runs", "%s of %s, iteration %d, attempt %d: %016x", path, call.Instance, call.Iteration, call.Attempt, digest(input))
	w.watch.restsAt(at, call)
	e := execution{call.Instance, path, call.Iteration}
	if isNotice(path) {
		w.journal.met("notified")
	} else {
		p.attempted(call, path, input)
	}
	if key, ran := p.keys[e]; ran && key != call.Key && w.touched[uuid.MustParse(call.Instance)] == 0 {
		w.breaks("9", "%v ran under the keys %s and %s", e, key, call.Key)
	}
	if other, ran := p.of[call.Key]; ran && other != e {
		w.breaks("9", "%v and %v ran under one key, %s", other, e, call.Key)
	}
	p.keys[e], p.of[call.Key] = call.Key, e
	here := place{at, call.Key}
	if p.running[here]++; p.running[here] > 1 {
		w.breaks("9", "%v runs beside an older attempt of itself at %s", e, at)
	}
	c := p.cases[call.Process]
	if c == nil {
		w.breaks("11", "%s runs a program for %s, a process that nobody uploaded", at, call.Process)
		c = &generate.Case{}
	}
	return c
}

// isNotice: a program runs beside the work of what a path names (N23): no activity is inside of a source.
func isNotice(path string) bool {
	return strings.HasPrefix(path, noticing) || strings.Contains(path, "/"+noticing)
}

const noticing = string(processtable.Noticing) + "["

// attempted notes an attempt of an activity's own program.
func (p *play) attempted(call *program.Call, path string, input []byte) {
	p.attempts[call.Instance] = append(p.attempts[call.Instance], oracle.Attempt{
		Scope: oracle.AttemptScope(path), Activity: call.Activity, Iteration: call.Iteration, Attempt: call.Attempt, Input: string(input),
	})
}

func (p *play) leave(at name, call *program.Call) {
	here := place{at, call.Key}
	if p.running[here]--; p.running[here] == 0 {
		delete(p.running, here)
	}
}
