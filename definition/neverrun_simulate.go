package definition

import (
	"fmqm/condition"
)

// simulation runs a graph for 64 outcomes of its conditions at once, one in each bit
// of a word. Its random numbers are its own and always the same.
type simulation struct {
	*runGraph
	seed   uint64
	round  int
	free   []uint64   // by edge: the condition
	edge   []uint64   // by edge: whether it is TRUE
	rounds [][]uint64 // by round, by vertex: whether it runs
}

const maxRare = 10 // one condition in 1,024

func newSimulation(g *runGraph) *simulation {
	return &simulation{runGraph: g, free: make([]uint64, len(g.edges)), edge: make([]uint64, len(g.edges))}
}

// next is SplitMix64 (Steele, Lea, Flood 2014).
func (s *simulation) next() uint64 {
	s.seed += 0x9E3779B97F4A7C15
	z := s.seed
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// rare gives a word in which a bit is set once in 2^n.
func (s *simulation) rare(n int) uint64 {
	word := s.next()
	for range n - 1 {
		word &= s.next()
	}
	return word
}

// random simulates 64 random outcomes. What is deep in a process runs only if long
// chains of conditions are TRUE, or FALSE where they lead elsewhere; so one condition
// in 2^n is FALSE, or TRUE, with another n in each round.
func (s *simulation) random() {
	n := s.round/2%maxRare + 1
	flip := -uint64(s.round % 2)
	for e := range s.free {
		s.free[e] = s.rare(n) ^ flip
	}
	s.run()
}

// around simulates one outcome, given by edge, and 63 that differ from it: 15 of them
// in one condition of 16, 16 in one of 64, 16 in one of 256 and 16 in one of 1,024.
func (s *simulation) around(outcome []bool) {
	for e, value := range outcome {
		flip := s.rare(4)
		for group := uint(16); group < 64; group += 16 {
			flip &= s.rare(2) | (1<<group - 1)
		}
		s.free[e] = flip &^ 1
		if value {
			s.free[e] = ^s.free[e]
		}
	}
	s.run()
}

// run works out edges and vertices from the conditions.
func (s *simulation) run() {
	s.round++
	runs := make([]uint64, len(s.vertices))
	for v := range s.vertices {
		in := &s.vertices[v]
		runs[v] = ^uint64(0)
		if len(in.in) > 0 {
			runs[v] = s.eval(&in.start, in.in)
		}
		s.leave(in, runs[v])
	}
	s.rounds = append(s.rounds, runs)
}

// leave sets the edges out of a vertex.
func (s *simulation) leave(v *runVertex, runs uint64) {
	others := uint64(0)
	for _, e := range v.out {
		s.exclude(e)
		switch s.edges[e].kind {
		case edgeAlways:
			s.edge[e] = runs
		case edgeFree:
			s.edge[e] = runs & s.free[e]
		case edgeNever:
			s.edge[e] = 0
		case edgeOtherwise, edgeAside:
			continue
		}
		others |= s.edge[e]
	}
	rest := uint64(0)
	for _, e := range v.out {
		switch s.edges[e].kind {
		case edgeOtherwise:
			s.edge[e] = runs &^ others
			rest = s.edge[e]
		case edgeAside:
			if s.edges[e].sure {
				s.edge[e] = runs
			} else if s.edge[e] = runs & s.free[e]; s.edges[e].alone {
				s.edge[e] &^= rest
			}
		default:
		}
	}
}

// exclude makes FALSE what an edge and those that exclude it may not both be.
func (s *simulation) exclude(e int) {
	for _, other := range s.edges[e].excludes {
		if both := s.free[e] & s.free[other]; both != 0 {
			first := s.next()
			s.free[e] &^= both & first
			s.free[other] &^= both &^ first
		}
	}
}

func (s *simulation) eval(l *condition.Logic, in []int) uint64 {
	switch l.Op {
	case condition.LogicVar:
		return s.edge[in[l.Var]]
	case condition.LogicNot:
		return ^s.eval(&l.Args[0], in)
	case condition.LogicAnd:
		word := ^uint64(0)
		for i := range l.Args {
			word &= s.eval(&l.Args[i], in)
		}
		return word
	case condition.LogicOr:
		word := uint64(0)
		for i := range l.Args {
			word |= s.eval(&l.Args[i], in)
		}
		return word
	case condition.LogicAtLeast:
		var count counter
		for i := range l.Args {
			count.add(s.eval(&l.Args[i], in))
		}
		return count.atLeast(l.N)
	case condition.LogicRan, condition.LogicSkipped, condition.LogicFailed: // see asking
	}
	return 0
}

// counter counts, for each of 64 bits apart, in how many words the bit is set. Word i
// of it holds the digits of value 2^i.
type counter []uint64

func (c *counter) add(word uint64) {
	for i := range *c {
		(*c)[i], word = (*c)[i]^word, (*c)[i]&word
	}
	if word != 0 {
		*c = append(*c, word)
	}
}

// atLeast gives the bits whose count is n or more.
func (c counter) atLeast(n int) uint64 {
	if n <= 0 {
		return ^uint64(0)
	}
	if n >= 1<<len(c) {
		return 0
	}
	greater, equal := uint64(0), ^uint64(0)
	for i := len(c) - 1; i >= 0; i-- {
		if n&(1<<i) == 0 {
			greater |= equal & c[i]
			equal &^= c[i]
		} else {
			equal &= c[i]
		}
	}
	return greater | equal
}

// last gives what ran in the last round, by vertex.
func (s *simulation) last() []uint64 { return s.rounds[len(s.rounds)-1] }

// ran gives the outcomes of a round in which a vertex ran; -1 always runs.
func (s *simulation) ran(round, vertex int) uint64 {
	if vertex < 0 {
		return ^uint64(0)
	}
	return s.rounds[round][vertex]
}

// meet answers the undecided questions from one round: those that are so get the round
// as their answer, the others are returned.
func (s *simulation) meet(round int, chains []anyOf, questions []meeting, undecided, answers []int) []int {
	words := make([]uint64, len(chains))
	for c, chain := range chains {
		words[c] = s.ran(round, chain.vertex)
		if chain.before >= 0 {
			words[c] |= words[chain.before]
		}
	}
	var rest []int
	for _, q := range undecided {
		others := uint64(0)
		for _, c := range questions[q].others {
			others |= words[c]
		}
		if s.ran(round, questions[q].vertex)&others != 0 {
			answers[q] = round
		} else {
			rest = append(rest, q)
		}
	}
	return rest
}
