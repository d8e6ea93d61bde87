package events

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// List lists the events that are kept, or the receives that wait.
func (e *Events) List(ctx context.Context, r api.EventsRequest) (api.EventsAnswer, error) {
	answer := api.EventsAnswer{Events: []api.KeptEvent{}}
	after, err := afterOf(r.After)
	if err != nil {
		return answer, err
	}
	err = e.each(ctx, after, func(entry message.Entry, messages []message.Message) bool {
		if len(answer.Events) >= r.Limit {
			answer.More = true
			return false
		}
		for _, k := range e.shown(messages) {
			if r.Waiting == (k.State == api.EventWaiting) && (r.Waiting || k.State != api.EventTaken) && (r.Name == "" || k.Event == r.Name) && (!r.Keyed || k.Key == r.Key) {
				answer.Events = append(answer.Events, k)
			}
		}
		answer.Next = entry.Instance.String()
		return true
	})
	if !answer.More {
		answer.Next = ""
	}
	return answer, err
}

// afterOf is the entry that a page follows.
func afterOf(next string) (after message.Entry, err error) {
	if next == "" {
		return after, nil
	}
	id, err := uuid.Parse(next)
	if err != nil {
		return after, api.Errorf(api.CodeUsage, "send `next` of the page before", "after=%s is no place in the list", next)
	}
	return message.Entry{Instance: id, Activity: processtable.EventMeets}, nil
}

// shown are the messages of an entry as people see them, in the order in which they came.
func (e *Events) shown(messages []message.Message) (all []api.KeptEvent) {
	messages = slices.Clone(messages)
	slices.SortFunc(messages, func(a, b message.Message) int { return a.Arrival.Compare(b.Arrival) })
	for i := range messages {
		switch m := &messages[i]; m.Kind {
		case message.KindEvent:
			if v, err := message.DecodeEvent(m.Body); err == nil {
				all = append(all, e.kept(m.Source, &v, api.EventStored))
			}
		case message.KindPast:
			if p, err := message.DecodePast(m.Body); err == nil {
				k := e.kept(m.Source, &p.Event, api.EventExpired)
				k.Until = p.Until
				if p.Taker != nil {
					k.State = api.EventTaken
					k.Instance, k.Activity = p.Taker.Instance, p.Taker.Scope.Path(p.Taker.Activity)
				}
				all = append(all, k)
			}
		case message.KindWait:
			if w, err := message.DecodeWait(m.Body); err == nil {
				all = append(all, api.KeptEvent{
					Event: string(w.Name), Key: w.Key, State: api.EventWaiting, Since: w.Since, Instance: w.Taker.Instance, Activity: w.Taker.Scope.Path(w.Taker.Activity),
				})
			}
		default:
		}
	}
	return all
}

func (e *Events) kept(token processtable.ActivityID, v *message.Event, state api.EventState) api.KeptEvent {
	k := api.KeptEvent{
		ID: cmp.Or(v.ID, string(token)), Event: string(v.Name), Key: v.Key, State: state, Since: v.Since, Until: v.Until,
		From: cmp.Or(v.By, string(v.Node)), Data: e.json(v),
	}
	if s := v.Sender; s != nil {
		k.Instance, k.Activity = s.Instance, s.Scope.Path(s.Activity)
	}
	return k
}

// json shows the data of an event, where a process here has its structure.
func (e *Events) json(v *message.Event) json.RawMessage {
	if len(v.Data) == 0 {
		return nil
	}
	for _, s := range e.structures(v.Name) {
		if container.Fingerprint(s.Type) != v.Shape || len(s.Type.Members) == 0 {
			continue
		}
		data, err := container.DecodeCBOR(s.Type, v.Data)
		if err != nil {
			return nil
		}
		out, err := container.EncodeJSON(data)
		if err != nil {
			return nil
		}
		return bytes.TrimSpace(out)
	}
	return nil
}

// Show gives the event with an identifier: that it was sent with, or its token, also a taken one.
func (e *Events) Show(ctx context.Context, id string) (api.KeptEvent, error) {
	k, _, err := e.find(ctx, id)
	return k, err
}

// find looks for an event. Of several from outside that have one identifier, under other names or keys, the first is it.
func (e *Events) find(ctx context.Context, id string) (found api.KeptEvent, h message.Header, err error) {
	there := false
	err = e.each(ctx, message.Entry{}, func(entry message.Entry, messages []message.Message) bool {
		for i := range messages {
			m := &messages[i]
			if m.Kind != message.KindEvent && m.Kind != message.KindPast {
				continue
			}
			if all := e.shown(messages[i : i+1]); len(all) == 1 && (all[0].ID == id || strings.EqualFold(string(m.Source), id)) {
				found, h, there = all[0], m.Header, true
				return false
			}
		}
		return true
	})
	if err == nil && !there {
		err = e.NotKept(id)
	}
	return found, h, err
}

// NotKept is what somebody is told of an event that is not kept here.
func (e *Events) NotKept(id string) error {
	return api.Errorf(api.CodeNotFound, "see fmqm event list", "no event %s is kept at %s", id, e.Self)
}

// Drop lets go of an event that no receive has taken, and gives it as it was. It returns when that is on disk;
// a receive that takes it at this very moment has it.
func (e *Events) Drop(ctx context.Context, id string) (api.KeptEvent, error) {
	k, h, err := e.find(ctx, id)
	switch {
	case err != nil:
		return k, err
	case k.State == api.EventTaken:
		return k, api.Errorf(api.CodeRefused, "nothing has to be done", "event %s was taken by %s of instance %s", id, k.Activity, k.Instance)
	}
	over := message.ToMeeting(e.Self, h.Entry(), h.Source, message.KindOver)
	return k, e.Site.Commit(ctx, &record.Tx{Put: []message.Message{{Header: over}}})
}
