package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"fmqm/internal/cgroup"
	"fmqm/internal/launch/stage"
)

// What is asked of a stage; see package stage.
type (
	Program = stage.Program
	User    = stage.User
)

// ErrDied is wrapped where a stage died before it became the program: the machine has too
// little memory or too few processes for it, or somebody killed it.
var ErrDied = errors.New("its start ended early")

// Error is why a program was not started: at which step, and how.
type Error struct {
	Step string
	Path string // of StepDir and StepExec
	Err  error  // a syscall.Errno
}

func (e *Error) Error() string {
	return strings.TrimSpace(e.Step+" "+e.Path) + ": " + e.Err.Error()
}
func (e *Error) Unwrap() error { return e.Err }

// Start starts a command as a program, in a process group of its own, and in a control
// group with at most so many tasks. cmd has environment, input, outputs and how it is
// ended; what else it has is replaced. rules are those of Landlock; nil: none. After an
// error cmd has been waited for.
func Start(cmd *exec.Cmd, p Program, group *cgroup.Group, tasks int, rules *os.File) error {
	p.Rules = rules != nil
	request, err := p.Encode()
	if err != nil {
		return err
	}
	theirs, ask, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ask.Close()
	answers, report, err := os.Pipe()
	if err != nil {
		return errors.Join(err, theirs.Close())
	}
	defer answers.Close()
	files := []*os.File{theirs, report}
	if rules != nil {
		files = append(files, rules)
	}
	cmd.Args, cmd.Dir = []string{stage.Name}, ""
	through(cmd, small(), files...)
	err = group.Start(tasks, func(fd int) (int, error) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, UseCgroupFD: fd >= 0, CgroupFD: fd}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	_, _ = theirs.Close(), report.Close()
	if cmd.Process == nil {
		return err
	}
	if err == nil {
		err = asked(ask, request, answers, &p)
	} else {
		_ = ask.Close() // a stage that is asked nothing ends
	}
	if err != nil {
		return errors.Join(err, ended(cmd.Wait()))
	}
	return nil
}

// asked asks a stage, and reads what came of it.
func asked(ask io.WriteCloser, request string, answers io.Reader, p *Program) error {
	_, err := io.WriteString(ask, request)
	err = errors.Join(err, ask.Close())
	report, readErr := io.ReadAll(answers)
	if err = errors.Join(err, readErr); err != nil && len(report) == 0 {
		return fmt.Errorf("%w: %w", ErrDied, err)
	}
	text, went := strings.CutPrefix(string(report), string(stage.Started))
	if text == "" && went {
		return nil
	}
	step, number, _ := strings.Cut(text, "\x00")
	errno, err := strconv.Atoi(number)
	if err != nil {
		return ErrDied
	}
	at := &Error{Step: step, Err: syscall.Errno(errno)}
	switch step {
	case stage.StepDir:
		at.Path = p.Dir
	case stage.StepExec:
		at.Path = p.Path
	}
	return at
}

// ended is how a stage has ended that was not asked to become anything, or could not: of
// interest only where a signal or the runtime of Go ended it.
func ended(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	return err
}
