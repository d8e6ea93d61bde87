package event

import (
	"maps"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// Bounds of one decision; what is left is decided next.
const (
	atOnce       = 256     // messages that it takes, about
	bytesAtOnce  = 1 << 20 // of data that it moves
	mostRemember = 10_000  // events that an entry remembers (E4)
)

// Decide says what should happen to the entry. now is for what people are shown, and for how long what was
// taken is remembered.
func (b meeting) Decide(of behaviour.State, now time.Time) behaviour.Effects {
	s := of.(*State)
	if s.Stopped {
		return behaviour.Effects{} // no instance is meant
	}
	d := decision{State: s, node: b.node, now: now, gone: map[message.Key]bool{}}
	d.drops()
	d.expires()
	d.repeats()
	d.matches()
	d.forgets()
	return d.Effects
}

// decision is what is being decided.
type decision struct {
	behaviour.Effects
	*State
	node  processtable.NodeID
	now   time.Time
	gone  map[message.Key]bool // what it takes
	moved int                  // bytes
}

func (d *decision) full() bool { return len(d.Takes) >= atOnce || d.moved >= bytesAtOnce }

func keyOf(kind message.Kind, token processtable.ActivityID) message.Key {
	return message.Key{Kind: kind, Source: token}
}

func (d *decision) take(k message.Key) {
	if d.Holds(k) && !d.gone[k] {
		d.gone[k] = true
		d.Takes = append(d.Takes, k)
	}
}

// ofPast is the name of the timer of what is remembered of an event: the event's own has the name of its token.
func ofPast(token processtable.ActivityID) string { return "p" + string(token[1:]) }

// untime takes a timer.
func (d *decision) untime(name string, until time.Time) {
	if !until.IsZero() {
		d.Untimed = append(d.Untimed, behaviour.Timer{Name: name, Due: until})
		d.take(message.DueKey(&d.Entry, name, until))
	}
}

// takeEvent takes an event.
func (d *decision) takeEvent(p *placed) {
	e, token := p.event()
	d.take(keyOf(message.KindEvent, token))
	d.untime(string(token), e.Until)
}

// event is one of State.events, with its token: it was read when it was folded.
func (p *placed) event() (message.Event, processtable.ActivityID) {
	e, _ := message.DecodeEvent([]byte(p.body))
	return e, e.Token()
}

// wait is one of State.waits, likewise.
func (p *placed) wait() (message.Wait, processtable.ActivityID) {
	w, _ := message.DecodeWait([]byte(p.body))
	return w, w.Token()
}

func (d *decision) takePast(p *remembered) {
	d.take(keyOf(message.KindPast, p.token))
	d.untime(ofPast(p.token), p.Until)
}

// drops takes out what is over (E6), and what an operator drops.
func (d *decision) drops() {
	for _, k := range d.over {
		i := idOf(k.Source)
		d.take(k)
		d.take(keyOf(message.KindWait, k.Source))
		if e := d.events.get(i); e != nil && !d.gone[keyOf(message.KindEvent, k.Source)] {
			d.takeEvent(e)
		}
		if p, known := d.past[i]; known && p.Taker == nil && !d.gone[keyOf(message.KindPast, k.Source)] {
			d.takePast(&p)
		}
	}
}

// expires sets aside what is too old (E7), and forgets what was remembered, or set aside, long enough.
func (d *decision) expires() {
	for _, k := range d.dues {
		if d.full() {
			return
		}
		d.take(k)
		i := idOf(k.Source) // also of the name of a timer of what is past
		if p := d.events.get(i); p != nil {
			e, token := p.event()
			if token == k.Source && message.DueNumber(e.Until) == k.Number && !d.gone[keyOf(message.KindEvent, token)] {
				d.take(keyOf(message.KindEvent, token))
				d.remember(token, message.Past{Event: e, At: d.now, Until: d.now.Add(e.Until.Sub(e.Since))})
				continue
			}
		}
		if p, known := d.past[i]; known && ofPast(p.token) == string(k.Source) && !p.Until.IsZero() && message.DueNumber(p.Until) == k.Number {
			d.take(keyOf(message.KindPast, p.token))
		}
	}
}

// remember puts what is known of an event that no receive takes any more.
func (d *decision) remember(token processtable.ActivityID, p message.Past) {
	if before, known := d.past[idOf(token)]; known && before.Until != p.Until {
		d.untime(ofPast(token), before.Until)
	}
	h := message.ToMeeting(d.node, d.Entry, token, message.KindPast)
	h.Clock = message.Next(d.Clock)
	body := message.EncodePast(p)
	d.moved += len(body)
	d.Put = append(d.Put, message.Message{Header: h, Body: body})
	if !p.Until.IsZero() {
		d.Effects.Timers = append(d.Effects.Timers, behaviour.Timer{Name: ofPast(token), Due: p.Until, Pause: max(0, p.Until.Sub(d.now))})
	}
}

// repeats lets go of events that have been taken before (E4), and forgets that of what was put back (E5).
func (d *decision) repeats() {
	for _, token := range slices.Sorted(maps.Values(d.repeated)) {
		p := d.past[idOf(token)]
		e := d.events.get(idOf(token))
		event, _ := e.event()
		switch {
		case d.gone[keyOf(message.KindEvent, token)] || d.gone[keyOf(message.KindPast, token)]:
		case event.Arrival == message.Arrival{}:
			d.takeEvent(e)
		case p.Taker != nil:
			d.takePast(&p)
		}
	}
}

// matches gives the first events to the receives that have waited longest (E2, E3).
func (d *decision) matches() {
	if d.waits.len() == 0 {
		return
	}
	waits := walk{line: &d.waits}
	for events := (walk{line: &d.events}); !d.full(); {
		e := d.stays(&events, message.KindEvent)
		if e == nil {
			return
		}
		w := d.stays(&waits, message.KindWait)
		if w == nil {
			return
		}
		d.match(e, w)
	}
}

// stays gives the next one of a line that the decision does not take for another reason; nil: there is none.
func (d *decision) stays(of *walk, kind message.Kind) *placed {
	for p := of.next(); p != nil; p = of.next() {
		if len(d.gone) == 0 || !d.takes(kind, p) {
			return p
		}
	}
	return nil
}

func (d *decision) takes(kind message.Kind, p *placed) bool {
	var token processtable.ActivityID
	if kind == message.KindEvent {
		_, token = p.event()
	} else {
		_, token = p.wait()
	}
	return d.gone[keyOf(kind, token)]
}

func (d *decision) match(p, q *placed) {
	e, token := p.event()
	w, waiting := q.wait()
	d.takeEvent(p)
	d.take(keyOf(message.KindWait, waiting))
	taker := w.Taker
	given := e
	given.Arrival, given.Taker = p.order, &message.Round{Iteration: taker.Iteration, Run: taker.Run}
	body := message.EncodeEvent(given)
	d.moved += len(body)
	d.Put = append(d.Put, message.Message{Header: message.Header{
		Queue: message.Queue{Process: taker.Process, Node: d.node}, Instance: taker.Instance, Scope: taker.Scope, Activity: taker.Activity,
		SourceScope: taker.Scope, Source: token, Kind: message.KindEvent, Clock: message.Next(max(w.Clock, p.clock)), // it is received after it was sent
	}, Body: body})
	if e.Sender == nil || e.Node != d.node { // what an activity here sends comes once
		past := message.Past{Event: e, Taker: &taker, At: d.now, Until: d.now.Add(e.Until.Sub(e.Since))}
		past.Event.Data = nil
		d.remember(token, past)
	}
}

// forgets lets go of what was taken earliest, where too much is remembered (E4).
func (d *decision) forgets() {
	all := walk{line: &d.earliest}
	for beyond := len(d.past) - mostRemember; beyond > 0 && !d.full(); beyond-- {
		if p := d.past[all.next().id]; p.Taker != nil && !d.gone[keyOf(message.KindPast, p.token)] {
			d.takePast(&p)
		}
	}
}
