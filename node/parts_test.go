package node

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"fmqm/link"
	"fmqm/message"
	"fmqm/queue"
)

// partSize is how much one part carries at most (L4).
const partSize = 256 << 10

// piece is the payload of one part, as any peer may write it.
func piece(index, of int, data []byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte{1}, uint32(index))
	return append(binary.BigEndian.AppendUint32(head, uint32(of)), data...)
}

// send has the peer send payloads in one transaction, whatever they are.
func (w *inboxWorld) send(payloads ...[]byte) {
	w.t.Helper()
	at := w.inbox.Accepted(message.LaneData)
	var items []link.Item
	for _, p := range payloads {
		at = link.Position{Number: at.Number + 1, Hash: queue.HashNext(at.Hash, p)}
		items = append(items, link.Item{Number: at.Number, Hash: at.Hash, Payload: p})
	}
	w.sent = at.Number
	w.deliver(items)
}

// kept is how many parts node A keeps of its peer.
func (w *inboxWorld) kept() (n int) {
	w.t.Helper()
	for first := range w.sent + 1 {
		parts, err := w.a.queue.Parts("B", message.LaneData, first)
		if err != nil {
			w.t.Fatal(err)
		}
		n += len(parts)
	}
	return n
}

// reasons are why messages were set aside, the oldest first.
func (w *inboxWorld) reasons() (all []string) {
	w.t.Helper()
	aside, err := w.a.queue.SetAsideAfter(0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range aside {
		all = append(all, s.Reason)
	}
	return all
}

// A peer keeps no more of this site's store than one message in parts for a lane, whatever
// it writes into them; the items are accepted, so that its link goes on, and what cannot be
// put together is set aside, once.
func TestPartsThatDoNotFollow(t *testing.T) {
	data := make([]byte, 1000)
	tests := []struct {
		name  string
		send  [][]byte
		kept  int
		aside []string
	}{
		{"a beginning", [][]byte{piece(0, 3, data), piece(1, 3, data)}, 2, nil},
		{"none before", [][]byte{piece(3, 5, data)}, 0, nil},
		{"none before the last", [][]byte{piece(2, 4, data), piece(3, 4, data)}, 0, []string{
			"part 4 of 4 of a message came without the parts before it",
		}},
		{"of before the first item", [][]byte{piece(900, 1000, data)}, 0, nil},
		{"a gap", [][]byte{piece(0, 4, data), piece(2, 4, data), piece(3, 4, data)}, 0, []string{
			"only 1 part of a message came, from item 2 on, and item 3 is not one of them",
			"part 4 of 4 of a message came without the parts before it",
		}},
		{"one twice", [][]byte{piece(0, 3, data), piece(0, 3, data)}, 1, []string{
			"only 1 part of a message came, from item 2 on, and item 3 is not one of them",
		}},
		{"none to the last", [][]byte{piece(0, 2, data), piece(0, 2, data), piece(1, 2, data)}, 0, []string{
			"only 1 part of a message came, from item 2 on, and item 3 is not one of them",
			"it cannot be read: ",
		}},
		{"too many", [][]byte{piece(0, 1000, data), piece(1, 1000, data), piece(999, 1000, data)}, 0, []string{
			"a message has 1000 parts, and at most 33 are allowed",
		}},
		{"what is no item", [][]byte{piece(0, 2, data), {9}}, 0, []string{
			"only 1 part of a message came, from item 2 on, and item 3 is not one of them",
			"it cannot be read: ",
		}},
	}
	for _, tt := range tests {
		for _, each := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, each by itself %t", tt.name, each), func(t *testing.T) {
				w := newInboxWorld(t, true)
				if each {
					for _, p := range tt.send {
						w.send(p)
					}
				} else {
					w.send(tt.send...)
				}
				if got := w.kept(); got != tt.kept {
					t.Errorf("%d parts are kept, expected %d", got, tt.kept)
				}
				got := w.reasons()
				if len(got) != len(tt.aside) {
					t.Fatalf("set aside: %q", got)
				}
				for i, want := range tt.aside {
					if !strings.HasPrefix(got[i], want) {
						t.Errorf("set aside for %q, expected %q", got[i], want)
					}
				}
				w.goesOn()
			})
		}
	}
}

// goesOn sees that a message that follows is there.
func (w *inboxWorld) goesOn() {
	w.t.Helper()
	m := w.connector()
	encoded, err := message.Encode(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.send(append([]byte{0}, encoded...))
	messages, err := w.a.queue.BrowseInstance(w.table.Process, m.Instance)
	if err != nil || len(messages) != 1 {
		w.t.Errorf("%d messages of the instance are there, %v", len(messages), err)
	}
}

// The parts of one message cannot be more than the largest message is; before, such a
// message was neither put nor set aside, and the link stood still for ever.
func TestPartsOfAMessageThatIsTooLarge(t *testing.T) {
	w := newInboxWorld(t, true)
	full := make([]byte, partSize)
	for i := range queue.MaxParts {
		w.send(piece(i, queue.MaxParts, full))
		if kept := w.kept(); kept > queue.MaxParts {
			t.Fatalf("%d parts are kept", kept)
		}
	}
	if got := w.reasons(); w.kept() != 0 || len(got) != 1 || !strings.HasPrefix(got[0], "a message in parts has 8650752 bytes, and at most ") {
		t.Fatalf("%d parts are kept, set aside: %q", w.kept(), got)
	}
	w.goesOn()
}

// A peer that begins one message after another, and ends none, holds one part.
func TestMessagesThatAreOnlyBegun(t *testing.T) {
	w := newInboxWorld(t, true)
	for range 50 {
		w.send(piece(0, 2, make([]byte, 100_000)))
	}
	if got := w.kept(); got != 1 {
		t.Errorf("%d parts are kept", got)
	}
}
