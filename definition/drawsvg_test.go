package definition

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func svgOf(t testing.TB, p *Process) string {
	t.Helper()
	out, err := SVG(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPicture(t *testing.T) {
	p := loadOne(t, section34)
	golden(t, "testdata/section34.svg", svgOf(t, p))
	if svgOf(t, p) != svgOf(t, loadOne(t, section34)) {
		t.Error("the same process is drawn in two ways")
	}
}

// textsOf gives what an SVG shows as text and as tooltips; it must be XML.
func textsOf(t *rapid.T, svg string) []string {
	var texts []string
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		if c, ok := token.(xml.CharData); ok {
			texts = append(texts, string(c))
		}
	}
}

func TestPictureEscapesWhatItShows(t *testing.T) {
	p := loadOne(t, awkward)
	p.Description = "</desc><script>alert(1)</script> \x01"
	svg := svgOf(t, p)
	for _, want := range []string{`s == &#34;a|b\\\&#34;&lt;#&gt;`, "&lt;/desc&gt;&lt;script&gt;", `\x01`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
}

func TestPictureOfALoopSaysWhenItEnds(t *testing.T) {
	p := loadOne(t, purchaseOrder(t))
	svg := svgOf(t, p)
	for _, want := range []string{">\u21bb until _RC == 0<", "credit at node B, program check-credit, until _RC == 0"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
}

func TestAPictureTooLargeToBeReadIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("process: long\nversion: 1\nstructures: {S: {n: int}}\ninput: S\nactivities:\n")
	for i := range 400 {
		fmt.Fprintf(&b, "  a%d: {node: A, program: p, input: S}\n", i)
	}
	b.WriteString("control:\n")
	for i := range 399 {
		fmt.Fprintf(&b, "  - a%d -> a%d\n", i, i+1)
	}
	b.WriteString("data:\n")
	for i := range 400 {
		fmt.Fprintf(&b, "  - source -> a%d\n", i)
	}
	_, err := SVG(loadOne(t, b.String()))
	const want = "long@1: the picture would have over 50000 parts, too many to read: use fmqm-define show"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// drawnProcess is the process of drawnText.
func drawnProcess(t *rapid.T) *Process {
	text := drawnText(t)
	processes, problems := Load("drawn.yaml", []byte(text))
	if len(processes) != 1 {
		t.Fatalf("%v\n%s", problems, text)
	}
	return processes[0]
}

// drawnText draws a process at random: connectors go from earlier activities to later
// ones, some with a condition, some with data beside.
func drawnText(t *rapid.T) string {
	n := rapid.IntRange(1, 14).Draw(t, "activities")
	var b, control, data strings.Builder
	b.WriteString("process: drawn\nversion: 1\nstructures: {S: {n: int}}\ninput: S\noutput: S\nactivities:\n")
	for i := range n {
		fmt.Fprintf(&b, "  a%d: {node: N%d, program: p, input: S, output: S}\n", i, rapid.IntRange(0, 3).Draw(t, "node"))
		for j := range i {
			switch rapid.IntRange(0, 7).Draw(t, "connector") {
			case 0:
				fmt.Fprintf(&control, "  - a%d -> a%d\n", j, i)
			case 1:
				fmt.Fprintf(&control, "  - a%d -> a%d: n > %d\n", j, i, rapid.IntRange(0, 1<<30).Draw(t, "bound"))
				fmt.Fprintf(&data, "  - a%d -> a%d\n", j, i)
			}
		}
		fmt.Fprintf(&data, "  - source -> a%d: {n: n}\n", i)
	}
	if control.Len() > 0 {
		b.WriteString("control:\n" + control.String())
	}
	return b.String() + "data:\n" + data.String()
}

// drawnBody draws the graph of a process, or of a block so deep inside of it, at random.
func drawnBody(t *rapid.T, names *int, depth int) string {
	indent := strings.Repeat("    ", depth)
	var activities, control, data strings.Builder
	var before []string
	for range rapid.IntRange(1, 5).Draw(t, "activities") {
		name := fmt.Sprintf("a%d", *names)
		*names++
		fmt.Fprintf(&activities, "%s  %s:\n%s    node: N%d\n%s    input: S\n%s    output: S\n", indent, name, indent, rapid.IntRange(0, 3).Draw(t, "node"), indent, indent)
		if depth < 3 && rapid.IntRange(0, 3).Draw(t, "block") == 0 {
			fmt.Fprintf(&activities, "%s    exit: n > %d\n%s", indent, *names, drawnBody(t, names, depth+1))
			fmt.Fprintf(&data, "%s  - %s -> %s\n", indent, name, name)
		} else {
			fmt.Fprintf(&activities, "%s    program: p\n", indent)
		}
		fmt.Fprintf(&data, "%s  - source -> %s\n", indent, name)
		for _, b := range before {
			switch rapid.IntRange(0, 3).Draw(t, "connector") {
			case 0:
				fmt.Fprintf(&control, "%s  - %s -> %s\n", indent, b, name)
			case 1:
				fmt.Fprintf(&control, "%s  - %s -> %s: n > %d\n", indent, b, name, *names)
				fmt.Fprintf(&data, "%s  - %s -> %s\n", indent, b, name)
			}
		}
		before = append(before, name)
	}
	fmt.Fprintf(&data, "%s  - %s -> sink\n", indent, before[len(before)-1])
	return fmt.Sprintf("%[1]sactivities:\n%[2]s%[1]scontrol:\n%[3]s%[1]sdata:\n%[4]s", indent, activities.String(), control.String(), data.String())
}

// drawnBlocks draws a process with blocks.
func drawnBlocks(t *rapid.T) *Process {
	text := "process: drawn\nversion: 1\nstructures: {S: {n: int}}\ninput: S\noutput: S\n" + drawnBody(t, new(int), 0)
	processes, problems := Load("drawn.yaml", []byte(text))
	if len(processes) != 1 {
		t.Fatalf("%v\n%s", problems, text)
	}
	return processes[0]
}

// Nothing is drawn across anything: places in a layer lie apart, layers lie apart, and
// a connector goes from each layer to the next, from its source to its target. What is inside
// of a block is drawn inside its box, below its text.
func TestNothingIsDrawnAcrossABoxOrAText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnProcess(t)
		if rapid.Bool().Draw(t, "blocks") {
			p = drawnBlocks(t)
		}
		d, err := layOut(p)
		if err != nil {
			t.Fatal(err)
		}
		checkPicture(t, d, &p.Graph, "", strings.Join(textsOf(t, d.write(p)), "\n"))
	})
}

