package world

import (
	"slices"
	"time"

	"fmqm/internal/store/memory"
)

// happen carries out an event of the plan, and undoes it after its time. What is not over when
// the weather clears ends then.
func (w *World) happen(e Event) {
	if w.clear {
		return
	}
	w.journal.note("plan:", "", "%s", e)
	s := w.site(e.Site)
	d := way{e.Site, e.Peer}
	undo := func(f func()) {
		w.control.AfterFunc(e.For, func() {
			if !w.clear {
				f()
			}
		})
	}
	if s != nil && s.life != nil && s.life.node != nil {
		w.atOnce(e, s)
	}
	switch e.Do {
	case Crash:
		s.die(e.Kept, e.For)
	case Stop:
		s.stop(e.For)
	case CrashAt, CrashIn, FailWrite, FailRead, Detour:
		s.arm(e)
	case Sluggish:
		s.sluggish = true
		undo(func() { s.sluggish = false })
	case Cold:
		s.cold = true
		undo(func() { s.cold = false })
	case Low, Full:
		s.setRoom(e.Do)
		undo(func() { s.setRoom("") })
	case Cut:
		w.wires.cut(d, true)
		undo(func() { w.wires.cut(d, false) })
	case Stall:
		w.wires.stall(d, true)
		undo(func() { w.wires.stall(d, false) })
	case Slow:
		w.wires.on(d).slow = true
		undo(func() { w.wires.on(d).slow = false })
	case Lossy:
		w.broker.mood.lossy = true
		undo(func() { w.broker.mood.lossy = false })
	case Drowsy:
		w.broker.mood.drowsy = true
		undo(func() { w.broker.mood.drowsy = false })
	case BrokerOff:
		w.broker.setDown(true)
		undo(func() { w.broker.setDown(false) })
	case BrokerNew:
		w.broker.restart()
	case Astray:
		s.astray[e.Peer] = true
		s.reload()
		undo(func() { delete(s.astray, e.Peer); s.reload() })
	case Reload:
		s.routes = e.Number
		s.reload()
		undo(func() { s.routes = 0; s.reload() })
	case Clock:
		s.setClock(e.For)
	case Backup:
		w.backup(s)
	case Lose:
		w.lose(e, memory.NewDisk(string(e.Site)))
	case Restore:
		w.restored(e)
	case Image:
		s.image = &image{s.disk.Clone(string(s.name)), w.watch.shadows[s.name].clone()}
	case CopyOn:
		w.goOn(e)
	case Twice:
		w.twice(e)
	case Upgrade:
		s.upgrade(e.For)
	case Ask:
		w.question(e)
	case Terminate:
		w.terminate(e)
	case Suspend:
		w.suspend(e)
	case Resume:
		w.resume(e)
	case Retry:
		w.retry(e)
	case Hand:
		w.hand(e)
	case Restart:
		w.restart(e)
	case Work:
		w.clerk(e)
	case Signal:
		w.signal(e)
	case Erase:
		w.erase(e)
	case Expedite:
		w.expedite(e)
	case Retire:
		w.retire(e)
	case Decide:
		w.decide(s)
	case Wrong:
		w.wrong(e)
	}
}

// atOnce counts what befalls a site that is up, where that needs nothing else: of all other deeds it
// is counted when they have an effect.
func (w *World) atOnce(e Event, s *site) {
	switch e.Do {
	case Crash, Stop, Sluggish, Cold, Low, Full, Clock, Backup, Lose, Image, Twice, Ask, Terminate, Suspend, Resume, Retry, Hand, Restart, Work, Signal, Erase, Expedite, Wrong:
		w.journal.met(string(e.Do))
	case Astray:
		if !w.plan.Apart && s.routes != 1 && (w.plan.BothCall || e.Site < e.Peer) {
			w.journal.met(string(e.Do))
		}
	case Reload:
		if e.Number != s.routes && (w.plan.Broker || e.Number == 1) {
			w.journal.met(string(e.Do))
		}
	case CrashAt, CrashIn, FailWrite, FailRead, Cut, Stall, Slow, Lossy, Drowsy, BrokerOff, BrokerNew, Detour, Decide, Restore, CopyOn, Upgrade, Retire:
	}
}

// clearUp ends all weather: whole wires, a broker that works, disks with room, right
// configurations, and every site is started.
func (w *World) clearUp() {
	w.clear = true
	w.journal.note("world", "clears up", "")
	w.broker.mood = mood{}
	for _, t := range slices.Clone(w.twins) {
		t.end()
	}
	for _, a := range w.plan.Sites {
		for _, b := range w.plan.Sites {
			d := way{a, b}
			w.wires.on(d).cut, w.wires.on(d).slow = false, false
			w.wires.stall(d, false)
		}
	}
	for _, s := range w.sites {
		s.setRoom("")
		s.faults, s.rest, s.sluggish, s.cold = nil, 0, false, false
		if len(s.astray) > 0 || s.routes != 0 {
			s.astray, s.routes = map[name]bool{}, 0
			s.reload()
		}
		s.start()
	}
}

// stop ends the daemon in order, and starts it again later.
func (s *site) stop(rest time.Duration) {
	w, l := s.world, s.life
	if l == nil || l.node == nil {
		return
	}
	w.journal.note(string(s.name), "stops", "for %v", rest)
	n := l.node
	l.node = nil
	delete(w.wires.ports, s.name)
	w.control.AfterFunc(2*time.Minute, func() {
		if s.life == l && !l.failing {
			w.breaks("6", "%s was told to stop, and has not", s.name)
		}
	})
	l.by.Go(func() {
		if err := n.Stop(background); err != nil && !l.failing {
			w.breaks("8", "%s stops: %v", s.name, err)
		}
		if s.life == l {
			s.die(false, rest)
		}
	})
}
