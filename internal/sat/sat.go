// Package sat decides whether clauses can hold together, within an effort that its caller
// gives. It is a solver of the usual kind (conflict-driven clause learning: Marques-Silva,
// Sakallah 1996; two watched literals and decaying activities: Moskewicz et al. 2001; as
// MiniSat has them: Eén, Sörensson 2003), small, because what asks here is small.
//
// The same clauses and effort give the same answer on every machine: effort is counted in
// what was learned, and not in time. The package is pure.
package sat

import "slices"

// Answer is what is known of some clauses.
type Answer uint8

// The answers.
const (
	Undecided   Answer = iota // not within the effort
	Satisfiable               // there is a model
	Never                     // they cannot hold together
)

// Result is an answer with what it took.
type Result struct {
	Answer  Answer
	Model   []bool // of variable i+1 at i; only if Satisfiable
	Learned int    // clauses that were learned, one for each conflict
}

// Solve looks for a model of the clauses, literals as in DIMACS (-3 is the negation of
// variable 3) over the variables 1 to vars. It gives up when it has learned more than
// effort clauses. No clause may have a literal twice, or beside its negation.
func Solve(clauses [][]int, vars, effort int) Result {
	s := newSolver(vars)
	for _, c := range clauses {
		if !s.add(c) {
			return Result{Answer: Never}
		}
	}
	return s.solve(effort)
}

// literal is twice its variable (from 0), and one more if it is negated.
type literal int32

func literalOf(dimacs int) literal {
	if dimacs < 0 {
		return literal(-dimacs-1)<<1 | 1
	}
	return literal(dimacs-1) << 1
}

func (l literal) variable() int32 { return int32(l >> 1) }
func (l literal) not() literal    { return l ^ 1 }

// Values of a literal.
const (
	unknown int8 = iota
	yes
	no
)

// none is no clause, as the reason of a decision or a fact.
const none = int32(-1)

// watch is a clause that is looked at when the watched literal becomes FALSE, unless the
// blocker, another literal of it, is TRUE.
type watch struct {
	clause  int32
	blocker literal
}

// restartAfter is how many conflicts the shortest run has (times Luby's sequence).
const restartAfter = 64

// decay is by how much a conflict counts more than the one before it.
const decay = 1 / 0.95

type solver struct {
	clauses  [][]literal // of two and more literals; the first two are watched
	watches  [][]watch   // by literal
	value    []int8      // by literal
	level    []int32     // by variable: of the decision that it follows from
	reason   []int32     // by variable: the clause that made it so, or none
	phase    []bool      // by variable: the value that it had last
	seen     []bool      // by variable; while a conflict is analysed
	trail    []literal   // what is TRUE, in the order in which it became so
	limits   []int       // by level: how long the trail was before its decision
	done     int         // of the trail: what follows from that is found
	order    queue       // variables by activity
	increase float64
	result   Result
}

func newSolver(vars int) *solver {
	return &solver{
		watches: make([][]watch, 2*vars), value: make([]int8, 2*vars), level: make([]int32, vars), reason: make([]int32, vars),
		phase: make([]bool, vars), seen: make([]bool, vars), order: newQueue(vars), increase: 1,
	}
}

// add takes a clause; FALSE: it contradicts what is a fact.
func (s *solver) add(dimacs []int) bool {
	c := make([]literal, len(dimacs))
	for i, d := range dimacs {
		c[i] = literalOf(d)
	}
	switch len(c) {
	case 0:
		return false
	case 1:
		if s.value[c[0]] == unknown {
			s.set(c[0], none)
		}
		return s.value[c[0]] == yes
	}
	s.watch(c)
	return true
}

func (s *solver) watch(c []literal) int32 {
	at := int32(len(s.clauses))
	s.clauses = append(s.clauses, c)
	s.watches[c[0]] = append(s.watches[c[0]], watch{at, c[1]})
	s.watches[c[1]] = append(s.watches[c[1]], watch{at, c[0]})
	return at
}

func (s *solver) set(l literal, reason int32) {
	v := l.variable()
	s.value[l], s.value[l.not()] = yes, no
	s.level[v], s.reason[v] = int32(len(s.limits)), reason
	s.trail = append(s.trail, l)
}

func (s *solver) solve(effort int) Result {
	for run := 1; ; run++ {
		if s.run(effort, restartAfter*luby(run)) {
			return s.result
		}
		s.back(0)
	}
}

