package generate

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Sizes of graphs. Where there are blocks, less is beside them.
const (
	maxActivities = 12
	maxBeside     = 5
	maxInside     = 3
	maxRacing     = 5 // inside
	maxBlocks     = 4 // of a process
)

// nesting draws how deep blocks are inside one another; most processes have none.
func (d *drawing) nesting() {
	if d.in(3, "blocks") || d.races && d.in(2, "more blocks") {
		d.deepest, d.blocks = pick(d, []int{1, 1, 1, 1, 2, 2, 4}, "nesting"), maxBlocks
	}
}

// names draws those of a graph's activities: letters, and inside of a block its own name with
// a number behind. So many a name is the beginning of another.
func (d *drawing) names(g *graph) []string {
	if g.of == nil {
		most := maxActivities
		if d.deepest > 0 {
			most = maxBeside
		}
		names := rapid.Permutation(strings.Split("a b c d e f g h j k m n", " ")).Draw(d.T, "names")
		return names[:1+d.upTo(most-1, "activities")]
	}
	var names []string
	most := maxInside
	if d.races { // some are beside others that end early
		most = maxRacing
	}
	for i := range 1 + d.upTo(most-1, "activities inside") {
		names = append(names, fmt.Sprintf("%s%d", g.of.name, i+1))
	}
	return names
}

// chooseBlocks draws which activities of a graph are blocks: at least one, unless what is
// inside would be too deep.
func (d *drawing) chooseBlocks(g *graph) {
	if d.within >= d.deepest {
		return
	}
	one := d.upTo(len(g.steps)-1, "block")
	if g.of != nil && g.of.exit {
		one = max(one, min(1, len(g.steps)-1)) // the first is to count
	}
	for i, s := range g.steps {
		if s.block = d.blocks > 0 && (i == one || i > 0 && d.in(6, "another block")); s.block {
			d.blocks--
		}
	}
}

// counts says whether an activity of a block is the one whose output its exit condition is
// about: it runs in each iteration, and its program gives something else in each.
func (g *graph) counts(s *step) bool {
	return g.of != nil && g.of.exit && s == g.steps[0]
}
