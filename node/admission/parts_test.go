package admission

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/message"
	"fmqm/queue/record"
)

// piece is the payload of one part, as any peer may write it.
func piece(index, of int, data []byte) []byte {
	return append(record.AppendPartHead(nil, index, of), data...)
}

// kept is how many parts node A keeps of B.
func (w *world) kept() (n int) {
	w.t.Helper()
	for first := range w.Queue.Accepted("B", message.LaneData).Number + 1 {
		parts, err := w.Queue.Parts("B", message.LaneData, first)
		if err != nil {
			w.t.Fatal(err)
		}
		n += len(parts)
	}
	return n
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
			"B: part 4 of 4 of a message came without the parts before it",
		}},
		{"of before the first item", [][]byte{piece(900, 1000, data)}, 0, nil},
		{"a gap", [][]byte{piece(0, 4, data), piece(2, 4, data), piece(3, 4, data)}, 0, []string{
			"B: only 1 part of a message came, from item 2 on, and item 3 is not one of them",
			"B: part 4 of 4 of a message came without the parts before it",
		}},
		{"one twice", [][]byte{piece(0, 3, data), piece(0, 3, data)}, 1, []string{
			"B: only 1 part of a message came, from item 2 on, and item 3 is not one of them",
		}},
		{"none to the last", [][]byte{piece(0, 2, data), piece(0, 2, data), piece(1, 2, data)}, 0, []string{
			"B: only 1 part of a message came, from item 2 on, and item 3 is not one of them",
			"B: it cannot be read: ",
		}},
		{"too many", [][]byte{piece(0, 1000, data), piece(1, 1000, data), piece(999, 1000, data)}, 0, []string{
			"B: a message has 1000 parts, and at most 33 are allowed",
		}},
		{"what is no item", [][]byte{piece(0, 2, data), {9}}, 0, []string{
			"B: only 1 part of a message came, from item 2 on, and item 3 is not one of them",
			"B: it cannot be read: ",
		}},
	}
	for _, tt := range tests {
		for _, each := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, each by itself %t", tt.name, each), func(t *testing.T) {
				w := newWorld(t, true)
				if each {
					for _, p := range tt.send {
						w.deliver("B", message.LaneData, p)
					}
				} else {
					w.deliver("B", message.LaneData, tt.send...)
				}
				if got := w.kept(); got != tt.kept {
					t.Errorf("%d parts are kept, expected %d", got, tt.kept)
				}
				w.wantAside(tt.aside...)
				w.goesOn()
			})
		}
	}
}

// goesOn sees that a message that follows is there.
func (w *world) goesOn() {
	w.t.Helper()
	m := w.connector()
	w.sends("B", m)
	if n := len(w.stored(m)); n != 1 {
		w.t.Errorf("%d messages of the instance are there", n)
	}
}

// The parts of one message cannot be more than the largest message is; before, such a
// message was neither put nor set aside, and the link stood still for ever.
func TestPartsOfAMessageThatIsTooLarge(t *testing.T) {
	w := newWorld(t, true)
	full := make([]byte, record.PartSize)
	for i := range record.MaxParts {
		w.deliver("B", message.LaneData, piece(i, record.MaxParts, full))
		if kept := w.kept(); kept > record.MaxParts {
			t.Fatalf("%d parts are kept", kept)
		}
	}
	if w.wantAside("B: a message in parts has 8650752 bytes, and at most "); w.kept() != 0 {
		t.Fatalf("%d parts are kept", w.kept())
	}
	w.goesOn()
}

// A peer that begins one message after another, and ends none, holds one part.
func TestMessagesThatAreOnlyBegun(t *testing.T) {
	w := newWorld(t, true)
	for range 50 {
		w.deliver("B", message.LaneData, piece(0, 2, make([]byte, 100_000)))
	}
	if got := w.kept(); got != 1 {
		t.Errorf("%d parts are kept", got)
	}
}

// lane is a lane with its store in memory: what parts does, without a site.
type lane struct {
	number uint64
	open   record.Incoming
	stored map[uint64][]record.Part // by the number of the first
	told   []string                 // what came of the items, in their order
}

// item is what a peer sends: a part, or, with of 0, a whole message.
type item struct{ index, of int }

func (i item) data(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// accept takes items in one transaction.
func (l *lane) accept(t *rapid.T, items []item) {
	accept := &record.Accept{}
	p := parts{
		open: l.open, accept: accept,
		aside: func(_ []byte, reason string) { l.told = append(l.told, reason) },
		stored: func(first uint64) (all [][]byte, _ error) {
			for _, part := range l.stored[first] {
				all = append(all, part.Data)
			}
			return all, nil
		},
	}
	for _, i := range items {
		l.number++
		if i.of == 0 {
			p.abandon(l.number)
			continue
		}
		whole, err := p.take(l.number, record.Piece{Index: i.index, Of: i.of, Data: i.data(l.number)})
		if err != nil {
			t.Fatal(err)
		}
		if whole != nil {
			l.told = append(l.told, fmt.Sprintf("whole %x", whole))
		}
	}
	// As the committer does it.
	for _, part := range accept.Parts {
		l.stored[part.First] = append(l.stored[part.First], part)
	}
	for _, first := range accept.Whole {
		delete(l.stored, first)
	}
	l.open = p.open
}

// Whatever a peer sends, and however it is cut into transactions: a message is put together if, and
// only if, all its parts came one after the other, from the first on; and of the lane no more is kept than
// the message whose last part may come next.
func TestPartsAreOneMessageOnlyInTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) item {
			of := rapid.SampledFrom([]int{0, 2, 3, 3, record.MaxParts + 1}).Draw(t, "of")
			return item{rapid.IntRange(0, max(0, min(of, 4)-1)).Draw(t, "index"), of}
		}), 1, 40).Draw(t, "items")
		at := &lane{stored: map[uint64][]record.Part{}}
		for rest := items; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "together")
			at.accept(t, rest[:n])
			rest = rest[n:]
			if kept := len(at.stored[at.open.First]); kept != at.open.Count || len(at.stored) > 1 || len(at.stored) == 1 && kept == 0 {
				t.Fatalf("of the message %+v, %v is kept", at.open, at.stored)
			}
		}
		var want, got []string
		for last, i := range items {
			if first := last - i.index; i.of > 0 && i.of <= record.MaxParts && i.index == i.of-1 && first >= 0 && follow(items[first:last+1]) {
				var all bytes.Buffer
				for n := first; n <= last; n++ {
					all.Write(i.data(uint64(n) + 1))
				}
				want = append(want, fmt.Sprintf("whole %x", all.Bytes()))
			}
		}
		for _, told := range at.told {
			if strings.HasPrefix(told, "whole") {
				got = append(got, told)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("of %+v\nthese are put together: %v\nwant: %v", items, got, want)
		}
		at.told = append(at.told, fmt.Sprintf("open %+v", at.open))
		once := &lane{stored: map[uint64][]record.Part{}}
		once.accept(t, items)
		once.told = append(once.told, fmt.Sprintf("open %+v", once.open))
		if fmt.Sprint(at.told) != fmt.Sprint(once.told) {
			t.Fatalf("of %+v\nin pieces: %v\nat once: %v", items, at.told, once.told)
		}
	})
}

// follow says whether items are the parts 0, 1, 2 … of a message, of which the last is one.
func follow(items []item) bool {
	for n, i := range items {
		if i.of == 0 || i.of > record.MaxParts || i.index != n || (i.index == i.of-1) != (n == len(items)-1) {
			return false
		}
	}
	return true
}
