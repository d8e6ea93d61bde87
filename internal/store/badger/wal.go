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
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The format of a write-ahead log of Badger 4.9.6, as far as this engine uses it
// (no encryption, every commit one transaction): a header of 20 bytes, of which the
// first 8 name an encryption key (0: none), and records
//
//	meta · user meta · uvarint key length · uvarint value length · uvarint expiry · key · value · CRC-32C
//
// where user meta says whether the value is masked. A key ends with 8 bytes, big-endian:
// the largest uint64 minus the commit's number. After a commit's records comes one whose
// value is that number in decimal. The rest of the file is zero. testdata/format1.mem
// and format2.mem guard this.
const (
	logHeader   = 20
	logSuffix   = ".mem"
	tableSuffix = ".sst"
	valueSuffix = ".vlog"

	metaDelete    = 1 << 0
	metaInCommit  = 1 << 6
	metaCommitEnd = 1 << 7

	// maxRecordHeader is how many zero bytes Badger writes behind the last record.
	maxRecordHeader = 22
	maxRecordKey    = 1 << 16
	// maxNumber is more commits than any store will see.
	maxNumber = 1 << 48
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one record of a log.
type record struct {
	meta   byte
	number uint64 // of the commit
	value  []byte
	size   int
}

// readRecord reads the record that data begins with; false: there is none, or it is
// damaged.
func readRecord(data []byte) (r record, ok bool) {
	if len(data) < 2 || data[1] > metaMasked {
		return r, false
	}
	r.meta = data[0]
	if r.meta&^(metaInCommit|metaDelete) != 0 && r.meta != metaCommitEnd {
		return r, false
	}
	at := 2
	var lengths [3]uint64
	for i := range lengths {
		n, width := binary.Uvarint(data[at:])
		if width <= 0 {
			return r, false
		}
		lengths[i], at = n, at+width
	}
	key, value := lengths[0], lengths[1]
	if key <= 8 || key > maxRecordKey || value >= valueLimit || lengths[2] != 0 || uint64(len(data)-at) < key+value+4 {
		return r, false
	}
	end := at + int(key+value)
	if crc32.Checksum(data[:end], castagnoli) != binary.BigEndian.Uint32(data[end:]) {
		return r, false
	}
	r.number = math.MaxUint64 - binary.BigEndian.Uint64(data[at+int(key)-8:])
	r.value = data[at+int(key) : end]
	r.size = end + 4
	return r, true
}

// readCommit reads the commit that data begins with, and says how long it is.
func readCommit(data []byte) (number uint64, size int, ok bool) {
	for {
		r, ok := readRecord(data[size:])
		if !ok || (size > 0 && r.number != number) {
			return 0, 0, false
		}
		number = r.number
		size += r.size
		if r.meta == metaCommitEnd {
			written, err := strconv.ParseUint(string(r.value), 10, 64)
			return number, size, err == nil && written == number
		}
		if r.meta&metaInCommit == 0 {
			return 0, 0, false
		}
	}
}

// walked is what a walk over one log found.
type walked struct {
	path        string
	size        int64
	first, last uint64 // its commits; 0: it has none
	end         int64  // where the last whole commit ends
	torn        bool   // there is something behind end: a commit that did not end
	behind      uint64 // the number of that commit, if a record of it can be read
}

// walkLog reads a log without changing it. A record that is bad with good ones of
// later commits behind it is an error: what is behind the end of a log that was cut
// off by a crash belongs to the one commit that was being written.
func walkLog(path string) (w walked, err error) {
	data, size, err := readSparse(path)
	if err != nil {
		return w, err
	}
	return walk(path, data, size)
}

// walk walks over the contents of a log, of a file of size bytes.
func walk(path string, data []byte, size int64) (w walked, err error) {
	w = walked{path: path, size: size, end: logHeader}
	if len(data) < logHeader {
		w.end = int64(len(data))
		if len(bytes.Trim(data, "\x00")) > 0 && size < logHeader {
			w.torn = true
		}
		return w, nil
	}
	if key := binary.BigEndian.Uint64(data); key != 0 {
		return w, damagedf("%s: its header names encryption key %x, and nothing here is encrypted", path, key)
	}
	at := logHeader
	for {
		number, size, ok := readCommit(data[at:])
		if !ok {
			break
		}
		if w.last != 0 && number != w.last+1 {
			return w, damagedf("%s: commit %d comes directly after commit %d", path, number, w.last)
		}
		if w.first == 0 {
			w.first = number
		}
		w.last = number
		at += size
	}
	w.end = int64(at)
	return w, w.judgeRest(data[at:])
}

// judgeRest looks at what is behind the last whole commit, for records. Values cannot
// have what looks like one, since they are masked; of a key others choose names, which
// have no byte below a space, and an identifier of 16 bytes, which is too short for one.
// A number that no commit there can have is no commit's.
func (w *walked) judgeRest(rest []byte) error {
	var next uint64 // the commit that was being written
	highest := uint64(maxNumber)
	if w.last != 0 {
		next = w.last + 1
		highest = next + uint64(len(rest)) // as if each commit took a byte
	}
	for at := 0; at < len(rest); at++ {
		if rest[at] == 0 {
			continue // no record begins with 0
		}
		w.torn = true
		r, ok := readRecord(rest[at:])
		if !ok || r.number > highest {
			continue
		}
		if next == 0 {
			next = r.number
		}
		w.behind = r.number
		if r.number != next {
			return damagedf("%s: it is damaged from byte %d on, and commit %d comes after that: %s",
				w.path, w.end, r.number, "a crash does not cut off a log like this")
		}
		at += r.size - 1
	}
	return nil
}

// readSparse reads a file up to the end of its last allocated part. What follows, up
// to size, is zero: Badger makes its logs longer than they are used.
func readSparse(path string) (data []byte, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	size = info.Size()
	used, err := allocated(f, size)
	if err != nil {
		return nil, 0, err
	}
	data = make([]byte, used)
	if _, err := f.ReadAt(data, 0); err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", path, err)
	}
	return data, size, nil
}

// allocated gives where the last allocated part of a file ends; its size where the
// file system cannot say.
func allocated(f *os.File, size int64) (int64, error) {
	var end int64
	for end < size {
		start, err := unix.Seek(int(f.Fd()), end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return end, nil // nothing but a hole is left
		}
		if err != nil {
			return size, nil //nolint:nilerr // the file system cannot say: all of it counts
		}
		if end, err = unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE); err != nil {
			return 0, fmt.Errorf("look for the end of %s: %w", f.Name(), err)
		}
	}
	return min(end, size), nil
}

// logFiles gives the paths of the logs of dir, oldest first, and those of all other
// files by suffix.
func logFiles(dir string) (logs, values, tables []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	numbers := map[string]uint64{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch filepath.Ext(e.Name()) {
		case logSuffix:
			n, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), logSuffix), 10, 32)
			if err != nil {
				return nil, nil, nil, damagedf("%s: the store has no file of this name: move it away", path)
			}
			numbers[path] = n
			logs = append(logs, path)
		case valueSuffix:
			values = append(values, path)
		case tableSuffix:
			tables = append(tables, path)
		}
	}
	slices.SortFunc(logs, func(a, b string) int {
		if numbers[a] < numbers[b] {
			return -1
		}
		return 1
	})
	return logs, values, tables, nil
}
