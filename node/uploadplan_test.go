package node

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/condition"
	"fmqm/definition"
	"fmqm/internal/store/badger"
	"fmqm/processtable"
	"fmqm/program"
)

// uploadWorld is a node A that lists no peer and knows a way to each site whose name begins
// with B, as over a broker.
type uploadWorld struct {
	t      *testing.T
	n      *Node
	tables []api.Table
}

func openUploadWorld(t *testing.T) *uploadWorld {
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{"p": {Kind: program.KindBuiltin, Builtin: "noop"}}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(Options{
		Name: "A", Engine: engine, Registry: registry, Log: zerolog.Nop(),
		Unlisted: func(peer processtable.NodeID) (Peer, bool) { return Peer{}, strings.HasPrefix(string(peer), "B") },
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		registry.Close()
	})
	return &uploadWorld{t: t, n: n}
}

// define adds the tables of a process: define NAME VERSION NODE..., with an activity at each
// node; with broken, A's table has a condition that cannot be loaded, and with other, another
// content.
func (w *uploadWorld) define(d *datadriven.TestData) {
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
	compiled := compile(w.t, b.String(), definition.CompileOptions{})
	for i, t := range compiled.Tables {
		encoded := compiled.Encoded[i]
		if d.HasArg("broken") && t.Node == "A" {
			t.Activity("a0").Exit = &condition.Checked{Text: "n >= 0", Expr: []byte("none")}
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
func (w *uploadWorld) upload(d *datadriven.TestData) string {
	answer, err := w.n.Upload(w.t.Context(), api.UploadRequest{
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

// left is what there is at the node: links, queues of messages for peers, tables.
func (w *uploadWorld) left() string {
	var tables []string
	for _, t := range w.n.threads() {
		tables = append(tables, t.id().String())
	}
	var queues []string
	for _, peer := range w.n.queue.Peers() {
		queues = append(queues, string(peer))
	}
	var links []string
	for _, peer := range w.n.peers() {
		links = append(links, string(peer))
	}
	slices.Sort(links)
	return "links: " + strings.Join(links, " ") + "; waiting for: " + strings.Join(queues, " ") + "; tables: " + strings.Join(tables, " ") + "\n"
}

// An upload of any number of processes is planned without leaving anything behind, and
// stored whole or not at all.
func TestUploads(t *testing.T) {
	datadriven.Walk(t, "testdata/uploads", func(t *testing.T, path string) {
		w := openUploadWorld(t)
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
