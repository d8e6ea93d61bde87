// Command actor is the program of random processes in the tests with real daemons. It asks the test what the attempt gives
// (package fleet), appends a line to a file, and ends as it is told. It draws and compiles nothing itself: thousands of it run in
// a test.
//
//	actor FILE DIR SOCKET
//
// An execution holds a lock in DIR while it runs: one that finds it held runs beside
// another attempt of itself, and says so in its line.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"fmqm/test/sites/actor/part"
)

func main() {
	if err := act(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "actor:", err)
		os.Exit(99)
	}
}

func act(file, dir, socket string) error {
	line := part.Line{
		Instance: os.Getenv("FMQM_INSTANCE"), Activity: os.Getenv("FMQM_ACTIVITY"), Scope: os.Getenv("FMQM_SCOPE"), Key: os.Getenv("FMQM_IDEMPOTENCY_KEY"),
	}
	var err error
	if line.Iteration, err = strconv.Atoi(os.Getenv("FMQM_ITERATION")); err != nil {
		return err
	}
	if line.Attempt, err = strconv.Atoi(os.Getenv("FMQM_ATTEMPT")); err != nil {
		return err
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if line.Beside, err = beside(filepath.Join(dir, line.Key)); err != nil {
		return err
	}
	line.Input = string(input)
	told, err := ask(socket, part.Cue{Process: os.Getenv("FMQM_PROCESS"), Line: line})
	if err != nil {
		return err
	}
	line.Input = told.Input
	if err := note(file, line); err != nil {
		return err
	}
	if told.Dies {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	fmt.Print(told.Output)
	os.Exit(told.RC)
	return nil
}

// ask asks the test what the attempt gives.
func ask(socket string, c part.Cue) (told part.Part, err error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return told, err
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(c); err != nil {
		return told, err
	}
	if err := json.NewDecoder(conn).Decode(&told); err != nil {
		return told, err
	}
	if told.Error != "" {
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
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	held = append(held, lock)
	return false, err
}

// held are locks: not closed before the process ends.
var held []*os.File

// note appends the line in one write, so that lines of several actors do not mix.
func note(file string, line part.Line) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}
