package queue

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/queue/record"
)

// refusedMessages are what the golden files hold: one in its record, one whose body is
// apart, and one that cannot be read.
func refusedMessages(t *testing.T) []record.Refused {
	t.Helper()
	encode := func(size int) []byte {
		m := wideMessage("a", "b", 0, size)
		m.Queue.Process, m.Origin = drivenProcess, "A"
		encoded, err := message.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	at := time.Unix(1_700_000_000, 0).UTC()
	return []record.Refused{
		{Time: at, Peer: "B", Reason: "small", Message: encode(20)},
		{Time: at, Reason: "apart", Message: encode(300)},
		{Time: at, Peer: "C", Reason: "noise", Message: bytes.Repeat([]byte{0xff}, 400)},
	}
}

// refusedRecords are the records of refusedMessages as this code writes them where they are too
// much for one transaction, so that it begins again: here with the numbers that it had.
func refusedRecords(t *testing.T) string {
	t.Helper()
	m := driven(0)
	m.preparer.Size = func(b *store.Batch) int64 {
		m.preparer.Refused.Store(0)
		return m.engine.Size(b)
	}
	w := m.prepare(&record.Tx{Refuse: refusedMessages(t)})
	if w.Err != nil {
		t.Fatal(w.Err)
	}
	var out strings.Builder
	for _, op := range append(w.Stage, w.Ops...) {
		if op.Key[0] == record.ClassRefused || op.Key[0] == record.ClassChunk {
			fmt.Fprintf(&out, "%x %x\n", op.Key, op.Value)
		}
	}
	return out.String()
}

// What an older version wrote stays readable, and what this one writes stays as it is.
func TestGoldenRefused(t *testing.T) {
	written, err := os.ReadFile("testdata/refused/version2")
	if err != nil {
		t.Fatal(err)
	}
	if got := refusedRecords(t); got != string(written) {
		t.Errorf("what is refused is written otherwise than before, which stores hold:\n%s", got)
	}
	for _, version := range []string{"version1", "version2"} {
		golden, err := os.ReadFile("testdata/refused/" + version)
		if err != nil {
			t.Fatal(err)
		}
		batch := &store.Batch{}
		for line := range strings.Lines(string(golden)) {
			var key, value []byte
			if _, err := fmt.Sscanf(line, "%x %x", &key, &value); err != nil {
				t.Fatal(err)
			}
			batch.Put(key, value)
		}
		engine, err := memory.NewDisk("A").Open(memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Commit(1, batch); err != nil {
			t.Fatal(err)
		}
		m := newManager(engine, Options{Node: "A", Scheduler: task.Goroutines{Clock: stoppedClock{}}})
		heads, err := m.RefusedAfter(0, 10)
		if err != nil || len(heads) != 3 {
			t.Fatalf("%s: %d heads, %v", version, len(heads), err)
		}
		for i, want := range refusedMessages(t) {
			want.Number = uint64(i + 1)
			got, found, err := m.RefusedAt(want.Number)
			if err != nil || !found || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: message %d: %v %v, %v", version, i, found, err, got)
			}
			h := heads[i]
			if h.Number != want.Number || !h.Time.Equal(want.Time) || h.Peer != want.Peer || h.Reason != want.Reason || h.Size != len(want.Message) {
				t.Errorf("%s: head %d: %+v", version, i, h)
			}
			if readable := h.Header != nil; readable != (i < 2) || readable && (h.Header.Activity != "b" || h.Header.Source != "a") {
				t.Errorf("%s: header %d: %+v", version, i, h.Header)
			}
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}

// weighed counts the bytes of what is read.
type weighed struct {
	store.Engine
	read int
}

func (w *weighed) Get(key []byte) ([]byte, error) {
	value, err := w.Engine.Get(key)
	w.read += len(value)
	return value, err
}

func (w *weighed) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	return w.Engine.Scan(o, func(key, value []byte) bool {
		w.read += len(value)
		return visit(key, value)
	})
}

// A list of what is refused reads no bodies: a peer that sends large messages that are
// refused would make every question about any instance dear (7.5 s and 710 MB for 1,500
// messages of 1 MB).
func TestListsOfRefusedMessagesReadNoBodies(t *testing.T) {
	const messages, size = 10, 300 << 10
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &weighed{Engine: engine}
	m, err := Open(w, Options{Node: "A", Scheduler: task.Goroutines{Clock: stoppedClock{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	encoded, err := message.Encode(wideMessage("a", "b", 0, size))
	if err != nil {
		t.Fatal(err)
	}
	for range messages {
		done := make(chan error, 1)
		m.Submit(&record.Tx{Refuse: []record.Refused{{Peer: "B", Reason: "r", Message: encoded}}, Done: func(err error) { done <- err }})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for name, list := range map[string]func() (int, error){
		"newest first": func() (int, error) { all, err := m.RefusedList(messages); return len(all), err },
		"oldest first": func() (int, error) { all, err := m.RefusedAfter(0, messages); return len(all), err },
	} {
		w.read = 0
		if n, err := list(); n != messages || err != nil || w.read > messages*(2<<10) {
			t.Errorf("%s: a list of %d messages of %d bytes reads %d bytes, %v", name, n, size, w.read, err)
		}
	}
	s, found, err := m.RefusedAt(1)
	if err != nil || !found || !bytes.Equal(s.Message, encoded) {
		t.Errorf("one by its number: %v %v, %d bytes", found, err, len(s.Message))
	}
}
