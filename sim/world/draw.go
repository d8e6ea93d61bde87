package world

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Draw makes the plan of a seed.
func Draw(seed uint64) Plan {
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), plan: Plan{Seed: seed}}
	d.sites()
	d.processes()
	d.instances()
	if d.in(5) {
		d.rush()
	} else {
		d.faults()
		d.trouble()
		d.losses()
	}
	d.people()
	d.versions()
	d.large()
	d.signals()
	d.timed()
	d.scheduled()
	d.hurry()
	d.hands()
	d.restarts()
	d.clerks()
	d.administration()
	d.retired() // the last, so that all else is drawn as ever
	slices.SortStableFunc(d.plan.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return d.plan
}

// drawing is a plan that is being drawn.
type drawing struct {
	*rand.Rand
	plan Plan
}

// in says yes one time out of n.
func (d *drawing) in(n int) bool { return d.IntN(n) == 0 }

// between draws a time, short ones more often: each power of ten is as likely as another.
func (d *drawing) between(least, most time.Duration) time.Duration {
	t := least
	for t < most/10 && !d.in(3) {
		t *= 10
	}
	return min(most, t+time.Duration(d.Int64N(int64(t)*9)))
}

// moment draws one before the weather clears.
func (d *drawing) moment() time.Duration { return time.Duration(d.Int64N(int64(d.plan.Clear))) }

func (d *drawing) site() name { return d.plan.Sites[d.IntN(len(d.plan.Sites))] }

// two draws a site and another one.
func (d *drawing) two() (name, name) {
	a, b := d.IntN(len(d.plan.Sites)), d.IntN(len(d.plan.Sites)-1)
	if b >= a {
		b++
	}
	return d.plan.Sites[a], d.plan.Sites[b]
}

func (d *drawing) add(e Event) { d.plan.Events = append(d.plan.Events, e) }

func (d *drawing) sites() {
	n := 2 + min(d.IntN(6), d.IntN(6)) // few are more often
	for i := range n {
		d.plan.Sites = append(d.plan.Sites, name('A'+rune(i)))
	}
	d.plan.Broker, d.plan.BothCall = d.in(2), d.in(2)
	d.plan.Apart = d.plan.Broker && d.in(2)
	d.plan.Cache = []int{1, 3, 5, 1000}[d.IntN(4)]
	d.plan.Narrow = d.in(4)
	d.plan.Clear = d.between(20*time.Second, 2*time.Hour)
	if d.in(6) {
		d.plan.Behind[d.IntN(len(d.plan.Behind))] = d.between(10*time.Millisecond, 3*time.Second)
	}
}

func (d *drawing) processes() {
	for i := range 1 + d.IntN(3) {
		p := Process{Name: fmt.Sprintf("p%d", i), Kind: []Kind{Drawn, Steady, DeadWood, Racing, Bundling}[d.IntN(5)], Number: d.IntN(1 << 30), Through: d.site()}
		p.At = time.Duration(d.Int64N(int64(5 * time.Second)))
		p.Sites = slices.Clone(d.plan.Sites)
		d.plan.Processes = append(d.plan.Processes, p)
		if p.Kind == Steady && d.in(2) {
			d.plan.Processes = append(d.plan.Processes, Process{
				Name: p.Name + "-parent", Kind: Parent, Number: d.IntN(1 << 30), Through: d.site(), At: p.At + time.Duration(d.Int64N(int64(time.Second))), Sites: p.Sites,
			})
		}
	}
}

func (d *drawing) instances() {
	for range 1 + d.IntN(6) {
		i := Instance{ID: d.id(), Process: d.IntN(len(d.plan.Processes)), At: d.moment()}
		for range d.IntN(3) {
			i.Again = append(i.Again, d.moment())
		}
		d.plan.Instances = append(d.plan.Instances, i)
	}
}

