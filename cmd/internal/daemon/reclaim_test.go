package daemon_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon/daemontest"
)

// What a daemon removes of its audit makes its store smaller, and only then it says so.
func TestRoomOfRemovedAuditComesBack(t *testing.T) {
	dir, log := t.TempDir(), &journal{more: make(chan struct{})}
	c := daemontest.Config(t, dir, "a", "node: A\ndata: store\nsocket: s\nprograms:\n  pass: {builtin: echo}\n")
	d := daemontest.Start(t, c, zerolog.New(log))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	text := "process: p\nversion: 1\nstructures:\n  load: {b: bytes}\ninput: load\nactivities:\n  a: {node: A, program: pass, input: load, output: load}\ndata:\n  - source -> a: {b: b}\n"
	if _, err := d.Node.Upload(ctx, apitest.Upload(t, text)); err != nil {
		t.Fatal(err)
	}
	load := make([]byte, 700<<10)
	const instances = 50 // of 1.4 MB each: room is given back where 64 MiB have been removed
	for range instances {
		_, _ = rand.Read(load) // else it could be compressed
		input, err := json.Marshal(map[string][]byte{"b": load})
		if err != nil {
			t.Fatal(err)
		}
		id := uuid.Must(uuid.NewV7())
		if _, err := d.Node.Start(ctx, api.StartRequest{Instance: id, Process: "p", Input: input}); err != nil {
			t.Fatal(err)
		}
		s, err := d.Node.Wait(ctx, id)
		if err != nil || s.State != api.InstanceFinished {
			t.Fatal(s.State, err)
		}
	}
	before := tables(t, filepath.Join(dir, "store"))
	fresh := *c
	fresh.Audit.Age = time.Nanosecond
	if err := d.Reload(&fresh); err != nil {
		t.Fatal(err)
	}
	log.await(t, "audit removed by retention", fmt.Sprintf(`"instances":%d`, instances))
	if n, _ := log.count([]string{"room of removed audit given back"}); n != 1 {
		t.Error("the daemon does not say that it gave room back")
	}
	after := tables(t, filepath.Join(dir, "store"))
	if after > before/2 {
		t.Errorf("the store has %d bytes of tables, %d before its audit was removed", after, before)
	}
}

// tables gives how many bytes the tables of a store have.
func tables(t *testing.T, dir string) (size int64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil { // one may have gone meanwhile
			size += info.Size()
		}
	}
	return size
}
