package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/container"
	"fmqm/internal/store/badger"
	"fmqm/internal/task"
	"fmqm/node"
	"fmqm/node/logs"
	"fmqm/processtable"
	"fmqm/program"
)

// talker is a program that says a line, and ends when it is let go or the node ends it.
type talker struct{ begun, goOn chan struct{} }

func (p *talker) Run(ctx context.Context, c *program.Call) program.Result {
	c.Log("hello from " + c.Activity)
	p.begun <- struct{}{}
	r := program.Result{Output: container.New(c.OutputType), Ended: time.Now()}
	select {
	case <-p.goOn:
	case <-ctx.Done():
		r.Err = fmt.Errorf("stopped by the node: %w", ctx.Err())
	}
	return r
}

// narrow is a disk whose room the test decides on.
type narrow struct {
	low     atomic.Bool
	changed *task.Bell
}

func (d *narrow) SpaceLow() bool              { return d.low.Load() }
func (d *narrow) SpaceChanged() *task.Bell    { return d.changed }
func (d *narrow) Room() (int64, int64, error) { return 1 << 20, 2 << 20, nil }

// talking is a node with that program, and where it keeps what that writes.
type talking struct {
	*testing.T
	*talker
	n    *node.Node
	dir  string
	disk *narrow
}

func newTalking(t *testing.T) *talking {
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &talking{
		T: t, talker: &talker{make(chan struct{}, 1), make(chan struct{})}, dir: filepath.Join(t.TempDir(), "logs"),
		disk: &narrow{changed: task.Goroutines{}.Bell()},
	}
	registry := program.RegistryOf(map[processtable.ProgramID]program.Entry{"talk": {Program: s.talker, Concurrency: 8}})
	t.Cleanup(registry.Close)
	s.n, err = node.Open(node.Options{
		Name: "A", Engine: engine, Registry: registry, Log: zerolog.Nop(), Grace: time.Millisecond, Disk: s.disk, LogDir: s.dir,
		Limits: node.Limits{Logs: logs.Limits{Bytes: 1 << 20, Attempt: 4 << 10}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.n.Launch()
	t.Cleanup(func() { s.stop() })
	upload(t, s.n, "process: talks\nversion: 1\nactivities:\n  a: {node: A, program: talk}\n")
	return s
}

func (s *talking) stop() {
	s.Helper()
	if err := s.n.Stop(context.Background()); err != nil {
		s.Error(err)
	}
}

// begin starts an instance, and waits until its program has said its line.
func (s *talking) begin() api.InstanceID {
	s.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := s.n.Start(s.Context(), api.StartRequest{Instance: id, Process: "talks", Input: json.RawMessage("{}")}); err != nil {
		s.Fatal(err)
	}
	<-s.begun
	return id
}

func (s *talking) end(id api.InstanceID) {
	s.Helper()
	s.goOn <- struct{}{}
	if _, err := s.n.Wait(s.Context(), id); err != nil {
		s.Fatal(err)
	}
}

func (s *talking) logs(id api.InstanceID) []api.AttemptLog {
	s.Helper()
	answer, err := s.n.Logs(s.Context(), id, api.LogsRequest{Activity: "a", Limit: 10})
	if err != nil {
		s.Fatal(err)
	}
	return answer.Logs
}

func (s *talking) files() (text string) {
	names, _ := filepath.Glob(filepath.Join(s.dir, "*"))
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			s.Fatal(err)
		}
		text += string(content)
	}
	return text
}

func (s *talking) until(what string, is func() bool) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(deadline) {
			s.Fatalf("no %s; the files have %q", what, s.files())
		}
		<-time.After(5 * time.Millisecond)
	}
}

// What a program writes is shown while it runs, and once it has ended, each attempt once; what one has
// written that the node ended with itself is in the files.
func TestLogsOfAnAttempt(t *testing.T) {
	s := newTalking(t)
	first := s.begin()
	if got := s.logs(first); len(got) != 1 || !got[0].Ended.IsZero() || got[0].RC != nil || got[0].Text != "hello from a" || got[0].Attempt != 1 || got[0].Program != "talk" || got[0].Node != "A" {
		t.Errorf("while it runs: %+v", got)
	}
	s.end(first)
	if got := s.logs(first); len(got) != 1 || got[0].Ended.IsZero() || got[0].RC == nil || *got[0].RC != 0 || got[0].Text != "hello from a" {
		t.Errorf("when it has ended: %+v", got)
	}
	s.until("line of the first", func() bool { return strings.Contains(s.files(), first.String()) })
	if got := s.logs(first); len(got) != 1 {
		t.Errorf("from the file: %+v", got)
	}
	second := s.begin()
	s.stop()
	if text := s.files(); !strings.Contains(text, second.String()) || !strings.Contains(text, "stopped by the node") {
		t.Errorf("after the stop: %q", text)
	}
	if err := s.n.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// Where room on the disk is low what is kept goes, and an end that comes meanwhile is not written; work
// ends as ever.
func TestALowDiskDropsLogs(t *testing.T) {
	s := newTalking(t)
	first := s.begin()
	s.end(first)
	s.until("file", func() bool { return s.files() != "" })
	second := s.begin()
	s.disk.low.Store(true)
	s.disk.changed.Ring()
	s.until("room", func() bool { return s.files() == "" })
	s.end(second)
	s.until("drop", func() bool { return len(s.logs(second)) == 0 })
	if text := s.files(); text != "" || len(s.logs(first)) != 0 {
		t.Errorf("while room is low: %q", text)
	}
	s.disk.low.Store(false)
	s.disk.changed.Ring()
	var third api.InstanceID
	s.until("start", func() bool {
		third = uuid.Must(uuid.NewV7())
		_, err := s.n.Start(s.Context(), api.StartRequest{Instance: third, Process: "talks", Input: json.RawMessage("{}")})
		return err == nil
	})
	<-s.begun
	s.end(third)
	s.until("file", func() bool { return strings.Contains(s.files(), third.String()) })
}

// A reload can keep nothing any more, and something again.
func TestAReloadTakesUpHowMuchIsKept(t *testing.T) {
	s := newTalking(t)
	first := s.begin()
	s.end(first)
	s.until("file", func() bool { return s.files() != "" })
	registry := program.RegistryOf(map[processtable.ProgramID]program.Entry{"talk": {Program: s.talker, Concurrency: 8}})
	t.Cleanup(registry.Close)
	s.n.Configure(registry, node.Ways{}, node.Limits{})
	s.until("room", func() bool { return s.files() == "" })
	s.end(s.begin())
	s.n.Configure(registry, node.Ways{}, node.Limits{Logs: logs.Limits{Bytes: 1 << 20, Attempt: 4 << 10}})
	last := s.begin()
	s.end(last)
	s.until("file", func() bool { return strings.Contains(s.files(), last.String()) })
	if text := s.files(); strings.Count(text, "\n") != 1 {
		t.Errorf("the files have %q", text)
	}
}