// run searches until there is an answer, or so many conflicts have been.
func (s *solver) run(effort, conflicts int) bool {
	for {
		conflict := s.propagate()
		switch {
		case conflict == none:
			v, ok := s.order.next(func(v int32) bool { return s.value[v<<1] == unknown })
			if !ok {
				s.result.Answer, s.result.Model = Satisfiable, s.model()
				return true
			}
			s.limits = append(s.limits, len(s.trail))
			l := literal(v) << 1
			if !s.phase[v] {
				l = l.not()
			}
			s.set(l, none)
			continue
		case len(s.limits) == 0:
			s.result.Answer = Never
			return true
		}
		if s.result.Learned++; s.result.Learned > effort {
			return true
		}
		s.learn(conflict)
		if conflicts--; conflicts == 0 {
			return false
		}
	}
}

func (s *solver) model() []bool {
	m := make([]bool, len(s.level))
	for v := range m {
		m[v] = s.value[v<<1] == yes
	}
	return m
}

// propagate finds what follows, and gives a clause in which all is FALSE, or none.
func (s *solver) propagate() int32 {
	for ; s.done < len(s.trail); s.done++ {
		falsified := s.trail[s.done].not()
		list := s.watches[falsified]
		kept := list[:0]
		for i, w := range list {
			if s.value[w.blocker] == yes {
				kept = append(kept, w)
				continue
			}
			c := s.clauses[w.clause]
			if c[0] == falsified {
				c[0], c[1] = c[1], c[0]
			}
			if s.moveWatch(c, w.clause) {
				continue
			}
			kept = append(kept, watch{w.clause, c[0]})
			switch s.value[c[0]] {
			case unknown:
				s.set(c[0], w.clause)
			case no:
				s.watches[falsified] = append(kept, list[i+1:]...)
				return w.clause
			}
		}
		s.watches[falsified] = kept
	}
	return none
}

// moveWatch watches another literal of c than the second, which became FALSE, if one is
// not FALSE; where the first is TRUE nothing has to be done.
func (s *solver) moveWatch(c []literal, at int32) bool {
	if s.value[c[0]] == yes {
		return false
	}
	for k := 2; k < len(c); k++ {
		if s.value[c[k]] != no {
			c[1], c[k] = c[k], c[1]
			s.watches[c[1]] = append(s.watches[c[1]], watch{at, c[0]})
			return true
		}
	}
	return false
}

// learn finds what the conflict teaches (the first unique implication point), goes back to
// where it would have mattered, and goes on from it.
func (s *solver) learn(conflict int32) {
	learned := []literal{0} // the first place is for the literal that follows from the others
	here, open := int32(len(s.limits)), 0
	at := len(s.trail) - 1
	for clause := conflict; ; {
		for _, l := range s.clauses[clause] {
			v := l.variable()
			if s.seen[v] || s.level[v] == 0 || s.value[l] == yes {
				continue
			}
			s.seen[v] = true
			s.bump(v)
			if s.level[v] == here {
				open++
			} else {
				learned = append(learned, l)
			}
		}
		for ; !s.seen[s.trail[at].variable()]; at-- {
		}
		l := s.trail[at]
		s.seen[l.variable()] = false
		at--
		if open--; open == 0 {
			learned[0] = l.not()
			break
		}
		clause = s.reason[l.variable()]
	}
	s.increase *= decay
	to := int32(0)
	for i, l := range learned[1:] {
		s.seen[l.variable()] = false
		if level := s.level[l.variable()]; level > to {
			to = level
			learned[1], learned[i+1] = learned[i+1], learned[1]
		}
	}
	s.back(int(to))
	if len(learned) == 1 {
		s.set(learned[0], none)
		return
	}
	s.set(learned[0], s.watch(learned))
}

func (s *solver) bump(v int32) {
	const most = 1e100
	if s.order.raise(v, s.increase) > most {
		s.order.scale(1 / most)
		s.increase /= most
	}
}

// back takes back what was decided above a level, and what followed from it.
func (s *solver) back(level int) {
	if len(s.limits) <= level {
		return
	}
	from := s.limits[level]
	for _, l := range slices.Backward(s.trail[from:]) {
		v := l.variable()
		s.phase[v] = l&1 == 0
		s.value[l], s.value[l.not()] = unknown, unknown
		s.order.add(v)
	}
	s.trail, s.limits, s.done = s.trail[:from], s.limits[:level], from
}

// luby is the i-th number of Luby, Sinclair and Zuckerman's sequence: 1 1 2 1 1 2 4 ...
func luby(i int) int {
	for k := 1; ; k++ {
		switch {
		case i == 1<<k-1:
			return 1 << (k - 1)
		case i < 1<<k-1:
			return luby(i - (1<<(k-1) - 1))
		}
	}
}
