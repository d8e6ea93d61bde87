package badger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"fmqm/internal/store"
)

// mimic is a whole record of a log, as somebody would write it who knows its format.
func mimic(meta byte, key string, number uint64, value []byte) []byte {
	b := []byte{meta, 0}
	b = binary.AppendUvarint(b, uint64(len(key)+8))
	b = binary.AppendUvarint(b, uint64(len(value)))
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(append(b, key...), math.MaxUint64-number)
	b = append(b, value...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// mimics is a value full of what looks like good records of the commits around next:
// single ones, whole commits, and records within records, so that from whatever byte on
// one reads there is one not far behind.
func mimics(next uint64, shift int) []byte {
	value := bytes.Repeat([]byte{1}, shift)
	for number := next - 2; number < next+4; number++ {
		whole := mimic(metaInCommit, "\x00n", number, binary.BigEndian.AppendUint64(nil, number))
		whole = append(whole, mimic(metaInCommit|metaDelete, "a", number, nil)...)
		whole = append(whole, mimic(metaCommitEnd, "!badger!txn", number, fmt.Append(nil, number))...)
		value = append(value, whole...)
		value = append(value, mimic(metaInCommit, "a", number, mimic(metaInCommit, "b", number, whole))...)
	}
	return value
}

// TestValuesThatMimicRecords: whoever puts the bytes of good records of any commit into a
// value does not make a damage of an ordinary power cut: wherever the last commit is cut
// off, the store opens and has all that was acknowledged.
func TestValuesThatMimicRecords(t *testing.T) {
	live := t.TempDir()
	w := newWriter(t, 3)
	e := mustOpen(t, Options{Dir: live})
	w.commit(e, 20)
	number := e.Last() + 1
	b := &store.Batch{}
	for shift := range 4 {
		b.Put(fmt.Appendf(nil, "mimic %d", shift), mimics(number, shift))
	}
	settled(t, e)
	if err := e.Commit(number, b); err != nil {
		t.Fatal(err)
	}
	master := t.TempDir()
	copyStore(t, live, master)
	mustClose(t, e)

	begins := commitsOf(t, filepath.Join(master, "00001.mem"))
	begin, end := begins[len(begins)-2], begins[len(begins)-1]
	log, size, err := readSparse(filepath.Join(master, "00001.mem"))
	if err != nil {
		t.Fatal(err)
	}
	for cut := begin + 1; cut < end; cut++ {
		for what, torn := range map[string][]byte{
			"nothing is behind": log[:cut],
			"nothing is before": append(append(bytes.Clone(log[:begin]), make([]byte, cut-begin)...), log[cut:end]...),
		} {
			if got, err := walk("log", torn, size); err != nil || got.last != number-1 {
				t.Fatalf("cut at byte %d of %d, %s: the last commit is %d of %d: %v", cut-begin, end-begin, what, got.last, number-1, err)
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "store")
	for cut := begin + 1; cut < end; cut += (end - begin) / 7 {
		copyStore(t, master, dir)
		if err := os.WriteFile(filepath.Join(dir, "00001.mem"), log[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if examine(t, dir, w.now, fmt.Sprintf("cut at byte %d", cut-begin)) != harmless {
			t.Errorf("cut at byte %d of %d: refused", cut-begin, end-begin)
		}
	}
}

// TestOneRecordOfALaterCommit: behind a commit that was acknowledged and is damaged now,
// any one record of a later commit that was under way is enough to say so.
func TestOneRecordOfALaterCommit(t *testing.T) {
	master, _ := image(t)
	begins := commitsOf(t, filepath.Join(master, "00002.mem"))
	log, size, err := readSparse(filepath.Join(master, "00002.mem"))
	if err != nil {
		t.Fatal(err)
	}
	damaged, begin, end := begins[len(begins)-3], begins[len(begins)-2], begins[len(begins)-1]
	records := 0
	for at := begin; at < end; records++ {
		r, ok := readRecord(log[at:])
		if !ok {
			t.Fatalf("no record at byte %d", at)
		}
		torn := append(bytes.Clone(log[:begin]), make([]byte, at-begin)...)
		torn = append(torn, log[at:at+int64(r.size)]...)
		torn[damaged+12] ^= 4
		if _, err := walk("log", torn, size); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("and commit %d comes after that", inNewer)) {
			t.Errorf("record %d of commit %d: %v", records, inNewer, err)
		}
		at += int64(r.size)
	}
	if records < 3 {
		t.Errorf("commit %d has %d records", inNewer, records)
	}
}

// TestStoreOfFormat1: a store whose values are not masked is read as it is, in its tables
// and in its logs, and goes on masked. From its open on an older version refuses it.
func TestStoreOfFormat1(t *testing.T) {
	live, dir := t.TempDir(), t.TempDir()
	want := contents{}
	older := func(from, to uint64) *badger.DB {
		t.Helper()
		db, err := badger.OpenManaged(settings(Options{Dir: live}).WithLogger(nil))
		if err != nil {
			t.Fatal(err)
		}
		for number := from; number <= to; number++ {
			key, value := fmt.Sprintf("key %d", number), string(mimics(number, 3))
			want[key] = value
			b := store.Batch{}
			b.Put([]byte(key), []byte(value))
			b.Put(ownKey, binary.BigEndian.AppendUint64(nil, number))
			if err := commitBare(db, number, &b); err != nil {
				t.Fatal(err)
			}
		}
		return db
	}
	if err := older(1, 10).Close(); err != nil {
		t.Fatal(err)
	}
	db := older(11, 20)
	copyStore(t, live, dir) // as it was killed
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	side, err := openSide(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := side.write(sideNumber{number: 20, format: 1}); err != nil {
		t.Fatal(err)
	}
	if err := side.close(); err != nil {
		t.Fatal(err)
	}

	e := mustOpen(t, Options{Dir: dir})
	if err := want.holds(e); err != nil || e.Last() != 20 {
		t.Fatalf("after commit %d: %v", e.Last(), err)
	}
	if n, err := e.side.read(); err != nil || n.format != storeFormat {
		t.Errorf("the side file says %+v, %v", n, err)
	}
	w := newWriter(t, 5)
	w.now = want
	w.commit(e, 30)
	mustClose(t, e)
	if examine(t, dir, w.now, "values of both formats") != harmless {
		t.Error("refused")
	}
}

// TestNewStoreSaysItsFormat before anything is committed.
func TestNewStoreSaysItsFormat(t *testing.T) {
	e := mustOpen(t, Options{Dir: t.TempDir()})
	defer mustClose(t, e)
	if n, err := e.side.read(); err != nil || n.format != storeFormat {
		t.Errorf("the side file says %+v, %v", n, err)
	}
}

// TestOneMask: a store keeps the mask that it was made with, also over a kill, and another
// one has another.
func TestOneMask(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	e := mustOpen(t, Options{Dir: dir})
	first := e.mask
	if err := e.Commit(1, one("a")); err != nil {
		t.Fatal(err)
	}
	settled(t, e)
	copyStore(t, dir, killed)
	mustClose(t, e)
	for what, dir := range map[string]string{"closed": dir, "killed": killed} {
		e := mustOpen(t, Options{Dir: dir})
		if e.mask != first {
			t.Errorf("%s: mask %x, want %x", what, e.mask, first)
		}
		mustClose(t, e)
	}
	other := mustOpen(t, Options{Dir: t.TempDir()})
	if other.mask == first {
		t.Errorf("two stores have mask %x", first)
	}
	mustClose(t, other)
}

// TestValuesAreMasked: nothing of a value can be found in a file of the store, and every
// size comes back.
func TestValuesAreMasked(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, Options{Dir: dir})
	want := contents{}
	b := &store.Batch{}
	for size := range 40 {
		key, value := fmt.Sprintf("key %d", size), strings.Repeat("v", size)
		b.Put([]byte(key), []byte(value))
		want[key] = value
	}
	largest := strings.Repeat("largest ", maxValue)[:maxValue]
	b.Put([]byte("largest"), []byte(largest))
	want["largest"] = largest
	if err := e.Commit(1, b); err != nil {
		t.Fatal(err)
	}
	if err := want.holds(e); err != nil {
		t.Error(err)
	}
	tooLarge := &store.Batch{}
	tooLarge.Put([]byte("larger"), make([]byte, maxValue+1))
	if err := e.Commit(2, tooLarge); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a value of %d bytes: %v", maxValue+1, err)
	}
	find := func() {
		t.Helper()
		for _, name := range names(t, dir) {
			data, _, err := readSparse(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, []byte("vvvv")) || bytes.Contains(data, []byte("largest largest ")) {
				t.Errorf("%s shows values", name)
			}
		}
	}
	find() // in the log
	mustClose(t, e)
	find() // in a table
	if examine(t, dir, want, "all sizes") != harmless {
		t.Error("refused")
	}
}
