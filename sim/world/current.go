package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fmqm/internal/store"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A version is current at a site once all its sites have stored it, whatever was lost since, or where its upload
// said so (N19).

// hurry draws whether an upload says that its versions are current at once.
func (d *drawing) hurry() {
	for i := range d.plan.Processes {
		d.plan.Processes[i].Now = d.in(6)
	}
}

// stored notes that a site has a table on disk, or has removed it.
func (x *watch) stored(s *site, op *store.Op) error {
	k := record.KeyReader{Rest: op.Key[1:]}
	id := k.Process()
	if op.Value == nil { // it is removed (N31)
		x.gone[id] = append(x.gone[id], s.name)
		return k.End()
	}
	if slices.Contains(x.gone[id], s.name) {
		x.world.breaks("N31", "%s has removed the table of %s, and has it once more", s.name, id)
	}
	if x.tabled[id] == nil {
		x.tabled[id] = map[name]bool{}
	}
	x.tabled[id][s.name] = true
	return k.End()
}

// current: what is pending no more was on the disk of each of its sites.
func (x *watch) current(s *site, op *store.Op) {
	rest, is := strings.CutPrefix(string(op.Key), string(record.PendingKeys()))
	if !is || op.Value != nil {
		return
	}
	k := record.KeyReader{Rest: append([]byte{record.ClassTable}, rest...)[1:]}
	id := k.Process()
	if slices.Contains(x.gone[id], s.name) { // that goes with its table
		return
	}
	for _, p := range x.world.cases {
		if p.id != id.String() || p.upload.Now {
			continue
		}
		for _, t := range p.upload.Tables {
			if at := name(t.Node); !x.tabled[id][at] && !x.cloned[at] {
				x.world.breaks("current", "%s takes %s for current, and %s has never had it", s.name, id, at)
			}
		}
	}
}

// allCurrent says which version is not known to be everywhere, at a site that has it.
func (w *World) allCurrent() (why string) {
	for _, s := range w.sites {
		err := w.ask(s.name, "definitions", func(ctx context.Context, n *node.Node) error {
			a, err := n.Definitions(ctx)
			for _, d := range a.Definitions {
				if len(d.Lacking) > 0 && w.uploads(d.Process) {
					why = fmt.Sprintf("at %s %s@%d lacks %v", s.name, d.Process, d.Version, d.Lacking)
				}
			}
			return err
		})
		if err != nil {
			return fmt.Sprintf("%s: %v", s.name, err)
		}
	}
	return why
}

// uploads says whether a process is one that somebody uploads to all its sites.
func (w *World) uploads(process string) bool {
	return w.watch.uploads[processtable.ProcessID{Name: process, Version: 1}]
}
