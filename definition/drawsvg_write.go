package definition

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/internal/text"
)

// svgHead has what all pictures share. Colours stay readable in print and for those who
// see few of them; what they say is written in the boxes too.
const svgHead = `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" aria-labelledby="title desc">
<title id="title">%[3]s</title>
<desc id="desc">%[4]s</desc>
<defs>
<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#333"/></marker>
<marker id="data" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker>
</defs>
<rect width="100%%" height="100%%" fill="#fff"/>
`

// write draws what was laid out.
func (d *picture) write(p *Process) string {
	var b strings.Builder
	title := fmt.Sprintf("%s@%d", p.Name, p.Version)
	w := d.w
	for _, line := range append(d.legendTexts(), title) {
		w = max(w, 2*svgMargin+svgMargin+svgLetter*len([]rune(line)))
	}
	fmt.Fprintf(&b, svgHead, w, d.h, escape(title), escape(d.describe(p)))
	b.WriteString("<g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"12\" fill=\"#111\">\n")
	d.writeLegend(&b, title)
	d.writeGraph(&b)
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

func (d *picture) writeGraph(b *strings.Builder) {
	for _, data := range []bool{true, false} { // control lies above data
		for _, r := range d.routes {
			if data && r.beside != nil {
				r.write(b, *r.beside, svgBeside)
			}
			if r.data == data {
				r.write(b, r.edge, 0)
			}
		}
	}
	for _, layer := range d.layers {
		for _, s := range layer {
			switch {
			case s.name != "":
				d.writeBox(b, s)
			case len(s.text) > 0:
				s.writeCondition(b)
			}
		}
	}
}

// describe says in words what the picture shows, for those who do not see it.
func (d *picture) describe(p *Process) string {
	var b strings.Builder
	if about := text.Line(p.Description); about != "" {
		b.WriteString(about + "\n")
	}
	for _, n := range d.nodes {
		fmt.Fprintf(&b, "Node %s: %s.\n", n.node, strings.Join(namesOf(n.activities), ", "))
	}
	d.describeGraph(&b, &p.Graph)
	return strings.TrimSuffix(b.String(), "\n")
}

func (d *picture) describeGraph(b *strings.Builder, g *Graph) {
	for _, a := range g.Activities {
		if start := startOf(a, d.into[a.Name]); start != "" {
			fmt.Fprintf(b, "Start of %s: %s.\n", a.Name, start)
		}
	}
	for _, r := range d.routes {
		b.WriteString(r.describe() + ".\n")
		if r.beside != nil {
			b.WriteString(r.beside.describe() + ".\n")
		}
	}
	for _, layer := range d.layers {
		for _, s := range layer {
			if s.inner != nil {
				fmt.Fprintf(b, "Inside the block %s: %s.\n", s.name, strings.Join(namesOf(s.activity.Block.Activities), ", "))
				s.inner.describeGraph(b, s.activity.Block)
			}
		}
	}
}

// describe says in words what a connector does.
func (e edge) describe() string {
	text := e.from + " to " + e.to
	if e.block != "" {
		text += " inside " + e.block
	}
	switch {
	case e.data:
		return "Data from " + text + ": " + e.label
	case e.label == "":
		return "Control from " + text
	}
	return "Control from " + text + " if " + e.label
}

func (d *picture) legendTexts() []string {
	var all []string
	for _, n := range d.nodes {
		all = append(all, "node "+n.node)
	}
	return append(all, "control, if its condition holds - - - data")
}

func (d *picture) writeLegend(b *strings.Builder, title string) {
	y := svgMargin + svgLine/2
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" font-size=\"14\" font-weight=\"bold\">%s</text>\n", svgMargin, y, escape(title))
	for i, n := range d.nodes {
		y += svgLine
		fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"16\" height=\"11\" rx=\"3\" %s/><text x=\"%d\" y=\"%d\">node %s</text>\n",
			svgMargin, y-10, paint(i), svgMargin+24, y, escape(n.node))
	}
	y += svgLine
	line := "<path d=\"M%d,%d h28\" %s/><text x=\"%d\" y=\"%d\">%s</text>\n"
	fmt.Fprintf(b, line, svgMargin, y-4, controlStyle, svgMargin+36, y, "control")
	fmt.Fprintf(b, line, svgMargin+110, y-4, dataStyle, svgMargin+146, y, "data")
}

