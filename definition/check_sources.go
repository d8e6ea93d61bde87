package definition

import (
	"fmt"

	"fmqm/container"
)

// checkSources warns where two data connectors set one member of a target and both
// sources can run in one instance: then only the one listed last counts. The feedback
// of a loop is meant to replace what came before and is none of them. Each connector
// is warned of once, for one member and one earlier connector. Where not all conditions
// were compared, both only may run.
//
// Where that is declared as meant nothing is said.
func (d *draft) checkSources(decided *decision, at map[string]int, compared bool) {
	s := sources{draft: d, at: at, of: map[memberOf]*setters{}, can: "can"}
	if !compared {
		s.can = "may"
	}
	for i, c := range d.Data {
		if c.Source != c.Target {
			s.ask(i)
		}
	}
	rounds, sure := decided.meet(s.chains, s.questions)
	for q, round := range rounds {
		switch asked := s.asked[q]; {
		case round < 0:
		case asked.meant != nil:
			asked.meant.needed = true
		default:
			s.warnOf(asked.connector, decided.sim, round)
		}
	}
	for _, meant := range d.allMeant() {
		meant.unsure = meant.unsure || !sure
	}
}

// memberOf is a member of a target's container, by its path.
type memberOf struct{ target, path string }

// setters are the data connectors so far that set a member, or something inside it,
// with the ends of their chains.
type setters struct {
	whole, inside           []int // indexes into Process.Data
	wholeChain, insideChain int   // indexes into sources.chains; -1: none
}

// sources gathers for each data connector which earlier ones set what it sets.
type sources struct {
	*draft
	at        map[string]int // vertices by name; -1: the process's input, always there
	of        map[memberOf]*setters
	chains    []anyOf
	questions []meeting
	asked     []asked // by question
	can       string  // both run
}

// asked is what a question is about: a data connector, and the members that it sets with
// or without a declaration that the last one wins.
type asked struct {
	connector int
	meant     *lastWins // nil: those without
}

func (s *sources) setters(target string, path container.Path) *setters {
	key := memberOf{target, fmt.Sprint(path)}
	if s.of[key] == nil {
		s.of[key] = &setters{wholeChain: -1, insideChain: -1}
	}
	return s.of[key]
}

// ask adds the questions whether connector i can meet an earlier one, and then the
// connector itself to what it sets.
func (s *sources) ask(i int) {
	c := s.Data[i]
	others := map[*lastWins][]int{}
	var order []*lastWins
	for _, m := range c.Mappings {
		meant := s.meant(c.Target, m.To)
		s.overlapping(c, m, func(_ []int, chain int) {
			if meant == nil {
				s.meantInside(c.Target, m.To)
			}
			if others[meant] == nil {
				order = append(order, meant)
			}
			others[meant] = append(others[meant], chain)
		})
	}
	for _, meant := range order {
		s.questions = append(s.questions, meeting{vertex: s.at[c.Source], others: others[meant]})
		s.asked = append(s.asked, asked{i, meant})
	}
	for _, m := range c.Mappings {
		for n := 1; n < len(m.To); n++ {
			outer := s.setters(c.Target, m.To[:n])
			s.extend(&outer.inside, &outer.insideChain, i)
		}
		self := s.setters(c.Target, m.To)
		s.extend(&self.whole, &self.wholeChain, i)
	}
}

func (s *sources) extend(connectors *[]int, chain *int, i int) {
	*connectors = append(*connectors, i)
	s.chains = append(s.chains, anyOf{before: *chain, vertex: s.at[s.Data[i].Source]})
	*chain = len(s.chains) - 1
}

// overlapping gives the lists of earlier connectors that set what m sets: the member
// itself, what it is inside of, or what is inside of it.
func (s *sources) overlapping(c *Data, m Mapping, yield func(connectors []int, chain int)) {
	for n := 1; n <= len(m.To); n++ {
		if outer := s.setters(c.Target, m.To[:n]); outer.wholeChain >= 0 {
			yield(outer.whole, outer.wholeChain)
		}
	}
	if self := s.setters(c.Target, m.To); self.insideChain >= 0 {
		yield(self.inside, self.insideChain)
	}
}

// warnOf finds out which earlier connector meets connector i in a round, and warns.
func (s *sources) warnOf(i int, sim *simulation, round int) {
	c := s.Data[i]
	ran := sim.ran(round, s.at[c.Source])
	for _, m := range c.Mappings {
		if s.meant(c.Target, m.To) != nil {
			continue
		}
		var first *Data
		s.overlapping(c, m, func(connectors []int, _ int) {
			for _, j := range connectors {
				if first == nil && j < i && ran&sim.ran(round, s.at[s.Data[j].Source]) != 0 {
					first = s.Data[j]
				}
			}
		})
		if first == nil {
			continue
		}
		s.warn(m.Pos, codeTwoSources,
			fmt.Sprintf("%s of %s is also set by `%s -> %s` in line %d, and both %s run", m.Target, c.Target, first.Source, first.Target, first.Pos.Line, s.can),
			fmt.Sprintf("of the sources that ran, the one listed last wins: if you want that, write `last_wins: [%s]` at %s; otherwise map one of the two onto a separate member, or make the two exclusive",
				m.Target, s.ownerOf(c.Target)))
		return
	}
}
