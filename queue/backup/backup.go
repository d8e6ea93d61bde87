package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"fmqm/internal/store"
	"fmqm/processtable"
	"fmqm/queue/format"
	"fmqm/queue/record"
)

// A backup is a stream of all records of a store as they were at one commit:
//
//	"FMQMBK1\n"
//	for each record   uvarint length of the key, key, uvarint length of the value, value
//	a 0 byte          no key is empty: the end
//	8 bytes           number of records, big-endian
//	8 bytes           number of the last commit
//	32 bytes          SHA-256 of all that stands before
//
// Records keep their own checksums, so a backup is verified twice over.
const magic = "FMQMBK1\n"

// maxValue bounds what is allocated for one record of a backup.
const maxValue = 2 << 20

// ErrNotWhole: what was read is no backup, or not a whole one.
var ErrNotWhole = errors.New("this is not a whole backup")

// Info says what a backup has.
type Info struct {
	Node    processtable.NodeID `json:"node"`
	Records uint64              `json:"records"`
	Commit  uint64              `json:"commit"` // it is of the state after this commit, or one shortly before: it has nothing of a later one
	Bytes   uint64              `json:"bytes"`
}

// Write writes the state of a store, as it is now, to w, while work goes on. Every record is
// verified on the way.
func Write(engine store.Engine, w io.Writer) (Info, error) {
	out := &writer{w: bufio.NewWriterSize(w, 1<<20), sum: sha256.New()}
	out.write([]byte(magic))
	var info Info
	var failed error
	err := engine.View(func(r store.Reader) error {
		info.Commit = engine.Last() // of the view or, where one comes just now, later: a restored store numbers on above it
		return r.Scan(store.ScanOptions{}, func(key, value []byte) bool {
			content, err := record.Open(key, value)
			if err != nil {
				failed = err
				return false
			}
			if string(key) == string(record.KeyNode) {
				info.Node = processtable.NodeID(content)
			}
			info.Records++
			out.part(key)
			out.part(value)
			return out.err == nil
		})
	})
	if err = errors.Join(err, failed, out.err); err != nil {
		return info, fmt.Errorf("backup: %w", err)
	}
	out.write([]byte{0})
	out.write(binary.BigEndian.AppendUint64(nil, info.Records))
	out.write(binary.BigEndian.AppendUint64(nil, info.Commit))
	sum := out.sum.Sum(nil)
	out.write(sum)
	info.Bytes = out.n
	if err := errors.Join(out.err, out.w.Flush()); err != nil {
		return info, fmt.Errorf("backup: write: %w", err)
	}
	return info, nil
}

// writer writes, hashes and counts, and keeps the first error.
type writer struct {
	w   *bufio.Writer
	sum hash.Hash
	n   uint64
	err error
}

func (b *writer) write(p []byte) {
	if b.err != nil {
		return
	}
	_, b.err = b.w.Write(p)
	b.sum.Write(p) // never fails
	b.n += uint64(len(p))
}

func (b *writer) part(p []byte) {
	var length [binary.MaxVarintLen64]byte
	b.write(length[:binary.PutUvarint(length[:], uint64(len(p)))])
	b.write(p)
}

// Begins says whether all that r has is a backup, or the beginning of one, however little.
func Begins(r io.Reader) bool {
	begin, err := io.ReadAll(io.LimitReader(r, int64(len(magic))))
	return err == nil && strings.HasPrefix(magic, string(begin))
}

// Verify reads a backup to its end and verifies it, without a store.
func Verify(r io.Reader) (Info, error) {
	return readAll(r, func(_, _ []byte) error { return nil })
}

// readAll calls visit for each record of a backup, verified; the end is verified
// after the last.
func readAll(r io.Reader, visit func(key, value []byte) error) (Info, error) {
	in := &reader{r: bufio.NewReaderSize(r, 1<<20), sum: sha256.New()}
	var info Info
	if string(in.read(len(magic))) != magic {
		return info, fmt.Errorf("%w: it does not begin like a backup", ErrNotWhole)
	}
	for {
		length := in.uvarint(maxKey)
		if length == 0 {
			break
		}
		key := in.read(length)
		value := in.read(in.uvarint(maxValue))
		if in.err != nil {
			break
		}
		content, err := record.Open(key, value)
		if err != nil {
			return info, fmt.Errorf("%w: %w", ErrNotWhole, err)
		}
		switch string(key) {
		case string(record.KeyNode):
			info.Node = processtable.NodeID(content)
		case string(record.KeyFormat):
			if _, err := format.Of(content, format.Newest(format.Steps)); err != nil {
				return info, fmt.Errorf("this backup is of a newer version of fmqmd: %w", err)
			}
		}
		info.Records++
		if err := visit(key, value); err != nil {
			return info, err
		}
	}
	return info, in.end(&info)
}

const maxKey = 60_000

// reader is the other side of writer.
type reader struct {
	r   *bufio.Reader
	sum hash.Hash
	n   uint64
	err error
}

func (b *reader) read(n int) []byte {
	if b.err != nil {
		return nil
	}
	p := make([]byte, n)
	if _, b.err = io.ReadFull(b.r, p); b.err != nil {
		return nil
	}
	b.sum.Write(p)
	b.n += uint64(n)
	return p
}

func (b *reader) uvarint(limit int) int {
	var v uint64
	for shift := 0; b.err == nil; shift += 7 {
		p := b.read(1)
		if b.err != nil {
			break
		}
		v |= uint64(p[0]&0x7f) << shift
		if p[0] < 0x80 {
			break
		}
		if shift > 28 {
			b.err = errors.New("a length in it cannot be read")
		}
	}
	if b.err == nil && v > uint64(limit) {
		b.err = fmt.Errorf("a length in it is %d, and at most %d is allowed", v, limit)
	}
	if b.err != nil {
		return 0
	}
	return int(v)
}

// end verifies what stands behind the records.
func (b *reader) end(info *Info) error {
	records, commit := b.read(8), b.read(8)
	sum := b.sum.Sum(nil)
	stated := b.read(len(sum))
	switch {
	case b.err != nil:
		return fmt.Errorf("%w: after %d records: %w", ErrNotWhole, info.Records, b.err)
	case binary.BigEndian.Uint64(records) != info.Records:
		return fmt.Errorf("%w: it has %d records, and should have %d", ErrNotWhole, info.Records, binary.BigEndian.Uint64(records))
	case string(stated) != string(sum):
		return fmt.Errorf("%w: its SHA-256 does not match", ErrNotWhole)
	}
	if _, err := b.r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more bytes follow its end", ErrNotWhole)
	}
	info.Commit, info.Bytes = binary.BigEndian.Uint64(commit), b.n
	return nil
}
