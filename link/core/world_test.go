package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// world is two sites and a network between them that loses, repeats, reorders and
// damages frames. Sites crash and keep only what is durable.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	sites   [2]*site
	packets []packet
	session uint64
	faults  bool // of the network and of the stores
	ways    *ways
}

type packet struct {
	to   int
	via  Via
	data []byte
}

// site is a store, which survives, and a Core, which does not.
type site struct {
	index       int
	name        processtable.NodeID
	incarnation record.Incarnation

	formats   frame.Formats // what its program reads
	known     record.Incarnation
	began     [record.Lanes]record.Position
	items     [record.Lanes][]record.Item // all that was ever put; those up to low are gone
	low       [record.Lanes]uint64        // durable
	accepted  [record.Lanes]record.Position
	delivered [record.Lanes][]string

	core    *Core
	via     Via
	trim    [record.Lanes]uint64 // asked for, not yet durable
	accepts []Accept
	got     []*frame.Frame // delivered queries and replies
	stopped *frame.Stop
}

// eachSeed runs a test of a world for so many seeds.
func eachSeed(t *testing.T, seeds int, test func(t *testing.T, seed uint64)) {
	t.Helper()
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { test(t, seed) })
	}
}

// checkAtRest: no site waits for time to pass when all is done.
func (w *world) checkAtRest() {
	w.t.Helper()
	for _, s := range w.sites {
		if s.core.Restless() {
			w.t.Errorf("site %s still waits for something when all is done", s.name)
		}
	}
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1))}
	for i, name := range []processtable.NodeID{"A", "B"} {
		w.sites[i] = &site{index: i, name: name, incarnation: record.Incarnation{byte(i + 1)}}
	}
	return w
}

func (w *world) start(s *site) {
	w.session++
	s.core = New(Config{
		Self: s.name, Peer: w.sites[1-s.index].name, Incarnation: s.incarnation, Session: w.session,
		Stored: s.stored(), Formats: s.formats,
		WindowBytes: 2000, WindowItems: 50, FrameBytes: 300,
	})
	s.trim, s.accepts = s.low, nil
	if w.ways != nil {
		w.ways.started(s)
		return
	}
	s.via = 1
	w.step(s, Connected{Via: s.via, Dialed: true})
}

// stored is what the site's store holds of its link.
func (s *site) stored() Stored {
	return Stored{Known: s.known, Low: s.lows(), Last: s.lasts(), Accepted: s.accepted, Begin: s.began}
}

func (s *site) lows() (p [record.Lanes]record.Position) {
	for l := range record.Lanes {
		p[l] = s.position(l, s.low[l])
	}
	return p
}

func (s *site) lasts() (p [record.Lanes]record.Position) {
	for l := range record.Lanes {
		p[l] = s.position(l, uint64(len(s.items[l])))
	}
	return p
}

func (s *site) position(lane int, number uint64) record.Position {
	if number == 0 {
		return record.Position{}
	}
	return record.Position{Number: number, Hash: s.items[lane][number-1].Hash}
}

// put adds an item to a lane, durably.
func (s *site) put(lane int, payload string) {
	last := s.lasts()[lane]
	s.items[lane] = append(s.items[lane], record.Item{
		Number: last.Number + 1, Hash: record.HashNext(last.Hash, []byte(payload)), Payload: []byte(payload),
	})
}

func (s *site) read(e Read) Items {
	if e.From <= s.low[e.Lane] {
		return Items{Token: e.Token, Lane: e.Lane, From: e.From, Err: fmt.Errorf("item %d is gone", e.From)}
	}
	var items []record.Item
	size := 0
	for _, i := range s.items[e.Lane][e.From-1:] {
		if size += len(i.Payload); size > e.MaxBytes && len(items) > 0 {
			break
		}
		items = append(items, i)
	}
	return Items{Token: e.Token, Lane: e.Lane, From: e.From, Items: items}
}

