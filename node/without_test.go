package node

import (
	"context"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/node/retention"
	"fmqm/processtable"
)

// N31: a site that is down for ever is written off, and the table goes without it. It comes back all the same, with an instance
// under way: what it sends is dropped and counted, and it gives no final word, since the instance has not ended there.
func TestASiteThatWasWrittenOffComesBack(t *testing.T) {
	const text = "process: p\nversion: 1\nstarts: [A, B]\nactivities: {x: {node: B, empty: true}, y: {node: A, empty: true}}\ncontrol: [x -> y]"
	v := &vintages{T: t, tasks: task.NewWorld(1, dawn), sites: map[string]*vintage{}}
	v.control = v.tasks.NewSite(0)
	now := time.Duration(0)
	for _, name := range []string{"A", "B"} {
		v.sites[name] = &vintage{name: name, peers: v.sites, disk: memory.NewDisk(name), retired: &now, audit: retention.Policy{Age: time.Hour}}
	}
	a, b := v.sites["A"], v.sites["B"]
	v.up(a)
	v.up(b)
	v.pass(time.Second)
	v.puts("A", apitest.Upload(t, text))
	v.pass(time.Minute)
	a.down()
	if got := v.starts("B", "p@1", "1"); len(got) == 0 || got[0] != "p@1" {
		t.Fatalf("started: %q", got)
	}
	v.pass(time.Minute)
	b.down()
	v.up(a)
	v.does(a, func(ctx context.Context) {
		for _, r := range []api.RetireRequest{{Number: 1}, {Without: "B", Reason: "closed", Do: true}} {
			if _, err := a.node.Retire(ctx, "p@1", r); err != nil {
				t.Error(err)
			}
		}
	})
	v.pass(3 * time.Hour)
	id := processtable.ProcessID{Name: "p", Version: 1}
	if _, gone := a.node.queue.Tombstone(id); !gone {
		t.Fatal("the table stays though B is written off")
	}
	v.up(b)
	v.pass(3 * time.Hour)
	v.does(a, func(context.Context) {
		if s, err := a.node.Stats(); err != nil || s.Absorbed == 0 || len(s.Parked) != 0 || s.SetAside != 0 {
			t.Errorf("what came late: %d dropped, %d set aside, waiting %v (%v)", s.Absorbed, s.SetAside, s.Parked, err)
		}
	})
	v.does(b, func(context.Context) {
		running, err := b.node.queue.Running(id)
		_, gone := b.node.queue.Tombstone(id)
		if _, given := b.node.queue.Finals(id)["B"]; given || gone || running != 1 || err != nil || !b.node.queue.IsRetired(id) {
			t.Errorf("at B: final word %t, table removed %t, %d under way (%v)", given, gone, running, err)
		}
	})
	for _, s := range v.sites {
		s.down()
	}
	v.control.Kill()
}
