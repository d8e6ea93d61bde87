package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/examples/exampletest"
	"fmqm/node/config"
	"fmqm/processtable"
	"fmqm/test/fleet"
)

// The examples through real daemons with their own configurations and programs: each
// case ends as under the interpreter, activity by activity (invariant 7).
func TestExamples(t *testing.T) {
	for _, name := range []string{"stock-run", "noon-report", "sample-run", "plant-rollout", "insurance-claim", "stock-night", "ship-repair", "warehouse-order", "damage-claim", "ward-sample"} {
		t.Run(name, func(t *testing.T) {
			e := exampletest.Load(t, "../../../examples/"+name) // before any program runs: one that is being written cannot
			t.Parallel()
			n := newExampleNet(t, e)
			for site := range e.Configs {
				n.start(site)
			}
			n.upload()
			for _, c := range e.Cases {
				t.Run(c.Name, func(t *testing.T) { n.try(t, c) })
			}
		})
	}
}

// exampleNet is the daemons of an example, on ports of their own.
type exampleNet struct {
	t       *testing.T
	example *exampletest.Example
	daemons map[string]*daemon.Daemon
}

func newExampleNet(t *testing.T, e *exampletest.Example) *exampleNet {
	n := &exampleNet{t: t, example: e, daemons: map[string]*daemon.Daemon{}}
	dir := t.TempDir() // a short path, for the sockets
	addresses := map[processtable.NodeID]string{}
	for _, c := range e.Configs {
		addresses[c.Node] = fleet.FreePort(t)
	}
	for i, c := range slices.Collect(values(e.Configs)) {
		c.Listen, c.Socket = addresses[c.Node], dir+"/"+strconv.Itoa(i)
		for peer, p := range c.Peers {
			if p.Address != "" {
				c.Peers[peer] = config.Peer{Address: "http://" + addresses[peer]}
			}
		}
	}
	return n
}

func values(m map[string]*config.Config) func(func(*config.Config) bool) {
	return func(yield func(*config.Config) bool) {
		for _, c := range m {
			if !yield(c) {
				return
			}
		}
	}
}

func (n *exampleNet) start(site string) {
	n.t.Helper()
	n.daemons[site] = daemontest.Start(n.t, n.example.Configs[site], zerolog.Nop())
}

// upload sends the tables by way of a node that has a link to every other one.
func (n *exampleNet) upload() {
	n.t.Helper()
	tables, err := apitest.Tables(n.example.Processes...)
	if err != nil {
		n.t.Fatal(err)
	}
	var by *daemon.Daemon
	for site, c := range n.example.Configs {
		linked := 0
		for peer := range c.Peers {
			if n.daemons[string(peer)] != nil {
				linked++
			}
		}
		if linked == len(n.example.Configs)-1 {
			by = n.daemons[site]
		}
	}
	if by == nil {
		n.t.Fatal("no node has a link to every other one")
	}
	n.connected(by)
	answer, err := by.Node.Upload(n.t.Context(), api.UploadRequest{Tables: tables})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, line := range answer.Nodes {
		if line.Result != api.ResultStored && n.daemons[line.Node] != nil {
			n.t.Errorf("upload: %+v", line)
		}
	}
	if len(answer.Warnings) > 0 {
		n.t.Errorf("upload: %v", answer.Warnings)
	}
}

// connected waits until a daemon has a connection to every peer that is there.
func (n *exampleNet) connected(d *daemon.Daemon) {
	n.t.Helper()
	until(n.t, "every peer is connected", func() bool {
		answer, err := d.Node.Nodes(n.t.Context())
		if err != nil {
			n.t.Fatal(err)
		}
		return !slices.ContainsFunc(answer.Nodes, func(l api.Node) bool {
			return n.daemons[l.Node] != nil && l.State != api.NodeSelf && l.State != "connected"
		})
	})
}

