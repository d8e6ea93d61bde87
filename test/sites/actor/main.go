// Command actor is the program of random processes in the tests with real daemons. It asks the test what the attempt gives
// (package fleet), appends a line to a file, and ends as it is told. It draws and compiles nothing itself, and does without
// the packages that take long to begin with: thousands of it run in a test.
//
//	actor FILE DIR SOCKET
//
// An execution holds a lock in DIR while it runs: one that finds it held runs beside
// another attempt of itself, and says so in its line.
package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"

	"fmqm/test/sites/actor/part"
)

func main() {
	if err := act(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		_, _ = os.Stderr.WriteString("actor: " + err.Error() + "\n")
		os.Exit(99)
	}
}

func act(file, dir, socket string) error {
	c := part.Cue{Process: os.Getenv("FMQM_PROCESS"), Line: part.Line{
		Instance: os.Getenv("FMQM_INSTANCE"), Activity: os.Getenv("FMQM_ACTIVITY"), Scope: os.Getenv("FMQM_SCOPE"), Key: os.Getenv("FMQM_IDEMPOTENCY_KEY"),
	}}
	var err error
	if c.Line.Iteration, err = strconv.Atoi(os.Getenv("FMQM_ITERATION")); err != nil {
		return err
	}
	if c.Line.Attempt, err = strconv.Atoi(os.Getenv("FMQM_ATTEMPT")); err != nil {
		return err
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	c.Line.Input = string(input)
	if c.Line.Beside, err = beside(dir + "/" + c.Line.Key); err != nil {
		return err
	}
	told, err := ask(socket, &c)
	if err != nil {
		return err
	}
	if err := note(file, told.Line); err != nil {
		return err
	}
	if told.Dies {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if _, err := os.Stdout.WriteString(told.Output); err != nil {
		return err
	}
	os.Exit(told.RC)
	return nil
}

// ask asks the test what the attempt gives.
func ask(socket string, c *part.Cue) (told part.Part, err error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return told, err
	}
	conn := os.NewFile(uintptr(fd), "the test")
	defer conn.Close()
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return told, err
	}
	if _, err := conn.WriteString(c.Text()); err != nil {
		return told, err
	}
	if err := syscall.Shutdown(fd, syscall.SHUT_WR); err != nil {
		return told, err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return told, err
	}
	told, ok := part.ReadPart(string(answer))
	switch {
	case !ok:
		return told, errors.New("the test has told nothing")
	case told.Error != "":
		return told, errors.New(told.Error)
	}
	return told, nil
}

// beside takes the execution's lock until the process ends.
func beside(path string) (bool, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	held = append(held, lock)
	return false, err
}

// held are locks: not closed before the process ends.
var held []*os.File

// note appends the line in one write, so that lines of several actors do not mix.
func note(file, line string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}
