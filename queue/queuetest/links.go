package queuetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/lane"
	"fmqm/queue/record"
)

// checkLane holds a lane to L1: numbers without a gap, each with the running hash of
// all before it, and the messages in the order in which they were put.
func (s *site) checkLane(peer processtable.NodeID, lane message.Lane, low record.Position, want ...message.Message) []record.Item {
	s.Helper()
	tr := s.Transmission(peer)
	if got := tr.Low(lane); got != low {
		s.Errorf("low is %+v, want %+v", got, low)
	}
	items := s.items(peer, lane)
	at := low
	var got []message.Message
	var parts []byte
	for _, item := range items {
		at = record.Position{Number: at.Number + 1, Hash: record.HashNext(at.Hash, item.Payload)}
		if (record.Position{Number: item.Number, Hash: item.Hash}) != at {
			s.Fatalf("item %d with hash %s, want %d with %s", item.Number, item.Hash, at.Number, at.Hash)
		}
		piece, err := record.Unpack(item.Payload)
		if err != nil {
			s.Fatal(err)
		}
		if parts = append(parts, piece.Data...); !piece.Last() {
			continue
		}
		m, err := message.Decode(parts)
		if err != nil {
			s.Fatal(err)
		}
		got, parts = append(got, m), nil
	}
	sameMessages(s.TB, got, want)
	if tr.Last(lane) != at {
		s.Errorf("last is %+v, want %+v", tr.Last(lane), at)
	}
	return items
}

func testTransmission(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	if got := s.Peers(); len(got) != 0 || stats(s, "B").Count != 0 {
		t.Errorf("a new node has messages for %v", got)
	}
	start := record.Position{}
	a, b, c := msg("B", 1, "a", "b"), msg("B", 1, "a", "c", 1, 2, 3), msg("C", 1, "a", "d")
	control := msg("B", 2, "a", "b")
	control.Lane = message.LaneControl
	tr := s.Transmission("B")
	s.must(put(a, c, control))
	rung(tr.Wake())
	s.clock.Advance(time.Minute)
	s.must(put(b))
	rung(tr.Wake())
	for range 2 {
		items := s.checkLane("B", message.LaneData, start, a, b)
		s.checkLane("B", message.LaneControl, start, control)
		s.checkLane("C", message.LaneData, start, c)
		s.checkLane("C", message.LaneControl, start)
		if got := fmt.Sprint(s.Peers()); got != "[B C]" {
			t.Errorf("peers %s", got)
		}
		size := uint64(len(items[0].Payload) + len(items[1].Payload) + len(s.items("B", message.LaneControl)[0].Payload))
		want := lane.Stats{Peer: "B", Count: 3, Bytes: size, Oldest: noon}
		if got := stats(s, "B"); got != want {
			t.Errorf("statistics %+v, want %+v", got, want)
		}
		s.crash()
	}
	tr = s.Transmission("B")
	for _, tc := range []struct {
		from     uint64
		maxBytes int
		want     string
	}{
		{0, 1 << 20, "1 2"}, {1, 1 << 20, "1 2"}, {2, 1 << 20, "2"}, {3, 1 << 20, ""}, {1, 1, "1"}, {2, 0, "2"},
	} {
		items, err := tr.Read(message.LaneData, tc.from, tc.maxBytes)
		var numbers []string
		for _, i := range items {
			numbers = append(numbers, fmt.Sprint(i.Number))
		}
		if got := strings.Join(numbers, " "); got != tc.want || err != nil {
			t.Errorf("read from %d, %d bytes: %s, %v, want %s", tc.from, tc.maxBytes, got, err, tc.want)
		}
	}
}

// testTrim: what a peer has goes with the next commit, and nothing else.
func testTrim(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	large := msg("B", 9, "a", "b", noise(600_000, 1)...)
	var messages []message.Message
	for n := range 9 {
		messages = append(messages, msg("B", n, "a", "b"))
	}
	s.must(put(messages...))
	s.must(put(large)) // items 10 to 12
	s.must(put(messages[0]))
	items := s.items("B", 0)
	at := func(number uint64) record.Position {
		return record.Position{Number: number, Hash: items[number-1].Hash}
	}
	tr := s.Transmission("B")
	tr.Trim(0, 0)
	tr.Trim(0, 4)
	tr.Trim(1, 4) // nothing is there
	s.checkLane("B", 0, record.Position{}, append(append([]message.Message{}, messages...), large, messages[0])...)
	s.must(put(msg("A", 1, "a", "b"))) // any commit takes it along
	left := append(append([]message.Message{}, messages[4:]...), large, messages[0])
	s.checkLane("B", 0, at(4), left...)
	tr.Trim(0, 3) // an old acknowledgement
	s.must(put(msg("A", 2, "a", "b")))
	s.checkLane("B", 0, at(4), left...)
	s.crash()
	s.checkLane("B", 0, at(4), left...)
	s.Transmission("B").Trim(0, 12)
	s.must(put(msg("A", 3, "a", "b")))
	s.checkLane("B", 0, at(12), messages[0])
	if got := s.bodies(); got != none {
		t.Errorf("%s after the large message was trimmed", got)
	}
	s.Transmission("B").Trim(0, 1000) // beyond what there is
	s.must(put(msg("A", 4, "a", "b")))
	for range 2 {
		s.checkLane("B", 0, at(13))
		if got := s.Peers(); len(got) != 0 {
			t.Errorf("messages for %v after all were trimmed", got)
		}
		s.crash()
	}
	s.must(put(messages[1]))
	s.checkLane("B", 0, at(13), messages[1]) // numbers and hashes go on
}

