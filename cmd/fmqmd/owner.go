package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"fmqm/cmd/internal/cli"
)

// owner is whose a directory is.
type owner struct{ uid, gid int }

// ownerOf gives the owner of dir, or of where it is to be made: the nearest directory
// above that is there.
func ownerOf(dir string) (owner, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return owner{}, err
	}
	info, err := os.Stat(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	if err != nil {
		return owner{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}, fmt.Errorf("%s: its owner is not known", dir)
	}
	return owner{int(stat.Uid), int(stat.Gid)}, nil
}

// name is the owner's name, or the number where that has none.
func (o owner) name() string {
	if u, err := user.LookupId(strconv.Itoa(o.uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(o.uid)
}

// asOwner runs f as the user to whom the data directory dir belongs, where root runs this
// and it is another's: the daemon runs as that user, and could not open what root has
// written there, were it only what is left when this is killed. Files that f needs of root
// are opened before. Only one call may run at a time.
func asOwner(dir string, f func() error) (err error) {
	if os.Geteuid() != 0 {
		return f()
	}
	o, err := ownerOf(dir)
	if err != nil {
		return err
	}
	if o.uid == 0 {
		return f()
	}
	group := os.Getegid()
	if err := syscall.Setresgid(-1, o.gid, -1); err != nil {
		return fmt.Errorf("act as group %d, which %s belongs to: %w", o.gid, dir, err)
	}
	if err := syscall.Setresuid(-1, o.uid, -1); err != nil {
		return errors.Join(fmt.Errorf("act as user %s, who owns %s: %w", o.name(), dir, err), syscall.Setresgid(-1, group, -1))
	}
	defer func() {
		err = errors.Join(err, syscall.Setresuid(-1, 0, -1), syscall.Setresgid(-1, group, -1))
	}()
	if err = f(); errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w (this was done as user %s, who owns %s)", err, o.name(), dir)
	}
	return err
}

// notForRoot refuses that root runs a daemon on another user's data directory: that user's
// daemon could not read what it writes.
func notForRoot(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	o, err := ownerOf(dir)
	if _, missing := os.Stat(dir); err != nil || missing != nil || o.uid == 0 {
		return nil //nolint:nilerr // who opens the store says it
	}
	return &cli.Error{Exit: cli.ExitRefused, Text: fmt.Sprintf("the data directory %s belongs to user %s, who could not read what root writes there: "+
		"start the daemon as that user (systemctl start fmqmd, or runuser -u %s -- fmqmd run ...), or give the directory to root (chown -R root %s)", dir, o.name(), o.name(), dir)}
}
