package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/node/config"
	"fmqm/processtable"
	"fmqm/program"
)

const gated = `
process: gated
version: 1
activities:
  wait: {node: A, program: gate}
`

// Whoever stops a daemon that is being stopped is told once it has ended: the program that
// ran has ended by then.
func TestEveryStopWaitsForTheEnd(t *testing.T) {
	dir := t.TempDir()
	begun, gate, done := filepath.Join(dir, "begun"), filepath.Join(dir, "gate"), filepath.Join(dir, "done")
	c := &config.Config{
		Node: "A", Data: filepath.Join(dir, "a"), Listen: "127.0.0.1:0", Socket: filepath.Join(dir, "s"),
		Programs: map[processtable.ProgramID]program.Spec{"gate": {
			Kind: program.KindExec, Concurrency: 1, Timeout: time.Minute,
			Exec: []string{"/bin/sh", "-c", "echo > '" + begun + "'; : <'" + gate + "'; touch '" + done + "'"},
		}},
	}
	for _, fifo := range []string{begun, gate} {
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := daemontest.Start(t, c, zerolog.Nop())
	if _, err := d.Node.Upload(t.Context(), apitest.Upload(t, gated)); err != nil {
		t.Fatal(err)
	}
	start := api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: "gated", Input: json.RawMessage("{}")}
	if _, err := d.Node.Start(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(begun); err != nil { // once the program writes
		t.Fatal(err)
	}
	stopped := make(chan error, 2)
	for range 2 {
		go func() {
			err := d.Stop(context.Background())
			if _, running := os.Stat(done); running != nil {
				err = errors.Join(err, running)
			}
			stopped <- err
		}()
	}
	open, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for range 2 {
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}
