package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/internal/text"
	"fmqm/node/thread"
	"fmqm/processtable"
)

// Disk reports when free space is below its first mark (S3).
type Disk interface {
	SpaceLow() bool
	// SpaceChanged rings when SpaceLow has changed.
	SpaceChanged() *task.Bell
	// Room says what is free, and the first mark, in bytes.
	Room() (free, mark int64, err error)
}

// pressure is what lets a node take on no more work than it can keep (S3). While room
// on its disk is low it starts no instance, takes nothing from links and invokes no
// program. While a transmission queue is at its quota it starts no instance that needs
// that peer, and what is ready to run an activity that sends there stays ready. What
// ends work always goes on: terminations, trims, operators.
type pressure struct {
	node *Node
	low  atomic.Bool

	mu    sync.Mutex
	room  *task.Gate // open once the disk has room again; nil: nobody waits
	full  map[processtable.NodeID]bool
	armed bool // somebody looks at the full queues again
}

// lookAgain is how often the queues that were found full are looked at, as long as
// there are such.
const lookAgain = 250 * time.Millisecond

// watchDisk follows the disk until the node stops.
func (p *pressure) watchDisk(disk Disk) {
	for {
		if _, err := p.node.sched.Wait(p.node.running, disk.SpaceChanged()); err != nil {
			return
		}
		p.setLow(disk.SpaceLow())
	}
}

func (p *pressure) setLow(low bool) {
	p.mu.Lock()
	changed := p.low.Swap(low) != low
	if changed && !low && p.room != nil {
		p.room.Open()
		p.room = nil
	}
	p.mu.Unlock()
	if changed {
		p.node.logs.SpaceChanged()
	}
	switch {
	case !changed:
	case low:
		p.node.log.Warn().Msg(lowText + ": " + lowRemedy)
	default:
		p.node.log.Info().Msg("the disk has room again: work goes on")
		p.node.execution.LimitsChanged()
	}
}

const (
	lowText   = "room on the disk is low: nothing is started, run or accepted from links"
	lowRemedy = "make room on the file system of the data directory"
)

// waitRoom blocks while room is low, or until ctx ends, and says so.
func (p *pressure) waitRoom(ctx context.Context, paused func(reason string)) error {
	for {
		p.mu.Lock()
		if !p.low.Load() {
			p.mu.Unlock()
			return nil
		}
		if p.room == nil {
			p.room = p.node.sched.Gate()
		}
		room := p.room
		p.mu.Unlock()
		paused("room on the disk is low: " + lowRemedy)
		if _, err := p.node.sched.Wait(ctx, room); err != nil {
			return err
		}
		paused("")
	}
}

// refuse says why an instance of a process cannot be started now, or nothing.
func (p *pressure) refuse(t *processtable.Table) *api.Error {
	if p.low.Load() {
		return api.Errorf(api.CodeRefused, lowRemedy, "the disk of %s is low, so nothing starts here", p.node.name)
	}
	if peer, full := p.fullFor(t); full {
		count, bytes := p.node.queue.Transmission(peer).Size()
		return api.Errorf(api.CodeRefused, "bring "+string(peer)+" back, or raise limits.transmission",
			"%s needs %s, and the transmission queue for it is full: %s (%d MiB), which is the quota (limits.transmission)",
			t.Process, peer, text.Counted(count, "message waits", "messages wait"), bytes>>20)
	}
	return nil
}

// fullFor names a peer that a process needs, and whose transmission queue is at its quota.
func (p *pressure) fullFor(t *processtable.Table) (processtable.NodeID, bool) {
	for _, peer := range p.node.queue.Peers() {
		if p.over(peer) && t.Hosting(peer) {
			return peer, true
		}
	}
	return "", false
}

// heldBy names the first of some nodes, into which an activity would send, whose transmission queue is at its quota.
func (p *pressure) heldBy(to []processtable.NodeID) (processtable.NodeID, bool) {
	if p.node.limits.Load().Transmission == 0 {
		return "", false
	}
	for _, peer := range to {
		if p.over(peer) {
			return peer, true
		}
	}
	return "", false
}

