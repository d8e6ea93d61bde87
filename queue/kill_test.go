package queue_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// childDir names, to a child process, the store that it commits to until it is killed.
const childDir = "FMQM_TEST_KILLED_CHILD"

const (
	killWriters = 8
	killRounds  = 4
	killAfter   = 400 // acknowledged transactions
)

// writerInstance is the instance of which a writer's entry has one message: its last.
func writerInstance(writer int) uuid.UUID { return uuid.UUID{6: 0x70, 8: 0x80, 15: byte(writer)} }

func writerMessage(writer int, n uint64, node processtable.NodeID, source processtable.ActivityID) message.Message {
	size := 50
	if n%50 == 7 {
		size = 300_000 // staged, and in parts to the peer
	}
	return message.Message{
		Header: message.Header{
			Queue:    message.Queue{Process: procP, Node: node},
			Instance: writerInstance(writer), Origin: "A", Activity: "b", Source: source,
			Kind: message.KindConnector, Data: message.DataPresent, Clock: n,
		},
		Body: bytes.Repeat([]byte{byte(n)}, size),
	}
}

// sourceOf alternates, so that a writer's next message does not replace its last one.
func sourceOf(n uint64) processtable.ActivityID {
	return processtable.ActivityID([]string{"even", "odd"}[n%2])
}

func openKilled(dir string) (*queue.Manager, error) {
	engine, err := badger.Open(badger.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	return queue.Open(engine, queue.Options{Node: "A"})
}

// runChild commits without end: each writer takes its last message and puts the next,
// here and for a peer, and says so once that is acknowledged.
func runChild(dir string) error {
	m, err := openKilled(dir)
	if err != nil {
		return err
	}
	failed := make(chan error, killWriters)
	for writer := range killWriters {
		last, err := lastOf(m, writer)
		if err != nil {
			return err
		}
		go func() { failed <- write(m, writer, last) }()
	}
	return <-failed
}

func write(m *queue.Manager, writer int, last uint64) error {
	done := make(chan error, 1)
	for n := last + 1; ; n++ {
		tx := &record.Tx{
			Put: []message.Message{writerMessage(writer, n, "A", sourceOf(n)), writerMessage(writer, n, "B", "b")},
			Audit: []record.AuditRecord{{
				Instance: writerInstance(writer), Activity: "b", Event: record.EventIterated, Clock: n,
				Sent: []record.Sent{{Target: "b", Node: "B"}},
			}},
			Done: func(err error) { done <- err },
		}
		if n > 1 {
			old := writerMessage(writer, n-1, "A", sourceOf(n-1))
			tx.Consume = []record.Consume{{Process: procP, Entry: old.Entry(), Keys: []message.Key{old.Key()}}}
		}
		m.Submit(tx)
		if err := <-done; err != nil {
			return err
		}
		if _, err := fmt.Fprintf(os.Stdout, "%d %d\n", writer, n); err != nil {
			return err
		}
	}
}

// lastOf gives the number of the one message that a writer's entry has, 0 if it has none.
func lastOf(m *queue.Manager, writer int) (uint64, error) {
	found, err := m.Browse(procP, message.Entry{Instance: writerInstance(writer), Activity: "b"})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	last := writerMessage(writer, found[0].Clock, "A", sourceOf(found[0].Clock))
	if len(found) != 1 || found[0].Header != last.Header || !bytes.Equal(found[0].Body, last.Body) {
		return 0, fmt.Errorf("writer %d has %d messages, the first is %+v", writer, len(found), found[0].Header)
	}
	return last.Clock, nil
}

// TestKill kills a process that commits, again and again, and finds everything there
// that it had acknowledged, and nothing in part (invariants 3 and 8).
func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var acknowledged [killWriters]uint64
	for round := range killRounds {
		killOnce(t, dir, &acknowledged)
		m, err := openKilled(dir)
		if err != nil {
			t.Fatal(err)
		}
		checkKilled(t, m, &acknowledged)
		if err := m.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("after kill %d", round+1)
		}
	}
}

func killOnce(t *testing.T, dir string, acknowledged *[killWriters]uint64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for count := 0; lines.Scan(); count++ {
		var writer int
		var n uint64
		if _, err := fmt.Sscanf(lines.Text(), "%d %d", &writer, &n); err != nil {
			break // the last line may be cut
		}
		acknowledged[writer] = n
		if count == killAfter {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v", err)
	}
}

func checkKilled(t *testing.T, m *queue.Manager, acknowledged *[killWriters]uint64) {
	t.Helper()
	var sum uint64
	for writer := range killWriters {
		last, err := lastOf(m, writer)
		if err != nil {
			t.Error(err)
		}
		// What was committed and not told is at most the transaction under way.
		if told := acknowledged[writer]; last != told && last != told+1 {
			t.Errorf("writer %d is at %d, and was told of %d", writer, last, told)
		}
		history, err := m.History(writerInstance(writer))
		if err != nil || uint64(len(history)) != last {
			t.Errorf("writer %d has a history of %d, %v, want %d", writer, len(history), err, last)
		}
		acknowledged[writer] = last
		sum += last
	}
	checkTransmission(t, m, sum)
}

// checkTransmission reads the whole transmission queue: every message of every writer
// is in it once, in order, and numbers and hashes have no gap.
func checkTransmission(t *testing.T, m *queue.Manager, count uint64) {
	t.Helper()
	b := m.Transmission("B")
	var at record.Position
	var messages, parts uint64
	var body []byte
	last := map[uuid.UUID]uint64{}
	for at != b.Last(0) {
		items, err := b.Read(0, at.Number+1, 1<<20)
		if err != nil || len(items) == 0 {
			t.Fatalf("%d items from %d on, %v", len(items), at.Number+1, err)
		}
		for _, i := range items {
			at = record.Position{Number: at.Number + 1, Hash: record.HashNext(at.Hash, i.Payload)}
			if i.Number != at.Number || i.Hash != at.Hash {
				t.Fatalf("item %d with hash %s, want %d with %s", i.Number, i.Hash, at.Number, at.Hash)
			}
			piece, err := record.Unpack(i.Payload)
			if err != nil {
				t.Fatal(err)
			}
			if body = append(body, piece.Data...); !piece.Last() {
				parts++
				continue
			}
			got, err := message.Decode(body)
			if err != nil {
				t.Fatal(err)
			}
			if last[got.Instance]++; got.Clock != last[got.Instance] {
				t.Fatalf("message %d of %s, want %d", got.Clock, got.Instance, last[got.Instance])
			}
			body = nil
			messages++
		}
	}
	if messages != count || parts == 0 {
		t.Errorf("%d messages for the peer, with %d parts, want %d", messages, parts, count)
	}
}
