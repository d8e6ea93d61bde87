package definition

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"fmqm/processtable"
)

// A block is read as a process is: a graph whose source and sink are the block's containers (N18).

// maxNested is how many blocks, bundles and calls may be inside one another: what is inside has a frame of its
// scope for each (N10).
const maxNested = processtable.MaxPath

// block reads what is inside of a block. It begins a draft also where that cannot be read.
func (d *draft) block(s *step, f map[string]*yaml.Node) {
	s.Block = &Graph{}
	inner := d.graph(s.Block, "the block "+s.Name, s.input, s.output, f)
	inner.of, inner.outer, inner.depth = s, d, d.depth+1
	if s.Bundle != nil {
		inner.depth++
	}
	s.block = inner
	if inner.depth > maxNested {
		d.tooDeep(s, inner.depth)
		return
	}
	inner.activities(f["activities"])
}

// frames holds what is done for each element, or elsewhere, to the same limit: each of the two is one more.
func (d *draft) frames(s *step) {
	depth := d.depth
	for _, is := range []bool{s.Bundle != nil, s.Call != nil} {
		if is {
			depth++
		}
	}
	if s.Block == nil && depth > maxNested {
		d.tooDeep(s, depth)
	}
}

func (d *draft) tooDeep(s *step, depth int) {
	what, blocks := "the block "+s.Name, 1
	for around := d; around.of != nil; around = around.outer {
		blocks++
	}
	switch {
	case s.Block == nil:
		what = s.Name
	case blocks == depth:
		d.fail(s.Pos, codeLimit, fmt.Sprintf("%s is nested %d blocks deep", what, depth),
			fmt.Sprintf("use at most %d blocks inside one another: make the inner ones a process of their own, or join some", maxNested))
		return
	}
	d.fail(s.Pos, codeLimit, fmt.Sprintf("%s is nested %d deep", what, depth),
		fmt.Sprintf("use at most %d blocks, `for_each` and `at` inside one another: make the inner ones a process of their own, or join some", maxNested))
}

// blockIn gives the block of an outer graph that d is inside of; nil if it is not.
func (d *draft) blockIn(outer *draft) *step {
	for ; d.outer != nil; d = d.outer {
		if d.outer == outer {
			return d.of
		}
	}
	return nil
}

// border reports an end of a connector that is an activity of another graph: no connector
// leads across the border of a block. End is source or sink: which end it is.
func (d *draft) border(name string, at Pos, end string) {
	there := d.home[name]
	both := there // the innermost graph that both are in
	for both != d && d.blockIn(both) == nil {
		both = both.outer
	}
	their, my := there.blockIn(both), d.blockIn(both)
	where, remedy := "", ""
	switch {
	case my == nil:
		where = "inside the block " + their.Name
		remedy = fmt.Sprintf("map what is needed to its sink, and connect %s", their.Name)
		if end == sinkEnd {
			remedy = fmt.Sprintf("connect %s, and map what is needed from its source", their.Name)
		}
	case my.Name == name:
		where = "the block around this"
		remedy = "write source for its input, sink for its output; what has no predecessor here starts with the block"
	case their == nil:
		where = "outside the block " + my.Name
		remedy = fmt.Sprintf("connect it with %s there, and take what is needed from source", my.Name)
		if end == sinkEnd {
			remedy = fmt.Sprintf("map what is needed to sink, and connect %s with it there", my.Name)
		}
	default:
		where = "inside the block " + their.Name
		remedy = fmt.Sprintf("map what is needed to its sink, connect %s with %s, and take it from source", their.Name, my.Name)
		if end == sinkEnd {
			remedy = fmt.Sprintf("map what is needed to sink, connect %s with %s, and map it from its source", my.Name, their.Name)
		}
	}
	d.fail(at, codeBorder, fmt.Sprintf("%s is %s", name, where), remedy)
}
