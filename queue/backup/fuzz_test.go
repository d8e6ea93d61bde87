package backup_test

import (
	"bytes"
	"testing"

	"fmqm/queue/backup"
)

// magic is how a backup begins.
const magic = "FMQMBK1\n"

// FuzzBackup: no bytes make the reader of backups panic, or take what is none.
func FuzzBackup(f *testing.F) {
	f.Add([]byte(magic))
	f.Add([]byte(magic + "\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := backup.Verify(bytes.NewReader(data))
		if err == nil && info.Bytes != uint64(len(data)) {
			t.Fatalf("%+v of %d bytes", info, len(data))
		}
	})
}
