package prepare_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/prepare"
	"fmqm/queue/record"
)

var process = processtable.ProcessID{Name: "p", Version: 1}

func preparer(maxBatch int64) *prepare.Preparer {
	return &prepare.Preparer{
		Node: "A", MaxBatch: maxBatch,
		Size: func(b *change.Batch) (n int64) {
			for i := range b.Ops {
				n += int64(len(b.Ops[i].Key) + len(b.Ops[i].Value))
			}
			return n
		},
		Now:   func() time.Time { return time.Unix(1_700_000_000, 0) },
		Bound: func(processtable.ProcessID) (hash processtable.DefinitionHash, bound bool) { return },
	}
}

// termination is the end of an activity, whose successors are at A and at B: each gets a body of
// so many bytes.
func termination(body int) *record.Tx {
	header := message.Header{
		Queue: message.Queue{Process: process, Node: "A"}, Instance: message.InstanceID{6: 0x70, 15: 1}, Origin: "A",
		Activity: "b", Source: "a", Kind: message.KindConnector, Clock: 7,
	}
	remote := header
	remote.Queue.Node, remote.Activity = "B", "c"
	entry := message.Entry{Instance: header.Instance, Activity: "a"}
	return &record.Tx{
		Consume: []record.Consume{{Process: process, Entry: entry, Keys: []message.Key{{Kind: message.KindConnector, Source: "s"}}}},
		Put: []message.Message{
			{Header: header, Body: bytes.Repeat([]byte{1}, body)}, {Header: remote, Body: bytes.Repeat([]byte{2}, body)},
		},
		Audit: []record.AuditRecord{{
			Instance: header.Instance, Process: process, Activity: "a", Event: record.EventTerminated, Time: time.Unix(1_700_000_000, 0), Clock: 7,
			Sent: []record.Sent{{Target: "b", Node: "A"}, {Target: "c", Node: "B"}},
		}},
	}
}

// The same transaction gives the same changes (invariant 13), also in memory that another had.
func TestTheSameTransactionGivesTheSameChanges(t *testing.T) {
	fresh, used := &prepare.Changes{}, &prepare.Changes{}
	p := preparer(1 << 20)
	p.Prepare(used, termination(500))
	if !used.Reset() {
		t.Fatal("the memory of a small transaction is not kept")
	}
	p.Prepare(used, termination(100))
	p.Prepare(fresh, termination(100))
	if fresh.Err != nil {
		t.Fatal(fresh.Err)
	}
	show := func(c *prepare.Changes) string {
		return fmt.Sprint(c.Ops, c.Size, c.Stage, c.Consumes, c.Puts, c.Audits, c.Links, c.Charges, c.Replaces, len(c.Items), c.Items[0].Payload)
	}
	if a, b := show(fresh), show(used); a != b {
		t.Errorf("the same transaction gives\n%s\nand then\n%s", a, b)
	}
	if len(fresh.Puts) != 1 || len(fresh.Local) != 1 || len(fresh.Links) != 1 || fresh.Links[0].Sent != 1 {
		t.Errorf("puts %v, links %v: want one at A, and one item that the audit names", fresh.Puts, fresh.Links)
	}
}

// S2: what is too much for one commit has its bodies apart, each under a number of its own.
func TestWhatIsTooMuchTogetherIsApart(t *testing.T) {
	for _, c := range []struct {
		maxBatch     int64
		body, bodies int
	}{
		{maxBatch: 1 << 20, body: 20_000},
		{maxBatch: 1 << 20, body: 40_000, bodies: 2},
		{maxBatch: 30_000, body: 20_000, bodies: 2},
		{maxBatch: 100, body: 200},
	} {
		p, changes := preparer(c.maxBatch), &prepare.Changes{}
		p.Prepare(changes, termination(c.body))
		if changes.Err != nil || len(changes.Staged) != c.bodies || p.Bodies.Load() != uint64(c.bodies) {
			t.Errorf("%d bytes each, at most %d together: %d are apart, want %d; %v", c.body, c.maxBatch, len(changes.Staged), c.bodies, changes.Err)
		}
	}
}

// Preparing costs no memory that is not used again, but for what an engine's Size may keep.
func TestMemoryIsUsedAgain(t *testing.T) {
	p, changes, tx := preparer(1<<20), &prepare.Changes{}, termination(100)
	p.Prepare(changes, tx)
	if n := testing.AllocsPerRun(100, func() {
		changes.Reset()
		p.Prepare(changes, tx)
	}); n > 2 {
		t.Errorf("a termination allocates %v times", n)
	}
}

// N3: the committer is told whether a table comes with its record, so that of two that were
// prepared at one moment the first stays.
func TestATableIsStoredOnlyWhereItIsNotBound(t *testing.T) {
	first, other := processtable.DefinitionHash{1}, processtable.DefinitionHash{2}
	for _, tc := range []struct {
		name   string
		bound  processtable.DefinitionHash // zero: to none
		stores bool
	}{
		{"not bound", processtable.DefinitionHash{}, true},
		{"bound to it", first, false},
		{"bound to another, which the committer refuses", other, true},
	} {
		p := preparer(1 << 20)
		p.Bound = func(processtable.ProcessID) (processtable.DefinitionHash, bool) {
			return tc.bound, tc.bound != processtable.DefinitionHash{}
		}
		var c prepare.Changes
		p.Prepare(&c, &record.Tx{Tables: []record.TableRecord{{
			Process: process, Definition: first, Encoded: []byte("table"),
		}}})
		if c.Err != nil || len(c.Tables) != 1 || c.Tables[0].Stores != tc.stores || len(c.Ops) > 0 != tc.stores {
			t.Errorf("%s: %v, tables %+v, %d operations, want stores %t", tc.name, c.Err, c.Tables, len(c.Ops), tc.stores)
		}
	}
}
