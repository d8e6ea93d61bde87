package definition

import "slices"

// arrange finds the order of each layer: by the mean place of the neighbours in the layer
// before, or after, in turn, and then by exchanging neighbours. Of all the orders on the way
// the one is taken in which the fewest connectors cross.
func (d *picture) arrange() {
	for _, layer := range d.layers {
		number(layer)
	}
	best, fewest := d.places(), d.crossings()
	for i := 0; i < svgSweeps && fewest > 0; i++ {
		d.sweep(i%2 == 0)
		d.exchange()
		if n := d.crossings(); n < fewest {
			best, fewest = d.places(), n
		}
	}
	for i, layer := range d.layers {
		copy(layer, best[i])
		number(layer)
	}
}

// number notes the place of each spot in the order of its layer.
func number(layer []*spot) {
	for at, s := range layer {
		s.at = at
	}
}

// places is the order in which all layers are.
func (d *picture) places() [][]*spot {
	all := make([][]*spot, len(d.layers))
	for i, layer := range d.layers {
		all[i] = slices.Clone(layer)
	}
	return all
}

// sweep sorts each layer by the mean place of the neighbours in the layer before, or
// after. What has none there stays beside what it stood beside.
func (d *picture) sweep(forward bool) {
	const unit = 1000
	mean := map[*spot]int{}
	for i := range d.layers {
		if !forward {
			i = len(d.layers) - 1 - i
		}
		layer := d.layers[i]
		for _, s := range layer {
			mean[s] = s.at * unit
			if near := s.near(forward); len(near) > 0 {
				sum := 0
				for _, n := range near {
					sum += n.at
				}
				mean[s] = sum * unit / len(near)
			}
		}
		slices.SortStableFunc(layer, func(a, b *spot) int { return mean[a] - mean[b] })
		number(layer)
	}
}

// near gives the neighbours of a spot in the layer before, or after.
func (s *spot) near(before bool) []*spot {
	var all []*spot
	if before {
		for _, h := range s.in {
			all = append(all, h.from)
		}
		return all
	}
	for _, h := range s.out {
		all = append(all, h.to)
	}
	return all
}

// exchange exchanges neighbours in each layer where fewer connectors cross then.
func (d *picture) exchange() {
	for _, layer := range d.layers {
		for i := 1; i < len(layer); i++ {
			a, b := layer[i-1], layer[i]
			now := crossed(a.near(true), b.near(true)) + crossed(a.near(false), b.near(false))
			then := crossed(b.near(true), a.near(true)) + crossed(b.near(false), a.near(false))
			if then < now {
				layer[i-1], layer[i] = b, a
				a.at, b.at = i, i-1
			}
		}
	}
}

// crossed counts how often connectors to left, from a spot, cross those to right, from the
// spot beside it.
func crossed(left, right []*spot) int {
	n := 0
	if len(left)*len(right) > maxCompared {
		return 0 // a spot with so many connectors is found its place by their mean
	}
	for _, l := range left {
		for _, r := range right {
			if l.at > r.at {
				n++
			}
		}
	}
	return n
}

// maxCompared bounds what is spent on two neighbours.
const maxCompared = 10_000

// crossings counts how often connectors cross, in all.
func (d *picture) crossings() int {
	n := 0
	for i, layer := range d.layers {
		if i+1 == len(d.layers) {
			break
		}
		// From the left, each connector crosses those before it that end right of it: a tree of
		// sums (Barth, Jünger, Mutzel, "Simple and efficient bilayer cross counting", 2002).
		sums := make([]int, len(d.layers[i+1])+1)
		for _, s := range layer {
			ends := s.near(false)
			for _, end := range ends {
				for at := end.at + 2; at < len(sums)+1; at += at & -at {
					n += sums[at-1]
				}
			}
			for _, end := range ends {
				for at := end.at + 1; at > 0; at -= at & -at {
					sums[at-1]++
				}
			}
		}
	}
	return n
}

// ports sets connectors apart at the sides of boxes, in the order of where they go.
func (d *picture) ports() {
	for _, layer := range d.layers {
		for _, s := range layer {
			if s.name == "" {
				continue
			}
			slices.SortStableFunc(s.in, func(a, b *hop) int { return a.from.at - b.from.at })
			slices.SortStableFunc(s.out, func(a, b *hop) int { return a.to.at - b.to.at })
			for i, h := range s.in {
				h.entry = (2*i - len(s.in) + 1) * svgPort / 2
			}
			for i, h := range s.out {
				h.exit = (2*i - len(s.out) + 1) * svgPort / 2
			}
			s.w = max(s.w, svgPort*(max(len(s.in), len(s.out))+1))
		}
	}
}

