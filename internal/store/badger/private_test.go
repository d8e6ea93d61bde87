package badger

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/internal/skip"
)

// readable gives what of a directory others than its owner may do anything with.
func readable(t *testing.T, dir string) (open []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if info, err := entry.Info(); err == nil && info.Mode()&0o077 != 0 {
			open = append(open, path+" "+info.Mode().String())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// TestFilesArePrivate: whatever the umask is, also those that Badger makes, while the
// store is open and behind its end.
func TestFilesArePrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	dir := t.TempDir()
	e := mustOpen(t, Options{Dir: filepath.Join(dir, "store"), Space: Space{Free: 2, Stop: 1, Reserve: 1 << 20}})
	if open := readable(t, filepath.Join(dir, "store")); len(open) > 0 || e.Exposed() != "" {
		t.Errorf("a new store: %v, %q", open, e.Exposed())
	}
	for n := range uint64(2 * memTableSize / (8 * childValue)) { // two logs are full, and tables written
		if err := e.Commit(e.Last()+1, childBatch(n)); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, e)
	if open := readable(t, filepath.Join(dir, "store")); len(open) > 0 {
		t.Errorf("behind its end: %v", open)
	}
	e = mustOpen(t, Options{Dir: filepath.Join(dir, "store")})
	if open := readable(t, filepath.Join(dir, "store")); len(open) > 0 {
		t.Errorf("opened: %v", open)
	}
	mustClose(t, e)
}

// TestFilesBecomePrivateWhileItIsOpen: a file that comes meanwhile, as Badger's do.
func TestFilesBecomePrivateWhileItIsOpen(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	dir := t.TempDir()
	e := mustOpen(t, Options{Dir: dir, Space: Space{Free: 2, Stop: 1}})
	defer mustClose(t, e)
	path := filepath.Join(dir, "000099.sst-made-by-a-compaction")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, path, unix.IN_ATTRIB); err != nil {
		t.Fatal(err)
	}
	for len(readable(t, path)) > 0 {
		var events [4096]byte
		if _, err := unix.Read(watch, events[:]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExistingStoreIsTightened at its open, and that it was readable is said.
func TestExistingStoreIsTightened(t *testing.T) {
	dir, w := image(t)
	for _, name := range names(t, dir) {
		if err := os.Chmod(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []os.FileMode{0o755, 0o750, 0o700} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		e := mustOpen(t, Options{Dir: dir})
		if open := readable(t, dir); len(open) > 0 {
			t.Errorf("mode %o: %v", mode, open)
		}
		if said := strings.Contains(e.Exposed(), "others could read "+dir+" (mode 07") && strings.Contains(e.Exposed(), "now only its owner can"); said != (mode != 0o700) {
			t.Errorf("mode %o: it says %q", mode, e.Exposed())
		}
		if err := w.at[inNewer].holds(e); err != nil {
			t.Error(err)
		}
		mustClose(t, e)
	}
}

// TestForeignDirectory: what belongs to somebody else can be used, not tightened, and it
// is said.
func TestForeignDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		skip.Untested(t, "a directory of another user: run as root")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for parent := filepath.Dir(dir); len(parent) > len(os.TempDir()); parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := &privacy{dir: dir}
	var exposed string
	var err error
	asNobody(t, func() { exposed, err = p.open() })
	if err != nil || !strings.Contains(exposed, "belongs to another user: take these rights away") {
		t.Errorf("%q, %v", exposed, err)
	}
}

// TestALookThatFails is made again the next time, though nothing has changed since.
func TestALookThatFails(t *testing.T) {
	if os.Getuid() != 0 {
		skip.Untested(t, "a directory that cannot be read for a while: run as root")
	}
	dir := t.TempDir()
	for parent := filepath.Dir(dir); len(parent) > len(os.TempDir()); parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file, long := filepath.Join(dir, "000001.sst"), time.Now().Add(-time.Hour)
	for _, err := range []error{
		os.WriteFile(file, nil, 0o600), os.Chmod(file, 0o644), os.Chown(file, nobody, nobody),
		os.Chown(dir, nobody, nobody), os.Chmod(dir, 0o300), os.Chtimes(dir, long, long),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p := &privacy{dir: dir}
	asNobody(t, func() {
		if err := p.look(); err == nil {
			t.Error("the directory can be read")
		}
	})
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	asNobody(t, p.again)
	if open := readable(t, file); len(open) > 0 {
		t.Error(open)
	}
}
