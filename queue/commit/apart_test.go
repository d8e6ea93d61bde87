package commit

import (
	"encoding/binary"
	"fmt"
	"testing"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// apartSite is a core with messages that wait apart for B, and the store that it writes to.
type apartSite struct {
	*Core
	store  map[string][]byte
	writes []int // how many changes each had
	moves  int   // that were asked for
}

// newApartSite has messages for as many entries, each of which has sent its message from an audit
// record of auditBytes: one for each of them, or one for all; below 0: none says that it was sent.
func newApartSite(count, auditBytes int, oneAudit bool) *apartSite {
	s := &apartSite{store: map[string][]byte{}}
	size := func(b *change.Batch) (n int64) {
		for _, op := range b.Ops {
			n += int64(len(op.Key) + len(op.Value) + 10)
		}
		return n
	}
	state := NewState()
	for i := range count {
		audit, at, of := i, 0, 1
		if oneAudit {
			audit, at, of = 0, i, count
		}
		sent := record.SentAt{Key: fmt.Appendf(nil, "audit%d", audit), Index: at, Of: of}
		if auditBytes < 0 {
			sent = record.SentAt{}
		} else {
			s.store[string(sent.Key)] = record.New(sent.Key, make([]byte, auditBytes+8*of)...)
		}
		a := record.Apart{
			Peer: "B", Number: uint64(i) + 1, First: true, Key: uint64(i), Size: 1, Sent: sent,
			Needs: message.Needs{Format: 2, Kind: message.KindWord, Body: 1},
		}
		op := record.NewApart(&a, []byte{record.PlaceInline, 'm'})
		s.store[string(op.Key)] = op.Value
		state.Apart["B"] = append(state.Apart["B"], ApartOf(&a))
	}
	s.Core = New(Config{Size: size, MaxBatch: 2 << 20, MaxKey: 10_000, MaxValue: 1 << 20}, state)
	return s
}

// run does what the core wants until it wants nothing, or something for too long.
func (s *apartSite) run(t *testing.T) {
	t.Helper()
	for range 10_000 {
		switch e := s.Next().(type) {
		case nil:
			return
		case *Read:
			a := Answer{Token: e.Token, First: make([][]byte, len(e.Under))}
			for _, key := range e.Keys {
				a.Values = append(a.Values, s.store[string(key)])
			}
			s.Step(a)
		case *Write:
			if size := s.Size(e.Batch); size > s.group.size {
				t.Fatalf("%d bytes are written, and %d were reckoned", size, s.group.size)
			}
			for _, op := range e.Batch.Ops {
				if s.store[string(op.Key)] = op.Value; op.Value == nil {
					delete(s.store, string(op.Key))
				}
			}
			s.writes = append(s.writes, len(e.Batch.Ops))
			s.Step(Written{Number: e.Number, Last: e.Number})
		case *Report:
			for _, m := range e.Moves {
				s.moves++
				s.Step(s.move(t, m))
			}
		default:
			t.Fatalf("%T", e)
		}
	}
	t.Fatalf("the core does not come to rest: %d moves were asked for", s.moves)
}

// move is the work that a core has asked for.
func (s *apartSite) move(t *testing.T, m MoveFact) *Work {
	w := &Work{Move: &Move{Peer: m.Peer}}
	for _, number := range m.Numbers {
		key := record.AppendApartKey(nil, m.Peer, number)
		a, err := record.ReadApart(key, s.store[string(key)])
		if err != nil {
			t.Fatal(err)
		}
		item := record.AppendItemKey(nil, m.Peer, a.Lane, 0)
		value := record.New(item, append(make([]byte, record.ItemFixed), record.PlaceInline, 'm')...)
		w.Items = append(w.Items, Item{Peer: m.Peer, Lane: a.Lane, Op: len(w.Ops), Staged: -1, Payload: []byte{'m'}})
		w.Ops = append(w.Ops, change.Op{Key: item, Value: value})
		w.Move.Items = append(w.Move.Items, Moved{Number: number, Sent: a.Sent})
	}
	w.Size = s.Size(&change.Batch{Ops: w.Ops})
	return w
}

// What waits apart is moved also where the audit records that get its numbers are large: so
// many at once as one transaction can have.
func TestMovesWithLargeAudits(t *testing.T) {
	for _, kib := range []int{1, 33, 70, 600} {
		t.Run(fmt.Sprint(kib, " KiB"), func(t *testing.T) {
			s := newApartSite(300, kib<<10, false)
			s.Step(Reads{Peer: "B", Reads: message.Current()})
			s.run(t)
			if waits := len(s.lanesTo("B").apart.items); waits > 0 {
				t.Fatalf("%d messages still wait apart", waits)
			}
			for n := range 300 {
				value := s.store[fmt.Sprint("audit", n)]
				if number := binary.BigEndian.Uint64(value[len(value)-record.CRCSize-8:]); number != uint64(n)+1 {
					t.Fatalf("audit record %d has number %d", n, number)
				}
			}
		})
	}
}

// What no audit record names is moved too.
func TestMovesWithoutAudit(t *testing.T) {
	s := newApartSite(300, -1, false)
	s.Step(Reads{Peer: "B", Reads: message.Current()})
	s.run(t)
	if waits := len(s.lanesTo("B").apart.items); waits > 0 {
		t.Fatalf("%d messages still wait apart", waits)
	}
}

// An audit record that gets the numbers of many messages is written once.
func TestMovesOfOneAudit(t *testing.T) {
	s := newApartSite(200, 33<<10, true)
	s.Step(Reads{Peer: "B", Reads: message.Current()})
	s.run(t)
	value := s.store["audit0"]
	for n := range 200 {
		if number := binary.BigEndian.Uint64(value[len(value)-record.CRCSize-8*(200-n):]); number != uint64(n)+1 {
			t.Fatalf("message %d has number %d in the audit", n, number)
		}
	}
	// What the peer reads; of each message its item and what waited; the audit.
	if last := s.writes[len(s.writes)-1]; last != 2*200+1 {
		t.Errorf("it was moved with %d changes", last)
	}
}

// What waits apart costs what goes on nothing, however much it is.
func TestWaitingApartCostsOthersNothing(t *testing.T) {
	cost := func(waiting int) float64 {
		s := newApartSite(waiting, 10, false)
		s.run(t)
		m := &message.Message{Header: message.Header{Kind: message.KindConnector, Activity: "other"}}
		return testing.AllocsPerRun(20, func() {
			key := record.AppendItemKey(nil, "B", 0, 0)
			value := record.New(key, append(make([]byte, record.ItemFixed), record.PlaceInline, 'm')...)
			ops := []change.Op{{Key: key, Value: value}}
			s.Step(&Work{
				Ops: ops, Size: s.Size(&change.Batch{Ops: ops}),
				Items: []Item{{Peer: "B", Staged: -1, Payload: []byte{'m'}, Message: m, First: true}},
			})
			s.run(t)
		})
	}
	if few, many := cost(1), cost(20_000); many > few+5 {
		t.Errorf("a commit allocates %.0f times, and %.0f times where one message waits", many, few)
	}
}

// What has the key of an item that waits apart waits behind it, also where one transaction has both: of
// two messages with one key the later one stays. What is for another key or another peer does not.
func TestAKeyThatWaitsHoldsUpItsOwnWithinATransaction(t *testing.T) {
	c := New(Config{Size: func(*change.Batch) int64 { return 0 }, MaxKey: 10_000, MaxValue: 1 << 20}, NewState())
	item := func(peer processtable.NodeID, source processtable.ActivityID, readable bool) Item {
		m := &message.Message{Header: message.Header{Kind: message.KindNotice, Source: source}, Body: message.EncodeNotice(message.Notice{})}
		if !readable {
			m.Body = []byte{0x82, 9, 0xa0} // of version 9
		}
		return Item{Peer: peer, Message: m}
	}
	w := &Work{Items: []Item{
		item("B", "x", true), item("B", "x", false), item("B", "x", true), item("B", "y", true), item("C", "x", true),
	}}
	c.place(w)
	for i, want := range []bool{false, true, true, false, false} {
		if w.Items[i].Apart != want {
			t.Errorf("item %d waits apart: %t", i, w.Items[i].Apart)
		}
	}
	if w.apart != 2 {
		t.Errorf("%d wait apart", w.apart)
	}
}
