package tables

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"fmqm/api"
	"fmqm/condition"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/processtable"
)

// uploads are those of one story, at a site A that lists no peer and knows a way to each site whose
// name begins with B, as over a broker.
type uploads struct {
	*world
	tables []api.Table
}

// define adds the tables of a process: define NAME VERSION NODE..., with an activity at each
// node; with broken, A's table has a condition that cannot be loaded, and with other, another
// content.
func (w *uploads) define(d *datadriven.TestData) {
	var name, version string
	d.ScanArgs(w.t, "process", &name)
	d.ScanArgs(w.t, "version", &version)
	var b strings.Builder
	b.WriteString("process: " + name + "\nversion: " + version + "\nstructures: {S: {n: int}}\nactivities:\n")
	exit := "n >= 0"
	if d.HasArg("other") {
		exit = "n >= 1"
	}
	for _, arg := range d.CmdArgs {
		if arg.Key != "at" {
			continue
		}
		for i, node := range arg.Vals {
			b.WriteString("  a" + string(rune('0'+i)) + ": {node: " + node + ", program: p, output: S, exit: " + exit + "}\n")
		}
	}
	compiled := definitiontest.Compile(w.t, b.String(), definition.CompileOptions{})
	for i, t := range compiled.Tables {
		encoded := compiled.Encoded[i]
		if d.HasArg("broken") && t.Node == "A" {
			t.Activity(processtable.RowID{Name: "a0"}).Exit = &condition.Checked{Text: "n >= 0", Expr: []byte("none")}
			var err error
			if encoded, err = processtable.Encode(t); err != nil {
				w.t.Fatal(err)
			}
		}
		w.tables = append(w.tables, api.Table{
			Node: string(t.Node), Process: t.Process.String(), Definition: t.Definition.String(), Table: encoded,
		})
	}
}

// upload sends what was defined, and tells of each table and of what it left behind.
func (w *uploads) upload(d *datadriven.TestData) string {
	answer, err := w.Upload(w.t.Context(), api.UploadRequest{
		Tables: w.tables, PlanOnly: d.HasArg("plan"), AllowNewNode: d.HasArg("allow-new-node"),
	})
	w.tables = nil
	if err != nil {
		return err.Error() + "\n" + w.left()
	}
	var b strings.Builder
	for _, l := range answer.Nodes {
		b.WriteString(strings.TrimSpace(strings.Join([]string{l.Process, "at", l.Node + ":", string(l.Plan), string(l.Result), l.Reason}, " ")) + "\n")
	}
	return strings.ReplaceAll(b.String(), "  ", " ") + w.left()
}

// left is what there is at the site: links, queues of messages for peers, tables.
func (w *uploads) left() string {
	var tables []string
	for _, p := range w.Processes() {
		tables = append(tables, p.Table().Process.String())
	}
	return "links: " + names(w.Peers()) + "; waiting for: " + names(w.Queue.Peers()) + "; tables: " + strings.Join(tables, " ") + "\n"
}

func names(nodes []processtable.NodeID) string {
	var all []string
	for _, n := range nodes {
		all = append(all, string(n))
	}
	return strings.Join(all, " ")
}

// An upload of any number of processes is planned without leaving anything behind, and
// stored whole or not at all.
func TestUploads(t *testing.T) {
	datadriven.Walk(t, "testdata/uploads", func(t *testing.T, path string) {
		w := &uploads{world: newWorld(t)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "define":
				w.define(d)
				return "ok\n"
			case "upload":
				return w.upload(d)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}
