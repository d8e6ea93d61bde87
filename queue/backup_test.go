package queue_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

func memory(t *testing.T) *badger.Engine {
	t.Helper()
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// filled is a manager with messages, small and staged, for here and for a peer.
func filled(t *testing.T) (*badger.Engine, *queue.Manager) {
	t.Helper()
	engine := memory(t)
	m, err := queue.Open(engine, queue.Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range []int{10, 50_000, 400_000, 0} {
		for _, node := range []processtable.NodeID{"A", "B"} {
			done := make(chan error, 1)
			m.Submit(&queue.Tx{Put: []message.Message{{Header: message.Header{
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

func dumped(t *testing.T, engine *badger.Engine) (lines []queue.Dumped) {
	t.Helper()
	if err := queue.Dump(engine, func(d queue.Dumped) error {
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
	if again, err := queue.VerifyBackup(bytes.NewReader(file.Bytes())); err != nil || again != info {
		t.Fatalf("verify: %+v %v, want %+v", again, err, info)
	}
	restored := memory(t)
	if got, err := queue.Restore(bytes.NewReader(file.Bytes()), restored, nil); err != nil || got != info {
		t.Fatalf("restore: %+v %v", got, err)
	}
	for _, e := range []*badger.Engine{engine, restored} {
		report, err := queue.Verify(e)
		if err != nil || len(report.Problems) > 0 || report.Node != "A" || report.Records["message"] != 4 || report.Records["transmission item"] < 5 {
			t.Errorf("verify: %+v %v", report, err)
		}
	}
	before, after := dumped(t, engine), dumped(t, restored)
	if len(before) != len(after) {
		t.Errorf("%d records, restored %d", len(before), len(after))
	}
	if _, err := queue.Restore(bytes.NewReader(file.Bytes()), restored, nil); err == nil || !strings.Contains(err.Error(), "already has content") {
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
		if _, err := queue.VerifyBackup(bytes.NewReader(damaged)); err == nil {
			t.Fatal("a flipped bit was not seen")
		}
		short := file.Bytes()[:random.IntN(file.Len())]
		if _, err := queue.VerifyBackup(bytes.NewReader(short)); err == nil {
			t.Fatal("a missing end was not seen")
		}
	}
	if _, err := queue.VerifyBackup(bytes.NewReader(append(file.Bytes(), 0))); err == nil {
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
			report, err := queue.Verify(engine)
			if err != nil || len(report.Problems) == 0 || !strings.Contains(strings.Join(report.Problems, "\n"), name) {
				t.Errorf("problems %q %v, want one with %q", report.Problems, err, name)
			}
			_ = m // its committer knows nothing of the change, and commits no more
		})
	}
}