// id draws a UUIDv7 of about now.
func (d *drawing) id() (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:], uint64(begun.UnixMilli())<<16|d.Uint64()&0xffff)
	binary.BigEndian.PutUint64(id[8:], d.Uint64())
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

// faults draws which kinds of them the world has, and then each of a kind.
func (d *drawing) faults() {
	for _, kind := range []struct {
		deeds []Deed
		most  int
	}{
		{[]Deed{Crash, CrashAt, CrashIn}, 8},
		{[]Deed{Stop}, 3},
		{[]Deed{FailWrite}, 3},
		{[]Deed{FailRead}, 2},
		{[]Deed{Sluggish}, 3},
		{[]Deed{Low, Full}, 3},
		{[]Deed{Cut, Stall, Slow}, 6},
		{[]Deed{Lossy, Drowsy, BrokerOff, BrokerNew}, 4},
		{[]Deed{Astray, Reload}, 3},
		{[]Deed{Detour}, 4},
		{[]Deed{Decide}, 3},
		{[]Deed{Clock}, 3},
	} {
		if d.in(2) {
			continue
		}
		for range 1 + d.IntN(kind.most) {
			d.fault(kind.deeds[d.IntN(len(kind.deeds))])
		}
	}
	for range len(d.plan.Instances) { // all goes through the broker: it loses and repeats some of it
		if d.plan.Apart && d.in(2) {
			d.fault(Lossy)
		}
	}
}

func (d *drawing) fault(do Deed) {
	e := Event{At: d.busy(), Do: do}
	e.Site, e.Peer = d.two()
	e.For = d.between(100*time.Millisecond, 20*time.Minute)
	switch do {
	case Crash, CrashAt, CrashIn, Stop:
		if d.in(20) {
			e.For = time.Duration(1+d.IntN(3)) * 24 * time.Hour // away for days
		}
		e.Peer, e.Number, e.Kept = "", 1+min(d.IntN(12), d.IntN(12)), d.in(2)
	case FailWrite, FailRead:
		e.Peer, e.Number, e.Kept = "", 1+min(d.IntN(12), d.IntN(12)), d.in(2)
	case Low, Full:
		e.Peer = ""
	case Lossy, Drowsy, BrokerOff, BrokerNew:
		e.Site, e.Peer, e.For = "", "", d.between(time.Second, 20*time.Minute)
		if !d.plan.Broker {
			return
		}
	case Reload: // without a broker it has either the same routes, or none
		if e.Peer, e.Number = "", 1; d.plan.Broker && d.in(2) || d.in(6) {
			e.Number = d.IntN(3)
		}
	case Sluggish, Cold, Decide:
		e.Peer = ""
	case Detour:
		d.caller(&e)
		e.At, e.For, e.Number = d.soonAfterAStart(), d.between(300*time.Millisecond, 20*time.Second), 1+d.IntN(5)
	case Clock:
		if e.Peer = ""; d.in(2) {
			e.For = -e.For
		}
	case Astray:
		d.caller(&e)
	case Cut, Stall, Slow, Backup, Lose, Restore, Image, CopyOn, Twice, Upgrade, Ask, Terminate, Suspend, Resume, Retry, Hand, Restart, Work, Signal, Erase, Expedite, Retire, Wrong:
	}
	d.add(e)
}

// caller has the site of an event be the one that calls: nobody else is led astray.
func (d *drawing) caller(e *Event) {
	if !d.plan.BothCall && e.Site > e.Peer {
		e.Site, e.Peer = e.Peer, e.Site
	}
}

// busy draws a moment, every other time one at which something is under way.
func (d *drawing) busy() time.Duration {
	if d.in(2) {
		return d.moment()
	}
	return d.soonAfterAStart()
}

// soonAfterAStart draws a moment at which something is under way.
func (d *drawing) soonAfterAStart() time.Duration {
	at := d.plan.Instances[d.IntN(len(d.plan.Instances))].At
	return min(at+time.Duration(d.Int64N(int64(2*time.Second))), d.plan.Clear-1)
}

