package oracle

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// transient are the classes of a store's keys, as package queue lays them out, of
// which nothing may be left when all instances have ended; and how one of a class is shown.
var transient = []struct {
	class byte
	what  string
	show  func(key, value []byte) string
}{
	{record.ClassMessage, "process queues", showMessage},
	{record.ClassRecord, "instance records", showMessage},
	{record.ClassTransmission, "transmission queues", showItem},
	{record.ClassApart, "what waits apart", showApart},
	{record.ClassParked, "messages that wait for a table", showKey},
	{record.ClassPart, "parts of large messages", showKey},
	{record.ClassRefused, "messages set aside", showKey},
	{record.ClassTimer, "timers", showTimer},
	{record.ClassStaged, "bodies that nothing has", showKey},
	{record.ClassLarge, "large transactions under way", showKey},
}

// Left says what is left in a store that should be empty but for tables, markers,
// audit and the links' numbers; nothing if nothing is.
func Left(e store.Engine) (string, error) {
	left, _, err := LeftFor(e, "")
	return left, err
}

// shownLeft is how many of a class are told one by one.
const shownLeft = 8

// LeftFor is Left of a site's store beside what waits there for a peer, and how many
// messages those are. An empty peer is none.
func LeftFor(e store.Engine, peer processtable.NodeID) (_ string, waiting int, _ error) {
	var left []string
	forPeer := func(key []byte) bool {
		return (key[0] == record.ClassTransmission || key[0] == record.ClassApart) && peer != "" &&
			bytes.HasPrefix(key[1:], record.AppendName(nil, string(peer)))
	}
	for _, t := range transient {
		count, text := 0, ""
		err := e.Scan(store.ScanOptions{Prefix: []byte{t.class}}, func(key, value []byte) bool {
			switch {
			case forPeer(key):
				waiting++
				return true
			case t.class == record.ClassStaged && isOwned(e, key, value), isKept(t.class, key, value):
				return true
			}
			if count++; count <= shownLeft {
				text += "\n  " + t.show(key, value)
			}
			return true
		})
		if err != nil {
			return "", 0, fmt.Errorf("look into %s: %w", t.what, err)
		}
		if count > shownLeft {
			text += fmt.Sprintf("\n  and %d more", count-shownLeft)
		}
		if count > 0 {
			left = append(left, fmt.Sprintf("%d in %s:%s", count, t.what, text))
		}
	}
	return strings.Join(left, "\n"), waiting, nil
}

// isKept says whether a record is of an event that no receive has taken, or of one that was taken and is remembered for
// a while (N24): neither is of an instance that has ended. A receive that waits is.
func isKept(class byte, key, value []byte) bool {
	switch class {
	case record.ClassMessage:
		m, err := record.ReadMessage(key, value)
		return err == nil && m.Message.Queue.Process == processtable.EventQueue && (m.Message.Kind == message.KindEvent || m.Message.Kind == message.KindPast)
	case record.ClassTimer:
		timer, err := record.ReadTimer(key, value)
		return err == nil && timer.Process == processtable.EventQueue
	}
	return false
}

// isOwned says whether the record is there that a staged body is of.
func isOwned(e store.Engine, key, value []byte) bool {
	named, _, owner, err := record.ReadStaged(key, value)
	if err != nil || !named {
		return false
	}
	_, err = e.Get(owner)
	return err == nil
}

// showMessage shows a message of a process queue: whose it is, what it says, who sent it, and
// when it came.
func showMessage(key, value []byte) string {
	stored, err := record.ReadMessage(key, value)
	if err != nil {
		return fmt.Sprintf("%s: %v", record.Readable(key), err)
	}
	m := &stored.Message
	text := fmt.Sprintf("%s of %s at %s, instance %s: %s", entry(m.Scope, m.Activity), m.Queue.Process, m.Queue.Node, m.Instance, cmp.Or(m.Kind.String(), fmt.Sprintf("kind %d", m.Kind)))
	if m.Source != "" {
		text += " from " + entry(m.SourceScope, m.Source)
	}
	if m.Number != 0 {
		text += fmt.Sprintf(" number %d", m.Number)
	}
	if m.Control != message.Unresolved {
		text += ", " + m.Control.String()
	}
	if m.Data != message.DataNone {
		text += map[message.Data]string{message.DataAbsent: ", no data", message.DataPresent: ", data"}[m.Data]
	}
	return text + fmt.Sprintf(", started at %s, came in commit %d", m.Origin, m.Arrival.Commit)
}

// entry shows an activity in its scope.
func entry(scope message.Scope, activity processtable.ActivityID) string {
	if scope == "" {
		return string(activity)
	}
	return string(activity) + " in " + string(scope)
}

// showItem shows what waits for a peer.
func showItem(key, value []byte) string {
	k := record.KeyReader{Rest: key[1:]}
	text := "for " + k.Name()
	item, err := record.ReadItem(key, value)
	if err != nil {
		return fmt.Sprintf("%s: %v", text, err)
	}
	return fmt.Sprintf("%s in lane %d, number %d, put at %s", text, k.Bytes(1)[0], item.At.Number, item.Put.Format(time.RFC3339))
}

// showApart shows what waits apart for a peer.
func showApart(key, value []byte) string {
	a, err := record.ReadApart(key, value)
	if err != nil {
		return fmt.Sprintf("%s: %v", record.Readable(key), err)
	}
	return fmt.Sprintf("for %s, number %d apart, put at %s: %s", a.Peer, a.Number, a.Put.Format(time.RFC3339), a.Needs.Kind)
}

// showTimer shows a timer.
func showTimer(key, value []byte) string {
	t, err := record.ReadTimer(key, value)
	if err != nil {
		return fmt.Sprintf("%s: %v", record.Readable(key), err)
	}
	return fmt.Sprintf("%s of %s, instance %s: timer %s, due at %s", entry(t.Entry.Scope, t.Entry.Activity), t.Process, t.Entry.Instance, t.Name, t.Due.Format(time.RFC3339))
}

func showKey(key, _ []byte) string { return record.Readable(key) }
