package queue

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/queue/backup"
	"fmqm/queue/format"
	"fmqm/queue/inspect"
	"fmqm/queue/record"
)

// This program has two steps, which change no record. These are steps that only tests have, from
// the format before that: the first notes beside each message how long it is, under a class of its own; the
// second has the notes begin with an N, and drops those of what is short.
const classNote = 'Z'

func noteKey(key []byte) []byte { return append([]byte{classNote}, key...) }

var noted = format.Step{
	Classes: []byte{record.ClassMessage, record.ClassTransmission},
	Change: func(r store.Reader, key, value []byte) ([]store.Op, error) {
		note := noteKey(key)
		if _, err := r.Get(note); err == nil {
			return nil, errors.New("it is shown twice")
		}
		return []store.Op{{Key: note, Value: record.New(note, byte(len(value)))}}, nil
	},
}

var marked = format.Step{
	Classes: []byte{classNote},
	Change: func(r store.Reader, key, value []byte) ([]store.Op, error) {
		content, err := record.Open(key, value)
		if err != nil || len(content) == 2 { // it has the new format
			return nil, err
		}
		if _, err := r.Get(key[1:]); err != nil {
			return nil, err
		}
		if content[0] < 128 {
			return []store.Op{{Key: bytes.Clone(key)}}, nil
		}
		return []store.Op{{Key: bytes.Clone(key), Value: record.New(key, 'N', content[0])}}, nil
	},
}

var steps = []format.Step{noted, marked}

