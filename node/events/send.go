package events

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"fmqm/api"
	"fmqm/container"
	"fmqm/event"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Send takes an event from outside, or passes it on, and returns when it is on disk. By is who sends it.
func (e *Events) Send(ctx context.Context, r api.EventRequest, by string) (api.EventAnswer, error) {
	sent, err := e.request(r, by)
	if err != nil {
		return api.EventAnswer{}, err
	}
	to := cmp.Or(processtable.NodeID(r.At), e.Self)
	answer := api.EventAnswer{ID: r.ID, Event: r.Event, Key: r.Key, Node: string(to), Result: api.EventKept}
	if to != e.Self {
		answer.Result = api.EventPassedOn
		return answer, e.passOn(ctx, to, sent)
	}
	m := sent.Message(to)
	release, err := e.claim(ctx, m.Source)
	if err != nil {
		return api.EventAnswer{}, err
	}
	defer release()
	switch known, err := e.known(&m); {
	case err != nil:
		return api.EventAnswer{}, err
	case known:
		answer.Result = api.EventKnown
		return answer, nil
	case e.Full():
		return api.EventAnswer{}, api.Errorf(api.CodeRefused, "let processes receive them, drop some (fmqm event list, fmqm event drop), or raise events.limit in the node's configuration",
			"%s keeps %d events that nothing has received, and takes no more from outside", e.Self, e.Kept())
	}
	if err := e.Queue.WaitCapacity(ctx); err != nil {
		return api.EventAnswer{}, err
	}
	m, timer, err := event.Keep(m, e.Self, e.Site.KeepEvents(), e.Scheduler.Now())
	if err != nil {
		return api.EventAnswer{}, err
	}
	tx := &record.Tx{Put: []message.Message{m}, Timers: []record.Timer{TimerOf(&m, timer.Name, timer.Due, timer.Pause)}}
	if err := e.Site.Commit(ctx, tx); err != nil {
		return api.EventAnswer{}, err
	}
	e.Written(tx)
	return answer, nil
}

// TimerOf is the timer of an event as the store has it.
func TimerOf(m *message.Message, name string, due time.Time, pause time.Duration) record.Timer {
	return record.Timer{Name: name, Due: due, Pause: pause, Process: m.Queue.Process, Entry: m.Entry()}
}

// passOn puts an event into the transmission queue of another node. That node knows a repeat.
func (e *Events) passOn(ctx context.Context, to processtable.NodeID, sent message.Event) error {
	switch {
	case !processtable.ValidNode(string(to)):
		return api.Errorf(api.CodeUsage, "name a site, as fmqm nodes does", "%q is not the name of a node", to)
	case !e.Site.Reaches(to):
		return api.Errorf(api.CodeNotFound, "add it to links.peers of "+string(e.Self)+", or ask it itself (--to)", "%s has no link to %s", e.Self, to)
	case e.Site.FullTo(to):
		return api.Errorf(api.CodeRefused, "repeat it once the link has carried some of them", "as many messages wait at %s for %s as may (limits.transmission)", e.Self, to)
	}
	m := sent.Message(to)
	return e.Site.Commit(ctx, &record.Tx{Put: []message.Message{m}, Audit: []record.AuditRecord{e.passage(&m, sent)}})
}

// passage is the record of an event that is passed on: of what it has that is sent again if the other node loses its
// store (S4). It is of no instance, and its identifier is the event's.
func (e *Events) passage(m *message.Message, sent message.Event) record.AuditRecord {
	ref := sent.Ref()
	return record.AuditRecord{
		Time: sent.Sent, Clock: 1, Process: processtable.EventQueue, Instance: message.PassageOf(ref.Token), Origin: e.Self, Activity: processtable.EventMeets,
		Event: record.EventSent, About: &ref, By: sent.By, Output: m.Body,
		Sent: []record.Sent{{Kind: message.KindEvent, Target: m.Activity, Node: m.Queue.Node, Lane: m.Lane}},
	}
}

