package world

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node"
	"fmqm/node/execute"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Invariant 7: an answer that is right, but of another instance, site, page or filter than was asked.
func TestAnAnswerAboutSomethingElseIsSeen(t *testing.T) {
	const body = `
starts: [A]
activities:
  a: {node: A, program: many}
  b: {node: B, program: many}
control: [a -> b]
`
	w := newWorld(given(2, body, body), Options{Lines: true})
	looked := false
	w.control.AfterFunc(20*time.Second, func() {
		one, other, another := w.clients[0], w.clients[1], w.clients[2] // another is of the other process
		err := w.ask("A", "everything", func(ctx context.Context, n *node.Node) error {
			answersAreOf(t, ctx, n, one, other)
			answersAreOf(t, ctx, n, one, another)
			listsAreOf(t, ctx, n, another)
			links, err := n.Links(ctx)
			looked = err == nil
			if right, wrong := w.watch.linksOf("A", links.Links), w.watch.linksOf("B", links.Links); right != "" || wrong == "" {
				t.Errorf("the links of A: %q; as those of B: %q", right, wrong)
			}
			links.Links[0], links.Links[1] = links.Links[1], links.Links[0]
			links.Links[0].Peer, links.Links[1].Peer = links.Links[1].Peer, links.Links[0].Peer
			if w.watch.linksOf("A", links.Links) == "" {
				t.Errorf("the link to B is told of as that to C: %+v", links.Links)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	if r := w.run(); r.Broken != nil || !looked {
		t.Fatalf("looked: %t\n%s", looked, Story(r))
	}
}

// answersAreOf: what is told of an instance passes for it, and not for another one.
func answersAreOf(t *testing.T, ctx context.Context, n *node.Node, one, other *client) {
	w := one.world
	status, err := n.Status(ctx, one.instance.ID)
	if right, wrong := w.statusOf(one, status), w.statusOf(other, status); err != nil || right != "" || wrong == "" {
		t.Errorf("status: %v, %q, as of another: %q", err, right, wrong)
	}
	why, err := n.Why(ctx, one.instance.ID, "")
	if right, wrong := w.whyOf(one, why), w.whyOf(other, why); err != nil || right != "" || wrong == "" {
		t.Errorf("why: %v, %q, as of another: %q", err, right, wrong)
	}
	h, err := n.History(ctx, one.instance.ID)
	own := w.watch.happened[one.instance.ID]
	if right, wrong := w.watch.historyOf(one, h, own), w.watch.historyOf(other, h, nil); err != nil || right != "" || wrong == "" {
		t.Errorf("history: %v, %q, as of another: %q", err, right, wrong)
	}
	if h.Events = h.Events[1:]; w.watch.historyOf(one, h, own) == "" {
		t.Errorf("history: it may lack what is on disk")
	}
}

// N18, N20, N21: a history tells of an iteration as the block, of a call's work as the call, and of an element in one with
// its iteration; so does what its answers are held to.
func TestARecordIsToldAsAHistoryTellsIt(t *testing.T) {
	for path, want := range map[string]string{
		"a": "a terminated", "b#2/a": "b#2/a terminated", "c#1/c": "c terminated", "b#2/c#1/c": "b#2/c terminated",
		"e[3]/e": "e[3]/e terminated", "e[3]/e#1/e": "e[3]/e terminated", "e[3]/e#1/a": "e[3]#1/a terminated",
		"b#2/source": "b begun", "e[3]/e#1/sink": "e[3]/e returned",
	} {
		scope, activity := api.CutScope(path)
		h, tells := toldAs("A", &record.AuditRecord{Scope: message.Scope(scope), Activity: processtable.ActivityID(activity), Event: record.EventTerminated})
		got := h.activity + " " + string(h.event)
		if h.scope != "" {
			got = h.scope + "/" + got
		}
		if !tells || got != want {
			t.Errorf("%s: told, %t, as %s, want %s", path, tells, got, want)
		}
	}
}

// listsAreOf: a list passes for the question that it answers, and not for another one.
func listsAreOf(t *testing.T, ctx context.Context, n *node.Node, c *client) {
	w := c.world
	all := api.ListRequest{All: true, Limit: 100}
	a, err := n.List(ctx, all)
	if wrong := w.listed("A", all, a, nil); err != nil || wrong != "" || len(a.Instances) != 4 {
		t.Errorf("%v, %d instances, %q", err, len(a.Instances), wrong)
	}
	for what, r := range map[string]api.ListRequest{
		"state": {All: true, Limit: 100, State: api.InstanceInError}, "process": {All: true, Limit: 100, Process: c.of.id},
		"running": {Limit: 100}, "since": {All: true, Limit: 100, Since: begun.Add(time.Minute)}, "limit": {All: true, Limit: 3},
	} {
		if w.listed("A", r, a, nil) == "" {
			t.Errorf("%s: a list of all passes for %+v", what, r)
		}
	}
	if w.listed("B", all, a, nil) == "" {
		t.Error("what was started at A passes for what was started at B")
	}
	told := map[uuid.UUID]bool{}
	for i := range a.Instances[1:] {
		told[a.Instances[i].Instance] = true
	}
	if lacks(all, told, w.startedAt("A")) == "" {
		t.Error("a list may lack what is started")
	}
	a.Instances[0].Instance = uuid.UUID{1}
	if w.listed("A", all, a, nil) == "" {
		t.Error("an instance that nobody starts passes")
	}
}

// Invariant 10: what waits in memory, of one process and of all of them.
func TestMoreInMemoryThanMayIsSeen(t *testing.T) {
	for _, c := range []struct {
		cache   int
		waiting []int
		over    bool
	}{
		{3, []int{3}, false},
		{3, []int{4}, true},
		{1, []int{1, 1, 1}, false},
		{1, []int{0, 2}, true},
		{4, []int{1, 4, 2}, false},
		{4, []int{2, 4, 2}, true},
	} {
		var all []execute.ProcessStats
		for _, n := range c.waiting {
			all = append(all, execute.ProcessStats{Waiting: n})
		}
		if over := overBound(c.cache, all); (over != "") != c.over {
			t.Errorf("%v wait with a cache of %d: %q", c.waiting, c.cache, over)
		}
	}
}
