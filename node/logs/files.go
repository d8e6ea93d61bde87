package logs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	suffix = ".jsonl"
	// parts is into how many files the limits are divided: so much of what is kept goes at once.
	parts       = 8
	largestFile = 8 << 20
)

// files are the files of a directory, named by when they were begun. The newest is written. All but dir is
// guarded by mu, which is held while a file is written.
type files struct {
	dir  string
	mu   sync.RWMutex
	out  *os.File // the newest; nil: not open
	size int64
	born time.Time // when it was begun
}

// file is one of them.
type file struct {
	path string
	born int64 // in milliseconds since 1970; grows, whatever the clock does
	size int64
	last time.Time // when it was written last
}

// write appends lines and removes what is beyond the limits.
func (f *files) write(lines [][]byte, limits Limits, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var failed error
	for _, line := range lines {
		if limits.Bytes == 0 || failed != nil {
			break
		}
		failed = f.append(line, limits, now)
	}
	if failed != nil { // mostly a disk that is full: this makes room
		f.shut()
		limits.Bytes /= 2
	}
	return errors.Join(failed, f.trim(limits, now))
}

// append writes a line into the newest file, or begins another.
func (f *files) append(line []byte, limits Limits, now time.Time) error {
	if f.out == nil {
		if err := f.goOn(); err != nil {
			return err
		}
	}
	most := min(limits.Bytes/parts, largestFile)
	old := limits.Age > 0 && now.Sub(f.born) > limits.Age/parts
	if f.out == nil || f.size > 0 && (f.size+int64(len(line)) > most || old) {
		if err := f.begin(now); err != nil {
			return err
		}
	}
	n, err := f.out.Write(line)
	f.size += int64(n)
	return err
}

// goOn opens the newest file, if there is one, so that a daemon that is often started leaves few files.
func (f *files) goOn() error {
	all, err := f.list()
	if err != nil || len(all) == 0 {
		return unless(fs.ErrNotExist, err)
	}
	newest := all[len(all)-1]
	out, err := os.OpenFile(newest.path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	last := []byte{'\n'}
	if newest.size > 0 {
		_, err = out.ReadAt(last, newest.size-1)
	}
	if err == nil && last[0] != '\n' { // a kill has cut it there
		_, err = out.Write([]byte{'\n'})
		newest.size++
	}
	if err != nil {
		_ = out.Close()
		return err
	}
	f.out, f.size, f.born = out, newest.size, time.UnixMilli(newest.born)
	return nil
}

// begin begins a file.
func (f *files) begin(now time.Time) error {
	f.shut()
	if err := unless(fs.ErrExist, os.Mkdir(f.dir, 0o700)); err != nil {
		return err
	}
	all, err := f.list()
	if err != nil {
		return err
	}
	born := now.UnixMilli()
	if len(all) > 0 {
		born = max(born, all[len(all)-1].born+1)
	}
	path := filepath.Join(f.dir, fmt.Sprintf("%016d%s", born, suffix))
	if f.out, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		f.out = nil
		return err
	}
	f.size, f.born = 0, now
	return nil
}

// unless gives err, but not one that is another.
func unless(other, err error) error {
	if errors.Is(err, other) {
		return nil
	}
	return err
}

// shut ends the file that is written.
func (f *files) shut() {
	if f.out != nil {
		_ = f.out.Close() // nothing was promised
		f.out = nil
	}
}

func (f *files) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut()
}

// trim removes files that are too old, and the oldest as long as all together are too large.
func (f *files) trim(limits Limits, now time.Time) error {
	all, err := f.list()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var total int64
	for _, one := range all {
		total += one.size
	}
	for _, one := range all {
		if total <= limits.Bytes && limits.Bytes > 0 && (limits.Age == 0 || now.Sub(one.last) <= limits.Age) {
			continue
		}
		if f.out != nil && one.path == f.out.Name() {
			f.shut()
		}
		if err := unless(fs.ErrNotExist, os.Remove(one.path)); err != nil {
			return err
		}
		total -= one.size
	}
	return nil
}

// list gives the files, the oldest first. What else lies in the directory is nobody's business here.
func (f *files) list() ([]file, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var all []file
	for _, entry := range entries {
		digits, ours := strings.CutSuffix(entry.Name(), suffix)
		born, err := strconv.ParseInt(digits, 10, 64)
		if !ours || err != nil || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // removed meanwhile
		}
		all = append(all, file{filepath.Join(f.dir, entry.Name()), born, info.Size(), info.ModTime()})
	}
	slices.SortFunc(all, func(a, b file) int { return cmp.Compare(a.born, b.born) })
	return all, nil
}
