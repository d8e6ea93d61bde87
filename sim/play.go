package sim

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"

	"fmqm/container"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue"
	"fmqm/sim/generate"
)

// Play is what the programs of all sites do, and what was seen of it.
type Play struct {
	mu         sync.Mutex
	cases      map[string]*generate.Case // by process
	attempts   map[string][]Attempt      // by instance
	keys       map[execution]string      // the idempotency key under which it ran
	running    map[string]int            // by site and key
	violations []string
	watched    map[string]*watched // by instance
}

// Attempt is one attempt that a program was asked for.
type Attempt struct {
	Activity           string
	Iteration, Attempt int
	Input              string // JSON
}

// execution is what an idempotency key stands for.
type execution struct {
	instance, activity string
	iteration          int
}

// watched is an instance whose ends are waited for.
type watched struct {
	left map[string]bool // by activity
	done chan struct{}
}

func newPlay() *Play {
	return &Play{
		cases: map[string]*generate.Case{}, attempts: map[string][]Attempt{}, keys: map[execution]string{},
		running: map[string]int{}, watched: map[string]*watched{},
	}
}

// Add makes the programs of a process give the results of a case.
func (p *Play) Add(process string, c *generate.Case) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cases[process] = c
}

// Forget drops what was seen of an instance.
func (p *Play) Forget(instance uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := instance.String()
	delete(p.attempts, id)
	maps.DeleteFunc(p.keys, func(e execution, _ string) bool { return e.instance == id })
	delete(p.watched, id)
}

// Attempts gives the attempts of an instance that were made so far, in the order in
// which each activity's came.
func (p *Play) Attempts(instance uuid.UUID) []Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Attempt(nil), p.attempts[instance.String()]...)
}

// Violations says what must not have happened: an execution that ran beside itself at
// one site (invariant 9), or under two keys (P1).
func (p *Play) Violations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.violations...)
}

// Watch gives a channel that is closed when each of the activities of an instance has
// ended or is in error, on disk. It must be called before the instance is started.
func (p *Play) Watch(instance uuid.UUID, activities []string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &watched{left: map[string]bool{}, done: make(chan struct{})}
	for _, a := range activities {
		w.left[a] = true
	}
	p.watched[instance.String()] = w
	if len(w.left) == 0 {
		close(w.done)
	}
	return w.done
}

// record is told of every audit record of every site.
func (p *Play) record(_ string, r queue.AuditRecord) {
	switch r.Event {
	case queue.EventTerminated, queue.EventSkipped, queue.EventInError, queue.EventEnded:
	case queue.EventStarted, queue.EventStopped, queue.EventIterated, queue.EventFailed, queue.EventRetried, queue.EventPassed, queue.EventDropped:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.watched[r.Instance.String()]
	if w == nil || !w.left[string(r.Activity)] {
		return
	}
	delete(w.left, string(r.Activity))
	if len(w.left) == 0 {
		close(w.done)
	}
}

// concurrency of the programs: one is often waited for.
var concurrency = map[string]int{"many": 64, "few": 4, "one": 1}

// registry registers the programs at a site.
func (p *Play) registry(site string) *program.Registry {
	entries := map[processtable.ProgramID]program.Entry{}
	for _, name := range generate.Programs {
		entries[processtable.ProgramID(name)] = program.Entry{
			Program: actor{play: p, site: site}, Kind: program.KindBuiltin, Concurrency: concurrency[name],
		}
	}
	return program.RegistryOf(entries)
}

// actor is a program at a site.
type actor struct {
	play *Play
	site string
}

// Run gives the result that was drawn, and notes who asked for it.
func (a actor) Run(ctx context.Context, call program.Call) program.Result {
	began := time.Now()
	c, err := a.play.enter(a.site, &call)
	defer a.play.leave(a.site, &call)
	for range 1 + call.Attempt {
		runtime.Gosched() // what runs beside this gets its chance to
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return program.Result{Err: err, Started: began, Ended: time.Now()}
	}
	r := c.Result(generate.Call{
		Activity: call.Activity, Iteration: call.Iteration, Attempt: call.Attempt,
		Input: call.Input, Output: call.OutputType, RCIsData: call.RCIsData,
	})
	out := program.Result{RC: r.RC, Output: r.Output, Started: began, Ended: time.Now()}
	if r.Err != "" {
		out.Err = fmt.Errorf("%s", r.Err)
	}
	return out
}

func (p *Play) enter(site string, call *program.Call) (*generate.Case, error) {
	input, err := container.EncodeJSON(call.Input)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempts[call.Instance] = append(p.attempts[call.Instance], Attempt{
		Activity: call.Activity, Iteration: call.Iteration, Attempt: call.Attempt, Input: string(input),
	})
	e := execution{call.Instance, call.Activity, call.Iteration}
	if key, ran := p.keys[e]; ran && key != call.Key {
		p.violations = append(p.violations, fmt.Sprintf("%v ran under the keys %s and %s", e, key, call.Key))
	}
	p.keys[e] = call.Key
	p.running[site+call.Key]++
	if n := p.running[site+call.Key]; n > 1 {
		p.violations = append(p.violations, fmt.Sprintf("%v runs %d times at once at %s", e, n, site))
	}
	c := p.cases[call.Process]
	if c == nil {
		return nil, fmt.Errorf("nothing is known of process %s", call.Process)
	}
	return c, nil
}

func (p *Play) leave(site string, call *program.Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[site+call.Key]--; p.running[site+call.Key] == 0 {
		delete(p.running, site+call.Key)
	}
}