// testTrimAlone: without another commit a trim waits for a second, and takes many
// commits where one would be too large.
func testTrimAlone(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	const count = 10_000
	for range 10 {
		tx := &record.Tx{}
		for n := range count / 10 {
			tx.Put = append(tx.Put, msg("B", n, "a", "b"))
		}
		s.must(tx)
	}
	s.Transmission("B").Trim(0, count-1)
	if armed := s.clock.Armed(); len(armed) != 1 || armed[0] != noon.Add(time.Second) {
		t.Fatalf("it waits until %v", armed)
	}
	s.clock.Advance(time.Second)
	if err := s.Close(t.Context()); err != nil { // after what was asked for
		t.Fatal(err)
	}
	s.start()
	if got := stats(s, "B").Count; got != 1 {
		t.Errorf("%d items are left, want 1", got)
	}
	if got := s.keys()["x"]; got != 1 {
		t.Errorf("%d records are left, want 1", got)
	}
}

// testSentNumbers: the audit record of a termination has the numbers that its onward
// messages got, also where one travels in parts.
func testSentNumbers(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	s.Transmission("B").PeerReads(message.Current())
	s.must(put(msg("C", 9, "x", "y"))) // C's lane is one ahead
	control := msg("B", 1, "b", "f")
	control.Lane = message.LaneControl
	tx := put(
		msg("B", 1, "b", "d", noise(600_000, 1)...), msg("A", 1, "b", "c"), msg("C", 1, "b", "d"),
		msg("B", 1, "b", "e"), control, msg("B", 1, "other", "g"), msg("B", 1, "other", "e"),
	)
	tx.Audit = []record.AuditRecord{
		{Instance: instance(1), Activity: "b", Event: record.EventTerminated, Clock: 1, Sent: []record.Sent{
			{Target: "e", Node: "B"},
			{Target: "d", Node: "B"},
			{Target: "c", Node: "A"},
			{Target: "d", Node: "C"},
			{Target: "f", Node: "B", Lane: message.LaneControl},
		}},
		{Instance: instance(1), Activity: "other", Event: record.EventSkipped, Clock: 2, Sent: []record.Sent{
			{Target: "e", Node: "B"}, {Target: "g", Node: "B"}, {Target: "never sent", Node: "B"},
		}},
	}
	// A composite begins work inside of it, and what lies there sends to it: two to one target.
	begin, second, back := msg("B", 1, "b", "d"), msg("B", 1, "b", "d"), msg("B", 1, processtable.Sink, "b")
	begin.Scope, second.Scope, second.Number = "b#1", "b#1", 2
	back.SourceScope = "b#1"
	tx.Put = append(tx.Put, second, back, begin)
	tx.Audit = append(tx.Audit, record.AuditRecord{Instance: instance(1), Activity: "b", Event: record.EventIterated, Clock: 3, Sent: []record.Sent{
		{Target: "d", Node: "B", Scope: "b#1"}, {Target: "d", Node: "B", Scope: "b#1", Nth: 2},
	}}, record.AuditRecord{Instance: instance(1), Scope: "b#1", Activity: processtable.Sink, Event: record.EventTerminated, Clock: 4, Sent: []record.Sent{
		{Target: "b", Node: "B"}, {Target: "b", Node: "B", Kind: message.KindNotice},
	}})
	s.must(tx)
	want := [][]uint64{{4, 1, 0, 2, 1}, {6, 5, 0}, {9, 7}, {8, 0}}
	stored, err := s.History(instance(1))
	if err != nil || len(stored) != len(want) {
		t.Fatalf("history %v, %v", stored, err)
	}
	for i := range want {
		for j, number := range want[i] {
			if got := tx.Audit[i].Sent[j].Number; got != number {
				t.Errorf("record %d, message %d: number %d, want %d", i, j, got, number)
			}
			if got := stored[i].Sent[j].Number; got != number {
				t.Errorf("stored record %d, message %d: number %d, want %d", i, j, got, number)
			}
		}
	}
}