// step gives a site's core an event, and does what it wants.
func (w *world) step(s *site, e Event) {
	for backlog := []Event{e}; len(backlog) > 0; backlog = backlog[1:] {
		for _, effect := range s.core.Step(backlog[0]) {
			switch e := effect.(type) {
			case Send:
				data, err := frame.Encode(e.Frame)
				if err != nil {
					w.t.Fatalf("site %s wants to send what cannot be encoded: %v", s.name, err)
				}
				w.packets = append(w.packets, packet{to: 1 - s.index, via: e.Via, data: data})
				if out := &s.core.out[0]; e.Frame.Type == frame.TypeAck && e.Frame.Challenge != 0 && w.rng.IntN(4) == 0 { // data waits that went before
					backlog = append(backlog, Overtook{Question: e.Frame.Challenge, From: out.base.Number + 1 + w.rng.Uint64N(1+uint64(len(out.sent)))})
				}
			case Close:
				if w.ways != nil {
					w.ways.closed = append(w.ways.closed, e.Via)
					continue
				}
				backlog = append(backlog, Disconnected{Via: e.Via})
				if s.core.stopped == nil && s.core.refusal == nil {
					s.via++
					backlog = append(backlog, Connected{Via: s.via, Dialed: true})
				}
			case Read:
				backlog = append(backlog, s.read(e))
			case Trim:
				if e.Number <= s.trim[e.Lane] || e.Number > uint64(len(s.items[e.Lane])) {
					w.t.Fatalf("site %s trims to %d after %d", s.name, e.Number, s.trim[e.Lane])
				}
				s.trim[e.Lane] = e.Number
			case Accept:
				s.accepts = append(s.accepts, e)
			case Bind:
				s.known = e.Incarnation
				backlog = append(backlog, Bound{Token: e.Token})
			case Deliver:
				s.got = append(s.got, e.Frame)
			case Stopped:
				s.stopped = &e.Stop
			case Begin:
				s.begin(e)
				backlog = append(backlog, Begun{Token: e.Token})
			case Rebind:
				s.rebind(e)
				backlog = append(backlog, Rebound{Token: e.Token})
			case Load:
				backlog = append(backlog, Loaded{Token: e.Token, Now: s.stored()})
			case Resumed:
				s.stopped = nil
			case Decided:
				if e.Err != nil {
					w.t.Fatalf("site %s: decision %d: %v", s.name, e.ID, e.Err)
				}
			case Up, Down, Withdraw, Way, Uncarried:
			}
		}
	}
}

var errDisk = errors.New("no space left")

// settleAccept lets one accept come to its end.
func (w *world) settleAccept(s *site) {
	if len(s.accepts) == 0 {
		return
	}
	a := s.accepts[0]
	s.accepts = s.accepts[1:]
	if w.faults && w.rng.IntN(20) == 0 {
		w.step(s, Accepted{Token: a.Token, Lane: a.Lane, At: s.accepted[a.Lane], Err: errDisk})
		return
	}
	s.store(w.t, a)
	w.step(s, Accepted{Token: a.Token, Lane: a.Lane, At: s.accepted[a.Lane]})
}

// begin is where what the peer sends begins, where nothing was accepted yet.
func (s *site) begin(e Begin) {
	for l := range s.accepted {
		if s.accepted[l].Number == 0 {
			s.accepted[l] = e.At[l]
		}
	}
}

// rebind: the peer has another store.
func (s *site) rebind(e Rebind) {
	s.known = e.Incarnation
	for l := range record.Lanes {
		s.began[l] = s.position(l, s.low[l])
		s.accepted[l], s.delivered[l] = record.Position{}, nil
	}
}

// store is what a committer does: it takes what follows and nothing else.
func (s *site) store(t *testing.T, a Accept) {
	t.Helper()
	at := &s.accepted[a.Lane]
	if a.Incarnation != s.known || a.After != *at {
		t.Fatalf("site %s lane %d: items of store %s after %d, where %s is known and %d the last", s.name, a.Lane, a.Incarnation, a.After.Number, s.known, at.Number)
	}
	for _, i := range a.Items {
		if i.Number != at.Number+1 || i.Hash != record.HashNext(at.Hash, i.Payload) {
			t.Fatalf("site %s lane %d: item %d after %d, or with a wrong hash", s.name, a.Lane, i.Number, at.Number)
		}
		*at = record.Position{Number: i.Number, Hash: i.Hash}
		s.delivered[a.Lane] = append(s.delivered[a.Lane], string(i.Payload))
	}
}

