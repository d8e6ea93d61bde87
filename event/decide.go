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
	s.sync()
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
	if d.known[k] && !d.gone[k] {
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

func (d *decision) takeEvent(k *kept) {
	d.take(keyOf(message.KindEvent, k.token))
	d.untime(string(k.token), k.event.Until)
}

func (d *decision) takePast(token processtable.ActivityID, p *message.Past) {
	d.take(keyOf(message.KindPast, token))
	d.untime(ofPast(token), p.Until)
}

// drops takes out what is over (E6), and what an operator drops.
func (d *decision) drops() {
	if len(d.over) == 0 {
		return
	}
	over := map[processtable.ActivityID]bool{}
	for _, k := range d.over {
		over[k.Source] = true
		d.take(k)
		d.take(keyOf(message.KindWait, k.Source))
	}
	for i := range d.events {
		if over[d.events[i].token] {
			d.takeEvent(&d.events[i])
		}
	}
	for token := range over {
		if p, known := d.past[token]; known && p.Taker == nil {
			d.takePast(token, &p)
		}
	}
}

// expires sets aside what is too old (E7), and forgets what was remembered long enough.
func (d *decision) expires() {
	if len(d.dues) == 0 {
		return
	}
	events := make(map[processtable.ActivityID]*kept, len(d.events))
	for i := range d.events {
		events[d.events[i].token] = &d.events[i]
	}
	past := make(map[processtable.ActivityID]processtable.ActivityID, len(d.past)) // by the name of the timer
	for token := range d.past {
		past[processtable.ActivityID(ofPast(token))] = token
	}
	for _, k := range d.dues {
		if d.full() {
			return
		}
		d.take(k)
		e, token := events[k.Source], past[k.Source]
		if e != nil && message.DueNumber(e.event.Until) == k.Number && !d.gone[keyOf(message.KindEvent, e.token)] {
			d.take(keyOf(message.KindEvent, e.token))
			d.remember(e.token, message.Past{Event: e.event, At: d.now})
		} else if p, known := d.past[token]; known && !p.Until.IsZero() && message.DueNumber(p.Until) == k.Number {
			d.take(keyOf(message.KindPast, token))
		}
	}
}

// remember puts what is known of an event that no receive takes any more.
func (d *decision) remember(token processtable.ActivityID, p message.Past) {
	if before, known := d.past[token]; known && before.Until != p.Until {
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
	if len(d.past) == 0 {
		return
	}
	for i := range d.events {
		e := &d.events[i]
		p, known := d.past[e.token]
		switch {
		case !known || d.gone[keyOf(message.KindEvent, e.token)] || d.gone[keyOf(message.KindPast, e.token)]:
		case e.event.Arrival == message.Arrival{}:
			d.takeEvent(e)
		case p.Taker != nil:
			d.takePast(e.token, &p)
		}
	}
}

// matches gives the first events to the receives that have waited longest (E2, E3).
func (d *decision) matches() {
	at := 0
	for i := range d.events {
		e := &d.events[i]
		if d.gone[keyOf(message.KindEvent, e.token)] {
			continue
		}
		for at < len(d.waits) && d.gone[keyOf(message.KindWait, d.waits[at].token)] {
			at++
		}
		if at == len(d.waits) || d.full() {
			return
		}
		d.match(e, &d.waits[at])
		at++
	}
}

func (d *decision) match(e *kept, w *waiting) {
	d.takeEvent(e)
	d.take(keyOf(message.KindWait, w.token))
	taker := w.wait.Taker
	given := e.event
	given.Arrival, given.Taker = e.order, &message.Round{Iteration: taker.Iteration, Run: taker.Run}
	body := message.EncodeEvent(given)
	d.moved += len(body)
	d.Put = append(d.Put, message.Message{Header: message.Header{
		Queue: message.Queue{Process: taker.Process, Node: d.node}, Instance: taker.Instance, Scope: taker.Scope, Activity: taker.Activity,
		SourceScope: taker.Scope, Source: e.token, Kind: message.KindEvent, Clock: message.Next(max(w.wait.Clock, e.clock)), // it is received after it was sent
	}, Body: body})
	if e.event.Sender == nil || e.event.Node != d.node { // what an activity here sends comes once
		past := message.Past{Event: e.event, Taker: &taker, At: d.now, Until: d.now.Add(e.event.Until.Sub(e.event.Since))}
		past.Event.Data = nil
		d.remember(e.token, past)
	}
}

// forgets lets go of what was taken earliest, where too much is remembered (E4).
func (d *decision) forgets() {
	if len(d.past) <= mostRemember || d.full() {
		return
	}
	tokens := slices.SortedFunc(maps.Keys(d.past), func(a, b processtable.ActivityID) int { return d.past[a].At.Compare(d.past[b].At) })
	for _, token := range tokens[:len(tokens)-mostRemember] {
		if p := d.past[token]; p.Taker != nil && !d.full() {
			d.takePast(token, &p)
		}
	}
}