// receive accepts items from another site one by one, as a node does: it stores
// parts, and puts a message with its last one.
func (s *site) receive(from *site, lane message.Lane, items ...record.Item) {
	s.Helper()
	for _, item := range items {
		piece, err := record.Unpack(item.Payload)
		if err != nil {
			s.Fatal(err)
		}
		tx := &record.Tx{Accept: &record.Accept{
			Peer: "A", Incarnation: from.Incarnation(), Lane: lane, Number: item.Number, Count: 1,
			Before: s.Accepted("A", lane).Hash, Hash: item.Hash,
		}}
		first := item.Number - uint64(piece.Index)
		if !piece.Last() {
			tx.Accept.Parts = []record.Part{{First: first, Index: piece.Index, Data: piece.Data}}
		} else {
			encoded := piece.Data
			if !piece.Whole {
				parts, err := s.Parts("A", lane, first)
				if err != nil || len(parts) != piece.Index {
					s.Fatalf("%d parts, %v, want %d", len(parts), err, piece.Index)
				}
				encoded = append(bytes.Join(parts, nil), piece.Data...)
				tx.Accept.Whole = []uint64{first}
			}
			m, err := message.Decode(encoded)
			if err != nil {
				s.Fatal(err)
			}
			tx.Put = []message.Message{m}
		}
		s.must(tx)
		if got := s.Accepted("A", lane); got.Number != item.Number || got.Hash != item.Hash {
			s.Errorf("accepted %+v after item %d", got, item.Number)
		}
	}
}

// testParts: a message of any size crosses a link in numbered parts, also when both
// sites fail between any two of them.
func testParts(t *testing.T, open storetest.Open) {
	from := newSite(t, open)
	to := newSite(t, open, func(o *queue.Options) { o.Node = "B" })
	if err := to.BindIncarnation("A", from.Incarnation()); err != nil {
		t.Fatal(err)
	}
	var messages []message.Message
	counts := []int{1, 1, 1, 2, 4, 5, 33}
	for i, size := range []int{10, 100_000, 256<<10 - 1000, 256 << 10, 1_000_000, 1<<20 + 1, message.MaxBody} {
		messages = append(messages, msg("B", i, "a", "b", noise(size, byte(i))...))
		before := from.Transmission("B").Last(0).Number
		from.must(put(messages[i]))
		if got := int(from.Transmission("B").Last(0).Number - before); got != counts[i] {
			t.Errorf("a body of %d bytes takes %d items, want %d", size, got, counts[i])
		}
	}
	from.crash()
	items := from.checkLane("B", 0, record.Position{}, messages...)
	for i, item := range items {
		if len(item.Payload) > 256<<10+100 {
			t.Errorf("item %d has %d bytes", item.Number, len(item.Payload))
		}
		to.receive(from, 0, item)
		if i%11 == 5 {
			to.crash()
		}
	}
	for i, m := range messages {
		to.wantStored(entry(i, "b"), m)
	}
	if got := to.keys()["i"]; got != 0 {
		t.Errorf("%d parts are left", got)
	}
	for i := range messages {
		to.must(take(messages[i]))
	}
	if got := to.bodies(); got != none {
		t.Errorf("%s are left of the parts", got)
	}
	for _, bad := range []struct{ payload, want string }{
		{"", "it is empty"},
		{"\x02", "it has form 2: upgrade this node"},
		{"\x01abc", "a part with only 4 bytes"},
		{"\x01\x00\x00\x00\x02\x00\x00\x00\x02", "part 2 of 2"},
		{"\x01\x00\x00\x00\x00\x00\x00\x00\x01", "part 0 of 1"},
		{"\x01\x00\x00\x00\x00\x00\x10\x00\x00", "part 0 of 1048576"},
	} {
		if _, err := record.Unpack([]byte(bad.payload)); !errors.Is(err, record.ErrPayload) || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("payload %q: %v, want %q", bad.payload, err, bad.want)
		}
	}
}

