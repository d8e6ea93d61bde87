package world

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/node"
	"fmqm/node/execute"
	"fmqm/program"
)

// begun is when every world begins.
var begun = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// Bounds of a world that will not end.
const (
	maxSteps   = 20_000_000
	patience   = 2 * time.Hour // without a commit, in good weather
	askTimeout = 30 * time.Second
)

// Options say what a run keeps.
type Options struct {
	Lines bool // every event as a line
}

// Report is what came of a plan.
type Report struct {
	Plan       Plan
	Broken     *Violation // nil: every invariant held
	Hash       string     // of all events
	Events     int
	Recoveries int // how often a node was opened on a store that was not new
	Elapsed    time.Duration
	Met        map[string]int // what of the weather had an effect, and how often
	Lines      []string       // every event
	Told       []string       // of those, what matters to a reader
}

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant string
	At        time.Duration
	Text      string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("invariant %s, after %v: %s", v.Invariant, v.At, v.Text)
}

// World is a plan that runs.
type World struct {
	plan    Plan
	tasks   *task.World
	control *task.Site // runs the weather, the wires, and people
	random  *rand.Rand
	journal *journal
	wires   *wires
	broker  *broker
	sites   []*site
	twins   []*twin
	play    *play
	// registry gives the programs of a life of a site: play's, unless a test says otherwise.
	registry func(at name, by task.Scheduler) *program.Registry
	// fate, a test's, may keep a commit under way for as long as it wants, and say what becomes of it.
	fate      func(*site, *store.Batch) (fate memory.Fate, held bool)
	watch     *watch
	cases     []*prepared // by process
	clients   []*client
	schedules []*timetable
	touched   map[uuid.UUID]int  // by how many commands an operator has dealt with an instance, or may have: it need not be as the interpreter says
	erased    map[uuid.UUID]bool // instances of which somebody has had data overwritten
	weaker    map[uuid.UUID]bool // in which a site has a part that has lost its store: only what comes of them is compared
	clear     bool
	forgets   bool // retention removes all that has ended: nothing of it is asked for any more
	over      bool
	broken    *Violation

	recovered int // nodes that were opened on a store that was not new
}

// Run runs a plan until every instance has ended and nothing is left, or an invariant is broken.
func Run(plan Plan, o Options) *Report { return newWorld(plan, o).run() }

// newWorld makes a world in which nothing happens yet.
func newWorld(plan Plan, o Options) *World {
	w := &World{
		plan: plan, tasks: task.NewWorld(plan.Seed, begun), random: rand.New(rand.NewPCG(plan.Seed, 1)),
		touched: map[uuid.UUID]int{}, weaker: map[uuid.UUID]bool{}, erased: map[uuid.UUID]bool{},
	}
	w.control = w.tasks.NewSite(0)
	w.journal = newJournal(w.tasks.Elapsed, o.Lines)
	w.wires = newWires(w.tasks, w.control, w.random, w.journal)
	w.wires.behind = plan.Behind
	w.broker = newBroker(w.control, w.random, w.journal)
	w.play, w.watch = newPlay(w), newWatch(w)
	w.registry = w.play.registry
	for _, n := range plan.Sites {
		w.sites = append(w.sites, newSite(w, n))
	}
	var err error
	if w.cases, err = w.plan.prepared(); err != nil {
		w.breaks("plan", "%v", err)
	}
	w.timetables()
	return w
}

func (w *World) run() *Report {
	if w.broken == nil { // else the plan is none
		w.begin()
	}
	for steps := 0; !w.over && w.broken == nil && w.tasks.Step(); steps++ {
		if steps == maxSteps {
			w.breaks("ends", "%d steps, and it goes on", steps)
		}
	}
	switch err := w.tasks.Failure(); {
	case err != nil:
		w.broken = &Violation{Invariant: "13", At: w.tasks.Elapsed(), Text: err.Error()}
	case w.broken == nil && !w.over:
		w.breaks("ends", "nothing will ever happen any more, and not all is done")
	}
	w.end()
	return &Report{
		Plan: w.plan, Broken: w.broken, Hash: w.journal.hash(), Events: w.journal.count, Recoveries: w.recovered,
		Elapsed: w.tasks.Elapsed(), Met: w.journal.effects, Lines: w.journal.lines, Told: w.story(),
	}
}

// end ends all that runs.
func (w *World) end() {
	for _, s := range w.sites {
		if s.life != nil {
			s.life.by.Kill()
		}
	}
	for _, t := range w.twins {
		t.by.Kill()
	}
	w.control.Kill()
}

