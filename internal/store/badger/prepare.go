package badger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"fmqm/internal/failpoint"
)

// registryText is what Badger's key registry holds behind 16 random bytes, where
// nothing is encrypted.
const registryText = "Hello Badger"

// discardName is the file in which Badger counts what its value log could drop.
const discardName = "DISCARD"

// copySuffix is that of a copy before it takes the original's name.
const copySuffix = ".copy"

// prepare brings the files of an inspected store into a form that Badger opens without
// a decision of its own.
//
// Files that hold nothing are removed: Badger refuses to open a store in which it was
// killed between making a file and its first write. After an unclean stop the manifest
// and the logs are copied as far as they are whole, and the synced copies take the
// place of the originals: what is read back from the page cache after a failed sync may
// not be on disk, and everything that is acknowledged from now on rests on it
// (invariant 8).
func (i *inspection) prepare() error {
	entries, err := os.ReadDir(i.dir)
	if err != nil {
		return err
	}
	i.pass()
	for _, entry := range entries {
		if name := entry.Name(); name == discardName || filepath.Ext(name) == copySuffix {
			if err := i.remove(filepath.Join(i.dir, name)); err != nil {
				return err
			}
		}
	}
	if err := i.checkRegistry(); err != nil {
		return err
	}
	for _, path := range i.values {
		if err := i.remove(path); err != nil {
			return err
		}
	}
	if len(i.logs) == 0 {
		return syncDirectory(i.dir)
	}
	if i.manifestEnd > 0 {
		if err := i.renew(filepath.Join(i.dir, badger.ManifestFilename), i.manifestEnd); err != nil {
			return err
		}
	}
	for n := range i.logs {
		w := &i.logs[n]
		var err error
		if w.last == 0 || i.done(w) {
			err = i.remove(w.path)
		} else {
			err = i.renew(w.path, w.end)
		}
		if err != nil {
			return err
		}
	}
	return syncDirectory(i.dir)
}

// checkRegistry removes a key registry that is damaged: it holds no key.
func (i *inspection) checkRegistry() error {
	path := filepath.Join(i.dir, badger.KeyRegistryFileName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(text) == 16+len(registryText) && bytes.Equal(text[16:], []byte(registryText)) {
		return nil
	}
	return i.remove(path)
}

// pass passes a point between two changes on disk, at any of which a crash leaves a
// store that opens.
func (i *inspection) pass() {
	if i.step != nil {
		i.step()
	}
}

// remove removes a file that may be there.
func (i *inspection) remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	i.pass()
	return nil
}

// renew replaces a file by a synced copy of its first bytes.
func (i *inspection) renew(path string, size int64) (err error) {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(path+copySuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path + copySuffix)
			err = fmt.Errorf("copy %s: %w", path, err)
		}
	}()
	i.pass()
	if _, err := io.CopyN(to, from, size); err != nil {
		_ = to.Close()
		return err
	}
	i.pass()
	if err := to.Sync(); err != nil {
		_ = to.Close()
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	i.pass()
	failpoint.Hit("store.copied")
	if err := os.Rename(path+copySuffix, path); err != nil {
		return err
	}
	i.pass()
	failpoint.Hit("store.renewed")
	return nil
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}