// trouble draws, for some worlds, a site that has everything at once, when there is most to do:
// several instances begin, its disk is slow, it is started again and again while its peers send,
// and its clock is set back, so that it reads its queues anew.
func (d *drawing) trouble() {
	if !d.in(3) {
		return
	}
	s, at := d.site(), d.plan.Instances[d.IntN(len(d.plan.Instances))].At
	for i := range d.plan.Instances {
		if d.in(2) {
			d.plan.Instances[i].At = at + time.Duration(d.Int64N(int64(time.Second)))
		}
	}
	d.add(Event{At: at, Do: Sluggish, Site: s, For: d.between(10*time.Second, 2*time.Minute)})
	for range 2 + d.IntN(6) {
		e := Event{At: at + time.Duration(d.Int64N(int64(20*time.Second))), Do: Clock, Site: s, For: -d.between(time.Millisecond, time.Second)}
		if d.in(3) {
			e.Do, e.For, e.Kept = Crash, d.between(100*time.Millisecond, 5*time.Second), d.in(2)
		}
		d.add(e)
	}
}

// rush draws nothing but sites that are started again and again, from disks that are slow to
// read their queues, while others send what several instances need at once: much has to wait for
// what comes from several sites, and little of it fits into memory.
func (d *drawing) rush() {
	const at = 6 * time.Second // all is uploaded
	d.plan.Cache, d.plan.Clear = 1+d.IntN(5), 2*time.Minute
	d.plan.Processes = append(d.plan.Processes, Process{
		Name: "joins", Kind: Joins, Number: d.IntN(1 << 30), Through: d.site(), At: time.Second, Sites: d.plan.Sites,
	})
	for range 4 + d.IntN(8) {
		d.plan.Instances = append(d.plan.Instances, Instance{ID: d.id(), Process: len(d.plan.Processes) - 1})
	}
	for i := range d.plan.Instances {
		d.plan.Instances[i].At, d.plan.Instances[i].Again = at+time.Duration(d.Int64N(int64(time.Second))), nil
	}
	for _, s := range d.plan.Sites {
		d.add(Event{At: at, Do: Cold, Site: s, For: time.Minute})
		for range 1 + d.IntN(3) {
			d.add(Event{At: at + d.between(100*time.Millisecond, 10*time.Second), Do: Crash, Site: s, For: d.between(100*time.Millisecond, 5*time.Second), Kept: d.in(2)})
		}
	}
}

// losses draws, for few worlds, a site that loses its disk.
func (d *drawing) losses() {
	if !d.in(4) {
		return
	}
	s := d.site()
	for range d.IntN(3) {
		d.add(Event{At: d.moment(), Do: []Deed{Backup, Image}[d.IntN(2)], Site: s})
	}
	e := Event{At: d.busy(), Do: []Deed{Lose, Restore, Restore, CopyOn, Twice}[d.IntN(5)], Site: s, For: d.between(time.Second, 10*time.Minute)}
	if of, needs := map[Deed]Deed{CopyOn: Image, Restore: Backup}[e.Do]; needs {
		d.add(Event{At: time.Duration(d.Int64N(int64(e.At) + 1)), Do: of, Site: s})
	}
	d.add(e)
}

// large draws, for some worlds, processes whose messages do not fit into one record.
func (d *drawing) large() {
	if !d.in(4) {
		return
	}
	for i := range d.plan.Processes {
		d.plan.Processes[i].Large = !d.in(4)
	}
}