// crash ends a site's daemon: what was on its way to the disk may have arrived.
func (w *world) crash(s *site) {
	for _, a := range s.accepts {
		if w.rng.IntN(2) == 0 {
			s.store(w.t, a)
		}
	}
	for l := range record.Lanes {
		if w.rng.IntN(2) == 0 {
			s.low[l] = s.trim[l]
		}
	}
	w.start(s)
}

// deliver gives packet i to its receiver.
func (w *world) deliver(i int, data []byte) {
	s, via := w.sites[w.packets[i].to], w.packets[i].via
	if w.ways == nil {
		via = s.via
	}
	f, err := frame.DecodeAs(data, s.core.cfg.Formats.Frame)
	switch {
	case errors.Is(err, frame.ErrDamaged):
	case err != nil:
		w.step(s, Unreadable{Via: via, Err: err})
	default:
		w.step(s, Received{Via: via, Frame: &f})
	}
}

func (w *world) remove(i int) { w.packets = append(w.packets[:i], w.packets[i+1:]...) }

// hazard does one thing that can happen to frames.
func (w *world) hazard() {
	if len(w.packets) == 0 {
		return
	}
	i := w.rng.IntN(min(len(w.packets), 12)) // reordering; not without end
	data := w.packets[i].data
	switch p := w.rng.IntN(20); {
	case p < 2: // lost
		w.remove(i)
	case p < 4: // repeated
		w.packets = append(w.packets, w.packets[i])
		w.deliver(i, data)
	case p < 6: // damaged
		bad := append([]byte{}, data...)
		bad[w.rng.IntN(len(bad))] ^= 1 << w.rng.IntN(8)
		w.deliver(i, bad)
		w.remove(i)
	default:
		w.deliver(i, data)
		w.remove(i)
	}
}

// calm runs a network that does its work, until nothing is left to do.
func (w *world) calm(ticks int) {
	w.faults = false
	for range ticks {
		for n := 0; len(w.packets) > 0 || len(w.sites[0].accepts)+len(w.sites[1].accepts) > 0; n++ {
			if n > 100_000 {
				w.t.Fatal("the sites talk without end")
			}
			if len(w.packets) > 0 {
				w.deliver(0, w.packets[0].data)
				w.remove(0)
			}
			w.settleAccept(w.sites[0])
			w.settleAccept(w.sites[1])
		}
		for _, s := range w.sites {
			w.step(s, Tick{})
		}
	}
}

// checkDelivered: each item once, in order, and nothing kept that the peer has.
func (w *world) checkDelivered() {
	w.t.Helper()
	for i, s := range w.sites {
		if s.stopped != nil {
			w.t.Fatalf("site %s is stopped: %s", s.name, s.stopped.Reason)
		}
		other := w.sites[1-i]
		for l := range record.Lanes {
			if len(other.delivered[l]) != len(s.items[l]) {
				w.t.Fatalf("lane %d: site %s has put %d items, site %s has %d", l, s.name, len(s.items[l]), other.name, len(other.delivered[l]))
			}
			for n, item := range s.items[l] {
				if got := other.delivered[l][n]; got != string(item.Payload) {
					w.t.Fatalf("lane %d: item %d is %q, got %q", l, n+1, item.Payload, got)
				}
			}
			if s.trim[l] != uint64(len(s.items[l])) {
				w.t.Fatalf("lane %d: site %s has %d items, trimmed to %d", l, s.name, len(s.items[l]), s.trim[l])
			}
		}
	}
}

func (w *world) woken(s *site) { w.step(s, Woken{Last: s.lasts()}) }

func (w *world) putSome(s *site, lane message.Lane, n int) {
	for range n {
		s.put(int(lane), fmt.Sprintf("%s-%d-%d-%0*d", s.name, lane, len(s.items[lane]), w.rng.IntN(80), 0))
	}
	w.woken(s)
}
