package queue_test

import (
	"testing"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/processtable"
	"fmqm/queue/inspect"
)

var procP = processtable.ProcessID{Name: "p", Version: 1}

func activity(s string) processtable.ActivityID { return processtable.ActivityID(s) }

// newEngine is one that is gone with the test.
func newEngine(t *testing.T) store.Engine {
	t.Helper()
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// dumped is what a store has.
func dumped(t *testing.T, engine store.Engine) (lines []inspect.Dumped) {
	t.Helper()
	if err := inspect.Dump(engine, func(d inspect.Dumped) error {
		lines = append(lines, d)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}
