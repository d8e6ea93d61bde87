package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/linktest"
	"fmqm/message"
	"fmqm/queue/record"
)

// pair is two sites with a link, over a wire and a broker.
type pair struct {
	tasks   *task.World
	control *task.Site
	random  *rand.Rand
	journal *journal
	wires   *wires
	broker  *broker
	ends    map[name]*end
}

type end struct {
	by    *task.Site
	store *linktest.Store
	link  *link.Link
}

// newPair makes one with these routes.
func newPair(seed uint64, routes ...string) *pair {
	p := &pair{tasks: task.NewWorld(seed, begun), random: rand.New(rand.NewPCG(seed, 1)), ends: map[name]*end{}}
	p.control = p.tasks.NewSite(0)
	p.journal = newJournal(p.tasks.Elapsed, true)
	p.wires = newWires(p.tasks, p.control, p.random, p.journal)
	p.broker = newBroker(p.control, p.random, p.journal)
	for i, self := range []name{"A", "B"} {
		d := way{self, []name{"B", "A"}[i]}
		by := p.tasks.NewSite(0)
		e := &end{by: by, store: linktest.NewStore(by)}
		var all []link.Route
		for _, r := range routes {
			switch {
			case r == link.RouteAMQP:
				all = append(all, link.Route{Name: r, Address: "broker", Dialer: brokered{p.broker, by, d}})
			case self == "A":
				all = append(all, link.Route{Name: r, Address: "B", Dialer: dialer{p.wires, by, d}})
			}
		}
		e.link = link.New(link.Options{
			Self: self, Peer: d.to, Incarnation: record.Incarnation{byte(i + 1)}, Session: seed*2 + uint64(i) + 1,
			Outbox: e.store, Inbox: e.store, Peers: e.store, Routes: all, Logger: zerolog.Nop(), Scheduler: by,
		})
		acceptor := link.Acceptor{Self: self, Session: seed*2 + uint64(i) + 1, Scheduler: by, Lookup: func(name) *link.Link { return e.link }}
		p.wires.ports[self] = &port{by: by, accept: func(c link.Conn) { by.Go(func() { acceptor.Accept(background, c) }) }}
		by.Go(e.link.Start)
		p.ends[self] = e
	}
	return p
}

// storm puts messages into all lanes, in weather that clears after a while.
func (p *pair) storm(messages int) {
	const bad = 3 * time.Minute
	moment := func() time.Duration { return time.Duration(p.random.Int64N(int64(bad))) }
	for _, n := range []name{"A", "B"} {
		for i := range messages {
			store, lane, text := p.ends[n].store, message.Lane(i%record.Lanes), fmt.Sprint(n, " ", i)
			p.control.AfterFunc(moment(), func() { store.Put(lane, text) })
		}
	}
	ways := []way{{"A", "B"}, {"B", "A"}}
	for range 12 {
		d := ways[p.random.IntN(2)]
		on, off := [][2]func(){
			{func() { p.wires.cut(d, true) }, func() { p.wires.cut(d, false) }},
			{func() { p.wires.stall(d, true) }, func() { p.wires.stall(d, false) }},
			{func() { p.wires.on(d).slow = true }, func() { p.wires.on(d).slow = false }},
			{func() { p.broker.mood.lossy = true }, func() { p.broker.mood.lossy = false }},
			{func() { p.broker.mood.drowsy = true }, func() { p.broker.mood.drowsy = false }},
			{func() { p.broker.setDown(true) }, func() { p.broker.setDown(false) }},
			{p.broker.restart, func() {}},
		}[p.random.IntN(7)], bad
		p.control.AfterFunc(moment(), on[0])
		p.control.AfterFunc(off, on[1])
	}
}

// settled says what is not at the other end, and how the sites see their link.
func (p *pair) settled() string {
	for _, d := range []way{{"A", "B"}, {"B", "A"}} {
		from, to := p.ends[d.from], p.ends[d.to]
		for l := range message.Lane(record.Lanes) {
			sent, have := from.store.Sent(l), to.store.Have(l)
			if !slices.Equal(sent, have) || from.store.Low(l).Number != uint64(len(sent)) {
				return fmt.Sprintf("%v lane %d: %d sent, %d confirmed, %d taken; %+v", d, l, len(sent), from.store.Low(l).Number, len(have), from.link.Status())
			}
		}
	}
	return ""
}

// run runs for so long.
func (p *pair) run(t *testing.T, d time.Duration) {
	t.Helper()
	over := false
	p.control.AfterFunc(d, func() { over = true })
	for !over && p.tasks.Step() {
	}
	if err := p.tasks.Failure(); err != nil {
		t.Fatal(err)
	}
}

func (p *pair) end() {
	for _, n := range []name{"A", "B"} {
		p.ends[n].by.Kill()
	}
	p.control.Kill()
}

// Invariant 5, L3: over a wire, a broker, or both, whatever they do, every message comes once and
// in the order of its lane; and the same seed gives the same events.
func TestALinkInAllWeather(t *testing.T) {
	for _, routes := range [][]string{{link.RouteDirect}, {link.RouteAMQP}, {link.RouteDirect, link.RouteAMQP}} {
		for seed := range uint64(15) {
			t.Run(fmt.Sprint(routes, seed), func(t *testing.T) {
				var hashes [2]string
				for i := range hashes {
					p := newPair(seed, routes...)
					p.storm(60)
					p.run(t, 8*time.Minute)
					if left := p.settled(); left != "" {
						t.Error(left)
					}
					hashes[i] = p.journal.hash()
					p.end()
				}
				if hashes[0] != hashes[1] {
					t.Errorf("two runs of one seed: %v", hashes)
				}
			})
		}
	}
}

// Who may send no more for now, since too much is under way, waits for room, also where the other
// end has hung up: only one way of a connection ends with that.
func TestSendWaitsForRoomWhereTheOtherEndHasHungUp(t *testing.T) {
	p := newPair(1)
	defer p.end()
	var there link.Conn
	p.wires.ports["B"] = &port{by: p.ends["B"].by, accept: func(c link.Conn) { there = c }}
	p.wires.stall(way{"A", "B"}, true)
	sent := 0
	p.ends["A"].by.Go(func() {
		here, err := dialer{p.wires, p.ends["A"].by, way{"A", "B"}}.Dial(background)
		if err != nil {
			t.Error(err)
			return
		}
		if err := there.(*conn).CloseWrite(); err != nil {
			t.Error(err)
		}
		for range maxUnderWay + 1 {
			if err := here.Send([]byte("x")); err != nil {
				t.Error(err)
			}
			sent++
		}
	})
	p.run(t, time.Minute)
	if sent != maxUnderWay {
		t.Errorf("%d were sent while nothing arrives, and %d may be under way", sent, maxUnderWay)
	}
	p.control.AfterFunc(0, func() { p.wires.stall(way{"A", "B"}, false) })
	p.run(t, time.Minute)
	if sent != maxUnderWay+1 {
		t.Errorf("%d were sent after it was clear again", sent)
	}
}
