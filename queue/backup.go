package queue

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"fmqm/internal/failpoint"
	"fmqm/internal/store"
	"fmqm/processtable"
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
const backupMagic = "FMQMBK1\n"

// maxBackupValue bounds what is allocated for one record of a backup.
const maxBackupValue = 2 << 20

// ErrBackup: what was read is no backup, or not a whole one.
var ErrBackup = errors.New("this is not a whole backup")

// BackupInfo says what a backup has.
type BackupInfo struct {
	Node    processtable.NodeID `json:"node"`
	Records uint64              `json:"records"`
	Commit  uint64              `json:"commit"` // it is of the state after this commit
	Bytes   uint64              `json:"bytes"`
}

// Backup writes the state of the store, as it is now, to w, while work goes on. Every
// record is verified on the way.
func (m *Manager) Backup(w io.Writer) (BackupInfo, error) { return backup(m.engine, w) }

func backup(engine store.Engine, w io.Writer) (BackupInfo, error) {
	out := &backupWriter{w: bufio.NewWriterSize(w, 1<<20), sum: sha256.New()}
	out.write([]byte(backupMagic))
	info := BackupInfo{Commit: engine.Last()}
	var failed error
	err := engine.Scan(store.ScanOptions{}, func(key, value []byte) bool {
		content, err := record.Open(key, value)
		if err != nil {
			failed = err
			return false
		}
		if string(key) == string(keyNode) {
			info.Node = processtable.NodeID(content)
		}
		info.Records++
		out.part(key)
		out.part(value)
		return out.err == nil
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

// backupWriter writes, hashes and counts, and keeps the first error.
type backupWriter struct {
	w   *bufio.Writer
	sum hash.Hash
	n   uint64
	err error
}

func (b *backupWriter) write(p []byte) {
	if b.err != nil {
		return
	}
	_, b.err = b.w.Write(p)
	b.sum.Write(p) // never fails
	b.n += uint64(len(p))
}

func (b *backupWriter) part(p []byte) {
	var length [binary.MaxVarintLen64]byte
	b.write(length[:binary.PutUvarint(length[:], uint64(len(p)))])
	b.write(p)
}

// VerifyBackup reads a backup to its end and verifies it, without a store.
func VerifyBackup(r io.Reader) (BackupInfo, error) {
	return readBackup(r, func(_, _ []byte) error { return nil })
}

// readBackup calls visit for each record of a backup, verified; the end is verified
// after the last.
func readBackup(r io.Reader, visit func(key, value []byte) error) (BackupInfo, error) {
	in := &backupReader{r: bufio.NewReaderSize(r, 1<<20), sum: sha256.New()}
	var info BackupInfo
	if string(in.read(len(backupMagic))) != backupMagic {
		return info, fmt.Errorf("%w: it does not begin like a backup", ErrBackup)
	}
	for {
		length := in.uvarint(keyLimit)
		if length == 0 {
			break
		}
		key := in.read(length)
		value := in.read(in.uvarint(maxBackupValue))
		if in.err != nil {
			break
		}
		content, err := record.Open(key, value)
		if err != nil {
			return info, fmt.Errorf("%w: %w", ErrBackup, err)
		}
		switch string(key) {
		case string(keyNode):
			info.Node = processtable.NodeID(content)
		case string(keyFormat):
			if _, err := formatOf(content, newestFormat(migrations)); err != nil {
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

const keyLimit = 60_000

// backupReader is the other side of backupWriter.
type backupReader struct {
	r   *bufio.Reader
	sum hash.Hash
	n   uint64
	err error
}

func (b *backupReader) read(n int) []byte {
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

func (b *backupReader) uvarint(limit int) int {
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
func (b *backupReader) end(info *BackupInfo) error {
	records, commit := b.read(8), b.read(8)
	sum := b.sum.Sum(nil)
	stated := b.read(len(sum))
	switch {
	case b.err != nil:
		return fmt.Errorf("%w: after %d records: %w", ErrBackup, info.Records, b.err)
	case binary.BigEndian.Uint64(records) != info.Records:
		return fmt.Errorf("%w: it has %d records, and should have %d", ErrBackup, info.Records, binary.BigEndian.Uint64(records))
	case string(stated) != string(sum):
		return fmt.Errorf("%w: its SHA-256 does not match", ErrBackup)
	}
	if _, err := b.r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more bytes follow its end", ErrBackup)
	}
	info.Commit, info.Bytes = binary.BigEndian.Uint64(commit), b.n
	return nil
}

// Restore fills a new store from a backup, and gives it a new incarnation (L1): peers
// that knew the old one stop their links until an operator decides. After an error or a
// crash the store cannot be used: its format is written last, and a store without one is
// refused. random is crypto/rand's Reader if nil.
func Restore(r io.Reader, engine store.Engine, random io.Reader) (BackupInfo, error) {
	if engine.Last() != 0 {
		return BackupInfo{}, errors.New("restore: this store already has content: restore into a new data directory")
	}
	if random == nil {
		random = rand.Reader
	}
	var own Incarnation
	if _, err := io.ReadFull(random, own[:]); err != nil {
		return BackupInfo{}, fmt.Errorf("restore: make an incarnation: %w", err)
	}
	var b store.Batch
	commit := func() error {
		if len(b.Ops) == 0 {
			return nil
		}
		err := engine.Commit(engine.Last()+1, &b)
		b = store.Batch{}
		failpoint.Hit("restore.part")
		return err
	}
	size := int64(0)
	renewed := newRenewal()
	put := func(key, value []byte) error {
		one := engine.Size(&store.Batch{Ops: []store.Op{{Key: key, Value: value}}})
		if size+one > engine.MaxBatch() {
			if err := commit(); err != nil {
				return err
			}
			size = 0
		}
		size += one
		b.Put(key, value)
		return nil
	}
	var format []store.Op
	info, err := readBackup(r, func(key, value []byte) error {
		switch string(key) {
		case string(keyIncarnation):
			value = record.New(keyIncarnation, own[:]...)
		case string(keyFormat):
			format = append(format, store.Op{Key: key, Value: value})
			return nil
		}
		keep, err := renewed.take(key, value)
		if err != nil || !keep {
			return err
		}
		return put(key, value)
	})
	if err == nil {
		err = commit()
	}
	for _, op := range append(renewed.records(), format...) {
		if err == nil {
			err = put(op.Key, op.Value)
		}
	}
	if err == nil {
		err = commit()
	}
	if err != nil {
		return info, fmt.Errorf("restore: %w", err)
	}
	failpoint.Hit("restore.written")
	return info, nil
}
