// Command actor is the program of random processes in the tests with real daemons. It
// gives the result that was drawn for the process `drawn-N`, `steady-N` or `nested-N`, and appends a
// line to a file for each attempt.
//
//	actor FILE DIR
//
// An execution holds a lock in DIR while it runs: one that finds it held runs beside
// another attempt of itself, and says so in its line.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// Line is what is noted of an attempt; the test reads it.
type Line struct {
	Instance  string
	Activity  string
	Scope     string // as FMQM_SCOPE has it
	Iteration int
	Attempt   int
	Input     string
	Key       string
	Beside    bool // another attempt of the same execution was running
}

func main() {
	if err := act(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "actor:", err)
		os.Exit(99)
	}
}

func act(file, dir string) error {
	process := os.Getenv("FMQM_PROCESS")
	drawn, err := generate.Named(process)
	if err != nil {
		return err
	}
	a, err := activity(drawn.Text(strings.TrimSuffix(process, "@1")))
	if err != nil {
		return err
	}
	line := Line{
		Instance: os.Getenv("FMQM_INSTANCE"), Activity: a.Name, Scope: os.Getenv("FMQM_SCOPE"), Key: os.Getenv("FMQM_IDEMPOTENCY_KEY"),
	}
	if line.Iteration, err = strconv.Atoi(os.Getenv("FMQM_ITERATION")); err != nil {
		return err
	}
	if line.Attempt, err = strconv.Atoi(os.Getenv("FMQM_ATTEMPT")); err != nil {
		return err
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	input, err := container.DecodeJSON(a.Input, text)
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	canonical, err := container.EncodeJSON(input)
	if err != nil {
		return err
	}
	line.Input = string(canonical)
	if line.Beside, err = beside(filepath.Join(dir, line.Key)); err != nil {
		return err
	}
	if err := note(file, line); err != nil {
		return err
	}
	return end(a, line, drawn.Result(generate.Call{
		Activity: a.Name, Scope: line.Scope, Iteration: line.Iteration, Attempt: line.Attempt,
		Input: input, Output: a.Output, RCIsData: a.RCIsData,
	}))
}

func activity(text string) (*definition.Activity, error) {
	loaded, diagnostics := definition.Load("drawn", []byte(text))
	if len(loaded) != 1 {
		return nil, fmt.Errorf("definition: %v", diagnostics)
	}
	name := os.Getenv("FMQM_ACTIVITY")
	if place, ok := oracle.Places(loaded[0])[name]; ok {
		return place.Activity, nil
	}
	return nil, fmt.Errorf("no activity %q", name)
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
func note(file string, line Line) error {
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

// end ends as the result says. A failed attempt is killed by a signal, or writes what
// is no container.
func end(a *definition.Activity, line Line, r generate.Result) error {
	switch {
	case r.Err != "" && (line.Attempt%2 == 0 || a.NoOutput):
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case r.Err != "":
		fmt.Println("this is no container")
		return nil
	case !a.NoOutput:
		text, err := container.EncodeJSON(r.Output)
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	}
	os.Exit(int(r.RC))
	return nil
}