// try starts a case, brings back who was away, sends its events, and compares how it ends.
func (n *exampleNet) try(t *testing.T, c exampletest.Case) {
	for _, site := range slices.Concat(c.Away, c.Gone) {
		daemontest.Stop(n.t, n.daemons[site])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	id := n.begin(ctx, t, c.At, n.example.Process.Name, c.Key, c.Input)
	for _, site := range c.Away {
		n.start(site)
	}
	for i, e := range c.Events {
		n.send(ctx, t, e, c.Name+" "+strconv.Itoa(i))
	}
	done := map[string]bool{}
	for _, w := range c.Work {
		done[n.say(ctx, t, id, w, done)] = w.Refused == ""
	}
	status, err := n.daemons[c.At].Node.Wait(ctx, id)
	for err == nil && n.late(status, c) { // a site may answer late
		status, err = n.daemons[c.At].Node.Status(ctx, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range c.Gone {
		n.start(site)
	}
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	got := exampletest.ParseStatus(t, text)
	n.example.Check(t, c, got)
	n.example.CheckFiles(t, c)
	want := exampletest.StatusOf(t, n.example.Interpret(t, c))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other than under the interpreter (-want +got):\n%s", diff)
	}
}

// say has a person do an item of an instance, or be refused. Of what was done elsewhere a site hears a moment later.
func (n *exampleNet) say(ctx context.Context, t *testing.T, id api.InstanceID, w exampletest.Word, done map[string]bool) string {
	t.Helper()
	node := n.daemons[w.At].Node
	person := api.WithCaller(ctx, api.Caller{Name: w.As + "@" + w.At, Person: w.As})
	find := func(ctx context.Context, all bool) (item string) {
		t.Helper()
		list, err := node.Work(ctx, api.WorkRequest{All: all, Process: n.example.Process.Name, Activity: w.Activity, Limit: api.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range list.Items {
			if i.Instance == id && i.Kind == api.ItemWork && !done[i.Item] {
				item = i.Item
			}
		}
		return item
	}
	asks, all := person, w.Refused != ""
	if all { // an operator sees it
		asks = ctx
	}
	var item string
	until(t, fmt.Sprintf("%s is offered at %s", w.Activity, w.At), func() bool { item = find(asks, all); return item != "" })
	_, err := node.SayWork(person, item, api.WorkComplete, api.WorkWord{Output: w.Output})
	switch {
	case w.Refused == "" && err != nil:
		t.Fatalf("%s completes %s: %v", w.As, w.Activity, err)
	case w.Refused != "" && (err == nil || !strings.Contains(err.Error(), w.Refused)):
		t.Fatalf("%s completes %s, which %q refuses: %v", w.As, w.Activity, w.Refused, err)
	case w.Refused != "" && find(person, false) != "":
		t.Errorf("%s may not have %s, and has it on the worklist", w.As, w.Activity)
	}
	return item
}

// late says whether a site that is there, and that the one where the case was started has a link to, has not answered.
func (n *exampleNet) late(s api.Status, c exampletest.Case) bool {
	return slices.ContainsFunc(s.Unreachable, func(u api.Unreachable) bool {
		_, linked := n.example.Configs[c.At].Peers[processtable.NodeID(u.Node)]
		return linked && n.daemons[u.Node] != nil && !slices.Contains(c.Gone, u.Node)
	})
}

// begin starts an instance, twice: the second finds the first (N2).
func (n *exampleNet) begin(ctx context.Context, t *testing.T, at, process, key string, input json.RawMessage) api.InstanceID {
	t.Helper()
	id, err := api.NewInstance()
	if key != "" {
		id, err = api.KeyedInstance(process, key), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := n.daemons[at].Node.Start(ctx, api.StartRequest{Instance: id, Process: process, Input: input}); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// send sends an event, twice, or has a process do it.
func (n *exampleNet) send(ctx context.Context, t *testing.T, e exampletest.Event, id string) {
	t.Helper()
	if e.Process != "" {
		n.begin(ctx, t, e.From, e.Process, id, e.Data)
		return
	}
	for range 2 {
		r := api.EventRequest{Event: e.Event, Key: e.Key, ID: strings.ReplaceAll(id, " ", "-"), Data: e.Data}
		if _, err := n.daemons[e.At].Node.SendEvent(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
}
