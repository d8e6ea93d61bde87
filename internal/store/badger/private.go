package badger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// others are the rights of everybody but the owner.
const others fs.FileMode = 0o077

// privacy keeps a store's directory and the files in it to their owner. Badger makes
// files as the process's umask lets it, which may have to be wide for the programs that
// the process starts: so their modes are looked at whenever the directory has changed.
// Until then they are behind the directory's own mode.
type privacy struct {
	dir string

	mu   sync.Mutex
	seen time.Time // when the directory had changed last, when its files were looked at
}

// recent is how long after a change of a directory another one may have the same time.
const recent = 20 * time.Millisecond

// open takes away what others may do with a directory and its files, and says what that
// was; empty: nothing. What belongs to another user is left as it is.
func (p *privacy) open() (exposed string, err error) {
	info, err := os.Stat(p.dir)
	if err != nil {
		return "", err
	}
	closed, err := tighten(p.dir, info)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o055 != 0 {
		exposed = fmt.Sprintf("others could read %s (mode %04o)", p.dir, mode)
		if closed {
			exposed += "; now only its owner can"
		} else {
			exposed += ", and it belongs to another user: take these rights away"
		}
	}
	return exposed, p.look()
}

// again looks while the store is open. What it cannot do now it tries the next time: it is
// no reason to end the store's work.
func (p *privacy) again() { _ = p.look() }

// look takes away what others may do with files that have come since it looked last.
func (p *privacy) look() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(p.dir)
	if err != nil {
		return err
	}
	changed := info.ModTime()
	if changed.Equal(p.seen) {
		return nil
	}
	settled := time.Since(changed) > recent
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if _, err := tighten(filepath.Join(p.dir, entry.Name()), info); err != nil {
			return err
		}
	}
	if settled {
		p.seen = changed
	}
	return nil
}

// tighten takes others' rights to a file away, if this process may do that.
func tighten(path string, info fs.FileInfo) (done bool, err error) {
	if info.Mode()&others == 0 {
		return false, nil
	}
	err = os.Chmod(path, info.Mode()&^others)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	return err == nil, err
}