// signals draws, for few worlds, a process whose activities send events and receive them (N24). Sites of the version
// before know none.
func (d *drawing) signals() {
	if len(d.plan.Before) > 0 || !d.in(4) {
		return
	}
	d.plan.Processes = append(d.plan.Processes, Process{
		Name: "signals", Kind: Signals, Number: d.IntN(1 << 30), Through: d.site(), At: time.Duration(d.Int64N(int64(5 * time.Second))), Sites: d.plan.Sites,
	})
	for range 1 + d.IntN(4) {
		d.plan.Instances = append(d.plan.Instances, Instance{ID: d.id(), Process: len(d.plan.Processes) - 1, At: d.moment()})
		for range d.IntN(3) {
			d.outside(len(d.plan.Instances) - 1)
		}
	}
}

// outside draws an event that somebody outside sends to an instance, and repeats where the answer may be lost.
func (d *drawing) outside(instance int) {
	e := Event{At: d.plan.Instances[instance].At, Do: Signal, Site: d.plan.Sites[0], Number: d.IntN(3), Instance: instance}
	if d.in(3) {
		e.Site = d.site()
	}
	for range 1 + d.IntN(3) {
		e.At = min(e.At+d.between(10*time.Millisecond, 5*time.Minute), d.plan.Clear-1)
		d.add(e)
	}
	if d.in(2) { // one after the other, so that a receive takes one of them, and another is under way to it
		for n := range 3 + d.IntN(6) {
			e.At, e.Number = min(e.At+time.Duration(d.Int64N(int64(5*time.Millisecond))), d.plan.Clear-1), 3+n
			d.add(e)
		}
	}
}

// timed draws, for few worlds, a process with notices, a deadline of its own, and loops of whose history little is kept
// (N16, N23). Sites of the version before know none.
func (d *drawing) timed() {
	if len(d.plan.Before) > 0 || !d.in(4) {
		return
	}
	d.plan.Processes = append(d.plan.Processes, Process{
		Name: "timed", Kind: Timed, Number: d.IntN(1 << 30), Through: d.site(), At: time.Duration(d.Int64N(int64(5 * time.Second))), Sites: d.plan.Sites,
	})
	for range 1 + d.IntN(2) {
		d.plan.Instances = append(d.plan.Instances, Instance{ID: d.id(), Process: len(d.plan.Processes) - 1, At: d.moment()})
	}
}

// scheduled draws, for few worlds, a process whose instances a schedule starts (N23).
func (d *drawing) scheduled() {
	if len(d.plan.Before) > 0 || d.plan.Clear < 4*time.Minute || !d.in(4) {
		return
	}
	d.plan.Processes = append(d.plan.Processes, Process{
		Name: "scheduled", Kind: Scheduled, Number: d.IntN(1 << 30), Through: d.site(), At: time.Duration(d.Int64N(int64(5 * time.Second))), Sites: d.plan.Sites,
	})
}

// people draws who asks and decides.
func (d *drawing) people() {
	for range d.IntN(8) {
		d.add(Event{At: d.moment(), Do: Ask, Site: d.site(), Number: d.IntN(questions), Instance: d.IntN(len(d.plan.Instances))})
	}
	for range d.IntN(3) {
		d.add(Event{At: d.moment(), Do: Wrong, Site: d.site(), Number: d.IntN(wrongs + knocking), Instance: d.IntN(len(d.plan.Instances))})
	}
	if d.in(4) {
		d.add(Event{At: d.moment(), Do: Terminate, Site: d.site(), Instance: d.IntN(len(d.plan.Instances))})
	}
	d.rests()
	if d.in(3) {
		d.add(Event{At: d.moment(), Do: Retry, Site: d.site(), Instance: d.IntN(len(d.plan.Instances))})
	}
	for i := range d.plan.Instances { // what has begun elements goes on with others under way
		if at := d.plan.Instances[i]; d.plan.Processes[at.Process].Kind == Bundling && d.in(3) {
			d.add(Event{At: min(at.At+d.between(time.Second, 10*time.Minute), d.plan.Clear-1), Do: Retry, Site: d.site(), Instance: i})
		}
	}
}