// withinLayers finds the place of every spot from left to right: first they stand beside
// each other, then each is drawn to its neighbours before, after, and on both sides.
func (d *picture) withinLayers() {
	for _, layer := range d.layers {
		x := 0
		for i, s := range layer {
			if i > 0 {
				x += between(layer[i-1], s)
			}
			s.x = x
		}
	}
	for i := range svgSweeps {
		before, after := i%2 == 0, i%2 == 1
		if i >= svgSweeps-8 {
			before, after = true, true
		}
		for at := range d.layers {
			if after && (!before || i%2 == 1) {
				at = len(d.layers) - 1 - at
			}
			settle(d.layers[at], before, after)
		}
	}
	for range svgStraighten {
		for _, r := range d.routes {
			r.straighten(d.layers)
		}
	}
}

// straighten lets a connector bend as seldom as it can: as many of its places as have room
// for it, one after the other, stand below each other.
func (r *route) straighten(layers [][]*spot) {
	var run []*spot
	least, most := 0, 0
	flush := func() {
		sum := 0
		for _, s := range run {
			sum += s.x + s.line()
		}
		for _, s := range run {
			s.x = min(max(sum/len(run), least), most) - s.line()
		}
		run = nil
	}
	for _, h := range r.hops {
		s := h.to
		if s.name != "" {
			break
		}
		from, to := s.room(layers[s.layer])
		from, to = from+s.line(), to+s.line()
		if len(run) > 0 && max(from, least) > min(to, most) {
			flush()
		}
		if len(run) == 0 {
			least, most = from, to
		}
		least, most = max(from, least), min(to, most)
		run = append(run, s)
	}
	if len(run) > 0 {
		flush()
	}
}

// room is how far to the left and to the right a spot can go between its neighbours.
func (s *spot) room(layer []*spot) (from, to int) {
	from, to = s.x-svgRoom, s.x+svgRoom
	if s.at > 0 {
		from = layer[s.at-1].x + between(layer[s.at-1], s)
	}
	if s.at+1 < len(layer) {
		to = layer[s.at+1].x - between(s, layer[s.at+1])
	}
	return from, to
}

// between is how far apart the middles of two neighbours in a layer are, at least.
func between(left, right *spot) int {
	apart := svgApart
	if left.name != "" && right.name != "" {
		apart = svgBoxes
	}
	return (left.w+right.w+1)/2 + apart
}

// settle moves the spots of a layer to where their neighbours draw them, as near as
// their order and the room between them allow: neighbours that would overlap become a
// block, which stands at the mean of what its members want.
func settle(layer []*spot, before, after bool) {
	type block struct{ sum, weight, first int }
	var blocks []block
	offset := make([]int, len(layer)) // from the first spot of the layer, packed
	for i, s := range layer {
		if i > 0 {
			offset[i] = offset[i-1] + between(layer[i-1], s)
		}
		wanted, weight := s.wanted(before, after)
		b := block{sum: (wanted - offset[i]) * weight, weight: weight, first: i}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum*b.weight <= b.sum*last.weight {
				break
			}
			b = block{sum: last.sum + b.sum, weight: last.weight + b.weight, first: last.first}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for k, b := range blocks {
		end := len(layer)
		if k+1 < len(blocks) {
			end = blocks[k+1].first
		}
		for i := b.first; i < end; i++ {
			layer[i].x = floorDiv(b.sum, b.weight) + offset[i]
		}
	}
}

// floorDiv keeps the order of what it divides, below 0 too.
func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// wanted is the place at which the connectors of a spot would be straight, and how much
// that matters: a long connector's places keep it straight before a box is moved.
func (s *spot) wanted(before, after bool) (at, weight int) {
	sum := 0
	if before {
		for _, h := range s.in {
			sum += h.weight * (h.from.x + h.exit - h.entry)
			weight += h.weight
		}
	}
	if after {
		for _, h := range s.out {
			sum += h.weight * (h.to.x + h.entry - h.exit)
			weight += h.weight
		}
	}
	if weight == 0 {
		return s.x, 1
	}
	return floorDiv(sum, weight), weight
}

// acrossLayers gives each layer its height, below the legend. The further connectors
// between two layers go to the side, the more room they get.
func (d *picture) acrossLayers() {
	left := d.layers[0][0].x
	for _, layer := range d.layers {
		left = min(left, layer[0].x-layer[0].w/2)
	}
	shift := svgMargin - left
	y := d.top
	for _, layer := range d.layers {
		h, aside := 0, 0
		for _, s := range layer {
			h = max(h, s.h)
			s.x += shift
			d.w = max(d.w, s.x+s.w/2+svgMargin)
		}
		for _, s := range layer {
			s.y = y + h/2
			s.from, s.to = s.y-h/2, s.y+h/2
			if s.name == "" {
				s.h = h // it passes the whole layer
			}
			for _, h := range s.out {
				run := h.to.x + h.entry + shift - s.x - h.exit
				aside = max(aside, run, -run)
			}
		}
		d.h = max(d.h, y+h+svgMargin)
		y += h + min(svgGap+aside/8, svgMostGap)
	}
}
