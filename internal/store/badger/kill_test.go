package badger

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"fmqm/internal/store"
)

// childVariable makes this test binary a process that commits until it is killed.
const childVariable = "FMQM_TEST_COMMIT_IN"

const (
	childKeys  = 40
	childValue = 40 << 10
)

// commitForEver overwrites and deletes large values, so that logs become full, tables
// are written and compacted all the time, and says every number that is on disk.
func commitForEver(dir string) error {
	e, err := Open(Options{Dir: dir})
	if err != nil {
		return err
	}
	for {
		number := e.Last() + 1
		if err := e.Commit(number, childBatch(number)); err != nil {
			return err
		}
		fmt.Println(number)
	}
}

// childBatch is what commit number changes: eight values, and one removal.
func childBatch(number uint64) *store.Batch {
	b := &store.Batch{}
	for i := range uint64(8) {
		value := make([]byte, childValue)
		binary.BigEndian.PutUint64(value, number)
		b.Put(childKey(number*8+i), value)
	}
	b.Delete(childKey(number*8 + 17))
	return b
}

func childKey(n uint64) []byte { return fmt.Appendf(nil, "key %d", n%childKeys) }

// childContents is what has to be there after commit number: by key, which commit wrote it.
func childContents(number uint64) map[string]uint64 {
	now := map[string]uint64{}
	for n := max(number, 2*childKeys) - 2*childKeys + 1; n <= number; n++ {
		for i := range uint64(8) {
			now[string(childKey(n*8+i))] = n
		}
		delete(now, string(childKey(n*8+17)))
	}
	return now
}

// TestKilled: a process that fills logs and tables is killed again and again. No store
// is refused, and all that it had said is there: no more than one commit beside.
func TestKilled(t *testing.T) {
	rounds := 4
	if n, err := strconv.Atoi(os.Getenv("FMQM_TEST_KILLS")); err == nil {
		rounds = n
	}
	dir := filepath.Join(t.TempDir(), "store")
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	var logs int
	for round := range rounds {
		said := runAndKill(t, dir, time.Duration(50+random.IntN(600))*time.Millisecond)
		left, _, _, err := logFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		logs = max(logs, len(left))
		e, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatalf("round %d, %d logs: %v", round, len(left), err)
		}
		if last := e.Last(); last < said || last > said+1 {
			t.Fatalf("round %d: %d was said, the last commit is %d", round, said, last)
		}
		checkChild(t, e)
		mustClose(t, e)
	}
	t.Logf("up to %d logs were left", logs)
}

// runAndKill gives the last number that the process said before it was killed.
func runAndKill(t *testing.T, dir string, after time.Duration) (said uint64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var kill *time.Timer
	for lines.Scan() {
		n, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			break // cut off
		}
		if kill == nil {
			kill = time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
		said = n
	}
	_ = child.Wait() // it was killed
	if said == 0 {
		t.Fatal("the process said nothing")
	}
	return said
}

func checkChild(t *testing.T, e *Engine) {
	t.Helper()
	want := childContents(e.Last())
	err := e.Scan(store.ScanOptions{}, func(key, value []byte) bool {
		if got := binary.BigEndian.Uint64(value); got != want[string(key)] {
			t.Errorf("%s is of commit %d, want %d", key, got, want[string(key)])
		}
		delete(want, string(key))
		return true
	})
	if err != nil || len(want) > 0 {
		t.Errorf("after commit %d: %d keys are missing: %v, %v", e.Last(), len(want), want, err)
	}
}
