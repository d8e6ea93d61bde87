package definition

import (
	"iter"
	"slices"
)

// All gives every activity of a graph with the blocks that it is inside of, outermost first:
// a block before what is inside of it, else in file order. The list of blocks is only lent.
func (g *Graph) All() iter.Seq2[[]*Activity, *Activity] {
	return func(yield func([]*Activity, *Activity) bool) { g.all(nil, yield) }
}

func (g *Graph) all(inside []*Activity, yield func([]*Activity, *Activity) bool) bool {
	for _, a := range g.Activities {
		if !yield(inside, a) || a.Block != nil && !a.Block.all(append(inside, a), yield) {
			return false
		}
	}
	return true
}

// Find gives the activity of that name, which is unique in a process, and the blocks that it
// is inside of, outermost first; nil if there is none.
func (g *Graph) Find(name string) (inside []*Activity, a *Activity) {
	for inside, a := range g.All() {
		if a.Name == name {
			return slices.Clone(inside), a
		}
	}
	return nil, nil
}