func checkPicture(t *rapid.T, d *picture, g *Graph, block, texts string) {
	checkLayers(t, d)
	for _, layer := range d.layers {
		for _, s := range layer {
			switch {
			case (s.activity != nil && s.activity.Block != nil) != (s.inner != nil):
				t.Fatalf("%s is drawn as something else", s.name)
			case s.inner != nil:
				if s.inner.w > s.w || s.head()+s.inner.h > s.h {
					t.Fatalf("what is inside %s is larger than its box: %+v", s.name, s)
				}
				checkPicture(t, s.inner, s.activity.Block, s.name, texts)
			}
		}
	}
	beside := 0
	for _, r := range d.routes {
		at := r.hops[0].from
		if at.name != r.from || r.hops[len(r.hops)-1].to.name != r.to {
			t.Fatalf("%s -> %s is drawn from %s to %s", r.from, r.to, at.name, r.hops[len(r.hops)-1].to.name)
		}
		for i, h := range r.hops {
			if h.from != at || h.to.layer != at.layer+1 || i > 0 && at.name != "" || h.from.to > h.to.from {
				t.Fatalf("%s -> %s leaves its layers", r.from, r.to)
			}
			at = h.to
		}
		if b := r.beside; b != nil {
			beside++
			if r.data || !b.data || b.from != r.from || b.to != r.to {
				t.Fatalf("%v is drawn beside %v", b, r.edge)
			}
		}
	}
	all := edges(g, block)
	if got := len(d.routes) + len(d.loops) + beside; got != len(all) {
		t.Fatalf("%d connectors are drawn, want %d", got, len(all))
	}
	for _, e := range all {
		if _, loop := d.loops[e.from]; !strings.Contains(texts, e.describe()) && !(loop && e.from == e.to) {
			t.Fatalf("nothing says %s", e.describe())
		}
	}
}

func checkLayers(t *rapid.T, d *picture) {
	bottom := d.top
	for i, layer := range d.layers {
		end := bottom
		for k, s := range layer {
			if s.layer != i || s.from < bottom || s.y-s.h/2 < s.from || s.y+s.h/2 > s.to || s.x-s.w/2 < 0 || s.y+s.h/2 > d.h || s.x+s.w/2 > d.w {
				t.Fatalf("layer %d: %q lies outside its layer, which begins at %d: %+v", i, s.name, bottom, s)
			}
			if k > 0 && layer[k-1].x+layer[k-1].w/2 >= s.x-s.w/2 {
				t.Fatalf("layer %d: %v and %v overlap", i, layer[k-1].text, s.text)
			}
			for _, line := range s.text {
				letter := svgLetter
				if s.name == "" {
					letter = svgSmall
				}
				if len([]rune(line))*letter > s.w {
					t.Fatalf("%q is wider than its place, %d", line, s.w)
				}
			}
			if len(s.text)*svgLine > s.h {
				t.Fatalf("%q are higher than their place, %d", s.text, s.h)
			}
			end = max(end, s.y+s.h/2)
		}
		bottom = end + 1
	}
}