const (
	controlStyle = `fill="none" stroke="#333" stroke-width="1.3" marker-end="url(#arrow)"`
	dataStyle    = `fill="none" stroke="#777" stroke-dasharray="5 4" marker-end="url(#data)"`
)

// paint gives the colour of the i-th node: hues a golden angle apart differ for as long
// as they can.
func paint(i int) string {
	hue := (210 + i*137) % 360
	return fmt.Sprintf(`fill="hsl(%d,70%%,91%%)" stroke="hsl(%d,55%%,38%%)"`, hue, hue)
}

// write draws a connector, so far right of its route: it bends between layers and is
// straight within them.
func (r *route) write(b *strings.Builder, e edge, right int) {
	var path strings.Builder
	y := 0
	down := func(to int) {
		if y != to {
			fmt.Fprintf(&path, " V%d", to)
		}
		y = to
	}
	for i, h := range r.hops {
		x0, x1, y1 := h.from.x+h.exit+right, h.to.x+h.entry+right, h.to.from
		if i == 0 {
			y = h.from.y + h.from.h/2
			fmt.Fprintf(&path, "M%d,%d", x0, y)
		}
		down(h.from.to)
		fmt.Fprintf(&path, " C%d,%d %d,%d %d,%d", x0, (y+y1)/2, x1, (y+y1)/2, x1, y1)
		y = y1
	}
	last := r.hops[len(r.hops)-1].to
	down(last.y - last.h/2)
	style := controlStyle
	if e.data {
		style = dataStyle
	}
	fmt.Fprintf(b, "<path d=\"%s\" %s><title>%s</title></path>\n", path.String(), style, escape(e.describe()))
}

// writeCondition writes a connector's condition, right of its line.
func (s *spot) writeCondition(b *strings.Builder) {
	y := s.y - svgLine*len(s.text)/2 + 12
	for i, line := range s.text {
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" font-size=\"11\">%s</text>\n", s.x+s.line()+svgTextAt, y+i*svgLine, escape(line))
	}
}

func (d *picture) writeBox(b *strings.Builder, s *spot) {
	look, radius, tip := `fill="#f4f4f4" stroke="#333"`, 16, s.name
	if s.activity != nil {
		radius, tip = 6, d.tip(s.activity)
		look = paint(slices.IndexFunc(d.nodes, func(n host) bool { return n.node == s.activity.Node }))
		if s.activity.Empty {
			look += ` stroke-dasharray="4 3"`
		}
		if s.inner != nil {
			look += ` fill-opacity="0.3" stroke-width="1.6"`
		}
	}
	fmt.Fprintf(b, "<g><title>%s</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" %s/>\n",
		escape(tip), s.x-s.w/2, s.y-s.h/2, s.w, s.h, radius, look)
	if s.activity != nil && s.activity.Child != nil { // a second line inside of the first
		fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"none\" stroke=\"#333\" stroke-width=\"0.8\"/>\n", s.x-s.w/2+3, s.y-s.h/2+3, s.w-6, s.h-6)
	}
	y := s.y - s.h/2 + s.head()/2 - svgLine*len(s.text)/2 + 13
	for i, line := range s.text {
		weight := ""
		switch {
		case s.activity == nil:
		case i == s.bold:
			weight = ` font-weight="bold"`
		case i < s.bold:
			weight = ` font-style="italic"`
		}
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\"%s>%s</text>\n", s.x, y+i*svgLine, weight, escape(line))
	}
	b.WriteString("</g>\n")
	if s.inner != nil {
		fmt.Fprintf(b, "<g transform=\"translate(%d,%d)\">\n", s.x-s.inner.w/2, s.y-s.h/2+s.head())
		s.inner.writeGraph(b)
		b.WriteString("</g>\n")
	}
}

// tip is all of what a box shows in part, and what its loop feeds back.
func (d *picture) tip(a *Activity) string {
	tip := a.Name + " at node " + a.Node
	if a.Block != nil {
		tip = "block " + tip
	}
	if a.Program != "" {
		tip += ", program " + a.Program
	}
	if a.Child != nil {
		tip += ", process " + a.Child.String()
	}
	if start := startOf(a, d.into[a.Name]); start != "" {
		tip += ", start: " + start
	}
	for _, more := range moreOf(a) {
		tip += ", " + more
	}
	if back, ok := d.loops[a.Name]; ok {
		tip += ", fed back: " + back.label
	}
	if about := text.Line(a.Description); about != "" {
		tip += ": " + about
	}
	return tip
}
