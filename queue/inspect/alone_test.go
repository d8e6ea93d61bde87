package inspect

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A record that its own reader takes is nevertheless damage under a key that it does not belong
// under, or under one of no known form.
func TestARecordBelongsUnderItsKey(t *testing.T) {
	a := record.AuditRecord{
		Time: time.Unix(1, 0), Process: processtable.ProcessID{Name: "p", Version: 1}, Instance: uuid.UUID{1}, Origin: "A", Activity: "a", Event: record.EventSkipped,
	}
	audit := record.AppendAudit([]byte{record.PlaceInline}, &a, true)
	entry, other := message.Entry{Instance: a.Instance, Activity: "a"}, message.Entry{Instance: a.Instance, Activity: "b"}
	history := append(append([]byte{record.ClassHistory}, a.Instance[:]...), make([]byte, 20)...)
	value, place := record.Searched{Member: "m", Value: record.SearchText("a\x00b")}, record.StandingOf(&a)
	name := func(class byte) []byte { return record.AppendName([]byte{class}, "B") }
	for _, tc := range []struct {
		what         string
		right, wrong []byte
		content      []byte
	}{
		{"end", record.AppendEndKey(nil, &entry), record.AppendEndKey(nil, &other), audit},
		{"end in the history", record.AppendEndKey(nil, &entry), history, audit},
		{"peer", name(record.ClassPeer), append(name(record.ClassPeer), 1), make([]byte, len(record.Incarnation{}))},
		{"start", record.AppendStartKey(nil, a.Time, a.Instance), name(record.ClassStart), nil},
		{"value", record.AppendSearchKey(nil, &value, &place, a.Instance), record.AppendSearchMember(nil, "p", "m"), nil},
		{"value of no type", record.AppendSearchKey(nil, &value, &place, a.Instance), append(record.AppendSearchMember(nil, "p", "m"), make([]byte, 26)...), nil},
		{"chunk", record.AppendChunkKey(nil, 1, 0), name(record.ClassChunk), nil},
		{"part", record.AppendPartKey(nil, "B", 0, 1, 0), name(record.ClassPart), []byte{record.PlaceInline}},
		{"usage", (&record.Charge{Peer: "B", Kind: record.UsageRefused}).Key(make([]byte, 8)), name(record.ClassUsage), nil},
		{"no class", []byte{record.ClassMeta, 'a'}, []byte("Z"), nil},
	} {
		if err := Record(tc.right, record.New(tc.right, tc.content...)); err != nil {
			t.Errorf("%s: %v", tc.what, err)
		}
		if err := Record(tc.wrong, record.New(tc.wrong, tc.content...)); err == nil {
			t.Errorf("%s: nothing is wrong under %q", tc.what, tc.wrong)
		}
		if err := Record(tc.right, bytes.Repeat([]byte{1}, 9)); err == nil {
			t.Errorf("%s: nothing is wrong with another checksum", tc.what)
		}
	}
}
