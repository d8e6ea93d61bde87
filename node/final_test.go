package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/retention"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// N31: the table of a version that is retired goes at each site once both sites that may start it have given their final
// word and retention has removed what was recorded of it. A site that was cut off gives its word late, and until then no
// table goes; a worker that is cut off keeps the tables where the version may be started, since it may have to ask there what
// has ended. Nothing of the version comes back, also after restarts, and no upload brings it.
func TestTablesOfRetiredVersionsGo(t *testing.T) {
	const text = "process: p\nversion: 1\nstarts: [A, B]\nactivities: {x: {node: A, empty: true}, y: {node: B, empty: true}, z: {node: C, empty: true}}\ncontrol: [x -> y, y -> z]"
	v := &vintages{T: t, tasks: task.NewWorld(1, dawn), sites: map[string]*vintage{}}
	v.control = v.tasks.NewSite(0)
	hour := time.Hour
	for _, name := range []string{"A", "B", "C"} {
		v.sites[name] = &vintage{name: name, peers: v.sites, disk: memory.NewDisk(name), retired: &hour, audit: retention.Policy{Age: time.Hour}}
	}
	for _, name := range []string{"A", "B", "C"} {
		v.up(v.sites[name])
	}
	v.pass(time.Second)
	v.puts("A", apitest.Upload(t, text))
	v.pass(time.Minute)
	id := processtable.ProcessID{Name: "p", Version: 1}
	states := func(when, want string) {
		t.Helper()
		got := ""
		for _, name := range []string{"A", "B", "C"} {
			s := v.sites[name]
			if s.node == nil {
				got += " down"
				continue
			}
			_, here := s.node.queue.Bound(id)
			_, gone := s.node.queue.Tombstone(id)
			got += fmt.Sprintf(" %s=%t/%t/%d", name, here, gone, len(s.node.queue.Finals(id)))
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: %s, want %s", when, strings.TrimSpace(got), want)
		}
	}
	if got := v.starts("A", "p@1", "1"); len(got) == 0 || got[0] != "p@1" {
		t.Fatalf("started: %q", got)
	}
	definition, _ := v.sites["A"].node.queue.Bound(id)
	v.pass(time.Minute)
	v.sites["B"].down()
	v.does(v.sites["A"], func(ctx context.Context) {
		if _, err := v.sites["A"].node.Retire(ctx, "p@1", api.RetireRequest{Number: 1}); err != nil {
			t.Error(err)
		}
	})
	v.pass(5 * time.Hour)
	states("while B is cut off", "A=true/false/1 down C=true/false/1")
	v.sites["C"].down()
	v.up(v.sites["B"])
	v.pass(5 * time.Hour)
	states("when B was heard, and C is cut off", "A=true/false/2 B=true/false/2 down")
	v.up(v.sites["C"])
	v.pass(5 * time.Hour)
	states("when C is back", "A=false/true/2 B=false/true/2 C=false/true/2")
	late := message.Message{Header: message.Header{
		Queue: message.Queue{Process: id, Node: "B"}, Instance: instanceOf(1), Origin: "A", Activity: "y", Source: "x",
		Kind: message.KindConnector, Control: message.True, Data: message.DataNone, Lane: message.LaneControl,
	}}
	for _, hash := range []processtable.ShortHash{definition.Short(), {}, {1}} { // the last one is of another definition
		late.Definition = hash
		v.does(v.sites["A"], func(ctx context.Context) {
			if err := v.sites["A"].node.commit(ctx, &record.Tx{Put: []message.Message{late}}); err != nil {
				t.Error(err)
			}
		})
	}
	v.pass(time.Minute)
	v.does(v.sites["B"], func(context.Context) {
		s, err := v.sites["B"].node.Stats()
		if err != nil || s.Absorbed != 2 || s.SetAside != 1 || len(s.Parked) != 0 {
			t.Errorf("what comes late: %d dropped, %d set aside, waiting %v (%v)", s.Absorbed, s.SetAside, s.Parked, err)
		}
	})
	v.sites["B"].down()
	v.up(v.sites["B"])
	v.pass(time.Minute)
	states("after a restart", "A=false/true/2 B=false/true/2 C=false/true/2")
	if got := v.upload("B", apitest.Upload(t, text)); !strings.Contains(strings.Join(got, "\n"), "was retired, and B has removed its table on") {
		t.Errorf("the same again: %q", got)
	}
	if got := v.upload("B", apitest.Upload(t, text+"\n# other\ndescription: other")); len(got) == 0 || !strings.Contains(got[0], "raise the version") {
		t.Errorf("another definition: %q", got)
	}
	if got := v.starts("A", "p@1", "2"); len(got) == 0 || !strings.Contains(got[0], "p@1 was retired, and A has removed its table") {
		t.Errorf("started once more: %q", got)
	}
	v.does(v.sites["C"], func(ctx context.Context) {
		_, err := v.sites["C"].node.Retire(ctx, "p@1", api.RetireRequest{Number: 2, Undo: true})
		if api.CodeOf(err) != api.CodeRefused {
			t.Errorf("taken back: %v", err)
		}
		if _, err := v.sites["C"].node.DefinitionOf(ctx, "p@1", ""); api.CodeOf(err) != api.CodeNotFound || !strings.Contains(err.Error(), "was retired") {
			t.Errorf("its text: %v", err)
		}
	})
	for _, s := range v.sites {
		s.down()
	}
	v.control.Kill()
}