// The order that is taken is the best of those on the way: an order that was found once is
// never given up for one in which more connectors cross, and they are counted right.
func TestCrossings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, err := layOut(drawnProcess(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, layer := range d.layers {
			number(rapid.Permutation(layer).Draw(t, "order"))
		}
		want := 0
		for _, r := range d.routes {
			for _, h := range r.hops {
				for _, q := range d.routes {
					for _, g := range q.hops {
						if g.from.layer == h.from.layer && g.from.at < h.from.at && g.to.at > h.to.at {
							want++
						}
					}
				}
			}
		}
		for _, layer := range d.layers {
			slices.SortFunc(layer, func(a, b *spot) int { return a.at - b.at })
		}
		if got := d.crossings(); got != want {
			t.Fatalf("%d crossings, want %d", got, want)
		}
		d.arrange()
		if got := d.crossings(); got > want {
			t.Fatalf("%d crossings of %d in the end", got, want)
		}
	})
}

// Every box says when it starts, where that is not a matter of course, in every format.
func TestDrawingsHaveStartConditions(t *testing.T) {
	p := loadOne(t, `
process: starts
version: 1
activities:
  a: {node: A, program: p}
  b: {node: A, program: p}
  one: {node: A, program: p}
  not: {node: A, program: p, start: "!a"}
  every: {node: A, program: p}
  some: {node: A, program: p, start: any}
  two: {node: A, program: p, start: {at_least: 2}}
  expression: {node: A, program: p, start: "(a || !b) && (one || not || every) && some"}
control:
  - a -> one
  - a -> not
  - a -> every
  - b -> every
  - a -> some
  - b -> some
  - a -> two
  - b -> two
  - one -> two
  - a -> expression
  - b -> expression
  - one -> expression
  - not -> expression
  - every -> expression
  - some -> expression
`[1:])
	want := map[string]string{
		"a": "", "one": "", "not": "!a", "every": "all", "some": "any", "two": "at_least 2 of 3",
		"expression": "(a || !b) && (one || not || every) && some",
	}
	dot, mermaid, svg := Dot(p), Mermaid(p), svgOf(t, p)
	for name, start := range want {
		box, label, tip := name, name+": p", name+" at node A, program p"
		if start != "" {
			box, label, tip = "start: "+start, label+": start: "+start, tip+", start: "+start
		}
		for format, has := range map[string]bool{
			"dot":         strings.Contains(dot, "[label="+dotQuote(strings.Replace(strings.Replace(label, ": ", "\n", 1), ": start", "\nstart", 1))+"]"),
			"mermaid":     strings.Contains(mermaid, "("+mermaidQuote(label)+")"),
			"svg":         strings.Contains(svg, "<title>"+escape(tip)+"</title>") && strings.Contains(svg, ">"+escape(fold(box)[0])+"<"),
			"svg's words": strings.Contains(svg, "Start of "+name+": "+escape(start)+".") == (start != ""),
		} {
			if !has {
				t.Errorf("%s does not say when %s starts: %q", format, name, start)
			}
		}
	}
}

// Thirty activities over four sites, with forty conditions and data between most of them,
// fit the width of a screen and of a page.
func TestThirtyActivitiesAreReadable(t *testing.T) {
	d, err := layOut(loadOne(t, testdata(t, "thirty.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	if crossings := d.crossings(); d.w > 1100 || d.h > 2800 || crossings > 30 {
		t.Errorf("%d x %d pixels, %d crossings", d.w, d.h, crossings)
	}
}

func TestFold(t *testing.T) {
	const long = "amount > 1000.0 && customer.startsWith(\"ann\") && quantity in [1, 2, 3, 4, 5, 6, 7]"
	for text, want := range map[string]string{
		"short":                            "short",
		"just as long as a line is.":       "just as long as a line is.",
		"one that goes on after its line":  "one that goes on after its|line",
		"aVeryLongNameWithoutAnySpaceInIt": "aVeryLongNameWithoutAnySpa|ceInIt",
		long:                               "amount > 1000.0 &&|customer.startsWith(\"ann\")|&& quantity in [1, 2, 3, …",
	} {
		if got := strings.Join(fold(text), "|"); got != want {
			t.Errorf("%q is broken into %q, want %q", text, got, want)
		}
	}
}
