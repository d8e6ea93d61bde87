package definition

import (
	"fmt"

	"fmqm/condition"

	"fmqm/container"
)

// checkSources warns where two data connectors set one member of a target and both
// sources can run in one instance: then only the one listed last counts. The feedback
// of a loop is meant to replace what came before and is none of them. Each connector
// is warned of once, for one member and one earlier connector. Where not all conditions
// were compared, both only may run.
//
// Where that is declared as meant nothing is said.
func (d *draft) checkSources(decided *decision, at, alone map[string]int, compared bool) {
	s := sources{draft: d, at: at, alone: alone, of: map[memberOf]*setters{}, can: "can"}
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
			s.warnOf(asked, decided.sim, round)
		}
	}
	for _, meant := range d.allMeant() {
		meant.unsure = meant.unsure || !sure
	}
}

// memberOf is a member of a target's container, by its path. Beside is of a target that begins with one
// connector: then it is what is set beside that, by sources that lead to it with data only.
type memberOf struct {
	target, path string
	beside       bool
}

// setters are the data connectors so far that set a member, or something inside it,
// with the ends of their chains.
type setters struct {
	whole, inside           []setting
	wholeChain, insideChain int // indexes into sources.chains; -1: none
}

// setting is a data connector, by its index in the graph, that sets a member when a vertex has run.
type setting struct{ connector, vertex int }

// sources gathers for each data connector which earlier ones set what it sets.
type sources struct {
	*draft
	at        map[string]int // vertices by name; -1: the process's input, always there
	alone     map[string]int // of those that can end without an output, where they end with one
	of        map[memberOf]*setters
	chains    []anyOf
	questions []meeting
	asked     []asked // by question
	can       string  // both run
}

// asked is what a question is about: a data connector, and the members that it sets with
// or without a declaration that the last one wins, from the output or from the engine's words.
type asked struct {
	connector int
	meant     *lastWins // nil: those without
	vertex    int       // that sets them
}

// setter is the vertex that a mapping is of: at a deadline, and after an error, only words are set.
func (s *sources) setter(c *Data, m Mapping) int {
	if v, ok := s.alone[c.Source]; ok && !m.RC && (m.Word == 0 || m.Word == condition.WordBy) && !m.OfWords {
		return v
	}
	return s.at[c.Source]
}

func (s *sources) setters(target string, path container.Path, beside bool) *setters {
	key := memberOf{target, fmt.Sprint(path), beside}
	if s.of[key] == nil {
		s.of[key] = &setters{wholeChain: -1, insideChain: -1}
	}
	return s.of[key]
}

// ask adds the questions whether connector i can meet an earlier one, and then the
// connector itself to what it sets.
func (s *sources) ask(i int) {
	c := s.Data[i]
	others := map[asked][]int{}
	var order []asked
	for _, m := range c.Mappings {
		if m.Append { // it takes the place of nothing
			continue
		}
		meant := s.meant(c.Target, m.To)
		s.overlapping(c, m, func(_ []setting, chain int) {
			if meant == nil {
				s.meantInside(c.Target, m.To)
			}
			about := asked{i, meant, s.setter(c, m)}
			if others[about] == nil {
				order = append(order, about)
			}
			others[about] = append(others[about], chain)
		})
	}
	for _, about := range order {
		s.questions = append(s.questions, meeting{vertex: about.vertex, others: others[about]})
		s.asked = append(s.asked, about)
	}
	for _, m := range c.Mappings {
		s.set(c.Target, m.To, setting{i, s.setter(c, m)}, false)
		if s.oneCounts(c.Target) && !s.leads(c.Source, c.Target) {
			s.set(c.Target, m.To, setting{i, s.setter(c, m)}, true)
		}
	}
}

// set adds that a connector sets a member.
func (s *sources) set(target string, to container.Path, set setting, beside bool) {
	for n := 1; n < len(to); n++ {
		outer := s.setters(target, to[:n], beside)
		s.extend(&outer.inside, &outer.insideChain, set)
	}
	self := s.setters(target, to, beside)
	s.extend(&self.whole, &self.wholeChain, set)
}

func (s *sources) extend(all *[]setting, chain *int, set setting) {
	*all = append(*all, set)
	s.chains = append(s.chains, anyOf{before: *chain, vertex: set.vertex})
	*chain = len(s.chains) - 1
}

// overlapping gives the lists of earlier connectors that set what m sets: the member
// itself, what it is inside of, or what is inside of it.
func (s *sources) overlapping(c *Data, m Mapping, yield func(all []setting, chain int)) {
	beside := s.oneCounts(c.Target) && s.leads(c.Source, c.Target)
	for n := 1; n <= len(m.To); n++ {
		if outer := s.setters(c.Target, m.To[:n], beside); outer.wholeChain >= 0 {
			yield(outer.whole, outer.wholeChain)
		}
	}
	if self := s.setters(c.Target, m.To, beside); self.insideChain >= 0 {
		yield(self.inside, self.insideChain)
	}
}

// warnOf finds out which earlier connector meets the one that was asked about in a round, and warns.
func (s *sources) warnOf(about asked, sim *simulation, round int) {
	c := s.Data[about.connector]
	ran := sim.ran(round, about.vertex)
	for _, m := range c.Mappings {
		if m.Append || s.meant(c.Target, m.To) != nil || s.setter(c, m) != about.vertex {
			continue
		}
		var first *Data
		s.overlapping(c, m, func(all []setting, _ int) {
			for _, set := range all {
				if first == nil && set.connector < about.connector && ran&sim.ran(round, set.vertex) != 0 {
					first = s.Data[set.connector]
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
