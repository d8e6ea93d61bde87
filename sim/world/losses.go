package world

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/node"
	"fmqm/queue/backup"
)

// What a site's disk can meet as a whole, and what operators then do (docs/links.md, Rebuild a
// site): its peers send it again what they once sent.

// backup has an operator back the site up, and says whether it is.
func (w *World) backup(s *site) bool {
	var b bytes.Buffer
	err := w.ask(s.name, "backup", func(ctx context.Context, n *node.Node) error {
		b.Reset()
		return n.WriteBackup(ctx, &b)
	})
	if err == nil {
		s.copied = b.Bytes()
	}
	return err == nil
}

// lose loses the site's disk. It goes on with another one.
func (w *World) lose(e Event, with *memory.Disk) {
	s := w.site(e.Site)
	s.die(false, e.For)
	s.setDisk(with)
	w.watch.forget(s.name)
	w.doubt(s)
}

// restored loses the site's disk. It goes on with what the last backup had, if there is one.
func (w *World) restored(e Event) {
	s := w.site(e.Site)
	w.lose(e, memory.NewDisk(string(s.name)))
	if s.copied == nil {
		return
	}
	w.journal.met(string(Restore))
	if err := s.restore(w.random); err != nil {
		w.breaks("8", "the backup of %s cannot be restored: %v", s.name, err)
	}
}

// doubt: what the site knows may not be what it has told others.
func (w *World) doubt(s *site) {
	s.lost, w.watch.lost[s.name] = true, true
	for _, c := range w.clients {
		if !c.of.hasPart(s.name) { // nothing of it was there, and nothing of it is sent again
			continue
		}
		w.weaker[c.instance.ID] = true
		if c.of.origin == s.name {
			c.started = false // whoever does not know what became of a start repeats it
		}
	}
	for id := range w.watch.children {
		w.weaker[id] = true
	}
}

// setDisk gives the site another disk.
func (s *site) setDisk(d *memory.Disk) {
	s.disk = d
	d.Watch(func(version uint64, b *store.Batch) { s.world.watch.written(s, version, b) })
}

// restore is `fmqmd restore`.
func (s *site) restore(r *rand.Rand) error {
	engine, err := s.disk.Open(memory.Options{})
	if err != nil {
		return err
	}
	d := s.world.watch.shadows[s.name]
	d.filled = true
	_, err = backup.Restore(bytes.NewReader(s.copied), engine, chance(r))
	if d.filled = false; err != nil {
		return err
	}
	return engine.Close()
}

// chance gives random bytes of the world's.
func chance(r *rand.Rand) *rand.ChaCha8 {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(r.Uint32())
	}
	return rand.NewChaCha8(seed)
}

// rebuild is what operators do about a site that has lost its disk: the processes are uploaded
// there, each peer sends it again what it had sent, and who had started an instance there
// starts it again; then once more.
func (w *World) rebuild(s *site) {
	for i := range w.cases {
		_ = w.ask(s.name, "upload "+w.cases[i].id, func(ctx context.Context, n *node.Node) error {
			_, err := n.Upload(ctx, w.cases[i].upload)
			return err
		})
	}
	whole := true
	for _, peer := range w.sites {
		if peer == s {
			continue
		}
		var answer api.RebuildAnswer
		err := w.ask(peer.name, "rebuild "+string(s.name), func(ctx context.Context, n *node.Node) (err error) {
			answer, err = n.Rebuild(ctx, api.RebuildRequest{Peer: string(s.name), Do: true, Wait: time.Second})
			return err
		})
		for _, r := range answer.Rebuilds {
			whole = whole && r.Stage == api.RebuildDone
		}
		if err != nil { // nothing is to be rebuilt where the link goes on with the new store
			whole = whole && w.connected(peer.name, s.name) && w.connected(s.name, peer.name)
		}
	}
	for _, c := range w.clients {
		if c.of.origin == s.name && !c.started {
			whole = c.ask() == nil && whole
		}
	}
	if whole {
		s.rebuilt++
	}
}

// rebuildOnceMore: what comes to peers of a site after its rebuild, and waits there for what the site has decided
// otherwise, the next one ends once the instances have ended.
func (w *World) rebuildOnceMore() {
	for _, s := range w.sites {
		s.rebuilt = min(s.rebuilt, w.rebuilds()-1)
	}
}

// rebuilds is how often operators rebuild a site, until nothing of it is lacking: what its activities have
// begun is known there once they have begun it again, and then the same of that.
func (w *World) rebuilds() int {
	n := 2
	for _, p := range w.cases {
		if p.begins() {
			n += 4
		}
	}
	return n
}
