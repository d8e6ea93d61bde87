package definition

import (
	"fmt"
	"slices"

	"fmqm/condition"
)

// The conditions out of one activity are evaluated over one output, for which its exit
// condition was TRUE. Where no output makes two of them TRUE, their connectors exclude each
// other: what is behind both can never run in one instance, and a join `all` of the two
// never at all. So do those of which the first match is taken. Where none makes one of them TRUE, its connector never is (check_true.go).

// The comparison of conditions is bounded, in steps of some 50 ns: more than people write,
// and a second. What is not compared does not count as exclusive.
const (
	maxComparing = 20_000_000
	readClaim    = 1_000 // to read a condition
	comparePart  = 50    // for each part of conditions that are compared
)

// comparison is of the conditions out of each activity with one another.
type comparison struct {
	*draft
	behind map[*step]bitset // the activities that come after one, itself, and sink as the last bit
	graph  *runGraph        // with what they say
	says   bool             // they say something
	short  bool             // of steps
	partly *step            // the first one of which not all conditions were compared; nil: none
}

// compareConditions finds out what the conditions of a graph say of it.
func (d *draft) compareConditions(free *runGraph) *comparison {
	c := &comparison{
		draft: d, behind: map[*step]bitset{},
		graph: &runGraph{vertices: free.vertices, edges: slices.Clone(free.edges)},
	}
	for _, s := range slices.Concat([]*step{d.head}, d.steps) {
		claims := c.claims(s)
		c.neverTrue(s, claims)
		c.exclude(s, claims)
		if c.short && c.partly == nil {
			c.partly = s
		}
	}
	if c.partly != nil && !c.saidPartly {
		c.saidPartly = true
		c.warn(c.partly.Pos, codeRunsUndecided,
			fmt.Sprintf("the conditions out of %s are not all compared with one another, because there are too many in this process: activities that can never run may be missing here, and two sources of a member may exclude each other after all", c.partly.Name),
			"the process may be correct; split the choice into several with fewer ways, so that it can be decided")
	}
	return c
}

// isFree says whether a connector has a condition that can be TRUE.
func (c *comparison) isFree(edge int) bool { return c.graph.edges[edge].kind == edgeFree }

// never notes that a connector is never TRUE.
func (c *comparison) never(edge int) {
	c.graph.edges[edge].kind = edgeNever
	c.says = true
}

// claims gives what the conditions out of an activity say, by connector.
func (c *comparison) claims(s *step) []*condition.Claim {
	of := make([]*condition.Claim, len(s.out))
	for i, e := range s.out {
		of[i] = c.claim(s, c.Control[e].Condition)
	}
	return of
}

// claim gives what a condition of an activity says.
func (c *comparison) claim(s *step, of *Condition) *condition.Claim {
	if of == nil {
		return nil
	}
	key := conditionKey{c.scope(s), of.Written}
	known, ok := c.claimed[key]
	switch {
	case ok:
		return known
	case !c.spend(readClaim):
		return nil
	}
	if claim, ok := condition.ClaimOf(of.Written, key.scope); ok {
		known = &claim
	}
	c.claimed[key] = known
	return known
}

// spend takes so many steps, if there are as many left.
func (c *comparison) spend(steps int) bool {
	if steps > c.left.comparing {
		c.short = true
		return false
	}
	c.left.comparing -= steps
	return true
}

// exclude notes which connectors out of an activity exclude each other, of those that lead
// to one activity in the end, or to the process's output: of others it makes no difference.
func (c *comparison) exclude(s *step, claims []*condition.Claim) {
	reached := newBitset(len(c.steps) + 1)
	says := func(i int) bool { return c.isFree(s.out[i]) && (claims[i] != nil || s.FirstMatch) }
	for k, e := range s.out {
		if !says(k) {
			continue
		}
		behind := c.after(e)
		for j := 0; j < k && reached.meets(behind); j++ {
			other := s.out[j]
			switch {
			case !says(j):
				continue
			case !c.spend(1):
				return
			case c.after(other).meets(behind) && c.exclusive(s, claims[j], claims[k]):
				a, b := &c.graph.edges[other], &c.graph.edges[e]
				a.excludes, b.excludes = append(a.excludes, e), append(b.excludes, other)
				c.says = true
			}
		}
		reached.union(behind)
	}
}

// after gives the activities that come after a connector.
func (c *comparison) after(edge int) bitset {
	if len(c.behind) == 0 {
		c.reach()
	}
	return c.behind[c.byName[c.Control[edge].Target]]
}

func (c *comparison) reach() {
	results := map[string]bool{}
	for _, k := range c.Data {
		results[k.Source] = results[k.Source] || k.Target == sinkEnd
	}
	for _, s := range slices.Backward(c.topology) {
		after := newBitset(len(c.steps) + 1)
		after.add(s.index)
		if results[s.Name] {
			after.add(len(c.steps))
		}
		for _, i := range s.out {
			after.union(c.behind[c.byName[c.Control[i].Target]])
		}
		c.behind[s] = after
	}
}

// exclusive says that two connectors out of s are never both TRUE: also because the first match is taken,
// because what a deadline has ended has not ended with an error, and because of what a receive may get.
func (c *comparison) exclusive(s *step, a, b *condition.Claim) bool {
	if s.FirstMatch {
		return c.spend(comparePart)
	}
	if holds := s.wordsHold(); holds != "" {
		if always := c.claim(s, &Condition{Written: holds}); always != nil {
			return c.spend(comparePart*(a.Size()+b.Size()+always.Size())) && condition.Contradict([]condition.Claim{*a, *b, *always}, nil)
		}
	}
	return c.contradict(a, b)
}

// contradict says that two conditions are never both TRUE.
func (c *comparison) contradict(a, b *condition.Claim) bool {
	return c.spend(comparePart*(a.Size()+b.Size())) && a.Excludes(*b)
}