// goldenStore is a disk with the store that a release backed up, in format 1.
func goldenStore(t *testing.T) *memory.Disk {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "test", "golden", "testdata", "ecdb23d", "A.fmqmbackup.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stream, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	d := memory.NewDisk("A")
	engine, err := d.Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(stream, engine, bytes.NewReader(make([]byte, 16))); err != nil {
		t.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	return d
}

// recordsOf are all records of a disk.
func recordsOf(t *testing.T, d *memory.Disk) map[string]string {
	t.Helper()
	engine, err := d.Peek()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	err = engine.Scan(store.ScanOptions{}, func(key, value []byte) bool {
		all[string(key)] = string(value)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// migrated is what the steps make of records.
func migrated(t *testing.T, before map[string]string) map[string]string {
	t.Helper()
	all := maps.Clone(before)
	all[string(record.KeyFormat)] = string(record.New(record.KeyFormat, 3))
	for key, value := range before {
		if (key[0] == record.ClassMessage || key[0] == record.ClassTransmission) && byte(len(value)) >= 128 {
			note := noteKey([]byte(key))
			all[string(note)] = string(record.New(note, 'N', byte(len(value))))
		}
	}
	return all
}

// openOn opens the store of a disk, with steps, and closes it again. After an error, as
// after a kill, it is not closed.
func openOn(d *memory.Disk, o memory.Options, steps []format.Step) error {
	engine, err := d.Open(o)
	if err != nil {
		return err
	}
	m, err := openWith(engine, Options{Node: "A"}, steps)
	if err != nil {
		return err
	}
	return m.Close(context.Background())
}

// N17: a store of format 1, as a release left it, is brought to format 3 by two steps, and
// opens; all that they are not about stays as it is, and the next start has nothing to do.
func TestAStoreIsBroughtToTheNewestFormat(t *testing.T) {
	d := goldenStore(t)
	want := migrated(t, recordsOf(t, d))
	for range 2 {
		if err := openOn(d, memory.Options{}, steps); err != nil {
			t.Fatal(err)
		}
		sameRecords(t, "", want, recordsOf(t, d))
	}
	if err := openOn(memory.NewDisk("new"), memory.Options{}, steps); err != nil {
		t.Errorf("a new store: %v", err)
	}
}

// N17: killed in any commit of the steps, whatever becomes of that commit, and then in each
// that follows, the store comes to the same.
func TestAStoreIsKilledBetweenFormats(t *testing.T) {
	small := []format.Step{paged(noted), paged(marked)}
	for _, kept := range []bool{false, true} {
		d := goldenStore(t)
		want := migrated(t, recordsOf(t, d))
		kills := 0
		for in := 1; ; in++ {
			// The first life dies in commit `in`, the second in its own first, and so on: then
			// one goes on to the end.
			world := d.Clone(fmt.Sprintf("in %d", in))
			died := false
			for _, at := range []int{in, 1, 1, 2} {
				err := openOn(world, memory.Options{Faults: &memory.Killed{In: at, Kept: kept}}, small)
				if err != nil && !errors.Is(err, memory.ErrKilled) {
					t.Fatal(err)
				}
				if err != nil {
					died = true
					kills++
					world.Crash(kept)
				}
			}
			if err := openOn(world, memory.Options{}, small); err != nil {
				t.Fatal(err)
			}
			sameRecords(t, fmt.Sprintf("killed in commit %d (kept: %t)", in, kept), want, recordsOf(t, world))
			if !died {
				break
			}
		}
		t.Logf("killed %d times", kills)
		if kills < 20 {
			t.Errorf("killed only %d times", kills)
		}
	}
}

// paged is a step whose changes take so much of a commit that each page has few records: it
// also puts, and removes in the same commit, what is large.
func paged(step format.Step) format.Step {
	change := step.Change
	step.Change = func(r store.Reader, key, value []byte) ([]store.Op, error) {
		ops, err := change(r, key, value)
		large := []byte{'Y'}
		return append(ops, store.Op{Key: large, Value: make([]byte, 300<<10)}, store.Op{Key: large}), err
	}
	return step
}

func sameRecords(t *testing.T, when string, want, got map[string]string) {
	t.Helper()
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: record %q is %x, and not %x", when, record.Readable([]byte(key)), got[key], value)
		}
	}
	for key := range got {
		if _, there := want[key]; !there {
			t.Errorf("%s: there is a record %q", when, record.Readable([]byte(key)))
		}
	}
}

// N17: a step that changes a record of its classes other than the one that it is shown would be shown
// what it puts, or not, as pages end. It is refused before any page of it is written.
func TestAStepChangesOnlyWhatItIsShown(t *testing.T) {
	for name, other := range map[string]func(key []byte) store.Op{
		"puts behind": func(key []byte) store.Op {
			behind := append(bytes.Clone(key), 'x')
			return store.Op{Key: behind, Value: record.New(behind)}
		},
		"removes":       func(key []byte) store.Op { return store.Op{Key: key[:len(key)-1]} },
		"another class": func([]byte) store.Op { return store.Op{Key: []byte{record.ClassTransmission, 1}} },
	} {
		d := goldenStore(t)
		wrong := noted
		wrong.Change = func(_ store.Reader, key, _ []byte) ([]store.Op, error) {
			return []store.Op{other(bytes.Clone(key))}, nil
		}
		want := recordsOf(t, d)
		err := openOn(d, memory.Options{}, []format.Step{wrong})
		if err == nil || !strings.Contains(err.Error(), "the step changes another record of those that it is shown") {
			t.Errorf("%s: %v", name, err)
		}
		d.Crash(false)
		got := recordsOf(t, d)
		delete(got, string(record.KeyMigrating))
		got[string(record.KeyFormat)] = want[string(record.KeyFormat)]
		sameRecords(t, name, want, got)
	}
}

// N17: a store of a newer format is refused, and so is one that a newer program has begun
// to bring there; nothing is changed.
func TestAStoreOfANewerFormat(t *testing.T) {
	const want = "open queues of A: the store has format 3, and this program knows up to 1: use the version of fmqmd that it was opened with last, or a newer one"
	whole, halfway := goldenStore(t), goldenStore(t)
	if err := openOn(whole, memory.Options{}, steps); err != nil {
		t.Fatal(err)
	}
	if err := openOn(halfway, memory.Options{Faults: &memory.Killed{In: 4}}, steps); !errors.Is(err, memory.ErrKilled) {
		t.Fatal(err)
	}
	halfway.Crash(false)
	for name, d := range map[string]*memory.Disk{"whole": whole, "halfway": halfway} {
		before := recordsOf(t, d)
		engine, err := d.Peek()
		if err != nil {
			t.Fatal(err)
		}
		if report, err := inspect.Verify(engine); err != nil || (len(report.Unfinished) == 1) != (d == halfway) {
			t.Errorf("%s: verify says %v, %v", name, report.Unfinished, err)
		}
		if err := openOn(d, memory.Options{}, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
		d.Crash(false)
		sameRecords(t, name, before, recordsOf(t, d))
	}
}

// N17: a backup of a newer format is refused before it is restored, and a store of one is
// named by verify.
func TestABackupOfANewerFormat(t *testing.T) {
	d := goldenStore(t)
	if err := openOn(d, memory.Options{}, append(slices.Clone(steps), format.Step{}, format.Step{})); err != nil {
		t.Fatal(err)
	}
	engine, err := d.Peek()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := backup.Write(engine, &b); err != nil {
		t.Fatal(err)
	}
	const want = "the store has format 5, and this program knows up to 4"
	if _, err := backup.Verify(bytes.NewReader(b.Bytes())); err == nil || !strings.Contains(err.Error(), "this backup is of a newer version of fmqmd: "+want) {
		t.Errorf("verify: %v", err)
	}
	into, err := memory.NewDisk("B").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(io.Reader(&b), into, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("restore: %v", err)
	}
	report, err := inspect.Verify(engine)
	if err != nil || !strings.Contains(strings.Join(report.Problems, "\n"), want) {
		t.Errorf("verify of the store: %v: %v", report.Problems, err)
	}
}

// N17: the steps that this program has make a store one that an older program refuses, since that
// would leave what waits apart where it is, and not keep the indexes. They change no record, and add
// these.
func TestThisProgramsFormat(t *testing.T) {
	d := goldenStore(t)
	before := recordsOf(t, d)
	if err := openOn(d, memory.Options{}, format.Steps); err != nil {
		t.Fatal(err)
	}
	after := recordsOf(t, d)
	if want := string(record.New(record.KeyFormat, 4)); after[string(record.KeyFormat)] != want {
		t.Errorf("the format is %x, expected %x", after[string(record.KeyFormat)], want)
	}
	before[string(record.KeyFormat)] = after[string(record.KeyFormat)]
	index := 0
	for key := range after {
		if key[0] == record.ClassListed {
			delete(after, key)
			index++
		}
	}
	starts := 0
	for key := range before {
		if key[0] == record.ClassStart {
			starts++
		}
	}
	if starts == 0 || index < starts {
		t.Errorf("the index has %d records of %d instances", index, starts)
	}
	sameRecords(t, "but for the format", before, after)
	const want = "open queues of A: the store has format 4, and this program knows up to 1: use the version of fmqmd that it was opened with last, or a newer one"
	if err := openOn(d, memory.Options{}, nil); err == nil || err.Error() != want {
		t.Errorf("an older program: %v", err)
	}
}
