package launch_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"fmqm/internal/launch"
	"fmqm/internal/skip"
)

// built is the small stage's file.
var built = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "fmqm-launch-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("go", "build", "-o", dir, "fmqm/cmd/fmqm-launch").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, launch.Small))
})

// small puts the small stage into a directory, beside an executable.
func small(t *testing.T) (own, file string) {
	t.Helper()
	dir := t.TempDir()
	own, file = filepath.Join(dir, "fmqmd"), filepath.Join(dir, launch.Small)
	stage, err := built()
	if err = errors.Join(err, os.WriteFile(file, stage, 0o700), os.WriteFile(own, nil, 0o700)); err != nil { //nolint:gosec // it is to be executed
		t.Fatal(err)
	}
	return own, file
}

// Programs start through the small stage as they do through the daemon itself, also when
// another file has taken its place.
func TestTheSmallStage(t *testing.T) {
	own, file := small(t)
	opened := launch.OpenSmall(own, file)
	if opened == nil {
		t.Fatal("it is not used")
	}
	defer opened.Close()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	defer launch.Through(opened)()
	t.Run("becomes the program", TestTheStageBecomesTheProgram)
	t.Run("becomes another user", TestTheStageBecomesAnotherUser)
	t.Run("steps that fail", TestStepsThatFail)
	t.Run("whatever files are open", func(t *testing.T) {
		for range 100 { // of each number is once what has to be moved out of the way
			f, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd, out, err := begin(t, launch.Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "ls /proc/$$/fd; true"}}, nil) // the shell waits for ls, and has no file for that
			if err == nil {
				err = cmd.Wait()
			}
			if err != nil || out.String() != "0\n1\n2\n" {
				t.Fatalf("with %s open: %v, files %q", f.Name(), err, out)
			}
		}
	})
}

// Whoever could put a file beside the daemon would be every program: one that is not as the
// daemon's own file is left alone, and so is one that does something else.
func TestAFileThatIsNoSmallStage(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"not there":            os.Remove,
		"others may write it":  func(file string) error { return os.Chmod(file, 0o757) },
		"a group may write it": func(file string) error { return os.Chmod(file, 0o775) },
		"not executable":       func(file string) error { return os.Chmod(file, 0o600) },
		"somebody else's":      func(file string) error { return os.Chown(file, 12345, 12345) },
		"a link": func(file string) error {
			if err := os.Rename(file, file+".real"); err != nil {
				return err
			}
			return os.Symlink(file+".real", file)
		},
		"a directory": func(file string) error {
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.Mkdir(file, 0o700)
		},
		"another version": func(file string) error {
			return os.WriteFile(file, []byte("#!/bin/sh\necho fmqm-launch 0\n"), 0o700)
		},
		"another program": func(file string) error {
			return os.WriteFile(file, []byte("#!/bin/sh\nexit 1\n"), 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "somebody") && os.Geteuid() != 0 {
				skip.Untested(t, "only root can give a file away")
			}
			own, file := small(t)
			if err := change(file); err != nil {
				t.Fatal(err)
			}
			if opened := launch.OpenSmall(own, file); opened != nil {
				t.Errorf("it is used: %s", opened.Name())
			}
		})
	}
}

// A daemon that has its capabilities from its own file becomes other users through that file only.
func TestADaemonWithCapabilitiesOfItsOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.Untested(t, "only root can give a file capabilities")
	}
	own, file := small(t)
	setuid := []byte{0, 0, 0, 2, 1 << unix.CAP_SETUID, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // struct vfs_cap_data, version 2
	if err := unix.Setxattr(own, "security.capability", setuid, 0); err != nil {
		t.Fatal(err)
	}
	if opened := launch.OpenSmall(own, file); opened != nil {
		t.Errorf("it is used: %s", opened.Name())
	}
}

// Who runs it is told what it is for.
func TestSomebodyRunsTheSmallStage(t *testing.T) {
	_, file := small(t)
	out, err := exec.CommandContext(t.Context(), file).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "fmqmd starts this one") {
		t.Errorf("%v\n%s", err, out)
	}
}
