package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Group is a group of the tree, for one program. Its methods are safe for concurrent use,
// but for Start. A nil *Group is none: nothing is in it.
type Group struct {
	tree *Tree
	name string
	dir  string
}

// Name is the group's.
func (g *Group) Name() string { return g.name }

// Start makes the group, with at most so many tasks (processes and threads; 0: no limit
// of its own), and has start start one process in it: where fd is not negative, in the
// control group that fd is (clone3), else anywhere, and it is moved when start returns: it
// has to wait for that before it starts another one. start gives the process's number.
// After an error it may run.
func (g *Group) Start(tasks int, start func(fd int) (pid int, err error)) error {
	if g == nil {
		_, err := start(-1)
		return err
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a control group: %w", err)
	}
	err := g.start(tasks, start)
	if err != nil {
		_ = g.Remove()
	}
	return err
}

func (g *Group) start(tasks int, start func(fd int) (pid int, err error)) error {
	if tasks > 0 && g.tree.limits == nil {
		if err := write(filepath.Join(g.dir, "pids.max"), strconv.Itoa(tasks)); err != nil {
			return fmt.Errorf("limit a control group: %w", err)
		}
	}
	if !g.tree.direct {
		pid, err := start(-1)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(g.dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("move a program to its control group: %w", err)
		}
		return nil
	}
	dir, err := os.Open(g.dir)
	if err != nil {
		return fmt.Errorf("open a control group: %w", err)
	}
	defer dir.Close()
	_, err = start(int(dir.Fd()))
	return err
}

// members gives the processes of a group.
func members(dir string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("look into a control group: %w", err)
	}
	var all []int
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("look into a control group: %w", err)
		}
		all = append(all, pid)
	}
	return all, nil
}

// Kill kills all that is in the group, and does not wait for it.
func (g *Group) Kill() error {
	if g == nil {
		return nil
	}
	err := write(filepath.Join(g.dir, "cgroup.kill"), "1")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil // there is no group
	}
	return err
}

// End kills all that is in the group, waits until it is gone, at most for limit, and
// removes the group. It says how many processes there were.
func (g *Group) End(limit time.Duration) (killed int, err error) {
	if g == nil {
		return 0, nil
	}
	there, err := members(g.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENODEV):
		return 0, nil
	case errors.Is(err, unix.EOPNOTSUPP): // threads of a program that made it so
	case err != nil:
		return 0, err
	}
	if err := g.Kill(); err != nil {
		return 0, fmt.Errorf("end a control group: %w", err)
	}
	if err := g.awaitEmpty(limit); err != nil {
		return len(there), err
	}
	return len(there), g.Remove()
}

// Populated says whether anything runs in the group.
func (g *Group) Populated() bool {
	if g == nil {
		return false
	}
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.events"))
	return err == nil && !empty(text)
}

func empty(events []byte) bool { return strings.Contains(string(events), "populated 0") }

// awaitEmpty returns when nothing is in the group any more. Zombies do not count. It looks
// several times before it gives up: on a machine that stalls the time alone says nothing.
func (g *Group) awaitEmpty(limit time.Duration) error {
	const looks = 5
	f, err := os.Open(filepath.Join(g.dir, "cgroup.events"))
	if err != nil {
		return err
	}
	defer f.Close()
	for deadline, look := time.Now().Add(limit), 0; ; look++ {
		text := make([]byte, 512)
		n, err := f.ReadAt(text, 0)
		if n == 0 {
			return fmt.Errorf("look into a control group: %w", err)
		}
		switch {
		case empty(text[:n]):
			return nil
		case look >= looks && time.Now().After(deadline):
			there, _ := members(g.dir)
			return fmt.Errorf("the processes %v were killed, but are still there: see what they wait for (ps, dmesg)", there)
		}
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}}, int(limit/looks/time.Millisecond)+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Remove removes the group, and those that a program has made in it. It fails while
// something runs there.
func (g *Group) Remove() error {
	if g == nil {
		return nil
	}
	return remove(g.dir)
}

func remove(dir string) error {
	err := os.Remove(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	entries, readErr := os.ReadDir(dir)
	if readErr != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
