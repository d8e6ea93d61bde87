package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/node"
	"fmqm/node/retention"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Versions are retired in some worlds, and some of that is taken back, while instances of them go on or are about to begin
// (N31). In the end they are retired for good, nothing of their history is kept, and the tables go at every site.

// retired draws a process with instances that is retired, and one of which nothing begins, whose table may go in the weather.
// Sites of the version before know nothing of it, and who has lost its store has no table until somebody uploads it anew.
func (d *drawing) retired() {
	loses := slices.ContainsFunc(d.plan.Events, func(e Event) bool { return slices.Contains([]Deed{Lose, Restore, CopyOn, Twice}, e.Do) })
	if loses || len(d.plan.Before) > 0 || !d.in(3) {
		return
	}
	d.plan.Retired = d.between(time.Second, 30*time.Minute)
	for _, name := range []string{"old", "unused"} {
		d.plan.Processes = append(d.plan.Processes, Process{
			Name: name, Kind: []Kind{Drawn, Steady, DeadWood}[d.IntN(3)], Number: d.IntN(1 << 30), Through: d.site(), At: time.Duration(d.Int64N(int64(5 * time.Second))), Sites: d.plan.Sites,
			Retired: true,
		})
		of := len(d.plan.Processes) - 1
		for range 1 + d.IntN(3) {
			at := min(6*time.Second+d.between(10*time.Millisecond, d.plan.Clear), d.plan.Clear-1)
			d.add(Event{At: at, Do: Retire, Site: d.site(), Number: of, Kept: d.in(3)})
			if name == "old" { // something begins just then
				d.plan.Instances = append(d.plan.Instances, Instance{ID: d.id(), Process: of, At: max(0, at-2*time.Second+time.Duration(d.Int64N(int64(4*time.Second))))})
			}
		}
	}
}

// limits are those of a site's configuration.
func (s *site) limits() (l node.Limits) {
	w := s.world
	if w.plan.Retired > 0 {
		l.Retired = &w.plan.Retired
	}
	if w.forgets {
		l.Audit = retention.Policy{Age: time.Second}
	}
	return l
}

// retire is an operator at a site who retires a version, or takes that back.
func (w *World) retire(e Event) { _ = w.retireAt(e.Site, w.cases[e.Number], e.Kept) }

func (w *World) retireAt(at name, p *prepared, undo bool) error {
	number, err := w.saidOf(at, p)
	if err != nil {
		return err
	}
	return w.answered(at, "retire "+p.id, func(ctx context.Context, n *node.Node) (string, error) {
		a, err := n.Retire(ctx, p.id, api.RetireRequest{Number: number + 1, Undo: undo})
		if err != nil {
			return "", err
		}
		w.journal.met(map[bool]string{true: "retire undone", false: "retired"}[undo])
		return otherThan(p.id+string(at), a.Nodes[0].Process+a.Nodes[0].Node), nil
	})
}

// saidOf is the number of what was said last of a version, as a site knows it.
func (w *World) saidOf(at name, p *prepared) (number uint64, err error) {
	err = w.ask(at, "definitions", func(ctx context.Context, n *node.Node) error {
		a, err := n.Definitions(ctx)
		for _, d := range a.Definitions {
			if fmt.Sprintf("%s@%d", d.Process, d.Version) == p.id {
				number = d.Said
			}
		}
		return err
	})
	return number, err
}

// isRetired says whether a start is refused because the version is retired.
func isRetired(err error) bool {
	return isRefusal(err) && (strings.Contains(err.Error(), " is retired ") || strings.Contains(err.Error(), " was retired"))
}

// retired looks at what is put of a version that is retired.
func (x *watch) retired(s *site, op *store.Op) error {
	switch {
	case op.Value == nil:
		return nil
	case strings.HasPrefix(string(op.Key), string(record.FinalKeys())):
		return x.final(s, op)
	case strings.HasPrefix(string(op.Key), string(record.TombstoneKeys())):
		return x.tombstone(s, op)
	}
	return nil
}

