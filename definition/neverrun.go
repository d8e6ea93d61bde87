package definition

import (
	"fmqm/condition"
	"fmqm/internal/sat"
)

// Which activities can run, whatever the conditions give? Every condition counts as
// free: any connector with a condition may be TRUE or FALSE when its source ran, also
// where two have the same text or one is a literal. What remains is a boolean circuit
// over the connectors, in which an activity is a function of its start condition.
//
// The same is asked once more with what the conditions out of one activity say: which of
// them are never TRUE, and which two never both (exclusive.go).
//
// Random simulation finds nearly all that can run, and going back from the others most
// of the rest. What remains is decided exactly by a SAT solver: most of what never runs
// from what is near it, the others together: it is asked whether any of those undecided
// can run, until none can. Some graphs are too hard for that: what is undecided once the
// solver has learned what it may is said to be so.

// runGraph is a control graph as booleans.
type runGraph struct {
	vertices []runVertex // sources before targets
	edges    []runEdge
}

// runVertex is an activity. Without incoming edges it always runs.
type runVertex struct {
	in, out []int           // edges; start's variables are indexes into in
	start   condition.Logic // ignored without in
}

// runEdge is a control connector. It can be TRUE only if its source runs.
type runEdge struct {
	source   int
	kind     edgeKind
	excludes []int // edgeFree, edgeAside: others out of the same source that are never TRUE beside it
	alone    bool  // edgeAside: never TRUE beside the otherwise
	sure     bool  // edgeAside: TRUE whenever its source runs
}

type edgeKind uint8

const (
	edgeAlways    edgeKind = iota // TRUE if its source runs
	edgeFree                      // has a condition
	edgeOtherwise                 // TRUE if its source runs and all others out of it are FALSE
	edgeNever                     // never TRUE, by what its condition says, or what is before it
	edgeAside                     // like edgeFree, but no connector: what otherwise is about leaves it out. It stands behind the others
)

// decision answers for one graph.
type decision struct {
	*runGraph
	sim   *simulation
	runs  []bool // seen to run in some outcome
	never []bool // proved to run in none
	left  *effort
}

// effort says how much is tried before the solver is asked about everything. Whatever
// the first four are, the decision is the same. The last two become less with each decision.
type effort struct {
	rounds int // of random simulation
	passes int // of going back from what is undecided
	local  int // vertices near an undecided one that the solver looks at first
	near   int // vertices and edges in all formulas for one of them: a second or two
	learn  int // clauses that the solver may learn in all: some seconds' work
}

var fullEffort = effort{rounds: 80, passes: 4, local: 64, near: 50_000_000, learn: 10_000}

// decide finds out which vertices can run. Of some that may be known; nil is of none.
func decide(g *runGraph, e *effort, runs []bool) *decision {
	n := len(g.vertices)
	d := &decision{runGraph: g, sim: newSimulation(g), runs: make([]bool, n), never: make([]bool, n), left: e}
	copy(d.runs, runs)
	for range e.rounds {
		if runs != nil && len(d.undecided()) == 0 {
			break
		}
		d.sim.random()
		d.note()
	}
	for range e.passes {
		d.justify(d.undecided())
	}
	for _, v := range d.undecided() {
		if !d.looks(0) {
			break // the solver is asked about all of them
		}
		d.never[v] = d.neverLocally(v, e.local)
	}
	for d.solveRuns() {
		d.note()
	}
	return d
}

// note takes over what ran in the last round of the simulation.
func (d *decision) note() {
	for v, word := range d.sim.last() {
		if word != 0 {
			d.runs[v] = true
		}
	}
}

// looks says whether one more vertex may be looked at, which takes as much as the graph is
// large, and so much besides.
func (d *decision) looks(besides int) bool {
	d.left.near -= len(d.vertices) + len(d.edges) + besides
	return d.left.near >= 0
}

// neverLocally says whether already what is near a vertex keeps it from running. Those
// before it were asked first, so that what never runs because they do not is near.
func (d *decision) neverLocally(v, local int) bool {
	f := d.localFormula(v, local)
	f.Clause(f.runs[v])
	_, answer := d.solve(f)
	return answer == sat.Never
}

