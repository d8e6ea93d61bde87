package definition

import (
	"fmt"

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
	var premises []premise
	var exit *condition.Claim
	if s.Words() == 0 { // else it may end without these
		premises, exit = c.premises(s), c.claim(s, s.Exit)
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
		if claims[i] == nil {
			continue
		}
		if why, remedy, never := c.excluded(s, claims[i], premises); never {
			at := c.Control[e]
			c.warn(at.Condition.Pos, codeNeverTrue, fmt.Sprintf("`%s` can never be TRUE: %s", at.written(), why), remedy+", or remove the connector")
			c.never(e)
		}
	}
	c.neverOtherwise(s, claims, premises)
}

// excluded says why a condition on the output of s is never TRUE, if it is not.
func (c *comparison) excluded(s *step, claim *condition.Claim, premises []premise) (why, remedy string, never bool) {
	if claim.Never() {
		return fmt.Sprintf("no output of %s fulfils it", s.Name), "correct the condition", true
	}
	for _, p := range premises {
		if c.contradict(p.claim, claim) {
			return p.why, p.remedy, true
		}
	}
	return "", "", false
}

// neverOtherwise warns of an `otherwise` to which the conditions beside it leave nothing.
func (c *comparison) neverOtherwise(s *step, claims []*condition.Claim, premises []premise) {
	if s.otherwise == nil {
		return
	}
	var holding, others []condition.Claim
	size, last := 0, 0
	for _, p := range premises {
		holding = append(holding, *p.claim)
		size += p.claim.Size()
	}
	for i, e := range s.out {
		switch {
		case c.Control[e].Otherwise:
			last = e
		case claims[i] == nil: // always TRUE, or not known
			return
		default:
			others = append(others, *claims[i])
			size += claims[i].Size()
		}
	}
	if !c.spend(comparePart*size) || !condition.Contradict(holding, others) {
		return
	}
	c.warn(s.otherwise.Pos, codeOtherwiseNever,
		fmt.Sprintf("this `otherwise` is always FALSE: whenever %s ends, one of the other conditions out of it is TRUE", s.Name),
		"correct the conditions, or remove this connector")
	c.never(last)
}
