package events

import (
	"fmt"

	"fmqm/container"
	"fmqm/event"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Judge says what becomes of an event that a peer has brought: the message that is put, with its timer; or a reason
// why it is not taken. With neither it is a repeat.
func (e *Events) Judge(peer processtable.NodeID, m message.Message) (kept *message.Message, timer record.Timer, reason string, err error) {
	sent, err := message.DecodeEvent(m.Body)
	if err != nil {
		return nil, timer, fmt.Sprintf("it cannot be read: %v", err), nil
	}
	if reason := e.refuses(peer, &m, &sent); reason != "" {
		return nil, timer, reason, nil
	}
	if known, err := e.known(&m); err != nil || known {
		return nil, timer, "", err
	}
	put, due, err := event.Keep(m, peer, e.Site.KeepEvents(), e.Scheduler.Now())
	if err != nil {
		return nil, timer, fmt.Sprintf("it cannot be read: %v", err), nil
	}
	return &put, TimerOf(&put, due.Name, due.Due, due.Pause), "", nil
}

// refuses says why an event of a peer is not taken, or nothing.
func (e *Events) refuses(peer processtable.NodeID, m *message.Message, sent *message.Event) string {
	switch {
	case !e.Site.TakesEvents(peer):
		return fmt.Sprintf("events of %s are not taken here: `accept: {events: …}` of the configuration of %s does not name it", peer, e.Self)
	case sent.Node != peer:
		return fmt.Sprintf("it says that %s has sent it, and it came from %s", sent.Node, peer)
	case !sent.Since.IsZero() || !sent.Until.IsZero() || sent.Arrival != (message.Arrival{}) || sent.Taker != nil:
		return "it says since when it is kept here, or what has taken it, which only this node can know"
	case m.Source != sent.Token() || m.Entry() != message.MeetingOf(sent.Name, sent.Shape, sent.Key):
		return "it has another token, or is for another entry, than is made of who sent it, its name, its shape and its key"
	}
	known := e.structures(sent.Name)
	for _, s := range known {
		if container.Fingerprint(s.Type) != sent.Shape {
			continue
		}
		if v, err := container.DecodeCBOR(s.Type, sent.Data); err != nil {
			return fmt.Sprintf("its data cannot be read: %v", err)
		} else if _, is := v.(*container.Struct); !is {
			return "its data are no structure"
		}
		return ""
	}
	for _, s := range known {
		if s.received {
			return fmt.Sprintf("its data have another shape than event %s has here, which is %s: give both the same members, and upload a new version", sent.Name, container.Shape(s.Type))
		}
	}
	return "" // it is kept for a process that may come
}
