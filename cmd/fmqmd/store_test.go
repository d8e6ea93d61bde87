package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/cmd/internal/daemon"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/internal/store/badger"
)

const oneStep = `
process: one-step
version: 1
structures:
  Order: {amount: int}
input: Order
output: Order
activities:
  step: {node: A, program: echo, input: Order, output: Order}
data:
  - source -> step
  - step -> sink
`

// startDaemon starts a daemon A on dir/data.
func startDaemon(t *testing.T, dir string) (d *daemon.Daemon, stop func()) {
	t.Helper()
	c := daemontest.Config(t, dir, "a", "node: A\ndata: data\nlisten: 127.0.0.1:0\ninsecure: true\nsocket: a.sock\nprograms:\n  echo: {builtin: echo}\n")
	d = daemontest.Start(t, c, zerolog.Nop())
	return d, func() { daemontest.Stop(t, d) }
}

func must(t *testing.T, exit int, want int, out, talk string) {
	t.Helper()
	if exit != want {
		t.Fatalf("exit %d, want %d: %s%s", exit, want, out, talk)
	}
}

// A backup of a running daemon, restored elsewhere, is a node with the same history;
// store and backup verify, and a damaged backup is refused.
func TestBackupRestoreVerifyDump(t *testing.T) {
	dir := t.TempDir()
	d, stop := startDaemon(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "one-step.yaml"), []byte(oneStep), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := compile(filepath.Join(dir, "one-step.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := d.Node.Upload(ctx, r); err != nil {
		t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := d.Node.Start(ctx, api.StartRequest{Instance: id, Process: "one-step", Input: json.RawMessage(`{"amount": 7}`)}); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Node.Wait(ctx, id); err != nil || s.State != api.InstanceFinished {
		t.Fatalf("%v %v", s.State, err)
	}
	exit, out, talk := fmqmd("backup", filepath.Join(dir, "backups"), "--to", "unix:"+filepath.Join(dir, "a.sock"), "-o", "json")
	must(t, exit, 0, out, talk)
	var made backedUp
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.Node != "A" || made.Records == 0 {
		t.Fatalf("%s: %v", out, err)
	}
	exit, out, talk = fmqmd("backup", filepath.Join(dir, "backups"), "--to", "http://"+d.Address())
	must(t, exit, 2, out, talk) // not for whoever reaches the port
	exit, out, talk = fmqmd("verify", "--data", filepath.Join(dir, "data"))
	must(t, exit, 1, out, talk) // the daemon has it
	if !strings.Contains(talk, "another process has it open") {
		t.Error(talk)
	}
	// A daemon that has made its store while the backup was verified keeps it.
	if _, err := restore(ctx, made.File, filepath.Join(dir, "data")); !errors.Is(err, badger.ErrLocked) {
		t.Errorf("a restore into an open store: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "MANIFEST")); err != nil {
		t.Errorf("a restore that was refused has removed another's store: %v", err)
	}
	stop()

	for _, args := range [][]string{
		{"verify", "--data", filepath.Join(dir, "data")},
		{"verify", made.File},
		{"dump", "--data", filepath.Join(dir, "data"), "-o", "jsonl"},
		{"restore", made.File, "--data", filepath.Join(dir, "restored")},
		{"verify", "--data", filepath.Join(dir, "restored")},
	} {
		exit, out, talk = fmqmd(args...)
		must(t, exit, 0, out, talk)
	}
	exit, out, talk = fmqmd("restore", made.File, "--data", filepath.Join(dir, "restored"))
	must(t, exit, 4, out, talk)
	exit, out, talk = fmqmd("verify", "--data", filepath.Join(dir, "nowhere"))
	must(t, exit, 1, out, talk)
	if want := "nowhere has no store: name the directory that is `data` in the configuration\n"; !strings.HasSuffix(talk, want) {
		t.Errorf("verify of a directory that is not there: %s, want %s", talk, want)
	}

	damaged, err := os.ReadFile(made.File)
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)/2] ^= 4
	if err := os.WriteFile(made.File, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", made.File}, {"restore", made.File, "--data", filepath.Join(dir, "again")}} {
		exit, out, talk = fmqmd(args...)
		must(t, exit, 1, out, talk)
	}
	if _, err := os.Stat(filepath.Join(dir, "again")); err == nil {
		t.Error("a damaged backup left a data directory behind")
	}

	if err := os.Rename(filepath.Join(dir, "data"), filepath.Join(dir, "old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "restored"), filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	d, stop = startDaemon(t, dir)
	defer stop()
	if s, err := d.Node.Status(ctx, id); err != nil || s.State != api.InstanceFinished || string(s.Output) != `{"amount":7}` {
		t.Errorf("after the restore: %+v %v", s, err)
	}
}
