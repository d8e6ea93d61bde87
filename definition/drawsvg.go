package definition

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fmqm/internal/text"
	"fmqm/processtable"
)

// Measures of a picture, in pixels. Letters are counted as wide as those of the widest
// monospace fonts, so that no text outgrows the place that is kept for it.
const (
	svgLetter   = 8  // of a text of 12 pixels
	svgLine     = 17 // from one line of text to the next
	svgPort     = 11 // from one connector's end to the next, at a box
	svgApart    = 14 // from one place to the next in a layer
	svgGap      = 44 // between layers, where connectors bend
	svgMargin   = 20
	svgLongest  = 40 // characters of a text that are shown; a tooltip has all of it
	svgSweeps   = 12
	maxSVGParts = 50_000
)

// SVG draws a process as a picture, without any other program: layers from left to
// right, by the longest path of control connectors; a colour for each node; control
// connectors with their conditions, data connectors dashed. A connector passes the
// layers between its ends through places of its own, and a condition has one too: so
// nothing is drawn across a box or a text. The same process gives the same bytes.
//
// The layers, their order by barycentres and the places of long connectors are Sugiyama,
// Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
// (1981). It is an error if the picture would have over 50,000 parts.
func SVG(p *Process) (string, error) {
	d, err := layOut(p)
	if err != nil {
		return "", err
	}
	return d.write(p), nil
}

// spot is a place in a layer: a box, a condition's text, or where a long connector passes.
type spot struct {
	name     string // of an activity, source or sink
	activity *Activity
	text     []string // what is written there
	layer    int
	x, y     int // its middle
	w, h     int
	in, out  []*hop
}

// hop is the part of a connector from one layer to the next.
type hop struct {
	from, to *spot
	exit     int // where it leaves from, below the middle of the spot
	entry    int
	weight   int // how straight it should be
}

// route is a connector with its hops, from layer to layer.
type route struct {
	edge
	hops []*hop
}

type picture struct {
	layers [][]*spot
	routes []route
	loops  map[string]edge // data connectors of an activity with itself
	nodes  []host
	w, h   int
}

func layOut(p *Process) (*picture, error) {
	d := &picture{nodes: hosts(p), loops: map[string]edge{}}
	all := edges(p)
	layer := longestPaths(all)
	boxes := d.boxes(p, layer)
	parts := len(boxes)
	for _, e := range all {
		if e.from == e.to {
			d.loops[e.from] = e
			continue
		}
		if parts += layer[e.to] - layer[e.from]; parts > maxSVGParts {
			return nil, fmt.Errorf("%s@%d: the picture would have over %d parts: it is too large to be read: see fmqm-define show", p.Name, p.Version, maxSVGParts)
		}
		d.route(e, boxes[e.from], boxes[e.to])
	}
	for i := range svgSweeps {
		d.order(i%2 == 0)
	}
	d.ports()
	d.acrossLayers()
	d.withinLayers()
	return d, nil
}

