package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree is the part of the tree that was delegated to this process. It is safe for
// concurrent use. A nil *Tree has no groups.
type Tree struct {
	dir    string // of the delegated group
	limits error  // why tasks cannot be limited; nil: they can
	direct bool   // processes can be started in a group, and need not be moved
}

// Groups of the tree.
const (
	// leaf is the group that this process moves into: one that has groups below it cannot
	// limit them while it has processes itself.
	leaf = "daemon"
	// branch has the groups of programs. All of them together may have fewer tasks than the
	// tree, so that this process can always have its threads: it dies without.
	branch = "programs"
	// reserve is how many tasks fewer.
	reserve = 256
)

// ErrNotDelegated is wrapped where this process has no part of the tree for itself.
var ErrNotDelegated = errors.New("no control group is delegated to the daemon (systemd: Delegate=yes)")

// Open finds the delegated part of the tree and moves this process into a group of its
// own in it.
func Open() (*Tree, error) {
	own, err := ownGroup()
	if err != nil {
		return nil, err
	}
	if path.Base(own) == leaf {
		own = path.Dir(own) // moved already
	}
	dir, err := directory(own)
	if err != nil {
		return nil, err
	}
	if !delegated(dir) {
		return nil, ErrNotDelegated
	}
	t := &Tree{dir: dir, direct: startsInGroups()}
	self := filepath.Join(dir, leaf)
	for _, made := range []string{self, t.programs()} {
		if err := os.Mkdir(made, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("use the delegated control group: %w", err)
		}
	}
	if _, err := os.Stat(filepath.Join(self, "cgroup.kill")); err != nil {
		return nil, errors.New("this kernel cannot end a control group (Linux 5.14 can)")
	}
	if err := write(filepath.Join(self, "cgroup.procs"), strconv.Itoa(os.Getpid())); err != nil {
		return nil, fmt.Errorf("use the delegated control group: %w", err)
	}
	t.limits = t.enableLimits()
	return t, nil
}

// Limits says why groups cannot have a limit of tasks; nil: they can.
func (t *Tree) Limits() error { return t.limits }

// Dir is where the tree is: who can write there can leave a group.
func (t *Tree) Dir() string { return t.dir }

// enableLimits has the groups below count their tasks.
func (t *Tree) enableLimits() error {
	has, err := os.ReadFile(filepath.Join(t.dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(string(has)), "pids") {
		return errors.New("the pids controller is not delegated")
	}
	if err := write(filepath.Join(t.dir, "cgroup.subtree_control"), "+pids"); err != nil {
		return err
	}
	all, err := os.ReadFile(filepath.Join(t.dir, "pids.max"))
	if n, e := strconv.Atoi(strings.TrimSpace(string(all))); err == nil && e == nil { // else "max"
		err = write(filepath.Join(t.programs(), "pids.max"), strconv.Itoa(max(n-reserve, n/2)))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the root of a tree has no limit
		return err
	}
	return write(filepath.Join(t.programs(), "cgroup.subtree_control"), "+pids")
}

func (t *Tree) programs() string { return filepath.Join(t.dir, branch) }

// Group names a group; it need not be there. The name has letters, digits, '.', '_', '-'.
func (t *Tree) Group(name string) *Group {
	if t == nil {
		return nil
	}
	return &Group{tree: t, name: name, dir: filepath.Join(t.programs(), name)}
}

// Names gives the groups that are there.
func (t *Tree) Names() ([]string, error) {
	if t == nil {
		return nil, nil
	}
	entries, err := os.ReadDir(t.programs())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Of names the group that a process is in, or in a group below it; empty: it is in none,
// or has ended. It asks the groups: where the daemon sees its own user's processes only,
// /proc would not say it of another one's.
func (t *Tree) Of(pid int) string {
	names, err := t.Names()
	if err != nil {
		return ""
	}
	for _, name := range names {
		if has(filepath.Join(t.programs(), name), pid) {
			return name
		}
	}
	return ""
}

func has(dir string, pid int) bool {
	if there, err := members(dir); err == nil && slices.Contains(there, pid) {
		return true
	}
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() && has(filepath.Join(dir, e.Name()), pid) })
}

// ownGroup gives the group of this process, as the kernel names it.
func ownGroup() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("look for the control group: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if at, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return at, nil
		}
	}
	return "", fmt.Errorf("%w: this machine has no cgroup v2", ErrNotDelegated)
}

// directory gives the directory of a group, where the tree is mounted: the last mount
// that shows it hides those before it, and can be the only one that is not read-only.
func directory(group string) (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("look for the control groups: %w", err)
	}
	for _, line := range slices.Backward(slices.Collect(strings.Lines(string(mounts)))) {
		// ID PARENT DEVICE ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 6 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		root, point := unescape(fields[3]), unescape(fields[4])
		below, err := filepath.Rel(root, group)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue
		}
		dir := filepath.Join(point, below)
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: cgroup v2 is not mounted where this process sees it", ErrNotDelegated)
}

// unescape reads a name of mountinfo, where blanks are \040.
func unescape(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+3 < len(name) {
			if n, err := strconv.ParseUint(name[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// delegated reads the mark that systemd gives to groups that it delegates.
func delegated(dir string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var value [1]byte
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && n == 1 && value[0] == '1' {
			return true
		}
	}
	return false
}

// startsInGroups says whether there is clone3(2): systemd takes it away where
// RestrictNamespaces= is set, since its arguments cannot be looked at.
func startsInGroups() bool {
	_, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
	return errno != unix.ENOSYS && errno != unix.EPERM
}

func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
