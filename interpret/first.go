package interpret

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/definition"
)

// firstRace is which connectors an activity begins with that does not wait for all (N14).
type firstRace struct {
	decided bool
	asked   bool
	said    []string // as the races have it; nil: it is as the run has it
	counted []*step  // whose connectors counted; none: it is skipped
	true    []*step  // control connectors that are TRUE, in the order in which they came
}

// beginsFirst says whether a step begins with the first connectors that are TRUE.
func (s *step) beginsFirst() bool {
	return s.activity != nil && s.activity.Start.Kind == definition.StartFirst
}

// forgetFirst makes a step one into which nothing has come.
func (s *step) forgetFirst() {
	s.race = firstRace{}
	for _, c := range s.in {
		c.came = false
	}
	for _, d := range s.inData {
		d.came = false
	}
}

// resolved says whether nothing more is waited for.
func (s *step) resolved() bool {
	if s.beginsFirst() {
		return s.race.decided
	}
	return s.unresolved == 0
}

// firsts looks, once a step has ended, at what it leads to that may begin without the others.
func (g *graph) firsts(ended *step) {
	seen := map[*step]bool{}
	look := func(s *step) {
		if !s.beginsFirst() || seen[s] {
			return
		}
		seen[s] = true
		g.counts(s, ended)
	}
	for _, c := range ended.out {
		look(c.to)
	}
	for _, d := range ended.outData {
		look(d.to)
	}
}

// counts takes that all connectors of one step into another have come.
func (g *graph) counts(s, from *step) {
	r := &s.race
	if r.decided {
		return
	}
	if !r.asked {
		r.asked, r.said = true, g.ask(s, s.at).Counted
	}
	for _, c := range s.in {
		if c.from == from {
			if c.came = true; c.truth {
				r.true = append(r.true, from)
			}
		}
	}
	for _, d := range s.inData {
		d.came = d.came || d.from == from
	}
	if counted, decided := g.first(s); decided {
		r.decided, r.counted = true, counted
		g.ready = append(g.ready, s)
	}
}

// first says which connectors a step begins with, by what has come of it; decided without any: it is skipped.
func (g *graph) first(s *step) (counted []*step, decided bool) {
	k, r := s.activity.Start.N, &s.race
	dead := 0
	for _, c := range s.in {
		if c.came && !c.truth {
			dead++
		}
	}
	switch {
	case dead > len(s.in)-k:
		return nil, true
	case r.said != nil:
		return g.asSaid(s, r.said)
	case len(r.true) < k:
		return nil, false
	}
	counted = slices.Clone(r.true[:k])
	for _, d := range s.inData {
		switch {
		case s.follows(d.from):
		case d.came:
			counted = append(counted, d.from)
		case d.from == g.source:
			return nil, false
		}
	}
	return counted, true
}

// asSaid finds what the races say: it waits for all of it, and for the data of source, which are always there.
func (g *graph) asSaid(s *step, names []string) (counted []*step, decided bool) {
	for _, name := range names {
		var of *step
		for _, c := range s.in {
			if c.from.name() == name && c.came && c.truth {
				of = c.from
			}
		}
		for _, d := range s.inData {
			if d.from.name() == name && d.came && !s.follows(d.from) {
				of = d.from
			}
		}
		if of == nil {
			return nil, false
		}
		counted = append(counted, of)
	}
	for _, d := range s.inData {
		if d.from == g.source && !s.follows(d.from) && !slices.Contains(counted, d.from) {
			if !d.came {
				return nil, false
			}
			counted = append(counted, d.from)
		}
	}
	return counted, true
}

// follows says whether a control connector leads from another step to this one.
func (s *step) follows(before *step) bool {
	return slices.ContainsFunc(s.in, func(c *control) bool { return c.from == before })
}

func (s *step) name() string {
	if s.activity == nil {
		return source // sink leads nowhere
	}
	return s.activity.Name
}

// unbegun says of what never began as the races have it why it cannot have.
func (g *graph) unbegun() {
	for _, s := range g.steps {
		if r := &s.race; s.beginsFirst() && len(r.said) > 0 && !r.decided && s.unresolved == 0 {
			names := make([]string, len(r.true))
			for i, of := range r.true {
				names[i] = of.name()
			}
			g.cannot(s, "it cannot have begun with %s: TRUE are the connectors of %s", strings.Join(r.said, ", "), orNothing(names))
		}
	}
}

// falseFirst says why an activity cannot have begun with these, or nothing.
func falseFirst(p *definition.Process, a *definition.Activity, counted []string) string {
	if a.Start.Kind != definition.StartFirst {
		return fmt.Sprintf("%s waits for all that leads to it: write `start: first` at it, or remove this", a.Name)
	}
	g, controls := graphOf(&p.Graph, a), 0
	for i, name := range counted {
		control := slices.ContainsFunc(g.Control, func(k *definition.Control) bool { return k.Source == name && k.Target == a.Name })
		data := slices.ContainsFunc(g.Data, func(d *definition.Data) bool { return d.Source == name && d.Target == a.Name })
		switch {
		case !control && !data:
			return fmt.Sprintf("no connector leads from %s to %s", name, a.Name)
		case slices.Contains(counted[:i], name):
			return name + " is there twice: remove one"
		case control:
			controls++
		}
	}
	if controls != a.Start.N {
		return fmt.Sprintf("%s begins with %d of the activities before it: name as many", a.Name, a.Start.N)
	}
	return ""
}

// graphOf is the graph that has an activity.
func graphOf(g *definition.Graph, a *definition.Activity) *definition.Graph {
	if slices.Contains(g.Activities, a) {
		return g
	}
	for _, b := range g.Activities {
		if b.Block != nil {
			if inner := graphOf(b.Block, a); inner != nil {
				return inner
			}
		}
	}
	return nil
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
