package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// directories says where the daemon could not make its store or its socket if it ran as
// this process's user: warnings, since it may run as another one.
func (c *Config) directories() Problems {
	socket := filepath.Dir(c.Socket)
	var all Problems
	for _, d := range []struct {
		key      string
		standard bool
		what     string
		remedy   string
	}{
		{"data", c.Data == DefaultData, notWritable(c.Data, true), "let the daemon's user own it, or set `data` to another directory"},
		{"socket", c.Socket == DefaultSocket, notWritable(socket, false), "make it for the daemon's user, or set `socket` to a path in another directory"},
	} {
		if d.what == "" || d.standard && underUnit() {
			continue
		}
		p := Problem{Where: c.Path, What: d.key + ": " + d.what, Remedy: d.remedy}
		p.Line, p.Column = c.Place(d.key)
		all = append(all, p)
	}
	return all
}

// notWritable says why this process's user cannot write into a directory; empty: it can.
// Where it would be made, with those above it, the nearest one that is there counts.
func notWritable(dir string, made bool) string {
	at := dir
	info, err := os.Stat(at)
	for made && errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	if err == nil && !info.IsDir() {
		return at + " is not a directory"
	}
	if err == nil {
		err = unix.Faccessat(unix.AT_FDCWD, at, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "there is no directory " + dir
	case at != dir:
		return fmt.Sprintf("user %s cannot make %s, because %s cannot be written: %v", me(), dir, at, cause(err))
	}
	return fmt.Sprintf("user %s cannot write into %s: %v", me(), dir, cause(err))
}

// cause is an error without the path, which is said already.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// me is the name of this process's user, or the number where it has none.
func me() string {
	id := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// underUnit says whether a unit of this project is installed: it makes the default
// directories, for the daemon's user, when it starts the daemon.
func underUnit() bool {
	for _, units := range []string{"/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		if found, err := filepath.Glob(units + "/fmqmd*.service"); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
