package world

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue"
)

// watch sees every commit of every site in the moment in which it is on disk, and holds it to
// what may be there. It knows of a store what its keys say (package queue, keys.go), and of a
// lane its number and hash.
//
//   - 1, 8: what was acknowledged to a client or to a peer is on disk by then; a lane's numbers
//     never go back.
//   - 3: with the end of an activity go all of its messages, and just those that it names.
//   - 4, 5: an activity ends once at its site; nothing comes for one that has ended (unless an
//     operator ended it, or a site has lost its store and is sent again what it had);
//     a lane's numbers have no gap, and a number that both sides have has the same hash at both.
//   - 11: nothing is on disk of a site that nobody has configured.
//   - 12: what was refused has left nothing.
type watch struct {
	world   *World
	shadows map[name]*shadow
	commits int
	lost    map[name]bool // sites of which a disk was lost
}

// shadow is what is known of a site's store.
type shadow struct {
	messages map[string]map[string]bool // of an entry: what lies in its process queue, by the rest of the key
	ended    map[string]bool            // entries
	removed  map[string]int             // by the last commit: messages of an entry
	started  map[uuid.UUID]bool
	sent     map[lane]uint64 // the number of the newest
	low      map[lane]mark   // confirmed by the peer
	accepted map[lane]mark
	large    bool // a transaction is under way that takes several commits
}

// lane is one of a peer.
type lane struct {
	peer name
	lane byte
}

// mark is a place in a lane.
type mark struct {
	number uint64
	hash   [16]byte
}

func newWatch(w *World) *watch {
	x := &watch{world: w, shadows: map[name]*shadow{}, lost: map[name]bool{}}
	for _, n := range w.plan.Sites {
		x.shadows[n] = newShadow()
	}
	return x
}

func newShadow() *shadow {
	return &shadow{
		messages: map[string]map[string]bool{}, ended: map[string]bool{}, started: map[uuid.UUID]bool{},
		sent: map[lane]uint64{}, low: map[lane]mark{}, accepted: map[lane]mark{},
	}
}

// forget says that a site has lost its store: nothing is known of it, and its conversations
// with its peers begin anew.
func (x *watch) forget(n name) {
	x.shadows[n] = newShadow()
	x.lost[n] = true
}

// written is told of a commit.
func (x *watch) written(s *site, version uint64, b *store.Batch) {
	x.commits++
	h := uint64(0)
	for i := range b.Ops {
		h = h*31 + digest(b.Ops[i].Key) + 7*digest(b.Ops[i].Value)
	}
	x.world.journal.note(string(s.name), "commits", "%d: %d changes %016x", version, len(b.Ops), h)
	d := x.shadows[s.name]
	d.removed = map[string]int{}
	var ends []string
	var put []string // entries that got a message
	for i := range b.Ops {
		op := &b.Ops[i]
		switch op.Key[0] {
		case 'q':
			if e := d.message(op); e != "" {
				put = append(put, e)
			}
		case 'E':
			if op.Value != nil {
				ends = append(ends, string(op.Key[1:]))
			}
		case 'I':
			x.instance(s, d, op)
		case 'x':
			x.item(s, d, op)
		case 'l':
			x.trimmed(s, d, op)
		case 'a':
			x.taken(s, d, op)
		case 'j':
			d.large = op.Value != nil
		}
	}
	x.ends(s, d, ends, put)
}

// message notes what comes to and goes from a process queue, and gives the entry that got one.
func (d *shadow) message(op *store.Op) string {
	entry, rest := entryOf(op.Key)
	if op.Value == nil {
		if d.messages[entry][rest] {
			d.removed[entry]++
			delete(d.messages[entry], rest)
		}
		if len(d.messages[entry]) == 0 {
			delete(d.messages, entry)
		}
		return ""
	}
	if d.messages[entry] == nil {
		d.messages[entry] = map[string]bool{}
	}
	d.messages[entry][rest] = true
	if message.Kind(rest[0]) == message.KindNotice {
		return ""
	}
	return entry
}

// entryOf cuts the key of a message: instance, scope and activity; kind and source.
func entryOf(key []byte) (entry, rest string) {
	k := key[1:]
	k = k[bytes.IndexByte(k, 0)+1+4:] // behind the process and its version
	n := 16
	for range 2 {
		n += bytes.IndexByte(k[n:], 0) + 1
	}
	return string(k[:n]), string(k[n:])
}

// instanceOf is the instance of an entry.
func instanceOf(entry string) string { return uuid.UUID([]byte(entry[:16])).String() }

// shown is an entry for people.
func shown(entry string) string {
	return fmt.Sprintf("%s of %s", bytes.Trim([]byte(entry[16:]), "\x00"), uuid.UUID([]byte(entry[:16])))
}

// ends holds the activities that end with a commit to what is left of them.
func (x *watch) ends(s *site, d *shadow, ends, put []string) {
	for _, e := range ends {
		if d.ended[e] {
			x.world.breaks("4", "%s ends twice at %s", shown(e), s.name)
		}
		d.ended[e] = true
		if left := len(d.messages[e]); left > 0 && !d.large {
			x.world.breaks("3", "%s ends at %s, and %d of its messages stay", shown(e), s.name, left)
		}
	}
	for _, e := range put {
		if d.ended[e] && len(x.lost) == 0 && !x.world.touched[instanceOf(e)] && !d.large && len(d.messages[e]) > 0 {
			x.world.breaks("5", "%s has ended at %s, and a message of it is taken", shown(e), s.name)
		}
	}
}

