package inspect

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// noBodies is an engine that has nothing: records that name bodies name missing ones.
type noBodies struct{ store.Engine }

func (noBodies) Get([]byte) ([]byte, error) { return nil, store.ErrNotFound }

// FuzzRecords: no content of any kind of record, sealed with a right checksum, makes a
// reader panic.
func FuzzRecords(f *testing.F) {
	entry := message.Entry{Instance: uuid.UUID{1}, Activity: "a"}
	p := processtable.ProcessID{Name: "p", Version: 1}
	keys := [][]byte{
		record.AppendMessageKey(nil, p, &entry, message.Key{Kind: message.KindConnector, Source: "b"}),
		record.AppendItemKey(nil, "B", 0, 1), record.AppendLane(nil, record.ClassLow, "B", 0), record.AppendLane(nil, record.ClassAccepted, "B", 0),
		record.AppendRefusedKey(nil, 1), record.AppendEndKey(nil, &entry), record.AppendProcess(nil, record.ClassTable, p), record.AppendStagedKey(nil, 1),
		record.AppendTimerKey(nil, &record.Timer{Process: p, Entry: entry}),
	}
	for i := range keys {
		f.Add(i, []byte{record.Version, record.PlaceInline, 0x80})
	}
	f.Fuzz(func(t *testing.T, which int, content []byte) {
		if which < 0 || which >= len(keys) {
			return
		}
		key := keys[which]
		v := &verifier{read: read.Records{Reader: noBodies{}}, report: Report{Records: map[string]uint64{}}, lanes: map[record.LaneKey]record.Position{}}
		_ = v.record(key, record.New(key, content...)) // an error is an answer
	})
}
