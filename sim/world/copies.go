package world

import (
	"slices"
	"time"

	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/node"
)

// What can be done wrong with copies of a store, and what operators then do (docs/links.md, When a
// store was lost or restored): the copy, or the original that a clone ran beside, is made a new
// store, and its peers rebuild it.

// goOn has a site go on from a copy of its disk that was not made by `fmqmd restore`: the newest
// store is lost. Without a copy nothing happens.
func (w *World) goOn(e Event) {
	s := w.site(e.Site)
	if s.image == nil {
		return
	}
	w.journal.met(string(CopyOn))
	w.lose(e, s.image.disk.Clone(string(s.name)))
	w.watch.shadows[s.name] = s.image.shadow.clone()
	s.copy = true
}

// image is a copy of a site's disk, and what is known of it.
type image struct {
	disk   *memory.Disk
	shadow *shadow
}

// twin is a daemon on a clone of a site's disk, which runs beside the original under its name.
type twin struct {
	world *World
	of    *site
	by    *task.Site
	disk  *memory.Disk
}

// twice starts one, and stops it after a while.
func (w *World) twice(e Event) {
	s := w.site(e.Site)
	if s.life == nil {
		return
	}
	w.doubt(s)
	s.copy, w.watch.cloned[s.name] = true, true
	t := &twin{world: w, of: s, by: w.tasks.NewSite(s.offset), disk: s.disk.Clone(string(s.name))}
	w.twins = append(w.twins, t)
	t.by.Go(t.run)
	w.control.AfterFunc(e.For, t.end)
}

func (t *twin) run() {
	w, name_ := t.world, t.of.name+"'"
	engine, err := t.disk.Open(w.plan.disk(memory.Options{By: t.by}))
	if err != nil {
		w.breaks("8", "the clone of %s: %v", t.of.name, err)
		return
	}
	n, err := node.Open(node.Options{
		Name: t.of.name, Engine: engine, Registry: w.play.registry(name_, t.by), Peers: t.of.peers(t.by),
		Log: w.journal.log(string(name_)), Scheduler: t.by, Random: chance(w.random), CacheEntries: w.plan.Cache, Formats: t.of.formats(),
	})
	if err != nil {
		w.breaks("8", "the clone of %s: %v", t.of.name, err)
		return
	}
	w.journal.note(string(name_), "is open", "")
	n.Launch()
}

// end ends it where it stands.
func (t *twin) end() {
	w := t.world
	if !slices.Contains(w.twins, t) {
		return
	}
	w.journal.note(string(t.of.name+"'"), "dies", "")
	w.twins = slices.DeleteFunc(w.twins, func(other *twin) bool { return other == t })
	t.disk.Crash(false)
	w.wires.breakAll(func(c *conn) bool { return c.by == t.by || c.other.by == t.by })
	w.broker.end(func(s *session) bool { return s.by == t.by })
	t.by.Kill()
}

// renew makes a new store of one that went on as a copy.
func (w *World) renew(s *site) {
	if !w.backup(s) {
		return
	}
	s.die(false, time.Second)
	s.setDisk(memory.NewDisk(string(s.name)))
	w.watch.forget(s.name)
	if err := s.restore(w.random); err != nil {
		w.breaks("8", "the backup of %s cannot be restored: %v", s.name, err)
	}
	s.copy, s.rebuilt = false, 0
}