// undecided gives the vertices that were neither seen to run nor proved not to.
func (d *decision) undecided() []int {
	var all []int
	for v, runs := range d.runs {
		if !runs && !d.never[v] {
			all = append(all, v)
		}
	}
	return all
}

// solveRuns looks for an outcome in which an undecided vertex runs, and simulates it.
// Where there is none, all that is undecided never runs.
func (d *decision) solveRuns() bool {
	undecided := d.undecided()
	if len(undecided) == 0 {
		return false
	}
	f := d.formula(undecided)
	var any []int
	for _, v := range undecided {
		any = append(any, f.runs[v])
	}
	f.Clause(any...)
	outcome, answer := d.solve(f)
	switch answer {
	case sat.Never:
		for _, v := range undecided {
			d.never[v] = true
		}
		return false
	case sat.Undecided:
		return false
	case sat.Satisfiable:
	}
	d.sim.around(outcome)
	for _, v := range undecided {
		if d.sim.last()[v] != 0 {
			return true
		}
	}
	return false // the solver's outcome is none: rather no warning than a wrong one
}

// anyOf is TRUE in an outcome in which its vertex runs or its predecessor is TRUE. So
// a list of vertices that grows is a chain of them.
type anyOf struct {
	before int // index of an anyOf that comes before this one; -1: none
	vertex int // -1: always runs
}

// meeting asks whether a vertex can run in one outcome together with one of others.
type meeting struct {
	vertex int   // -1: always runs
	others []int // indexes of anyOf
}

// maxMeetings bounds how often the solver is asked for meetings. What is undecided
// then is taken as exclusive, so that it can cost a warning but not an evening.
const maxMeetings = 200

// meet gives for each question a round of the simulation in which it is so, or -1 for
// never; and whether never is certain.
func (d *decision) meet(chains []anyOf, questions []meeting) ([]int, bool) {
	rounds := make([]int, len(questions))
	undecided := make([]int, len(questions))
	for i := range questions {
		rounds[i], undecided[i] = -1, i
	}
	for r := 0; r < len(d.sim.rounds) && len(undecided) > 0; r++ {
		undecided = d.sim.meet(r, chains, questions, undecided, rounds)
	}
	for range maxMeetings {
		before := len(undecided)
		if before == 0 {
			return rounds, true
		}
		if answer := d.solveMeetings(chains, questions, undecided); answer != sat.Satisfiable {
			return rounds, answer == sat.Never
		}
		undecided = d.sim.meet(len(d.sim.rounds)-1, chains, questions, undecided, rounds)
		if len(undecided) == before {
			break // the solver's outcome is none
		}
	}
	return rounds, false
}

// solveMeetings looks for an outcome that answers one of the questions with yes, and
// simulates it.
func (d *decision) solveMeetings(chains []anyOf, questions []meeting, undecided []int) sat.Answer {
	needed := make([]bool, len(chains))
	var cone []int
	note := func(vertex int) {
		if vertex >= 0 {
			cone = append(cone, vertex)
		}
	}
	for _, q := range undecided {
		note(questions[q].vertex)
		for _, c := range questions[q].others {
			for ; c >= 0 && !needed[c]; c = chains[c].before {
				needed[c] = true
				note(chains[c].vertex)
			}
		}
	}
	f := d.formula(cone)
	literals := make([]int, len(chains))
	for c, chain := range chains {
		if !needed[c] {
			continue
		}
		literals[c] = f.ran(chain.vertex)
		if chain.before >= 0 {
			literals[c] = f.Or(literals[chain.before], literals[c])
		}
	}
	var any []int
	for _, q := range undecided {
		var others []int
		for _, c := range questions[q].others {
			others = append(others, literals[c])
		}
		any = append(any, f.And(f.ran(questions[q].vertex), f.Or(others...)))
	}
	f.Clause(any...)
	outcome, answer := d.solve(f)
	if answer == sat.Satisfiable {
		d.sim.around(outcome)
	}
	return answer
}
