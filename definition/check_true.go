package definition

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/condition"
)

// premise is what always holds when an activity ends, and so for every condition out of it.
type premise struct {
	claim       *condition.Claim
	why, remedy string
}

// premises gives what holds when s ends by itself, but for its exit condition.
func (c *comparison) premises(s *step) []premise {
	p := premise{why: fmt.Sprintf("%s is empty, so its _RC is 0", s.Name), remedy: "correct the condition"}
	switch {
	case s.Empty:
	case s.Wait != nil:
		p.why = fmt.Sprintf("%s is a wait, so its _RC is 0", s.Name)
	case s.Block != nil:
		p.why = fmt.Sprintf("%s is a block, so its _RC is 0", s.Name)
	case s.Receive != nil, s.Send != nil:
		p.why = fmt.Sprintf("%s runs no program, so its _RC is 0", s.Name)
	case s.Child != nil:
		p.why = fmt.Sprintf("%s is a subprocess, so its _RC is 0", s.Name)
	case s.OnRC == OnRCError:
		p.why = fmt.Sprintf("with `on_rc: error` (line %d) %s ends only with _RC 0", s.onRCAt.Line, s.Name)
		p.remedy = fmt.Sprintf("write `on_rc: continue` at %s if its return code is data", s.Name)
	default:
		return nil
	}
	if p.claim = c.claim(s, &Condition{Written: condition.RC + " == 0"}); p.claim == nil {
		return nil
	}
	return []premise{p}
}

// neverTrue warns of what is never TRUE when an activity ends: its exit condition, which it
// then never does; a condition out of it, by itself or because the exit condition excludes
// it; and an `otherwise` beside which one of the others always is. In the graph they are so.
func (c *comparison) neverTrue(s *step, claims []*condition.Claim) {
	if s.Exit == nil && len(s.out) == 0 {
		return
	}
	premises := c.eventPremise(s)
	var exit *condition.Claim
	if !s.canFail() && s.Bundle == nil { // else it may end without these
		premises, exit = append(premises, c.premises(s)...), c.claim(s, s.Exit)
	}
	if exit != nil {
		if why, remedy, never := c.excluded(s, exit, premises); never {
			c.warn(s.Exit.Pos, codeNeverTrue, fmt.Sprintf("%s can never end, because its exit condition is never TRUE: %s", s.Name, why), remedy)
			for _, e := range s.out {
				c.never(e)
			}
			return
		}
		premises = append(premises, premise{
			claim: exit, why: fmt.Sprintf("it excludes the exit condition of %s (line %d)", s.Name, s.Exit.Pos.Line), remedy: "correct one of the two conditions",
		})
	}
	for i, e := range s.out {
		if why, remedy, never := c.neverHere(s, i, claims, premises); never {
			at := c.Control[e]
			c.warn(at.place(), codeNeverTrue, fmt.Sprintf("`%s` can never be TRUE: %s", at.written(), why), remedy+", or remove the connector")
			c.never(e)
		}
	}
	c.neverOtherwise(s, claims, premises)
}

// excluded says why a condition out of s is never TRUE, if it is not.
func (c *comparison) excluded(s *step, claim *condition.Claim, premises []premise) (why, remedy string, never bool) {
	if claim.Never() {
		return fmt.Sprintf("no %s fulfils it", strings.TrimPrefix(c.given(s), "the ")), "correct the condition", true
	}
	for _, p := range premises {
		if c.contradict(p.claim, claim) {
			return p.why, p.remedy, true
		}
	}
	return "", "", false
}

// maxHiding bounds the conditions that are looked at before another one, in parts of conditions.
const maxHiding = 200

// neverHere says why the i-th connector out of s is never TRUE, if it is not: because of its
// condition, or, where the first match is taken, of what is before it.
func (c *comparison) neverHere(s *step, i int, claims []*condition.Claim, premises []premise) (why, remedy string, never bool) {
	if e := s.out[i]; c.graph.edges[e].kind == edgeNever && !c.Control[e].Otherwise {
		always := c.Control[s.out[slices.IndexFunc(s.out, func(e int) bool { return c.Control[e].kind() == edgeAlways })]]
		return fmt.Sprintf("`%s` (line %d) before it has no condition, and %s takes the first match", always.written(), always.Pos.Line, s.Name), "move it before that", true
	}
	if claims[i] == nil {
		return "", "", false
	}
	if why, remedy, never = c.excluded(s, claims[i], premises); never || !s.FirstMatch {
		return why, remedy, never
	}
	holding := slices.Concat(premises, []premise{{claim: claims[i]}})
	return fmt.Sprintf("whenever it holds one before it does, and %s takes the first match", s.Name), "move it before that", c.oneHolds(claims[:i], holding, maxHiding)
}

// oneHolds says that one of the conditions is always TRUE when all of what holds is, if they have
// no more than so many parts.
func (c *comparison) oneHolds(conditions []*condition.Claim, holding []premise, most int) bool {
	var all, some []condition.Claim
	size := 0
	for _, p := range holding {
		all = append(all, *p.claim)
		size += p.claim.Size()
	}
	for _, claim := range conditions {
		if claim != nil {
			some = append(some, *claim)
			size += claim.Size()
		}
	}
	return size <= most && c.spend(comparePart*size) && condition.Contradict(all, some)
}

// neverOtherwise warns of an `otherwise` to which the conditions beside it leave nothing.
func (c *comparison) neverOtherwise(s *step, claims []*condition.Claim, premises []premise) {
	if s.otherwise == nil {
		return
	}
	var others []*condition.Claim
	last := 0
	for i, e := range s.out {
		switch k := c.Control[e]; {
		case k.Otherwise:
			last = e
		case s == c.head && k.Condition == nil: // not beside it
		case claims[i] == nil: // always TRUE, or not known
			return
		default:
			others = append(others, claims[i])
		}
	}
	if !c.oneHolds(others, premises, maxComparing) {
		return
	}
	when, of := s.Name+" ends", "it"
	if s == c.head {
		when, of = c.owner+" begins", s.Name
	}
	c.warn(s.otherwise.Pos, codeOtherwiseNever,
		fmt.Sprintf("this `otherwise` is always FALSE: whenever %s, one of the other conditions out of %s is TRUE", when, of),
		"correct the conditions, or remove this connector")
	c.never(last)
}