// longestPaths gives the layer of each activity. Data goes where control goes, so
// connectors of both kinds lead on to later layers.
func longestPaths(all []edge) map[string]int {
	next, open := map[string][]string{}, map[string]int{}
	for _, e := range all {
		if !e.data {
			next[e.from] = append(next[e.from], e.to)
			open[e.to]++
		}
	}
	layer := map[string]int{}
	for ready := []string{string(processtable.Source)}; len(ready) > 0; ready = ready[1:] {
		for _, to := range next[ready[0]] {
			layer[to] = max(layer[to], layer[ready[0]]+1)
			if open[to]--; open[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	conditions := map[int]bool{} // layers after which one is needed for conditions
	for _, e := range all {
		conditions[layer[e.from]] = conditions[layer[e.from]] || !e.data && e.label != ""
	}
	before := make([]int, layer[string(processtable.Sink)]+1)
	for i := range before[1:] {
		before[i+1] = before[i]
		if conditions[i] {
			before[i+1]++
		}
	}
	for name, at := range layer {
		layer[name] = at + before[at]
	}
	return layer
}

// boxes makes the spots of activities, in file order, and of source and sink.
func (d *picture) boxes(p *Process, layer map[string]int) map[string]*spot {
	d.layers = make([][]*spot, layer[string(processtable.Sink)]+1)
	boxes := map[string]*spot{}
	add := func(s *spot) {
		s.layer = layer[s.name]
		for _, line := range s.text {
			s.w = max(s.w, svgLetter*utf8.RuneCountInString(line)+20)
		}
		s.h = svgLine*len(s.text) + 12
		boxes[s.name] = s
		d.layers[s.layer] = append(d.layers[s.layer], s)
	}
	add(&spot{name: string(processtable.Source), text: []string{string(processtable.Source)}})
	for _, a := range p.Activities {
		s := &spot{name: a.Name, activity: a, text: []string{cut(a.Name), cut("at " + a.Node)}}
		if a.Program != "" && a.Program != a.Name {
			s.text = append(s.text, cut("runs "+a.Program))
		}
		if a.Exit != nil {
			s.text = append(s.text, cut("\u21bb until "+text.Line(a.Exit.Checked.Text)))
		}
		add(s)
	}
	add(&spot{name: string(processtable.Sink), text: []string{string(processtable.Sink)}})
	return boxes
}

// route leads a connector through a spot in each layer between its ends; the first of
// them holds its condition.
func (d *picture) route(e edge, from, to *spot) {
	r := route{edge: e}
	for at := from; at != to; {
		next := to
		if at.layer+1 < to.layer {
			next = &spot{layer: at.layer + 1, h: 2}
			if at == from && e.label != "" && !e.data {
				next.text = []string{cut(e.label)}
				next.w, next.h = svgLetter*utf8.RuneCountInString(next.text[0])+6, 2*svgLine
			}
			d.layers[next.layer] = append(d.layers[next.layer], next)
		}
		h := &hop{from: at, to: next, weight: 1}
		if at != from {
			h.weight *= 3
		}
		if next != to {
			h.weight *= 3
		}
		at.out, next.in = append(at.out, h), append(next.in, h)
		r.hops = append(r.hops, h)
		at = next
	}
	d.routes = append(d.routes, r)
}

// order sorts each layer by the mean place of the neighbours in the layer before, or
// after. What has none there stays beside what it stood beside.
func (d *picture) order(forward bool) {
	for i := range d.layers {
		if !forward {
			i = len(d.layers) - 1 - i
		}
		for at, s := range d.layers[i] {
			s.y = at * 1000
			if near := s.near(forward); len(near) > 0 {
				s.y = 0
				for _, n := range near {
					s.y += n.x
				}
				s.y = s.y * 1000 / len(near)
			}
		}
		slices.SortStableFunc(d.layers[i], func(a, b *spot) int { return a.y - b.y })
		for at, s := range d.layers[i] {
			s.x = at // its place in the order, until it has one in the picture
		}
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

// ports sets connectors apart at the sides of boxes, in the order of where they go.
func (d *picture) ports() {
	for _, layer := range d.layers {
		for _, s := range layer {
			if s.name == "" {
				continue
			}
			slices.SortStableFunc(s.in, func(a, b *hop) int { return a.from.x - b.from.x })
			slices.SortStableFunc(s.out, func(a, b *hop) int { return a.to.x - b.to.x })
			for i, h := range s.in {
				h.entry = (2*i - len(s.in) + 1) * svgPort / 2
			}
			for i, h := range s.out {
				h.exit = (2*i - len(s.out) + 1) * svgPort / 2
			}
			s.h = max(s.h, svgPort*(max(len(s.in), len(s.out))+1))
		}
	}
}

// acrossLayers finds the height of every spot: first they stand below each other, then
// each is drawn to its neighbours before, after, and on both sides.
func (d *picture) acrossLayers() {
	for _, layer := range d.layers {
		y := 0
		for _, s := range layer {
			s.y = y + s.h/2
			y += s.h + svgApart
		}
	}
	for i := range svgSweeps {
		before, after := i%2 == 0, i%2 == 1
		if i >= svgSweeps-4 {
			before, after = true, true
		}
		for at := range d.layers {
			if after && !before {
				at = len(d.layers) - 1 - at
			}
			settle(d.layers[at], before, after)
		}
	}
}

// settle moves the spots of a layer to where their neighbours draw them, as near as
// their order and the room between them allow: neighbours that would overlap become a
// block, which stands at the mean of what its members want.
func settle(layer []*spot, before, after bool) {
	type block struct{ sum, n, first int }
	var blocks []block
	offset := make([]int, len(layer)) // from the first spot of the layer, packed
	for i, s := range layer {
		if i > 0 {
			offset[i] = offset[i-1] + (layer[i-1].h+s.h+1)/2 + svgApart
		}
		b := block{sum: s.wanted(before, after) - offset[i], n: 1, first: i}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum*b.n <= b.sum*last.n {
				break
			}
			b = block{sum: last.sum + b.sum, n: last.n + b.n, first: last.first}
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
			layer[i].y = floorDiv(b.sum, b.n) + offset[i]
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

// wanted is the height at which the connectors of a spot would be straight.
func (s *spot) wanted(before, after bool) int {
	sum, weight := 0, 0
	if before {
		for _, h := range s.in {
			sum += h.weight * (h.from.y + h.exit - h.entry)
			weight += h.weight
		}
	}
	if after {
		for _, h := range s.out {
			sum += h.weight * (h.to.y + h.entry - h.exit)
			weight += h.weight
		}
	}
	if weight == 0 {
		return s.y
	}
	return floorDiv(sum, weight)
}

// withinLayers gives each layer its place from left to right, below the legend. The
// steeper connectors between two layers are, the more room they get.
func (d *picture) withinLayers() {
	top := d.layers[0][0].y
	for _, layer := range d.layers {
		top = min(top, layer[0].y-layer[0].h/2)
	}
	shift := d.legend() - top
	x := svgMargin
	for _, layer := range d.layers {
		w, steep := 0, 0
		for _, s := range layer {
			w = max(w, s.w)
			s.y += shift
			d.h = max(d.h, s.y+s.h/2+svgMargin)
		}
		for _, s := range layer {
			s.x = x + w/2
			if s.name == "" {
				s.w = w // it passes the whole layer
			}
			for _, h := range s.out {
				rise := h.to.y + h.entry + shift - s.y - h.exit
				steep = max(steep, rise, -rise)
			}
		}
		d.w = max(d.w, x+w+svgMargin)
		x += w + min(svgGap+steep/5, 3*svgGap)
	}
}

// legend gives how much height it takes.
func (d *picture) legend() int { return svgMargin + svgLine*(len(d.nodes)+2) + svgMargin }

// cut shortens a text to what is shown of it.
func cut(text string) string {
	if runes := []rune(text); len(runes) > svgLongest {
		return string(runes[:svgLongest-1]) + "…"
	}
	return text
}

// escape makes any text fit for XML, also as an attribute.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}
