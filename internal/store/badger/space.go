package badger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/internal/store"
	"fmqm/internal/task"
)

// Space says how much of the disk must stay free, in bytes (S3). Badger writes through
// mappings of files that have holes, and a disk without room ends the process in the
// middle of that; so the store stops before.
type Space struct {
	// Free is the first mark: below it Engine.SpaceLow says so.
	Free int64
	// Stop is the second mark: below it, once the reserve is used up, commits are refused
	// with store.ErrNoSpace before anything is written, and Open refuses. 0: no marks.
	Stop int64
	// Reserve is the size of a file that is removed when the second mark is reached, and
	// made again once there is room for it above the first.
	Reserve int64
}

// Check refuses marks that cannot work.
func (s Space) Check() error {
	switch {
	case s.Free < 0 || s.Stop < 0 || s.Reserve < 0:
		return errors.New("space marks: a size is below 0")
	case s.Stop > s.Free:
		return fmt.Errorf("space marks: work would stop (at %d bytes) before it slows down (at %d bytes)", s.Stop, s.Free)
	}
	return nil
}

const (
	reserveName = "RESERVE"
	// openRoom is what Badger may write while it opens, in bytes: a log and a table.
	openRoom = 36 << 20
	// lookEvery is how often free space is looked at when nothing is committed.
	lookEvery = 200 * time.Millisecond
)

// guard keeps the marks.
type guard struct {
	Space
	dir     string
	path    string
	low     atomic.Bool
	changed *task.Bell
	moved   *task.Bell // rings when the reserve was given up or made
	quit    chan struct{}
	ended   chan struct{}

	mu       sync.Mutex // guards the reserve
	reserved bool
}

// newGuard looks at the disk for the first time.
func newGuard(dir string, s Space) (*guard, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	g := &guard{
		Space: s, dir: dir, path: filepath.Join(dir, reserveName),
		changed: task.Goroutines{}.Bell(), moved: task.Goroutines{}.Bell(), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	if s.Stop > 0 {
		if err := g.findReserve(); err != nil {
			return nil, err
		}
		if err := g.look(); err != nil {
			return nil, err
		}
		if err := g.restore(); err != nil {
			return nil, err
		}
	}
	free, err := g.free()
	if err != nil {
		return nil, err
	}
	if free < openRoom {
		return nil, fmt.Errorf("%w: %s has %d MiB left, and opening the store takes %d MiB: make room there", store.ErrNoSpace, dir, free>>20, openRoom>>20)
	}
	return g, nil
}

// findReserve finds the reserve of an earlier run. One of another size, or one that was
// cut off, is removed.
func (g *guard) findReserve() error {
	info, err := os.Stat(g.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if g.reserved = info.Size() == g.Reserve; g.reserved {
		return nil
	}
	return os.Remove(g.path)
}

// free is what an unprivileged process can still write, in bytes.
func (g *guard) free() (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(g.dir, &s); err != nil {
		return 0, fmt.Errorf("read the free space of %s: %w", g.dir, err)
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// look compares free space with the marks. Below the second, the reserve is given up
// first.
func (g *guard) look() error {
	if g.Stop == 0 {
		return nil
	}
	free, err := g.free()
	if err != nil {
		return err
	}
	if low := free < g.Free; g.low.Swap(low) != low {
		g.changed.Ring()
	}
	if free >= g.Stop {
		return nil
	}
	if err := g.release(); err != nil {
		return err
	}
	if free, err = g.free(); err != nil || free >= g.Stop {
		return err
	}
	return fmt.Errorf("%w: %s has %d MiB left, and at least %d MiB (limits.stop) must stay free: "+
		"make room there, then start again; nothing is lost", store.ErrNoSpace, g.dir, free>>20, g.Stop>>20)
}

func (g *guard) release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reserved {
		return nil
	}
	g.reserved = false
	if err := os.Remove(g.path); err != nil {
		return fmt.Errorf("give up the reserve: %w", err)
	}
	g.moved.Ring()
	return nil
}

// restore makes the reserve, if there is room for it above the first mark.
func (g *guard) restore() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reserved || g.Reserve == 0 || g.Stop == 0 {
		return nil
	}
	free, err := g.free()
	if err != nil || free < g.Free+g.Reserve {
		return err
	}
	f, err := os.OpenFile(g.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make the reserve: %w", err)
	}
	err = unix.Fallocate(int(f.Fd()), 0, 0, g.Reserve)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(g.path)
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EOPNOTSUPP) {
			return nil // somebody else was faster, or this file system cannot reserve
		}
		return fmt.Errorf("make the reserve: %w", err)
	}
	g.reserved = true
	g.moved.Ring()
	return nil
}

// watch looks at the disk until stop: others may fill it, or make room. It calls then
// each time.
func (g *guard) watch(then func(), failed func(error)) {
	defer close(g.ended)
	if g.Stop == 0 {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-g.quit:
			return
		}
		err := g.look()
		if err == nil {
			err = g.restore()
		}
		if err != nil {
			failed(err)
			return
		}
		then()
	}
}

func (g *guard) stop() {
	close(g.quit)
	<-g.ended
}
