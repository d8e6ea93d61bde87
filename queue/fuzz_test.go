package queue

import (
	"bytes"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
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
		appendMessageKey(nil, p, &entry, message.Key{Kind: message.KindConnector, Source: "b"}),
		appendItemKey(nil, "B", 0, 1), appendLane(nil, classLow, "B", 0), appendLane(nil, classAccepted, "B", 0),
		appendSetAsideKey(nil, 1), appendEndKey(nil, &entry), appendProcess(nil, classTable, p), appendStagedKey(nil, 1),
		appendTimerKey(nil, &Timer{Process: p, Entry: entry}),
	}
	for i := range keys {
		f.Add(i, []byte{recordVersion, placeInline, 0x80})
	}
	f.Fuzz(func(t *testing.T, which int, content []byte) {
		if which < 0 || which >= len(keys) {
			return
		}
		key := keys[which]
		v := &verifier{m: &Manager{engine: noBodies{}}, report: VerifyReport{Records: map[string]uint64{}}, lanes: map[laneKey]Position{}}
		_ = v.record(key, newRecord(key, content...)) // an error is an answer
	})
}

// FuzzBackup: no bytes make the reader of backups panic, or take what is none.
func FuzzBackup(f *testing.F) {
	f.Add([]byte(backupMagic))
	f.Add([]byte(backupMagic + "\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := VerifyBackup(bytes.NewReader(data))
		if err == nil && info.Bytes != uint64(len(data)) {
			t.Fatalf("%+v of %d bytes", info, len(data))
		}
	})
}
