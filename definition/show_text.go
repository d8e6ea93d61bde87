package definition

import (
	"fmt"
	"strings"

	"fmqm/internal/text"
	"fmqm/processtable"
)

// columns of figure 5; Start and Exit are the conditions that it omits.
var columns = []string{"Proc", "Act", "In.CC", "Start", "Out.CC", "In.DC", "Out.DC", "Input", "Output", "Exit"}

// Show is the Text of tables that are there.
func Show(tables []*processtable.Table) string {
	var s Shown
	for _, t := range tables {
		s.Add(t)
	}
	return s.Text(0)
}

// Text draws process tables as figure 5 of the paper does: a row for each activity, a
// line for each connector, queues as Q_A,0, and below which process and which queue
// each short name stands for. What is inside of a block is written block/activity. Input and Output are the data templates of section 3.2. A
// table that is wider than room characters is a list instead; 0: there is room for all.
func (s *Shown) Text(room int) string {
	var b strings.Builder
	for i, t := range s.Tables {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Node %s\n", t.Node)
		if rows := grid(t); room > 0 && gridWidth(rows) > room {
			writeList(&b, rows, room)
		} else {
			writeGrid(&b, rows)
		}
		writeEnds(&b, t)
		writeStructures(&b, t.Structures)
		writeDetours(&b, t)
		for _, schedule := range t.Schedules {
			fmt.Fprintf(&b, "%s starts it: %s\n", t.Node, text.Line(schedule))
		}
		for _, of := range []struct{ what, value string }{{"may start it", t.Staff}, {"administers it", t.Administrator}, {"is its priority", t.Priority}} {
			if of.value != "" {
				fmt.Fprintf(&b, "%s %s\n", text.Line(of.value), of.what)
			}
		}
		if len(t.Search) > 0 {
			fmt.Fprintf(&b, "what is started at %s is found by %s\n", t.Node, text.Line(strings.Join(t.Search, ", ")))
		}
	}
	if len(s.Tables) > 0 {
		b.WriteByte('\n')
		writeLegend(&b, s.Tables)
		writeSizes(&b, s.Tables)
	}
	return b.String()
}

// grid gives the rows of one table; a cell has a line for each thing in it.
func grid(t ShownTable) [][][]string {
	rows := [][][]string{}
	head := [][]string{}
	for _, c := range columns {
		head = append(head, []string{c})
	}
	rows = append(rows, head)
	for _, a := range t.Activities {
		var in, out, outData []string
		for _, d := range a.InData {
			in = append(in, d.From+", {"+strings.Join(d.Filter, ", ")+"}")
		}
		if len(a.Feedback) > 0 {
			in = append(in, a.Activity+", {"+strings.Join(a.Feedback, ", ")+"}")
		}
		if a.Choice != "" {
			out = append(out, "the first of")
		}
		for _, c := range a.OutControl {
			out = append(out, showConnector(c))
		}
		for _, c := range a.OutData {
			outData = append(outData, showConnector(c))
		}
		rows = append(rows, [][]string{
			{fmt.Sprint(t.Number)},
			{a.label()},
			a.InControl,
			{text.Line(a.Start)},
			out,
			in,
			outData,
			{a.Input},
			{a.Output},
			{text.Line(a.Exit)},
		})
	}
	return rows
}

// writeEnds says, below a table, what else ends its activities, or what they end.
func writeEnds(b *strings.Builder, t ShownTable) {
	for _, a := range t.Activities {
		var all []string
		if a.AtOrigin {
			all = append(all, "is here for instances that were started here")
		}
		all = append(all, a.begins()...)
		if a.Child != "" {
			of := "is an instance of " + a.Child
			if a.Autonomy != "" {
				of += ", which outlives it"
			}
			all = append(all, of)
		}
		if a.Wait != "" {
			all = append(all, "waits "+text.Line(a.Wait))
		}
		if a.Receive != "" {
			all = append(all, "receives "+text.Line(a.Receive))
		}
		if a.Send != "" {
			all = append(all, "sends "+text.Line(a.Send))
		}
		if a.Staff != "" {
			all = append(all, fmt.Sprintf("is done by %s, who see %q", text.Line(a.Staff), text.Line(a.Title)))
			if len(a.OfferedAt) > 0 && a.Role != roleOffer {
				all = append(all, "is offered at "+fewNodes(a.OfferedAt))
			}
		}
		if a.Priority != "" {
			all = append(all, "has priority "+text.Line(a.Priority))
		}
		if a.Deadline != "" {
			all = append(all, "has its deadline "+text.Line(a.Deadline))
		}
		if a.Notify != "" {
			all = append(all, "notifies "+text.Line(a.Notify))
		}
		if a.OnError != "" {
			all = append(all, "goes on after errors")
		}
		if len(a.Cancels) > 0 {
			all = append(all, "cancels "+strings.Join(a.Cancels, ", "))
		}
		if len(all) > 0 {
			fmt.Fprintf(b, "%s %s\n", a.name(), strings.Join(all, "; "))
		}
	}
}

// name is the label without what it is inside of.
func (a *ShownActivity) name() string {
	alone := *a
	alone.Inside = nil
	return alone.label()
}

// writeDetours says, below a table, where dead paths pass around nodes.
func writeDetours(b *strings.Builder, t ShownTable) {
	for _, d := range t.Detours {
		var control, data []string
		for _, c := range d.OutControl {
			control = append(control, showConnector(c))
		}
		for _, c := range d.OutData {
			data = append(data, showConnector(c))
		}
		fmt.Fprintf(b, "if %s is dead, %s sends for %s: FALSE to %s", d.Activity, t.Node, d.Node, strings.Join(control, "; "))
		if len(data) > 0 {
			fmt.Fprintf(b, "; no data to %s", strings.Join(data, "; "))
		}
		b.WriteByte('\n')
	}
	for _, r := range t.Resolvers {
		fmt.Fprintf(b, "%s may send so for %s\n", r.Node, strings.Join(r.Activities, ", "))
	}
}

func showConnector(c ShownConnector) string {
	s := c.To + ", " + c.Queue
	if c.Condition != "" {
		s += ", " + text.Line(c.Condition)
	}
	return s
}

func writeLegend(b *strings.Builder, shown []ShownTable) {
	seen := map[int]bool{}
	for _, t := range shown {
		if !seen[t.Number] {
			fmt.Fprintf(b, "process %d is %s\n", t.Number, t.Process)
			seen[t.Number] = true
		}
	}
	t := shown[0]
	fmt.Fprintf(b, "%s is the queue of process %d at node %s, named %s.%s\n", t.Queue, t.Number, t.Node, t.Process, t.Node)
	fmt.Fprintf(b, "%s is its queue at the node where the instance was started\n", queueLabel(processtable.Origin, t.Number))
}
