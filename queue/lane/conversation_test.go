package lane_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/queue"
	"fmqm/queue/backup"
	"fmqm/queue/commit"
	"fmqm/queue/inspect"
	"fmqm/queue/record"
)

// pair is node A, which has exchanged messages with B's store 1: B has confirmed
// two of five, and A has accepted one of B's and the first part of another.
type pair struct {
	t   *testing.T
	dir string
	m   *queue.Manager
}

var store1, store2 = record.Incarnation{1}, record.Incarnation{2}

func newPair(t *testing.T) *pair {
	r := &pair{t: t, dir: t.TempDir()}
	r.open()
	t.Cleanup(r.close)
	r.must(r.m.BindIncarnation("B", store1))
	for n := range 5 {
		r.must(submit(r.m, &record.Tx{Put: []message.Message{{Header: message.Header{
			Queue: message.Queue{Process: procP, Node: "B"}, Instance: uuid.UUID{byte(n + 1)},
			Origin: "A", Activity: "a", Source: "b", Kind: message.KindConnector, Control: message.True,
		}}}}))
	}
	r.m.Transmission("B").Trim(0, 2)
	first := record.HashNext(record.Hash{}, []byte("first"))
	r.must(submit(r.m, &record.Tx{Accept: &record.Accept{
		Peer: "B", Incarnation: store1, Number: 2, Count: 2, Hash: record.HashNext(first, []byte("part")),
		Parts: []record.Part{{First: 2, Data: make([]byte, 200_000)}},
	}}))
	return r
}

func (r *pair) open() {
	engine, err := badger.Open(badger.Options{Dir: r.dir})
	r.must(err)
	r.m, err = queue.Open(engine, queue.Options{Node: "A"})
	r.must(err)
}

func (r *pair) close() { r.must(r.m.Close(context.Background())) }

func (r *pair) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// L1: by an operator's word the conversation with a peer that lost its store begins
// again: nothing of the new store is accepted yet, it is sent what was not confirmed, and
// all of that is one transaction that a restart finds.
func TestAnotherStoreBeginsTheConversationAgain(t *testing.T) {
	r := newPair(t)
	before, err := r.m.Transmission("B").Read(0, 1, 1<<20)
	r.must(err)
	r.must(r.m.ReplaceIncarnation("B", store2))
	for _, restarted := range []bool{false, true} {
		if restarted {
			r.close()
			r.open()
		}
		if known, _ := r.m.KnownIncarnation("B"); known != store2 {
			t.Fatalf("B is known as %s", known)
		}
		if at := r.m.Accepted("B", 0); at != (record.Position{}) {
			t.Fatalf("of the new store %d is accepted", at.Number)
		}
		if parts, err := r.m.Parts("B", 0, 2); err != nil || len(parts) != 0 {
			t.Fatalf("%d parts of the store before are kept, %v", len(parts), err)
		}
		began, err := r.m.Began("B")
		r.must(err)
		if low := r.m.Transmission("B").Low(0); began[0] != low || low.Number != 2 || began[1] != (record.Position{}) {
			t.Fatalf("the conversation begins at %+v, and the queue is trimmed up to %d", began, low.Number)
		}
		after, err := r.m.Transmission("B").Read(0, 1, 1<<20)
		r.must(err)
		if len(after) != 3 || after[0].Number != before[0].Number || after[2].Hash != before[2].Hash {
			t.Fatalf("%d items wait from %d on, expected the 3 from 3 on", len(after), after[0].Number)
		}
	}
	hash := record.HashNext(record.Hash{}, []byte("again from 1"))
	accept := record.Accept{Peer: "B", Incarnation: store1, Number: 1, Count: 1, Hash: hash}
	if err := submit(r.m, &record.Tx{Accept: &accept}); !errors.Is(err, commit.ErrOutOfOrder) {
		t.Fatalf("the store before was accepted from: %v", err)
	}
	accept.Incarnation = store2
	r.must(submit(r.m, &record.Tx{Accept: &accept}))
}

func TestAnotherStoreIsRefusedWhereNothingIsToBeDecided(t *testing.T) {
	r := newPair(t)
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"the store that is known": {r.m.ReplaceIncarnation("B", store1), "replace incarnation of B: the link's numbers are out of order: this store knows it as " + store1.String()},
		"a peer that was not met": {r.m.ReplaceIncarnation("C", store1), "replace incarnation of C: the link's numbers are out of order: this store knows it as " + record.Incarnation{}.String()},
		"no store":                {r.m.ReplaceIncarnation("B", record.Incarnation{}), "replace incarnation: 0 cannot be an incarnation"},
		"begin before meeting":    {r.m.BeginAccepted("C", [2]record.Position{{Number: 7}}), "begin with C: the link's numbers are out of order: this store has not met it yet"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("%s: got %v, expected %s", name, tt.err, tt.want)
		}
	}
	if at := r.m.Accepted("B", 0); at.Number != 2 {
		t.Fatalf("a refusal changed what was accepted: %d", at.Number)
	}
}