// request is the event that somebody wants to send.
func (e *Events) request(r api.EventRequest, by string) (message.Event, error) {
	usage := func(remedy, format string, args ...any) error {
		return api.Errorf(api.CodeUsage, remedy, format, args...)
	}
	var none message.Event
	switch {
	case !processtable.ValidProgram(r.Event):
		return none, usage("name it as the processes do that receive it", "%q is not the name of an event", r.Event)
	case r.ID == "" || len(r.ID) > message.MaxEventID || !utf8.ValidString(r.ID):
		return none, usage("give it one of its own, such as the number of an order", "the identifier of an event is a text of 1 to %d bytes", message.MaxEventID)
	case len(r.Key) > processtable.MaxEventKey || !utf8.ValidString(r.Key):
		return none, usage("use something short, such as an order number", "the key of an event is a text of at most %d bytes", processtable.MaxEventKey)
	}
	var keep time.Duration
	if r.Keep != "" {
		var err error
		if keep, err = api.ParseKeep(r.Keep); err != nil || keep <= 0 || keep > message.MaxKeep {
			return none, usage("write a duration such as 90s, 2h30m or 14d", "keep: %q is no duration above 0 and within ten years", r.Keep)
		}
	}
	data, err := e.data(r)
	if err != nil {
		return none, err
	}
	if err := e.Site.CheckSize(data); err != nil {
		return none, api.Errorf(api.CodeRefused, "pass a reference (a file name, a URL) instead of the data", "event %s: %v", r.Event, err)
	}
	encoded, err := container.EncodeCBOR(data)
	if err != nil {
		return none, api.Errorf(api.CodeRefused, "send less", "event %s: %v", r.Event, err)
	}
	return message.Event{
		Name: processtable.EventID(r.Event), Key: r.Key, Shape: container.Fingerprint(data.Type), Data: encoded, Sent: e.Scheduler.Now(), Keep: keep,
		Node: e.Self, ID: r.ID, By: by,
	}, nil
}

// data reads the data of an event as the first structure that they fit of those that it has here.
func (e *Events) data(r api.EventRequest) (*container.Struct, error) {
	here := r.At == "" || r.At == string(e.Self)
	var first error
	for _, s := range e.structures(processtable.EventID(r.Event)) {
		if here && !s.received {
			continue
		}
		input := r.Data
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		data, err := container.DecodeJSON(s.Type, input)
		if err == nil {
			return data, nil
		}
		first = cmp.Or(first, err)
	}
	if first != nil {
		return nil, api.ContainerErrorf(api.CodeRefused, first, "see the structure of the event in the definition", "event %s: data", r.Event)
	}
	names := e.names()
	remedy := "upload a process that receives it"
	if near, ok := container.Nearest(r.Event, names); ok {
		remedy = "did you mean " + near + "? Or " + remedy
	} else if len(names) > 0 {
		remedy = "processes there receive " + strings.Join(names, ", ") + ": send one of these, or " + remedy
	}
	if !here {
		return nil, api.Errorf(api.CodeRefused, "ask "+r.At+" itself (--to)", "no process at %s has the event %s, so its data cannot be read here", e.Self, r.Event)
	}
	return nil, api.Errorf(api.CodeRefused, remedy, "no process at %s receives the event %s", e.Self, r.Event)
}

// claim waits until nobody else sends an event with the token, or for ctx.
func (e *Events) claim(ctx context.Context, token processtable.ActivityID) (release func(), err error) {
	for {
		e.mu.Lock()
		other := e.sending[token]
		if other == nil {
			mine := e.Scheduler.Gate()
			e.sending[token] = mine
			e.mu.Unlock()
			return func() {
				e.mu.Lock()
				delete(e.sending, token)
				e.mu.Unlock()
				mine.Open()
			}, nil
		}
		e.mu.Unlock()
		if _, err := e.Scheduler.Wait(ctx, other); err != nil {
			return nil, err
		}
	}
}

// known says whether an event is kept here, or remembered.
func (e *Events) known(m *message.Message) (bool, error) {
	for _, kind := range []message.Kind{message.KindEvent, message.KindPast} {
		found, err := e.Queue.Message(m.Queue.Process, m.Entry(), message.Key{Kind: kind, Source: m.Source})
		if err != nil || found != nil {
			return found != nil, err
		}
	}
	return false, nil
}
