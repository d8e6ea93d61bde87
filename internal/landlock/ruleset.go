package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Versions of the kernel's interface: what came with which.
const (
	oldest      = 2 // files can be moved between directories
	abiTruncate = 3
	abiScope    = 6
)

// version is that of the running kernel; 0: it has no Landlock, or it is switched off.
func version() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// ruleset is what is allowed behind a fence: all that does not lead to its targets.
type ruleset struct {
	fd     int
	stamps []stamp
	made   time.Time
}

const (
	ofFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	ofDirs  = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// newRuleset looks at the directories as they are now.
func newRuleset(abi int, w *way) (*ruleset, error) {
	files := uint64(ofFiles)
	attr := unix.LandlockRulesetAttr{}
	if abi >= abiTruncate {
		files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= abiScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
	}
	switch {
	case len(w.directories) > 0:
		attr.Access_fs = files | ofDirs
	case abi < abiScope: // something has to be ruled, and nobody makes that without privileges
		attr.Access_fs = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR
	}
	size := unsafe.Offsetof(attr.Access_net) // all that the oldest kernel knows
	if abi >= abiScope {
		size = unsafe.Sizeof(attr)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, fmt.Errorf("make the rules of Landlock: %w", errno)
	}
	r := &ruleset{fd: int(fd), stamps: w.stamps, made: time.Now()}
	var err error
	if len(w.directories) == 0 && attr.Access_fs != 0 {
		err = r.allow("/", attr.Access_fs, 0)
	}
	for _, dir := range w.directories {
		err = errors.Join(err, r.allowBeside(dir, w.inside[dir], files))
	}
	for _, path := range w.readOnly {
		err = errors.Join(err, r.allow(path, unix.LANDLOCK_ACCESS_FS_READ_FILE, unix.LANDLOCK_ACCESS_FS_READ_FILE))
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// allowBeside allows what is in a directory, but for some names.
func (r *ruleset) allowBeside(dir string, except []string, files uint64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list what stands beside it: %w", err)
	}
	if len(entries) > maxBeside {
		return fmt.Errorf("%s has %d entries, and at most %d can be allowed one by one", dir, len(entries), maxBeside)
	}
	for _, e := range entries {
		if slices.Contains(except, e.Name()) || e.Type()&os.ModeSymlink != 0 { // links are judged by where they lead
			continue
		}
		if err := r.allow(filepath.Join(dir, e.Name()), files|ofDirs, files); err != nil {
			return err
		}
	}
	return nil
}

// allow allows what is at path: files takes what is no directory.
func (r *ruleset) allow(path string, rights, files uint64) error {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil // gone, or not to be reached anyway
	case err != nil:
		return fmt.Errorf("allow %s: %w", path, err)
	}
	defer unix.Close(at)
	var s unix.Stat_t
	if err := unix.Fstat(at, &s); err != nil {
		return fmt.Errorf("allow %s: %w", path, err)
	}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights = files
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(at)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
}

// still says whether the rules are those of the directories as they are now.
func (r *ruleset) still(w *way) bool {
	return slices.Equal(r.stamps, w.stamps) && time.Since(r.made) < freshFor
}

func (r *ruleset) close() { _ = unix.Close(r.fd) }