// rests draws, for some worlds, what is suspended for a while (N29): by more than one, and of more than one activity.
func (d *drawing) rests() {
	if !d.in(3) {
		return
	}
	for range 1 + d.IntN(3) {
		i := d.IntN(len(d.plan.Instances))
		e := Event{At: min(d.plan.Instances[i].At+d.between(time.Millisecond, time.Minute), d.plan.Clear-1), Do: Suspend, Site: d.site(), Instance: i, Number: d.IntN(3)}
		if d.in(3) {
			e.For = d.between(time.Second, 10*time.Minute)
		}
		d.add(e)
		if d.in(2) {
			d.add(Event{At: min(e.At+d.between(time.Second, 5*time.Minute), d.plan.Clear-1), Do: Resume, Site: d.site(), Instance: i})
		}
	}
}

// hands draws, for some worlds, operators who end activities by hand while their instances run (N30).
func (d *drawing) hands() {
	if len(d.plan.Before) > 0 || !d.in(4) {
		return
	}
	for range 1 + d.IntN(3) {
		i := d.IntN(len(d.plan.Instances))
		at := d.plan.Instances[i].At + time.Duration(d.Int64N(int64(5*time.Second)))
		if d.in(2) {
			at = d.moment()
		}
		d.add(Event{At: min(at, d.plan.Clear-1), Do: Hand, Site: d.site(), Number: d.IntN(2), Instance: i})
	}
}

// restarts draws, for some worlds, operators who restart activities while their instances run (N30).
func (d *drawing) restarts() {
	if len(d.plan.Before) > 0 || !d.in(4) {
		return
	}
	for range 1 + d.IntN(4) {
		i := d.IntN(len(d.plan.Instances))
		at := d.plan.Instances[i].At + d.between(10*time.Millisecond, 10*time.Second)
		if d.in(2) {
			at = d.moment()
		}
		d.add(Event{At: min(at, d.plan.Clear-1), Do: Restart, Site: d.site(), Number: d.IntN(1 << 10), Instance: i, Kept: d.in(4)})
	}
}

// clerks draws, for few worlds, a process of which people do activities, and when they come to work (N27).
func (d *drawing) clerks() {
	if len(d.plan.Before) > 0 || !d.in(4) {
		return
	}
	d.plan.Processes = append(d.plan.Processes, Process{
		Name: "people", Kind: People, Number: d.IntN(1 << 30), Through: d.site(), At: time.Duration(d.Int64N(int64(5 * time.Second))), Sites: d.plan.Sites,
	})
	for range 1 + d.IntN(3) {
		i := Instance{ID: d.id(), Process: len(d.plan.Processes) - 1, At: d.moment()}
		d.plan.Instances = append(d.plan.Instances, i)
		for range 2 + d.IntN(12) {
			at := i.At + d.between(10*time.Millisecond, 10*time.Minute)
			for range 1 + d.IntN(2) { // several at once
				d.add(Event{At: min(at, d.plan.Clear-1), Do: Work, Site: d.site(), Number: d.IntN(4 * ways)})
			}
		}
		if n := len(d.plan.Instances) - 1; d.in(4) {
			d.add(Event{At: min(i.At+d.between(time.Second, 5*time.Minute), d.plan.Clear-1), Do: []Deed{Suspend, Hand, Terminate}[d.IntN(3)], Site: d.site(), Instance: n, Number: d.IntN(2)})
		}
	}
}

// administration draws, for few worlds, instances that somebody expedites, and such of which data are overwritten.
func (d *drawing) administration() {
	if len(d.plan.Before) > 0 || !d.in(4) {
		return
	}
	for range 1 + d.IntN(3) {
		i := d.IntN(len(d.plan.Instances))
		at := min(d.plan.Instances[i].At+d.between(time.Millisecond, time.Minute), d.plan.Clear-1)
		d.add(Event{At: at, Do: []Deed{Erase, Expedite}[d.IntN(2)], Site: d.site(), Instance: i, Number: d.IntN(10)})
	}
}