// The other side: what the peer sends begins where its operator's decision left it, in
// lanes of which nothing was accepted.
func TestBeginAcceptedBeginsOnlyWhatHasNotBegun(t *testing.T) {
	r := newPair(t)
	accepted := r.m.Accepted("B", 0)
	begin := [2]record.Position{{Number: 40, Hash: record.Hash{4}}, {Number: 7, Hash: record.Hash{7}}}
	r.must(r.m.BeginAccepted("B", begin))
	r.close()
	r.open()
	if r.m.Accepted("B", 0) != accepted || r.m.Accepted("B", 1) != begin[1] {
		t.Fatalf("lanes begin at %+v and %+v", r.m.Accepted("B", 0), r.m.Accepted("B", 1))
	}
	r.must(submit(r.m, &record.Tx{Accept: &record.Accept{
		Peer: "B", Incarnation: store1, Lane: 1, Number: 8, Count: 1, Before: begin[1].Hash, Hash: record.HashNext(begin[1].Hash, nil),
	}}))
}

// records counts what the store has of a class of keys.
func (r *pair) records(class byte) (n int) {
	r.t.Helper()
	engine, err := badger.Open(badger.Options{Dir: r.dir})
	r.must(err)
	r.must(engine.Scan(store.ScanOptions{Prefix: []byte{class}, KeysOnly: true}, func([]byte, []byte) bool {
		n++
		return true
	}))
	r.must(engine.Close())
	return n
}

// What came of a message in parts stays over a restart, until the last part comes; parts
// behind which their lane has gone on, as of a conversation that is over, are removed with
// their bodies.
func TestPartsOfWhichNothingWillComeAreRemoved(t *testing.T) {
	r := newPair(t)
	r.close()
	chunks := r.records('c')
	r.open()
	if in := r.m.Incoming("B", 0); in != (record.Incoming{First: 2, Count: 1}) {
		t.Fatalf("after a restart %+v is known of it", in)
	}
	if parts, err := r.m.Parts("B", 0, 2); err != nil || len(parts) != 1 || len(parts[0]) != 200_000 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	at := r.m.Accepted("B", 0)
	r.must(submit(r.m, &record.Tx{Accept: &record.Accept{
		Peer: "B", Incarnation: store1, Number: 3, Count: 1, Before: at.Hash, Hash: record.HashNext(at.Hash, []byte("another")),
	}}))
	r.close()
	r.open()
	if in := r.m.Incoming("B", 0); in != (record.Incoming{}) {
		t.Errorf("%+v is taken for what is to come", in)
	}
	r.close()
	if parts := r.records('i'); parts != 0 {
		t.Errorf("%d parts are kept", parts)
	}
	if left := r.records('c'); left >= chunks {
		t.Errorf("%d chunks are kept, and there were %d", left, chunks)
	}
	r.open()
}

// A part whose body is not whole is found in a store at rest.
func TestVerifyFindsADamagedPart(t *testing.T) {
	r := newPair(t)
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	r.must(err)
	var file bytes.Buffer
	_, err = r.m.Backup(&file)
	r.must(err)
	_, err = backup.Restore(&file, engine, nil)
	r.must(err)
	for _, damaged := range []int{0, 1} {
		if report, err := inspect.Verify(engine); err != nil || len(report.Problems) != damaged || report.Records["incoming part"] != 1 {
			t.Errorf("%+v, %v; want %d problems", report, err, damaged)
		}
		r.must(engine.Commit(engine.Last()+1, &store.Batch{Ops: []store.Op{{Key: record.AppendChunkKey(nil, 1, 0)}}}))
	}
}

// Parts that do not follow one another up to the last item are refused: nobody could put
// them together.
func TestPartsThatCannotBe(t *testing.T) {
	r := newPair(t)
	at := r.m.Accepted("B", 0)
	for name, parts := range map[string][]record.Part{
		"a gap":             {{First: 3, Index: 0}, {First: 3, Index: 2}},
		"of two messages":   {{First: 3, Index: 0}, {First: 4, Index: 0}, {First: 3, Index: 1}},
		"not the last item": {{First: 3, Index: 0}},
		"too many":          {{First: 0, Index: record.MaxParts}},
	} {
		err := submit(r.m, &record.Tx{Accept: &record.Accept{Peer: "B", Incarnation: store1, Number: 5, Count: 3, Before: at.Hash, Parts: parts}})
		if err == nil || !strings.Contains(err.Error(), "does not fit items up to 5") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
