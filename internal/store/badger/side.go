package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/internal/failpoint"
)

// The side file says up to which commit the store was on disk, so that a log that lost
// its end is noticed at open (S1). It has two slots, of which the one that was synced
// last is never written to.
const (
	sideName     = "COMMITTED"
	sideMagic    = "fmqmlast"
	slotSize     = 36
	slotDistance = 4096
	sideSlots    = 2
)

// storeFormat is the version of how this engine uses Badger. 1 did not mask values; both
// are read.
const storeFormat = 2

// sidePause is how long a number waits for later ones before it is synced. A sync for
// every commit would double what the disk has to do.
const sidePause = 50 * time.Millisecond

// sideNumber is what a side file says; number 0: nothing.
type sideNumber struct {
	number uint64
	slot   int    // that holds it
	format uint32 // of its store; 0: not known
}

// sideFile is an open side file. It holds the lock of the directory's owner.
type sideFile struct{ f *os.File }

// openSide opens the side file of dir, or makes an empty one, and locks it.
func openSide(dir string) (*sideFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, sideName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return &sideFile{f: f}, nil
}

// ErrLocked: another process holds the store. One that a daemon was just starting may, for
// some milliseconds after that was killed.
var ErrLocked = errors.New("another process has it open: stop that daemon, or give this one a data directory of its own")

// read gives the highest number of a slot that is whole. A slot that is not is left out:
// the other one has an earlier number.
func (s *sideFile) read() (n sideNumber, err error) {
	for slot := range sideSlots {
		var b [slotSize]byte
		if _, err := s.f.ReadAt(b[:], int64(slot)*slotDistance); err != nil {
			if errors.Is(err, io.EOF) {
				continue
			}
			return n, fmt.Errorf("read %s: %w", s.f.Name(), err)
		}
		if string(b[:8]) != sideMagic || crc32.Checksum(b[:slotSize-4], castagnoli) != binary.BigEndian.Uint32(b[slotSize-4:]) {
			continue
		}
		format := binary.BigEndian.Uint32(b[8:])
		if format > storeFormat {
			return n, fmt.Errorf("the store has format %d, and this program knows up to %d: use the version of fmqmd that made the store", format, storeFormat)
		}
		number := binary.BigEndian.Uint64(b[12:])
		if number > n.number || (number == n.number && format > n.format) {
			n = sideNumber{number: number, slot: slot, format: format}
		}
	}
	return n, nil
}

// write puts a number into a slot and syncs it.
func (s *sideFile) write(n sideNumber) error {
	var b [slotSize]byte
	copy(b[:], sideMagic)
	binary.BigEndian.PutUint32(b[8:], n.format)
	binary.BigEndian.PutUint64(b[12:], n.number)
	binary.BigEndian.PutUint32(b[slotSize-4:], crc32.Checksum(b[:slotSize-4], castagnoli))
	if _, err := s.f.WriteAt(b[:], int64(n.slot)*slotDistance); err != nil {
		return fmt.Errorf("write %s: %w", s.f.Name(), err)
	}
	if err := unix.Fdatasync(int(s.f.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", s.f.Name(), err)
	}
	return nil
}

func (s *sideFile) close() error { return s.f.Close() }

// follower writes the side file behind the commits: never in line with one, at most one
// write under way, and always the newest number.
type follower struct {
	file   *sideFile
	last   func() uint64 // the newest commit that is on disk
	then   func()        // called behind each number that was written
	failed func(error)
	kick   chan struct{}
	quit   chan struct{}
	ended  chan struct{}
	synced chan struct{} // signalled (capacity 1) when a number is on disk

	mu      sync.Mutex
	written sideNumber
}

func follow(file *sideFile, written sideNumber, last func() uint64, then func(), failed func(error)) *follower {
	f := &follower{
		file: file, written: written, last: last, then: then, failed: failed,
		kick: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
		synced: make(chan struct{}, 1),
	}
	go f.run()
	return f
}

// committed tells it that there is a newer number.
func (f *follower) committed() { signal(f.kick) }

// signal signals a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (f *follower) run() {
	defer close(f.ended)
	for {
		select {
		case <-f.kick:
		case <-f.quit:
			return
		}
		pause := time.NewTimer(sidePause)
		select {
		case <-pause.C:
		case <-f.quit:
			pause.Stop()
			return
		}
		if err := f.write(); err != nil {
			f.failed(err)
			return
		}
		f.then()
	}
}

// write brings the side file up to the newest commit.
func (f *follower) write() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := sideNumber{number: f.last(), slot: (f.written.slot + 1) % sideSlots, format: storeFormat}
	if n.number == f.written.number && n.format == f.written.format {
		return nil
	}
	failpoint.Hit("side.before")
	if err := f.file.write(n); err != nil {
		return err
	}
	failpoint.Hit("side.written")
	f.written = n
	signal(f.synced)
	return nil
}

// stop ends it. The number is left as it is.
func (f *follower) stop() {
	close(f.quit)
	<-f.ended
}
