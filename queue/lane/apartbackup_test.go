package lane_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"fmqm/internal/store/memory"
	"fmqm/queue"
	"fmqm/queue/backup"
	"fmqm/queue/inspect"
)

// apartGolden is a backup of what apartStory puts, of the first release whose stores have format
// 2. It stays as it is: later releases restore it and go on (N17).
var apartGolden = filepath.Join("testdata", "apart", "format2.fmqmbackup.gz")

// apartBackup is one that today's program makes.
func apartBackup(t *testing.T) []byte {
	t.Helper()
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := queue.Open(engine, queue.Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	if err := putApart(m); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := m.Backup(&file); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// N17: a backup that is restored has what waits apart, as it was: it goes once the peer reads it.
func TestABackupKeepsWhatWaitsApart(t *testing.T) {
	kept, err := os.ReadFile(apartGolden)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := gzip.NewReader(bytes.NewReader(kept))
	if err != nil {
		t.Fatal(err)
	}
	golden, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"of today": apartBackup(t), "of format 2": golden} {
		t.Run(name, func(t *testing.T) {
			d := memory.NewDisk("A")
			engine, err := d.Open(memory.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := backup.Restore(bytes.NewReader(file), engine, nil); err != nil {
				t.Fatal(err)
			}
			report, err := inspect.Verify(engine)
			if err != nil || len(report.Problems) > 0 || report.Records["item apart"] != 5 || report.Records["transmission item"] != 1 {
				t.Errorf("what was restored: %+v, %v", report, err)
			}
			if err := engine.Close(); err != nil {
				t.Fatal(err)
			}
			if err := apartStory(d, nil); err != nil {
				t.Fatal(err)
			}
			checkApart(t, d)
		})
	}
}
