package definition

import (
	"fmt"
	"strings"

	"fmqm/internal/text"
	"fmqm/processtable"
)

// Dot draws a process for Graphviz: a cluster for each node and for each block, activities with their start
// and exit conditions, subprocesses with a double line, control connectors with their conditions, data connectors dashed with what they map as a tooltip. What
// leads to a block leads to its source, what leads out of it comes from its sink. The same process gives the same text.
func Dot(p *Process) string {
	w := &dotWriter{}
	fmt.Fprintf(w, "digraph %s {\n", dotQuote(fmt.Sprintf("%s@%d", p.Name, p.Version)))
	w.WriteString("  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	w.graph(&p.Graph, "", "  ")
	w.WriteString("}\n")
	return w.String()
}

type dotWriter struct {
	strings.Builder
	clusters int
}

// graph draws the graph of a block, or of the process.
func (w *dotWriter) graph(g *Graph, block, indent string) {
	source, sink := drawn{block, string(processtable.Source)}, drawn{block, string(processtable.Sink)}
	fmt.Fprintf(w, "%s%s [shape=circle, label=\"source\"];\n", indent, source.dot())
	into := controlInto(g)
	for _, n := range hosts(steps(g)) {
		w.cluster("node "+n.node, indent, func() {
			for _, a := range n.activities {
				fmt.Fprintf(w, "%s  %s [label=%s%s];\n", indent, dotQuote(a.Name), dotQuote(activityLabel(a, into[a.Name], "\n")), dotStyle(a))
			}
		})
	}
	for _, a := range blocks(g) {
		w.cluster(activityLabel(a, into[a.Name], "\n"), indent, func() { w.graph(a.Block, a.Name, indent+"  ") })
	}
	fmt.Fprintf(w, "%s%s [shape=doublecircle, label=\"sink\"];\n", indent, sink.dot())
	for _, e := range edges(g, block) {
		from, to := e.ends()
		fmt.Fprintf(w, "%s%s -> %s%s;\n", indent, from.dot(), to.dot(), dotEdge(e))
	}
}

func (w *dotWriter) cluster(label, indent string, inside func()) {
	fmt.Fprintf(w, "%[1]ssubgraph cluster_%[2]d {\n%[1]s  label=%[3]s;\n%[1]s  style=rounded;\n", indent, w.clusters, dotQuote(label))
	w.clusters++
	inside()
	w.WriteString(indent + "}\n")
}

func dotStyle(a *Activity) string {
	switch {
	case a.Empty:
		return ", style=\"rounded,dashed\""
	case a.Child != nil:
		return ", peripheries=2"
	}
	return ""
}

func dotEdge(e edge) string {
	switch {
	case e.data:
		return fmt.Sprintf(" [style=dashed, color=gray40, constraint=false, tooltip=%s]", dotQuote(e.label))
	case e.label != "":
		return fmt.Sprintf(" [label=%s]", dotQuote(e.label))
	}
	return ""
}

// dotQuote gives a quoted Graphviz string. Backslashes would begin an escape such as
// \N in a label, so they are doubled; a line break is written as one.
func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "").Replace(s) + `"`
}

// Mermaid draws a process as a Mermaid flowchart: a subgraph for each node and for each block, activities
// with their start and exit conditions, control connectors with theirs, data connectors dotted. What leads to
// a block leads to its source, what leads out of it comes from its sink. The same process gives the same text.
func Mermaid(p *Process) string {
	w := &mermaidWriter{}
	w.WriteString("flowchart LR\n")
	w.graph(&p.Graph, "", "  ")
	return w.String()
}

type mermaidWriter struct {
	strings.Builder
	subgraphs int
}

func (w *mermaidWriter) graph(g *Graph, block, indent string) {
	source, sink := drawn{block, string(processtable.Source)}, drawn{block, string(processtable.Sink)}
	fmt.Fprintf(w, "%s%s((source))\n", indent, source.mermaid())
	into := controlInto(g)
	for _, n := range hosts(steps(g)) {
		w.subgraph("node "+n.node, indent, func() {
			for _, a := range n.activities {
				open, end := "(", ")"
				if a.Child != nil {
					open, end = "[[", "]]"
				}
				fmt.Fprintf(w, "%s  %s%s%s%s\n", indent, drawn{"", a.Name}.mermaid(), open, mermaidQuote(activityLabel(a, into[a.Name], ": ")), end)
			}
		})
	}
	for _, a := range blocks(g) {
		w.subgraph(activityLabel(a, into[a.Name], ": "), indent, func() { w.graph(a.Block, a.Name, indent+"  ") })
	}
	fmt.Fprintf(w, "%s%s(((sink)))\n", indent, sink.mermaid())
	for _, e := range edges(g, block) {
		arrow := "-->"
		if e.data {
			arrow, e.label = "-.->", ""
		}
		if e.label != "" {
			arrow += "|" + mermaidQuote(e.label) + "|"
		}
		from, to := e.ends()
		fmt.Fprintf(w, "%s%s %s %s\n", indent, from.mermaid(), arrow, to.mermaid())
	}
}

func (w *mermaidWriter) subgraph(label, indent string, inside func()) {
	fmt.Fprintf(w, "%ssubgraph n%d[%s]\n", indent, w.subgraphs, mermaidQuote(label))
	w.subgraphs++
	inside()
	w.WriteString(indent + "end\n")
}

// drawn is what a connector is drawn to: an activity, or the source or sink of a block, or of
// the process, whose name is empty.
type drawn struct{ block, name string }

// ends gives what a connector is drawn between.
func (e edge) ends() (from, to drawn) {
	end := func(name string, isBlock bool, end processtable.ActivityID) drawn {
		switch {
		case name == string(processtable.Source) || name == string(processtable.Sink):
			return drawn{e.block, name}
		case isBlock:
			return drawn{name, string(end)}
		}
		return drawn{"", name}
	}
	return end(e.from, e.fromBlock, processtable.Sink), end(e.to, e.toBlock, processtable.Source)
}

func (d drawn) dot() string {
	if d.block != "" {
		return dotQuote(d.block + "/" + d.name)
	}
	return dotQuote(d.name)
}

// mermaid keeps activities apart from Mermaid's own words, such as end, and from source and sink.
func (d drawn) mermaid() string {
	switch {
	case d.block != "":
		return d.name + "_" + d.block
	case d.name == string(processtable.Source) || d.name == string(processtable.Sink):
		return d.name
	}
	return "a_" + d.name
}

// mermaidQuote gives a quoted Mermaid text, in which everything that Mermaid, Markdown
// or HTML would read is written as an entity code.
func mermaidQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text.Line(s) {
		if strings.ContainsRune("\"#&<>`*_\\|~", r) {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	b.WriteByte('"')
	return b.String()
}
