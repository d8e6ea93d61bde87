package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Fence is what threads are kept from. It is safe for concurrent use. A nil *Fence is
// around nothing.
type Fence struct {
	hidden, readOnly []string
	abi              int

	mu    sync.Mutex
	rules *ruleset // as the directories were when it was made; nil: none yet
}

// freshFor is how long rules are used again while the directories do not change: what is
// mounted meanwhile is not seen.
const freshFor = time.Second

// maxBeside is how many entries a directory on the way may have: each costs some
// microseconds when rules are made. Tests have less.
var maxBeside = 10_000

// ErrUnsupported is wrapped where the kernel has no Landlock, or too old a one.
var ErrUnsupported = errors.New("this kernel cannot keep programs away from files (Linux 5.19 or later can, where Landlock is switched on)")

// New makes a fence around files and directories that are hidden, and around others that
// can only be read; some may not be there. Without any it keeps programs from looking into
// processes outside, and from each other. The error says why this user's programs cannot
// be kept from that.
func New(hidden, readOnly []string) (*Fence, error) {
	abi := version()
	if abi < oldest {
		return nil, ErrUnsupported
	}
	if os.Geteuid() == 0 && len(hidden) > 0 {
		return nil, errors.New("root can read and change every file")
	}
	f := &Fence{abi: abi, hidden: slices.Clone(hidden), readOnly: slices.Clone(readOnly)}
	way, err := f.way()
	if err != nil {
		return nil, err
	}
	for _, dir := range way.directories {
		if unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS) == nil {
			return nil, fmt.Errorf("the rules would keep this user from making files in %s, which it can now: put %s below a directory that only root can write to", dir, way.below(dir))
		}
	}
	if f.rules, err = newRuleset(abi, way); err != nil {
		return nil, err
	}
	return f, nil
}

// Gaps says what this kernel does not keep from programs behind a fence.
func (f *Fence) Gaps() []string {
	var gaps []string
	if f == nil {
		return nil
	}
	if f.abi < abiTruncate {
		gaps = append(gaps, "cut its files short (Linux 6.2 or later prevents it)")
	}
	if f.abi < abiScope {
		gaps = append(gaps, "send signals to the daemon (Linux 6.12 or later prevents it)")
	}
	return gaps
}

// Rules gives the rules of Landlock that are the fence, as what lies beside it is now: a
// file, which the caller closes; nil for a nil *Fence. Whoever is put under them has
// given up new privileges before.
func (f *Fence) Rules() (*os.File, error) {
	if f == nil {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	way, err := f.way()
	if err != nil {
		return nil, err
	}
	if f.rules == nil || !f.rules.still(way) {
		fresh, err := newRuleset(f.abi, way)
		if err != nil {
			return nil, err
		}
		if f.rules != nil {
			f.rules.close()
		}
		f.rules = fresh
	}
	fd, err := unix.FcntlInt(uintptr(f.rules.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("pass on the rules of Landlock: %w", err)
	}
	return os.NewFile(uintptr(fd), "landlock"), nil
}

// Close gives back what the fence holds open.
func (f *Fence) Close() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rules != nil {
		f.rules.close()
		f.rules = nil
	}
}

// way is where what the fence is around lies.
type way struct {
	targets     []string            // without links
	readOnly    []string            // of them
	directories []string            // on the way to them, the root first; none is in a target
	inside      map[string][]string // by directory: names that lead on to targets
	stamps      []stamp             // of directories
}

// stamp tells whether a directory is as it was.
type stamp struct {
	device, inode uint64
	links         uint64
	changed       unix.Timespec
}

func (f *Fence) way() (*way, error) {
	w := &way{inside: map[string][]string{}}
	for i, path := range slices.Concat(f.hidden, f.readOnly) {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("%q is not an absolute path", path)
		}
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // there is nothing to keep from anybody
		}
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", path, err)
		}
		if real == "/" {
			return nil, errors.New("programs cannot be kept away from the root directory")
		}
		w.targets = append(w.targets, real)
		if i >= len(f.hidden) {
			w.readOnly = append(w.readOnly, real)
		}
	}
	slices.Sort(w.targets)
	w.targets = slices.CompactFunc(slices.Compact(w.targets), func(a, b string) bool { return within(b, a) })
	for _, target := range w.targets {
		for at := target; at != "/"; {
			dir, name := filepath.Split(at)
			at = filepath.Clean(dir)
			if !slices.Contains(w.inside[at], name) {
				w.inside[at] = append(w.inside[at], name)
			}
		}
	}
	for dir := range w.inside {
		w.directories = append(w.directories, dir)
	}
	slices.Sort(w.directories)
	for _, dir := range w.directories {
		var s unix.Stat_t
		if err := unix.Stat(dir, &s); err != nil {
			return nil, fmt.Errorf("look at %s: %w", dir, err)
		}
		w.stamps = append(w.stamps, stamp{s.Dev, s.Ino, uint64(s.Nlink), s.Mtim})
	}
	return w, nil
}

// below names what lies below a directory on the way.
func (w *way) below(dir string) string {
	var found []string
	for _, t := range w.targets {
		if within(t, dir) {
			found = append(found, t)
		}
	}
	return strings.Join(found, " and ")
}

// within says whether path is dir or lies in it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
