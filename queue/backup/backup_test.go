package backup_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/backup"
	"fmqm/queue/inspect"
	"fmqm/queue/record"
)

func newEngine(t *testing.T) store.Engine {
	t.Helper()
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// filled is a manager with messages, small and staged, for here and for a peer.
func filled(t *testing.T) (store.Engine, *queue.Manager) {
	t.Helper()
	engine := newEngine(t)
	m, err := queue.Open(engine, queue.Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range []int{10, 50_000, 400_000, 0} {
		for _, node := range []processtable.NodeID{"A", "B"} {
			done := make(chan error, 1)
			m.Submit(&record.Tx{Put: []message.Message{{Header: message.Header{
				Queue: message.Queue{Process: processtable.ProcessID{Name: "p", Version: 1}, Node: node}, Instance: uuid.UUID{byte(i + 1)},
				Origin: "A", Activity: "a", Source: "b", Kind: message.KindConnector, Control: message.True,
			}, Body: make([]byte, size)}}, Done: func(err error) { done <- err }})
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return engine, m
}

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

// A backup restored into a new store has the same records, all but the incarnation,
// which is its own (L1); and both verify.
func TestBackupAndRestore(t *testing.T) {
	engine, m := filled(t)
	var file bytes.Buffer
	info, err := m.Backup(&file)
	if err != nil || info.Node != "A" || info.Records == 0 || int(info.Bytes) != file.Len() {
		t.Fatalf("%+v %v, %d bytes", info, err, file.Len())
	}
	if again, err := backup.Verify(bytes.NewReader(file.Bytes())); err != nil || again != info {
		t.Fatalf("verify: %+v %v, want %+v", again, err, info)
	}
	restored := newEngine(t)
	if got, err := backup.Restore(bytes.NewReader(file.Bytes()), restored, nil); err != nil || got != info {
		t.Fatalf("restore: %+v %v", got, err)
	}
	for _, e := range []store.Engine{engine, restored} {
		report, err := inspect.Verify(e)
		if err != nil || len(report.Problems) > 0 || report.Node != "A" || report.Records["message"] != 4 || report.Records["transmission item"] < 5 {
			t.Errorf("verify: %+v %v", report, err)
		}
	}
	before, after := dumped(t, engine), dumped(t, restored)
	if len(before)+1 != len(after) { // it notes how many commits the copied one had
		t.Errorf("%d records, restored %d", len(before), len(after))
	}
	if _, err := backup.Restore(bytes.NewReader(file.Bytes()), restored, nil); err == nil || !strings.Contains(err.Error(), "already has content") {
		t.Errorf("restore into a store that is not empty: %v", err)
	}
	other, err := queue.Open(restored, queue.Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	if other.Incarnation() == m.Incarnation() {
		t.Error("the restored store has the old one's incarnation")
	}
	if got, err := other.Transmission("B").Read(message.LaneData, 1, 4<<20); err != nil || len(got) < 5 {
		t.Errorf("the restored store's transmission queue has %d items: %v", len(got), err)
	}
	if err := other.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// busy is a store in which something is committed at the moment at which it is read.
type busy struct {
	store.Engine
	commit func()
}

func (b busy) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	b.commit()
	return b.Engine.Scan(o, visit)
}

func (b busy) View(read func(store.Reader) error) error {
	b.commit()
	return b.Engine.View(read)
}

// What a backup has is of no later commit than it says, whatever is committed meanwhile: what a
// restored store numbers by its commits goes on above that one.
func TestBackupSaysTheCommitThatItIsOf(t *testing.T) {
	engine, _ := filled(t)
	var last uint64
	commit := func() {
		last = engine.Last() + 1
		if err := engine.Commit(last, &store.Batch{Ops: []store.Op{{Key: record.KeyRecreated, Value: record.New(record.KeyRecreated, 1)}}}); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if info, err := backup.Write(busy{engine, commit}, &file); err != nil || info.Commit < last {
		t.Errorf("it says commit %d and has what commit %d wrote, %v", info.Commit, last, err)
	}
}

// A backup with a flipped bit, or without its end, is refused.
func TestDamagedBackupIsRefused(t *testing.T) {
	_, m := filled(t)
	var file bytes.Buffer
	if _, err := m.Backup(&file); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		damaged := bytes.Clone(file.Bytes())
		damaged[random.IntN(len(damaged))] ^= 1 << random.IntN(8)
		if _, err := backup.Verify(bytes.NewReader(damaged)); err == nil {
			t.Fatal("a flipped bit was not seen")
		}
		short := file.Bytes()[:random.IntN(file.Len())]
		if _, err := backup.Verify(bytes.NewReader(short)); err == nil {
			t.Fatal("a missing end was not seen")
		}
	}
	if _, err := backup.Verify(bytes.NewReader(append(file.Bytes(), 0))); err == nil {
		t.Fatal("something behind the end was not seen")
	}
}

// Verify sees a record that was changed, one that is missing from a chain, and one that
// is of no kind.
func TestVerifyFindsDamage(t *testing.T) {
	for name, change := range map[string]func(key, value []byte) (store.Op, bool){
		"checksum": func(key, value []byte) (store.Op, bool) {
			value[len(value)/2] ^= 1
			return store.Op{Key: key, Value: value}, key[0] == 'q'
		},
		"items between are missing": func(key, _ []byte) (store.Op, bool) { return store.Op{Key: key}, key[0] == 'x' && key[len(key)-1] == 2 },
		"chunk":                     func(key, _ []byte) (store.Op, bool) { return store.Op{Key: key}, key[0] == 'c' },
		"form of its content": func(_, _ []byte) (store.Op, bool) {
			timer := record.Timer{Due: time.Unix(1, 0), Pause: time.Second, Process: processtable.ProcessID{Name: "p", Version: 1}, Entry: message.Entry{Activity: "a"}}
			key := record.AppendTimerKey(nil, &timer)
			value := append(record.NewTimer(key, &timer), 0)
			record.Seal(key, value)
			return store.Op{Key: key, Value: value}, true
		},
		"does not know its kind": func(_, value []byte) (store.Op, bool) {
			return store.Op{Key: []byte("?what"), Value: value}, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine, m := filled(t)
			var op store.Op
			err := engine.Scan(store.ScanOptions{}, func(key, value []byte) bool {
				var found bool
				op, found = change(bytes.Clone(key), bytes.Clone(value))
				return !found
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := engine.Commit(engine.Last()+1, &store.Batch{Ops: []store.Op{op}}); err != nil {
				t.Fatal(err)
			}
			report, err := inspect.Verify(engine)
			if err != nil || len(report.Problems) == 0 || !strings.Contains(strings.Join(report.Problems, "\n"), name) {
				t.Errorf("problems %q %v, want one with %q", report.Problems, err, name)
			}
			_ = m // its committer knows nothing of the change, and commits no more
		})
	}
}