// final: a site gives its final word once nothing of the version goes on there; and notes only what its node has given.
func (x *watch) final(s *site, op *store.Op) error {
	f, err := record.ReadFinal(op.Key, op.Value)
	if err != nil {
		return err
	}
	if f.Node != s.name {
		if !x.finals[f.Process][f.Node] {
			x.world.breaks("N31", "%s notes a final word of %s about %s, which has given none", s.name, f.Node, f.Process)
		}
		return nil
	}
	if x.finals[f.Process] == nil {
		x.finals[f.Process] = map[name]bool{}
	}
	x.finals[f.Process][f.Node] = true
	x.world.journal.met("final word")
	if on := x.goesOn(f.Process, s.name); on != "" {
		x.world.breaks("N31", "%s gives its final word about %s, and %s goes on there", s.name, f.Process, on)
	}
	return nil
}

// goesOn gives an instance of a version that was started at a site and has not ended.
func (x *watch) goesOn(p processtable.ProcessID, at name) string {
	d := x.shadows[at]
	for _, c := range x.world.clients {
		if c.of.id == p.String() && c.of.origin == at && d.started[c.instance.ID] && !x.over[c.instance.ID] {
			return c.id()
		}
	}
	return ""
}

// tombstone: a table goes once all who may start the version have given their final word; so nothing of it goes on anywhere.
func (x *watch) tombstone(s *site, op *store.Op) error {
	t, err := record.ReadTombstone(op.Key, op.Value)
	if err != nil {
		return err
	}
	x.world.journal.met("table removed")
	if !slices.Contains(x.gone[t.Process], s.name) {
		x.world.breaks("N31", "%s puts a tombstone for %s, and has its table", s.name, t.Process)
	}
	for _, p := range x.world.cases {
		if p.id != t.Process.String() {
			continue
		}
		for _, node := range p.process.Starts {
			if !x.finals[t.Process][name(node)] {
				x.world.breaks("N31", "%s removes the table of %s without the final word of %s", s.name, t.Process, node)
			}
			if on := x.goesOn(t.Process, name(node)); on != "" {
				x.world.breaks("N31", "%s removes the table of %s, and %s goes on at %s", s.name, t.Process, on, node)
			}
		}
	}
	return nil
}

// tablesGo: in the end what is retired goes at every site, begins nowhere, and nothing of it is left.
func (w *World) tablesGo() bool {
	if w.plan.Retired == 0 {
		return true
	}
	w.forgets = true
	for _, s := range w.sites {
		s.reload()
	}
	if !w.await("versions are retired, and a table of them is here", w.allGone) || !w.await("tables have gone, and something is left", w.left) {
		return false
	}
	for _, p := range w.cases {
		for _, s := range w.sites {
			if p.retired && slices.Contains(p.process.Starts, string(s.name)) {
				w.beginsNoMore(p, s.name)
			}
		}
	}
	return w.broken == nil
}

// beginsNoMore: a start is refused, and names why.
func (w *World) beginsNoMore(p *prepared, at name) {
	r := api.StartRequest{Instance: unknown(w.clients[0].instance.ID), Process: p.id, Input: []byte(p.drawn.Input)}
	err := w.ask(at, "start "+p.id, func(ctx context.Context, n *node.Node) error { return n.Begin(ctx, r) })
	if !isRetired(err) {
		w.breaks("N31", "%s has removed the table of %s, and of a start it says: %v", at, p.id, err)
	}
}

// allGone says which version that is retired has a table somewhere; operators retire it once more where that was undone.
func (w *World) allGone() string {
	for _, p := range w.cases {
		if !p.retired {
			continue
		}
		id, _ := processtable.ParseProcessID(p.id)
		for _, t := range p.upload.Tables {
			if at := name(t.Node); !slices.Contains(w.watch.gone[id], at) {
				_ = w.retireAt(at, p, false)
				return fmt.Sprintf("%s at %s", p.id, at)
			}
		}
	}
	return ""
}
