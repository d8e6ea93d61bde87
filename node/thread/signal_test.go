package thread

import (
	"fmt"
	"time"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// met is an event as where events meet receives gives it to one, in a round.
func (s *script) met(e message.Entry, name processtable.EventID, round int) message.Message {
	data, err := container.EncodeCBOR(container.New(container.Empty))
	if err != nil {
		s.Fatal(err)
	}
	given := message.Event{
		Name: name, Shape: container.Fingerprint(container.Empty), Data: data, Node: "A", ID: fmt.Sprint(s.store.puts),
		Sent: s.now, Since: s.now, Until: s.now.Add(time.Hour), Arrival: message.Arrival{Commit: 1}, Taker: &message.Round{Iteration: round},
	}
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: s.machine.id(), Node: "A"}, Instance: e.Instance, Activity: e.Activity, Source: given.Token(), Kind: message.KindEvent,
	}, Body: message.EncodeEvent(given)}
}
