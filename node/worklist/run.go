package worklist

import "slices"

// fewFresh is up to how many newcomers a run keeps apart from the others: so nearly none moves them.
const fewFresh = 512

// run is a set of items in the order of worklists. What is taken out stays in its place until so much has gone that it is
// worth while to move the rest.
type run struct {
	sorted  []*placed // in order
	fresh   []*placed // in order where ordered
	ordered bool
	dead    int // of both
}

func (r *run) len() int { return len(r.sorted) + len(r.fresh) - r.dead }

func (r *run) add(p *placed) {
	r.fresh = append(r.fresh, p)
	r.ordered = false
}

func (r *run) remove(p *placed) {
	p.gone = true
	if r.dead++; r.dead <= fewFresh || r.dead <= r.len() {
		return
	}
	gone := func(p *placed) bool { return p.gone }
	r.sorted, r.fresh, r.dead = slices.Clip(slices.DeleteFunc(r.sorted, gone)), slices.DeleteFunc(r.fresh, gone), 0
}

func compare(a, b *placed) int { return a.compare(&b.Item) }

// order sorts what has come since, and moves it to the others where it is much.
func (r *run) order() {
	if r.ordered {
		return
	}
	slices.SortFunc(r.fresh, compare)
	if r.ordered = true; len(r.fresh) <= fewFresh {
		return
	}
	all := make([]*placed, 0, r.len())
	for p := range r.from(nil) {
		all = append(all, p)
	}
	r.sorted, r.fresh, r.dead = all, nil, 0
}

// from gives the items behind one, in order; nil: all. The run is in order, and does not change meanwhile.
func (r *run) from(after *Item) func(yield func(*placed) bool) {
	begin := func(all []*placed) int {
		if after == nil {
			return 0
		}
		n, found := slices.BinarySearchFunc(all, after, func(p *placed, i *Item) int { return p.compare(i) })
		for found && n < len(all) && all[n].compare(after) == 0 { // one that has gone, and came again
			n++
		}
		return n
	}
	return func(yield func(*placed) bool) {
		a, b := r.sorted[begin(r.sorted):], r.fresh[begin(r.fresh):]
		for len(a)+len(b) > 0 {
			next := &a
			if len(a) == 0 || len(b) > 0 && compare(b[0], a[0]) < 0 {
				next = &b
			}
			p := (*next)[0]
			if *next = (*next)[1:]; !p.gone && !yield(p) {
				return
			}
		}
	}
}