// why says what keeps an activity that could go on, and would send to some nodes, from that, and what to do about it;
// nothing if it only waits for its turn.
func (p *pressure) why(row *processtable.Activity, to []processtable.NodeID) string {
	if disk := p.disk(); disk != "" {
		return disk
	}
	peer, held := p.heldBy(to)
	if !held && row.Child != nil {
		if child, err := (site{p.node}).Subprocess(*row.Child); err == nil {
			peer, held = p.fullFor(child.Table())
		}
	}
	if !held {
		return ""
	}
	count, bytes := p.node.queue.Transmission(peer).Size()
	quota := p.node.limits.Load().Transmission
	return fmt.Sprintf("the transmission queue for %s is full: %s there (%d bytes), the quota (limits.transmission) is %d bytes, and below %d bytes this goes on: bring %s back, or raise limits.transmission",
		peer, text.Counted(count, "message waits", "messages wait"), bytes, quota, quota/4*3, peer)
}

// disk says that room on the disk is low, how low, and what to do about it, or nothing.
func (p *pressure) disk() string {
	if !p.low.Load() {
		return ""
	}
	free, mark, err := p.node.options.Disk.Room()
	if err != nil {
		return fmt.Sprintf("the disk of %s is low (%v): below limits.free the node runs nothing and accepts nothing from links: %s", p.node.name, err, lowRemedy)
	}
	return fmt.Sprintf("the disk of %s is low: %d MiB are free, and below %d MiB (limits.free) the node runs nothing and accepts nothing from links: %s",
		p.node.name, free>>20, mark>>20, lowRemedy)
}

// over says whether the transmission queue for a peer is at its quota. Once it was, it
// has to go down to three quarters.
func (p *pressure) over(peer processtable.NodeID) bool {
	quota := uint64(p.node.limits.Load().Transmission)
	if quota == 0 || peer == p.node.name {
		return false
	}
	_, bytes := p.node.queue.Transmission(peer).Size()
	p.mu.Lock()
	defer p.mu.Unlock()
	over := bytes >= quota || (p.full[peer] && bytes >= quota/4*3)
	if !over {
		return false // a look-again notes that it is not full any more
	}
	if !p.full[peer] {
		p.full[peer] = true
		p.node.log.Warn().Str("peer", string(peer)).Uint64("bytes", bytes).Msg("the transmission queue is at its quota: nothing that sends there is started")
	}
	if !p.armed {
		p.armed = true
		p.node.sched.AfterFunc(lookAgain, p.look)
	}
	return true
}

// look finds out which queues are not full any more, and lets those go on who waited.
func (p *pressure) look() {
	if p.node.running.Err() != nil {
		return
	}
	p.mu.Lock()
	p.armed = false
	peers := slices.Sorted(maps.Keys(p.full))
	p.mu.Unlock()
	relieved := false
	for _, peer := range peers {
		if p.over(peer) {
			continue
		}
		p.mu.Lock()
		delete(p.full, peer)
		p.mu.Unlock()
		relieved = true
		p.node.log.Info().Str("peer", string(peer)).Msg("the transmission queue has room again")
	}
	if !relieved {
		return
	}
	for _, t := range p.node.threads() {
		t.Tell(thread.Room{})
	}
}

// health adds what a sysadmin should know.
func (p *pressure) health(h *api.Health) {
	if p.low.Load() {
		h.Add("disk", api.HealthDegraded, lowText+": "+lowRemedy)
	} else {
		h.Add("disk", api.HealthOK, "")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, peer := range slices.Sorted(maps.Keys(p.full)) {
		h.Add("queue "+string(peer), api.HealthDegraded,
			fmt.Sprintf("the transmission queue for %s is at its quota (limits.transmission): nothing that sends there is started", peer))
	}
}
