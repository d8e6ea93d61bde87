package definition

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"

	"fmqm/processtable"
)

// Measures of a picture, in pixels. Letters are counted as wide as those of the widest
// monospace fonts, so that no text outgrows the place that is kept for it.
const (
	svgLetter  = 8  // of a text of 12 pixels
	svgSmall   = 7  // of a text of 11 pixels
	svgLine    = 17 // from one line of text to the next
	svgPort    = 12 // from one connector's end to the next, at a box
	svgApart   = 14 // from one place to the next in a layer
	svgBoxes   = 28 // from one box to the next
	svgGap     = 30 // between layers, where connectors bend
	svgMostGap = 90
	svgBeside  = 4 // data beside the control connector that it goes with
	svgMargin  = 20
	svgLongest = 26 // characters of a line; longer texts are broken
	svgMost    = 3  // lines of a text that are shown; a tooltip has all of it
	svgSweeps  = 24

	svgStraighten = 4    // how often connectors are straightened
	svgRoom       = 1000 // beside the outermost place of a layer
	maxSVGParts   = 50_000
)

// SVG draws a process as a picture, without any other program: layers from the top down,
// by the longest path of control connectors; a colour for each node; start and exit
// conditions in the boxes, control connectors with their conditions, data connectors
// dashed, beside the control connector between the same two if there is one. A block is a box
// around a picture of what is inside. A connector passes the layers between its ends through places of its own, and a condition has one
// too: so nothing is drawn across a box or a text. The same process gives the same bytes.
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
	inner    *picture // of a block
	text     []string // what is written there
	bold     int      // which of its lines is the name
	layer    int
	at       int // its place in the order of the layer
	x, y     int // its middle
	w, h     int
	from, to int // where its layer begins and ends
	in, out  []*hop
}

// hop is the part of a connector from one layer to the next.
type hop struct {
	from, to *spot
	exit     int // where it leaves from, right of the middle of the spot
	entry    int
	weight   int // how straight it should be
}

// route is a connector with its hops, from layer to layer.
type route struct {
	edge
	hops   []*hop
	beside *edge // a data connector between the same two
}

// picture is of a graph: that of the process, or of a block inside the picture of another.
type picture struct {
	*drawing
	layers [][]*spot
	routes []*route
	loops  map[string]edge // data connectors of an activity with itself
	into   map[string]int  // how many control connectors lead to an activity
	top    int             // where the first layer begins
	w, h   int
}

// drawing is what the pictures of a process have in common.
type drawing struct {
	nodes []host // with all that they host
	parts int
}

func layOut(p *Process) (*picture, error) {
	whole := &drawing{nodes: hosts(everyActivity(p))}
	d := whole.layOut(&p.Graph, "", whole.legend())
	if d == nil {
		return nil, fmt.Errorf("%s@%d: the picture would have over %d parts, too many to read: use fmqm-define show", p.Name, p.Version, maxSVGParts)
	}
	return d, nil
}