// breaks notes that an invariant does not hold; the first one ends the world.
func (w *World) breaks(invariant, format string, args ...any) {
	if w.broken == nil {
		w.broken = &Violation{Invariant: invariant, At: w.tasks.Elapsed(), Text: fmt.Sprintf(format, args...)}
		w.journal.note("world", "breaks", "%s: %s", invariant, strings.ReplaceAll(w.broken.Text, "\n", "; "))
	}
}

// prepared draws the processes and asks the interpreter about the instances. Where it fails it gives those before.
func (p *Plan) prepared() (cases []*prepared, err error) {
	for i := range p.Processes {
		c, err := prepare(&p.Processes[i], cases)
		if err != nil {
			return cases, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// begin opens the sites, and lets the plan begin.
func (w *World) begin() {
	for _, s := range w.sites {
		s.start()
	}
	for i := range w.plan.Processes {
		w.control.AfterFunc(w.plan.Processes[i].At, func() { w.upload(i) })
	}
	for i := range w.plan.Instances {
		c := &client{world: w, instance: &w.plan.Instances[i], of: w.cases[w.plan.Instances[i].Process]}
		w.clients = append(w.clients, c)
		w.control.AfterFunc(c.instance.At, c.start)
		for _, at := range c.instance.Again {
			w.control.AfterFunc(at, c.again)
		}
	}
	for _, e := range w.plan.Events {
		w.control.AfterFunc(e.At, func() { w.happen(e) })
	}
	w.control.AfterFunc(w.plan.Clear, w.finish)
}

// site gives the site of that name.
func (w *World) site(n name) *site {
	for _, s := range w.sites {
		if s.name == n {
			return s
		}
	}
	return nil
}

var errDown = errors.New("the site is down")

// ask has a task of a site ask its node, and waits for the answer: nobody answers where the
// site is down, or dies meanwhile.
func (w *World) ask(at name, what string, f func(context.Context, *node.Node) error) error {
	s := w.site(at)
	if s.life == nil || s.life.node == nil {
		return errDown
	}
	l, n := s.life, s.life.node
	began, slow := w.tasks.Elapsed(), s.slow()
	answer := task.NewAnswer[error](w.control)
	l.by.Go(func() {
		ctx, cancel := l.by.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		answer.Give(f(ctx, n))
		w.bounded(at, n)
	})
	ctx, cancel := w.control.WithTimeout(context.Background(), 2*askTimeout)
	defer cancel()
	err, _, late := answer.Wait(ctx)
	switch {
	case late == nil:
		w.journal.note(string(at), "answers", "%s: %v", what, err)
		if took := w.tasks.Elapsed() - began; took >= askTimeout && s.life == l && l.node != nil && !l.failing && !slow && !s.slow() && s.slowest < began {
			w.breaks("6", "%s answers only when nobody waits any more, after %v: %s", at, took, what)
		}
		return err
	case s.life == l && !l.failing:
		w.breaks("6", "%s does not answer: %s", at, what)
	}
	return errDown
}

// bounded holds what waits in a node's memory to its bound. A process thread tells what it holds when
// its turn is over: while a read takes long that may be of before, and nothing is said of all together.
func (w *World) bounded(at name, n *node.Node) {
	stats, err := n.Stats()
	if err != nil {
		return
	}
	together := [][]execute.ProcessStats{stats.Processes}
	if w.tasks.Elapsed() < w.site(at).slowest {
		together = slices.Collect(slices.Chunk(stats.Processes, 1))
	}
	for _, processes := range together {
		if over := overBound(w.plan.Cache, processes); over != "" {
			w.breaks("10", "%s has %s", at, over)
		}
	}
}

// overBound says what more waits in memory than may. No process has more than the cache, or one. One
// that takes on another while the cache is full is down to its share then, of as many as have
// something of it: at least itself and those that have taken on none since. So of the processes, by
// who has taken on one last, the n-th has no more than the n-th part, or all together are within the cache.
func overBound(cache int, processes []execute.ProcessStats) string {
	waiting, most := 0, 0
	for i := range processes {
		p := &processes[i]
		if p.Waiting > max(1, cache) {
			return fmt.Sprintf("%d entries of %s in memory that wait, where %d may", p.Waiting, p.Process, max(1, cache))
		}
		waiting, most = waiting+p.Waiting, most+max(1, cache/(i+1))
	}
	if waiting > most {
		return fmt.Sprintf("%d entries in memory that wait, where %d may", waiting, most)
	}
	return ""
}

// sleep lets time pass for a task that is at no site.
func (w *World) sleep(d time.Duration) { _ = task.Sleep(context.Background(), w.control, d) }
