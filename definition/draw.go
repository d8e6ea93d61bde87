package definition

import (
	"fmt"
	"strings"

	"fmqm/internal/text"
	"fmqm/processtable"
)

// Dot draws a process for Graphviz: a cluster for each node, activities with their start
// and exit conditions, control connectors with theirs, data connectors dashed with what they map as a tooltip. The same
// process gives the same text.
func Dot(p *Process) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotQuote(fmt.Sprintf("%s@%d", p.Name, p.Version)))
	b.WriteString("  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	fmt.Fprintf(&b, "  %s [shape=circle, label=\"source\"];\n", dotQuote(string(processtable.Source)))
	into := controlInto(p)
	for i, n := range hosts(p) {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n    style=rounded;\n", i, dotQuote("node "+n.node))
		for _, a := range n.activities {
			fmt.Fprintf(&b, "    %s [label=%s%s];\n", dotQuote(a.Name), dotQuote(activityLabel(a, into[a.Name], "\n")), dotStyle(a))
		}
		b.WriteString("  }\n")
	}
	fmt.Fprintf(&b, "  %s [shape=doublecircle, label=\"sink\"];\n", dotQuote(string(processtable.Sink)))
	for _, e := range edges(p) {
		fmt.Fprintf(&b, "  %s -> %s%s;\n", dotQuote(e.from), dotQuote(e.to), dotEdge(e))
	}
	b.WriteString("}\n")
	return b.String()
}

func dotStyle(a *Activity) string {
	if a.Empty {
		return ", style=\"rounded,dashed\""
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

// Mermaid draws a process as a Mermaid flowchart: a subgraph for each node, activities
// with their start and exit conditions, control connectors with theirs, data connectors dotted. The same process gives
// the same text.
func Mermaid(p *Process) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n  source((source))\n")
	into := controlInto(p)
	for i, n := range hosts(p) {
		fmt.Fprintf(&b, "  subgraph n%d[%s]\n", i, mermaidQuote("node "+n.node))
		for _, a := range n.activities {
			fmt.Fprintf(&b, "    %s(%s)\n", mermaidID(a.Name), mermaidQuote(activityLabel(a, into[a.Name], ": ")))
		}
		b.WriteString("  end\n")
	}
	b.WriteString("  sink(((sink)))\n")
	for _, e := range edges(p) {
		arrow := "-->"
		if e.data {
			arrow, e.label = "-.->", ""
		}
		if e.label != "" {
			arrow += "|" + mermaidQuote(e.label) + "|"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", mermaidID(e.from), arrow, mermaidID(e.to))
	}
	return b.String()
}

// mermaidID keeps activities apart from Mermaid's own words, such as end.
func mermaidID(name string) string {
	if name == string(processtable.Source) || name == string(processtable.Sink) {
		return name
	}
	return "a_" + name
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

// controlInto counts the control connectors that lead to each activity.
func controlInto(p *Process) map[string]int {
	into := map[string]int{}
	for _, k := range p.Control {
		into[k.Target]++
	}
	return into
}

// startOf is the start condition of an activity into which so many control connectors
// lead, as the language writes it; "" where there is nothing to be said.
func startOf(a *Activity, connectors int) string {
	switch a.Start.Kind {
	case StartAny:
		return "any"
	case StartAtLeast:
		return fmt.Sprintf("at_least %d of %d", a.Start.N, connectors)
	case StartExpression:
		return text.Line(a.Start.Text)
	case StartAll:
	}
	if connectors > 1 {
		return "all"
	}
	return ""
}

// activityLabel gives the name with the program, if that has another, and when it starts
// and ends.
func activityLabel(a *Activity, connectors int, separator string) string {
	label := a.Name
	if a.Program != "" && a.Program != a.Name {
		label += separator + a.Program
	}
	if start := startOf(a, connectors); start != "" {
		label += separator + "start: " + start
	}
	if a.Exit != nil {
		label += separator + "until " + text.Line(a.Exit.Checked.Text)
	}
	if a.FirstMatch {
		label += separator + "choice: first_match"
	}
	return label
}

type host struct {
	node       string
	activities []*Activity
}

// hosts gives the nodes with their activities, both in file order.
func hosts(p *Process) []host {
	var all []host
	at := map[string]int{}
	for _, a := range p.Activities {
		i, ok := at[a.Node]
		if !ok {
			i = len(all)
			at[a.Node] = i
			all = append(all, host{node: a.Node})
		}
		all[i].activities = append(all[i].activities, a)
	}
	return all
}

type edge struct {
	from, to, label string
	data            bool
}

// edges gives every connector in file order: control, also those of source and sink,
// then data.
func edges(p *Process) []edge {
	follows, leads := map[string]bool{}, map[string]bool{}
	for _, k := range p.Control {
		leads[k.Source], follows[k.Target] = true, true
	}
	var all []edge
	for _, a := range p.Activities {
		if !follows[a.Name] {
			all = append(all, edge{from: string(processtable.Source), to: a.Name})
		}
	}
	for _, k := range p.Control {
		e := edge{from: k.Source, to: k.Target}
		if k.Condition != nil {
			e.label = text.Line(k.Condition.Checked.Text)
		}
		if k.Otherwise {
			e.label = "otherwise"
		}
		all = append(all, e)
	}
	for _, a := range p.Activities {
		if !leads[a.Name] {
			all = append(all, edge{from: a.Name, to: string(processtable.Sink)})
		}
	}
	for _, d := range p.Data {
		maps := make([]string, len(d.Mappings))
		for i, m := range d.Mappings {
			maps[i] = m.Target + ": " + m.Source
		}
		all = append(all, edge{from: d.Source, to: d.Target, label: strings.Join(maps, ", "), data: true})
	}
	return all
}
