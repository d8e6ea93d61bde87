package world

import (
	"slices"
	"time"
)

// Shrink gives the smallest plan that it finds that still fails: first without events, then
// without instances, processes and sites, then with what is left made plainer; and again, as
// long as that makes it smaller. It asks at most so often.
func Shrink(p Plan, asks int, fails func(Plan) bool) Plan {
	s := &shrinking{plan: p, asks: asks, fails: fails}
	for before := -1; before != s.size() && s.asks > 0; {
		before = s.size()
		s.drop(func(p *Plan) int { return len(p.Events) }, withoutEvent)
		s.drop(func(p *Plan) int { return len(p.Instances) }, withoutInstance)
		s.drop(func(p *Plan) int { return len(p.Processes) }, withoutProcess)
		s.drop(func(p *Plan) int { return len(p.Sites) }, withoutSite)
		s.drop(func(p *Plan) int { return len(p.Before) }, withoutBefore)
		s.plainer()
	}
	return s.plan
}

// shrinking is a plan that is being made smaller.
type shrinking struct {
	plan  Plan
	asks  int
	fails func(Plan) bool
}

// size is what is to become less.
func (s *shrinking) size() int {
	n := len(s.plan.Events) + len(s.plan.Instances) + len(s.plan.Processes) + len(s.plan.Sites) + len(s.plan.Before)
	for _, i := range s.plan.Instances {
		n += len(i.Again)
	}
	return n
}

// chances is how many seeds a smaller plan has. What is left out changes all that is drawn while
// the rest runs, and what must meet for it to fail may pass each other by a hair.
const chances = 16

// try takes a plan that fails as well.
func (s *shrinking) try(p Plan, possible bool) bool {
	for chance := 0; possible && chance < chances && s.asks > 0; chance++ {
		s.asks--
		if s.fails(p) {
			s.plan = p
			return true
		}
		p.Seed++
	}
	return false
}

// drop leaves out one part after the other, at first many at once.
func (s *shrinking) drop(count func(*Plan) int, without func(Plan, int) (Plan, bool)) {
	for many := count(&s.plan) / 2; many >= 1; many /= 2 {
		for at := count(&s.plan) - many; at >= 0; at -= many {
			p, possible := s.plan, true
			for i := range many {
				if possible {
					p, possible = without(p, at+many-1-i)
				}
			}
			s.try(p, possible)
			at = min(at, count(&s.plan))
		}
	}
}

func withoutEvent(p Plan, i int) (Plan, bool) {
	p.Events = without(p.Events, i)
	return p, true
}

func without[T any](all []T, i int) []T { return slices.Delete(slices.Clone(all), i, i+1) }

// withoutInstance also leaves out what is done with it.
func withoutInstance(p Plan, i int) (Plan, bool) {
	if len(p.Instances) == 1 {
		return p, false
	}
	p.Instances = without(p.Instances, i)
	var events []Event
	for _, e := range p.Events {
		switch of := e.Do == Ask || e.Do == Terminate || e.Do == Retry || e.Do == Hand || e.Do == Restart || e.Do == Signal || e.Do == Wrong; {
		case of && e.Instance == i:
			continue
		case of && e.Instance > i:
			e.Instance--
		}
		events = append(events, e)
	}
	p.Events = events
	return p, true
}

// withoutProcess is possible where it has no instance.
func withoutProcess(p Plan, i int) (Plan, bool) {
	if slices.ContainsFunc(p.Instances, func(x Instance) bool { return x.Process == i }) || slices.ContainsFunc(p.Events, func(e Event) bool { return e.Do == Retire && e.Number == i }) {
		return p, false
	}
	p.Events = slices.Clone(p.Events)
	for j := range p.Events {
		if e := &p.Events[j]; e.Do == Retire && e.Number > i {
			e.Number--
		}
	}
	p.Processes, p.Instances = without(p.Processes, i), slices.Clone(p.Instances)
	for j := range p.Instances {
		if p.Instances[j].Process > i {
			p.Instances[j].Process--
		}
	}
	return p, true
}

// withoutSite leaves out what happens there; processes are drawn for the sites that are left.
func withoutSite(p Plan, i int) (Plan, bool) {
	if len(p.Sites) <= 2 {
		return p, false
	}
	gone := p.Sites[i]
	p.Sites = without(p.Sites, i)
	p.Before = slices.DeleteFunc(slices.Clone(p.Before), func(n name) bool { return n == gone })
	p.Events = slices.DeleteFunc(slices.Clone(p.Events), func(e Event) bool { return e.Site == gone || e.Peer == gone })
	p.Processes = slices.Clone(p.Processes)
	for j := range p.Processes {
		x := &p.Processes[j]
		x.Sites = slices.DeleteFunc(slices.Clone(x.Sites), func(n name) bool { return n == gone })
		if x.Through == gone {
			x.Through = p.Sites[0]
		}
		if len(x.Sites) == 0 {
			return p, false
		}
	}
	return p, true
}

// plainer takes away what makes a world hard to follow.
func (s *shrinking) plainer() {
	for _, change := range []func(*Plan) bool{
		func(p *Plan) bool { was := p.Broker; p.Broker, p.Apart = false, false; return was },
		func(p *Plan) bool { was := p.Apart; p.Apart = false; return was },
		func(p *Plan) bool { was := p.Behind; p.Behind = lag{}; return was != lag{} },
		func(p *Plan) bool { was := p.BothCall; p.BothCall = false; return was },
		func(p *Plan) bool { was := p.Narrow; p.Narrow = false; return was },
		func(p *Plan) bool { was := p.Cache; p.Cache = 1000; return was != 1000 },
		func(p *Plan) bool {
			was := p.Clear
			for _, e := range p.Events {
				p.Clear = max(min(p.Clear, time.Minute), e.At+time.Second)
			}
			return p.Clear < was
		},
	} {
		p := s.plan
		s.try(p, change(&p))
	}
	for i := range s.plan.Processes {
		p := s.plan
		p.Processes = slices.Clone(p.Processes)
		p.Processes[i].Large = false
		s.try(p, s.plan.Processes[i].Large)
	}
	for i := range s.plan.Instances {
		p := s.plan
		p.Instances = slices.Clone(p.Instances)
		p.Instances[i].Again = nil
		s.try(p, len(s.plan.Instances[i].Again) > 0)
	}
}
