package interpret

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
)

// lists are those of one activity: groups of lists that name elements of the same bundles around it, or of none.
// Those that name one further out come first.
type lists struct{ groups []*listGroup }

type listGroup struct {
	named []bool             // by level: whether they name an element of it
	of    map[string][]*list // by these elements, in the order of the iterations from which on they apply
}

// named says of each level whether an element is named.
func named(levels []level) []bool {
	all := make([]bool, len(levels))
	for i, l := range levels {
		all[i] = l.element >= 0
	}
	return all
}

// key has the elements of the levels that are named.
func (g *listGroup) key(levels []level) string {
	var key []byte
	for i, is := range g.named {
		if is && i < len(levels) {
			key = strconv.AppendInt(append(key, '['), int64(levels[i].element), 10)
		}
	}
	return string(key)
}

func (l *lists) add(one *list) {
	of := named(one.from)
	at := slices.IndexFunc(l.groups, func(g *listGroup) bool { return slices.Equal(g.named, of) })
	if at < 0 {
		at = len(l.groups)
		l.groups = append(l.groups, &listGroup{named: of, of: map[string][]*list{}})
	}
	g := l.groups[at]
	key := g.key(one.from)
	g.of[key] = append(g.of[key], one)
}

func (l *lists) sort() {
	slices.SortFunc(l.groups, func(a, b *listGroup) int {
		return slices.CompareFunc(a.named, b.named, func(a, b bool) int {
			switch {
			case a == b:
				return 0
			case a:
				return -1
			}
			return 1
		})
	})
	for _, g := range l.groups {
		for _, lists := range g.of {
			slices.SortFunc(lists, func(a, b *list) int { return compareIterations(a.from, b.from) })
		}
	}
}

// of gives the list that applies there: of those that name its elements the last one that begins in none of the
// blocks later. The outermost block counts first.
func (l *lists) of(at []level) *list {
	if l == nil {
		return nil
	}
	for _, g := range l.groups {
		lists := g.of[g.key(at)]
		n := sort.Search(len(lists), func(i int) bool { return compareIterations(lists[i].from, at) > 0 })
		for n--; n >= 0; n-- {
			if !later(lists[n].from, at) {
				return lists[n]
			}
		}
	}
	return nil
}

func compareIterations(a, b []level) int {
	return slices.CompareFunc(a, b, func(a, b level) int { return cmp.Compare(a.iteration, b.iteration) })
}

// later says whether in one of the blocks from is a later iteration than at.
func later(from, at []level) bool {
	for i := range from {
		if from[i].iteration > at[i].iteration {
			return true
		}
	}
	return false
}