// instance notes what starts.
func (x *watch) instance(s *site, d *shadow, op *store.Op) {
	id := uuid.UUID(op.Key[1:17])
	if op.Value != nil && op.Key[17] == 1 {
		if d.started[id] {
			x.world.breaks("5", "%s starts twice at %s", id, s.name)
		}
		d.started[id] = true
	}
}

// laneOf cuts the key of what belongs to a lane.
func (x *watch) laneOf(s *site, key []byte) lane {
	end := bytes.IndexByte(key, 0)
	l := lane{name(key[1:end]), key[end+1]}
	if x.world.site(l.peer) == nil {
		x.world.breaks("11", "%s keeps something for or of %s, which is no peer", s.name, l.peer)
	}
	return l
}

// anew: the numbers of a conversation need not follow on each other.
func (x *watch) anew(s *site, l lane) bool { return x.lost[s.name] || x.lost[l.peer] }

// item: what is put follows on what was put before.
func (x *watch) item(s *site, d *shadow, op *store.Op) {
	if op.Value == nil {
		return
	}
	l, number := x.laneOf(s, op.Key), binary.BigEndian.Uint64(op.Key[len(op.Key)-8:])
	if before := d.sent[l]; number != before+1 && !x.anew(s, l) {
		x.world.breaks("5", "%s puts number %d for %s in lane %d, and the last was %d", s.name, number, l.peer, l.lane, before)
	}
	d.sent[l] = number
}

// trimmed: only what is on the peer's disk is let go.
func (x *watch) trimmed(s *site, d *shadow, op *store.Op) {
	if op.Value == nil {
		return
	}
	l := x.laneOf(s, op.Key)
	now := mark{number: binary.BigEndian.Uint64(op.Value[1:]), hash: [16]byte(op.Value[9:25])}
	if before := d.low[l]; now.number < before.number && !x.anew(s, l) {
		x.world.breaks("8", "%s has confirmed %d to %s in lane %d, and now only %d", l.peer, before.number, s.name, l.lane, now.number)
	}
	d.low[l] = now
	other := x.shadows[l.peer]
	if other == nil || x.anew(s, l) {
		return
	}
	if there := other.accepted[lane{s.name, l.lane}]; now.number > there.number {
		x.world.breaks("5", "%s lets %d for %s in lane %d go, which has only %d on disk", s.name, now.number, l.peer, l.lane, there.number)
	} else if now.number == there.number && now.hash != there.hash {
		x.world.breaks("5", "%s and %s do not agree about lane %d at number %d", s.name, l.peer, l.lane, now.number)
	}
}

// taken: nothing is taken that was not sent, and what was taken stays.
func (x *watch) taken(s *site, d *shadow, op *store.Op) {
	if op.Value == nil {
		return
	}
	l := x.laneOf(s, op.Key)
	now := mark{number: binary.BigEndian.Uint64(op.Value[17:]), hash: [16]byte(op.Value[25:41])}
	if before := d.accepted[l]; now.number < before.number && !x.anew(s, l) {
		x.world.breaks("8", "%s has taken %d of %s in lane %d, and now only %d", s.name, before.number, l.peer, l.lane, now.number)
	}
	d.accepted[l] = now
	if other := x.shadows[l.peer]; other != nil && !x.anew(s, l) && now.number > other.sent[lane{s.name, l.lane}] {
		x.world.breaks("5", "%s takes %d of %s in lane %d, which has put only %d", s.name, now.number, l.peer, l.lane, other.sent[lane{s.name, l.lane}])
	}
}

// observe gives what is told of each audit record of a site.
func (x *watch) observe(s *site) func(queue.AuditRecord) {
	return func(r queue.AuditRecord) {
		x.world.journal.note(string(s.name), "records", "event %d of %s of %s", r.Event, r.Activity, r.Instance)
		if r.Event != queue.EventTerminated && r.Event != queue.EventSkipped {
			return
		}
		entry := message.Entry{Instance: r.Instance, Scope: r.Scope, Activity: r.Activity}
		key := string(entry.Instance[:]) + string(entry.Scope) + "\x00" + string(entry.Activity) + "\x00"
		if !x.shadows[s.name].ended[key] {
			x.world.breaks("8", "%s shows the end of %s, which is not on disk", s.name, shown(key))
		}
	}
}

// acknowledged: a client was told that an instance is started.
func (x *watch) acknowledged(s *site, c *client) {
	if !x.shadows[s.name].started[c.instance.ID] {
		x.world.breaks("8", "%s says that %s is started, and it is not on disk", s.name, c.id())
	}
}

// unknown: nothing is on disk of an instance whose start was refused.
func (x *watch) unknown(s *site, id uuid.UUID) {
	if x.shadows[s.name].started[id] {
		x.world.breaks("12", "%s has refused to start %s, and has started it", s.name, id)
	}
}

// agree says at which lanes two sites do not end at the same place.
func (x *watch) agree() string {
	for _, a := range x.world.plan.Sites {
		for _, b := range x.world.plan.Sites {
			for i := range byte(2) {
				if x.lost[a] || x.lost[b] {
					continue
				}
				from, to := x.shadows[a], x.shadows[b]
				sent, low, taken := from.sent[lane{b, i}], from.low[lane{b, i}], to.accepted[lane{a, i}]
				if sent != low.number || low != taken {
					return fmt.Sprintf("lane %d from %s to %s: sent %d, confirmed %d, taken %d", i, a, b, sent, low.number, taken.number)
				}
			}
		}
	}
	return ""
}