// testAccept: a link goes on exactly where the disk says, lane by lane.
func testAccept(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	inc := record.Incarnation{7}
	if err := s.BindIncarnation("B", inc); err != nil {
		t.Fatal(err)
	}
	accept := func(lane message.Lane, number, count uint64, before, after byte) error {
		return s.try(&record.Tx{
			Put: []message.Message{msg("A", int(number), "a", "b")},
			Accept: &record.Accept{
				Peer: "B", Incarnation: inc, Lane: lane, Number: number, Count: count,
				Before: record.Hash{before}, Hash: record.Hash{after},
			},
		})
	}
	for _, step := range []struct {
		lane          message.Lane
		number, count uint64
		before, after byte
		want          string
	}{
		{0, 2, 1, 0, 1, "accept from B lane 0: the link's numbers are out of order: its items (1) end at 2, but the store ends at 0"},
		{0, 3, 3, 0, 3, ""},
		{0, 3, 3, 0, 3, "its items (3) end at 3, but the store ends at 3"}, // seen
		{0, 5, 1, 3, 5, "its items (1) end at 5, but the store ends at 3"}, // a gap
		{0, 4, 1, 9, 4, "its hash at 3 is another one"},
		{0, 1, 2, 3, 4, "its items (2) end at 1"},
		{1, 1, 1, 0, 1, ""},
		{0, 4, 1, 3, 4, ""},
		{2, 1, 1, 0, 1, `accept from "B" lane 2: there is no such site or lane`},
	} {
		if err := accept(step.lane, step.number, step.count, step.before, step.after); fmt.Sprint(err) == "" ||
			(err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("%+v: %v", step, err)
		}
		s.reopen()
	}
	if got := s.Accepted("B", 0); got != (record.Position{Number: 4, Hash: record.Hash{4}}) {
		t.Errorf("accepted in lane 0: %+v", got)
	}
	if got := s.Accepted("B", 1); got != (record.Position{Number: 1, Hash: record.Hash{1}}) {
		t.Errorf("accepted in lane 1: %+v", got)
	}
	if got := s.Accepted("C", 0); got != (record.Position{}) {
		t.Errorf("accepted from a stranger: %+v", got)
	}
}

// testIncarnations: a peer is known as who it was when it was met (L1).
func testIncarnations(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	own := s.Incarnation()
	if own == (record.Incarnation{}) {
		t.Error("the store has no incarnation")
	}
	other := newSite(t, open, func(o *queue.Options) { o.Rand = nil })
	if other.Incarnation() == own || other.Incarnation() == (record.Incarnation{}) {
		t.Errorf("two stores are both %s", own)
	}
	if _, known := s.KnownIncarnation("B"); known {
		t.Error("a peer is known that was never met")
	}
	for range 2 {
		if err := s.BindIncarnation("B", record.Incarnation{7}); err != nil {
			t.Fatal(err)
		}
		err := s.BindIncarnation("B", record.Incarnation{8})
		if !errors.Is(err, commit.ErrOutOfOrder) || !strings.Contains(err.Error(), "this store knows it as 0700") {
			t.Errorf("another incarnation: %v", err)
		}
		if got, known := s.KnownIncarnation("B"); !known || got != (record.Incarnation{7}) {
			t.Errorf("known as %s, %v", got, known)
		}
		s.crash()
		if s.Incarnation() != own {
			t.Error("the incarnation changed with a restart")
		}
	}
	if err := s.BindIncarnation("not a name", record.Incarnation{7}); err == nil || !strings.Contains(err.Error(), "not a node's name") {
		t.Errorf("a peer without a name: %v", err)
	}
}

func testRefuse(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	for i := range 4 {
		s.must(&record.Tx{Refuse: []record.Refused{{
			Time: noon.Add(time.Duration(i)), Peer: "B", Reason: fmt.Sprint("reason ", i), Message: noise(10+i*50_000, byte(i)),
		}}})
		if i == 1 {
			s.crash()
		}
	}
	s.must(&record.Tx{Refuse: []record.Refused{{Reason: strings.Repeat("x", 100_000)}}})
	got, err := s.RefusedList(10)
	if err != nil || len(got) != 5 || len(got[0].Reason) > 20_000 {
		t.Fatalf("%d refused, %v", len(got), err)
	}
	for i, a := range got[1:] {
		n := 3 - i // the newest first
		if a.Time != noon.Add(time.Duration(n)) || a.Peer != "B" || a.Reason != fmt.Sprint("reason ", n) || a.Size != 10+n*50_000 {
			t.Errorf("message %d: %v %s %s with %d bytes", n, a.Time, a.Peer, a.Reason, a.Size)
		}
		if whole, found, err := s.RefusedAt(a.Number); !found || err != nil || !bytes.Equal(whole.Message, noise(10+n*50_000, byte(n))) {
			t.Errorf("message %d: %v %v, %d bytes", n, found, err, len(whole.Message))
		}
	}
	if got, err := s.RefusedList(2); err != nil || len(got) != 2 {
		t.Errorf("%d of at most 2, %v", len(got), err)
	}
	if rest, err := s.RefusedBefore(got[1].Number, 10); err != nil || len(rest) != 3 || rest[0].Number != got[2].Number || rest[0].Reason != got[2].Reason {
		t.Errorf("before the second: %d, %v", len(rest), err)
	}
	if rest, err := s.RefusedBefore(0, 10); err != nil || len(rest) != 0 {
		t.Errorf("before all: %d, %v", len(rest), err)
	}
}

func stats(s *site, peer processtable.NodeID) lane.Stats {
	s.Helper()
	got, err := s.Transmission(peer).Stats()
	if err != nil {
		s.Fatal(err)
	}
	return got
}