// layOut gives nil where there are too many parts.
func (w *drawing) layOut(g *Graph, block string, top int) *picture {
	d := &picture{drawing: w, into: controlInto(g), loops: map[string]edge{}, top: top}
	all := edges(g, block)
	layer := longestPaths(all)
	boxes := d.boxes(g, layer)
	d.parts += len(boxes)
	control := map[pair]*route{}
	for _, e := range all {
		if e.from == e.to {
			d.loops[e.from] = e
			continue
		}
		if with := control[pair{e.from, e.to}]; e.data && with != nil {
			with.beside = &e
			continue
		}
		if d.parts += layer[e.to] - layer[e.from]; d.parts > maxSVGParts {
			return nil
		}
		r := d.route(e, boxes[e.from], boxes[e.to])
		if !e.data {
			control[pair{e.from, e.to}] = r
		}
	}
	d.arrange()
	d.ports()
	d.withinLayers()
	d.acrossLayers()
	return d
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
func (d *picture) boxes(g *Graph, layer map[string]int) map[string]*spot {
	d.layers = make([][]*spot, layer[string(processtable.Sink)]+1)
	boxes := map[string]*spot{}
	add := func(s *spot) {
		s.layer = layer[s.name]
		for _, line := range s.text {
			s.w = max(s.w, svgLetter*utf8.RuneCountInString(line)+20)
		}
		s.h = s.head()
		if s.inner != nil {
			s.w, s.h = max(s.w, s.inner.w), s.h+s.inner.h
		}
		boxes[s.name] = s
		d.layers[s.layer] = append(d.layers[s.layer], s)
	}
	add(&spot{name: string(processtable.Source), text: []string{string(processtable.Source)}})
	for _, a := range g.Activities {
		s := &spot{name: a.Name, activity: a}
		if start := startOf(a, d.into[a.Name]); start != "" {
			s.text = fold("start: " + start)
		}
		s.bold = len(s.text)
		s.text = append(s.text, fold(a.Name)...)
		s.text = append(s.text, fold("at "+a.Node)...)
		if a.Program != "" && a.Program != a.Name {
			s.text = append(s.text, fold("runs "+a.Program)...)
		}
		for i, more := range moreOf(a) {
			if i == 0 && a.Exit != nil {
				more = "\u21bb " + more
			}
			s.text = append(s.text, fold(more)...)
		}
		if a.Block != nil {
			s.inner = d.layOut(a.Block, a.Name, 0)
		}
		add(s)
	}
	add(&spot{name: string(processtable.Sink), text: []string{string(processtable.Sink)}})
	return boxes
}

// route leads a connector through a spot in each layer between its ends; the first of
// them holds its condition, right of the line.
func (d *picture) route(e edge, from, to *spot) *route {
	r := &route{edge: e}
	for at := from; at != to; {
		next := to
		if at.layer+1 < to.layer {
			next = &spot{layer: at.layer + 1, w: 2, h: 2}
			if at == from && e.label != "" && !e.data {
				next.text = fold(e.label)
				for _, line := range next.text {
					next.w = max(next.w, svgSmall*utf8.RuneCountInString(line)+2*svgTextAt)
				}
				next.h = svgLine * len(next.text)
			}
			d.layers[next.layer] = append(d.layers[next.layer], next)
		}
		h := &hop{from: at, to: next, weight: 4, exit: at.line(), entry: next.line()}
		switch {
		case at != from && next != to:
			h.weight = 16 // the middle of a long connector
		case e.data:
			h.weight = 1 // boxes stand where control leads
		}
		at.out, next.in = append(at.out, h), append(next.in, h)
		r.hops = append(r.hops, h)
		at = next
	}
	d.routes = append(d.routes, r)
	return r
}

// svgTextAt is how far right of its line a condition is written.
const svgTextAt = 9

// line is where a connector passes a spot, right of its middle: at the left of its text.
func (s *spot) line() int {
	if s.name != "" || len(s.text) == 0 {
		return 0
	}
	return svgTextAt/2 - s.w/2
}

// fold breaks a text into the lines that are shown of it, at spaces where it can.
func fold(s string) []string { return foldWithin(s, svgLongest, svgMost) }

// foldWithin breaks a text into lines of at most longest characters, at spaces where it
// can, and leaves out what would be more than most lines.
func foldWithin(s string, longest, most int) []string {
	var lines []string
	for runes := []rune(s); len(runes) > 0; {
		if len(runes) <= longest {
			return append(lines, string(runes))
		}
		end := longest
		for end > longest/2 && runes[end] != ' ' {
			end--
		}
		if runes[end] != ' ' {
			end = longest
		}
		if len(lines) == most-1 {
			return append(lines, string(runes[:longest-1])+"…")
		}
		lines = append(lines, string(runes[:end]))
		runes = []rune(strings.TrimLeft(string(runes[end:]), " "))
	}
	return lines
}

// head is how much height the text of a box takes.
func (s *spot) head() int { return svgLine*len(s.text) + 12 }

// legend gives how much height it takes.
func (w *drawing) legend() int { return svgMargin + svgLine*(len(w.nodes)+2) + svgMargin }

// escape makes any text fit for XML, also as an attribute.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}
