package program

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fmqm/internal/secret"
)

// Lack is what keeps a program from being started on this machine as it is now.
type Lack struct{ What, Remedy string }

// Lacks says what the program needs and does not find: its user, file, interpreter,
// directory or secrets. It looks as this process's user, or as Spec.User where that is
// what counts; whoever is root finds more than the daemon will.
func (s *Spec) Lacks() []Lack {
	var all []Lack
	if s.Kind == KindExec {
		all = s.lacks()
	}
	names := make([]string, 0, len(s.Secrets))
	for name := range s.Secrets {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		_, err := secret.Read(s.Secrets[name])
		var exposed *secret.Exposed
		switch {
		case errors.As(err, &exposed):
			all = append(all, Lack{fmt.Sprintf("the secret %s: %s", name, exposed.What), exposed.Remedy()})
		case err != nil:
			all = append(all, Lack{fmt.Sprintf("the secret %s: %v", name, err), "write one line into the file, and let the daemon's user read it"})
		}
	}
	return all
}

func (s *Spec) lacks() []Lack {
	var who *account
	if s.User != "" {
		var err error
		if who, err = lookUp(s.User); err != nil {
			what, remedy, _ := strings.Cut(err.Error(), ": ")
			return []Lack{{what, remedy}}
		}
	}
	var all []Lack
	p, err := newCommand(*s, Options{}.withDefaults())
	if err != nil {
		return nil // the configuration has said it
	}
	c := p.(*command)
	path, err := c.find()
	if err != nil {
		return []Lack{{fmt.Sprintf("no executable %q in %s", c.argv[0], c.path), "install it, or write its whole path in `exec`"}}
	}
	user := "the daemon's user"
	if who != nil {
		user = "user " + who.name
	}
	if err := executable(path, who); err != nil {
		remedy := "install it, or correct `exec`"
		if errors.Is(err, fs.ErrPermission) {
			remedy = "let " + user + " execute it (chmod +x, and x for the directories above it)"
		}
		all = append(all, Lack{fmt.Sprintf("%s cannot be executed: %v", path, bare(err)), remedy})
	} else if interpreter := interpreterOf(path); interpreter != "" && executable(interpreter, who) != nil {
		all = append(all, Lack{fmt.Sprintf("%s names %s as its interpreter, which cannot be executed", path, interpreter), "install it, or correct the first line of the script"})
	}
	if dir := c.directory(who); dir != "" && reach(dir, who, unix.X_OK) != nil {
		all = append(all, Lack{fmt.Sprintf("its `dir` %s is not a directory, or %s cannot enter it", dir, user), "make it, or correct `dir`"})
	} else if dir != "" && !isDir(dir) {
		all = append(all, Lack{fmt.Sprintf("its `dir` %s is not a directory", dir), "correct `dir`"})
	}
	return all
}

// executable says why a file cannot be executed.
func executable(path string, who *account) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a directory")
	case info.Mode()&0o111 == 0: // root may then not either
		return fs.ErrPermission
	}
	return reach(path, who, unix.X_OK)
}

// reach says why a user, or this process's, does not get at a file in a way, such as
// unix.X_OK, by the rights of it and of the directories above it.
func reach(path string, who *account, way uint32) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if !who.other() {
		return unix.Faccessat(unix.AT_FDCWD, real, way, unix.AT_EACCESS)
	}
	for at := real; ; at = filepath.Dir(at) {
		var s unix.Stat_t
		if err := unix.Stat(at, &s); err != nil {
			return err
		}
		rights := s.Mode
		switch {
		case s.Uid == who.uid:
			rights >>= 6
		case s.Gid == who.gid || slices.Contains(who.groups, s.Gid):
			rights >>= 3
		}
		if rights&way != way {
			return fs.ErrPermission
		}
		if at == "/" {
			return nil
		}
		way = unix.X_OK // of the directories above
	}
}

// interpreterOf gives the program in the first line of a script; empty: it is none.
func interpreterOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	rest, is := strings.CutPrefix(string(line), "#!")
	if fields := strings.Fields(rest); is && len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// bare is an error without the path that is said already.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
