package node

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store/badger"
	"fmqm/processtable"
	"fmqm/program"
)

// N4: the log says once that an activity has gone in error, and why; not at each attempt,
// and not again after a restart.
func TestN4TheLogSaysWhatGoesInError(t *testing.T) {
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"fail": {Kind: program.KindBuiltin, Builtin: "fail"},
	}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	dir := t.TempDir()
	open := func() (*Node, *happenings) {
		told := &happenings{more: make(chan struct{})}
		engine, err := badger.Open(badger.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		n, err := Open(Options{Name: "A", Engine: engine, Registry: registry, Log: zerolog.New(told)})
		if err != nil {
			t.Fatal(err)
		}
		n.Launch()
		return n, told
	}
	stop := func(n *Node) {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	n, told := open()
	compiled := definitiontest.Compile(t, "process: p\nversion: 1\nactivities:\n  x: {node: A, program: fail, retry: {attempts: 3, backoff: 1ms}}\n", definition.CompileOptions{})
	table := compiled.Tables[0]
	if _, err := n.Upload(t.Context(), api.UploadRequest{Tables: []api.Table{{
		Node: "A", Process: "p@1", Definition: table.Definition.String(), Table: compiled.Encoded[0],
	}}}); err != nil {
		t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "p", Input: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	told.await(t, "activity in error")
	stop(n)
	if lines := told.with("activity in error"); len(lines) != 1 ||
		!strings.Contains(lines[0], `"level":"warn"`) || !strings.Contains(lines[0], `"process":"p@1"`) ||
		!strings.Contains(lines[0], `"instance":"`+id.String()+`"`) || !strings.Contains(lines[0], `"activity":"x"`) ||
		!strings.Contains(lines[0], `"reason":"builtin fail: `) {
		t.Errorf("the log has %q", lines)
	}

	n, told = open()
	defer stop(n)
	count := -1
	for count < 0 {
		g, err := n.thread(table.Process).Gauges(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count = g.InError
	}
	if count != 1 {
		t.Errorf("after a restart %d activities are in error", count)
	}
	if lines := told.with("in error"); len(lines) > 0 {
		t.Errorf("after a restart the log has %q", lines)
	}
}

// with gives what has happened with a text in it.
func (h *happenings) with(what string) (lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.all {
		if strings.Contains(line, what) {
			lines = append(lines, line)
		}
	}
	return lines
}
