package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	shared "fmqm/cmd/internal/cli"
	"fmqm/definition"
)

// maxFile is the largest file that is read, in bytes.
const maxFile = 64 << 20

// standardInput is what FILE is called to mean standard input, and stdinName what
// diagnostics call it.
const (
	standardInput = "-"
	stdinName     = "<stdin>"
)

// source is a definition file that was read.
type source struct {
	name        string
	text        []byte
	processes   []*definition.Process
	diagnostics []definition.Diagnostic
}

// load reads and checks a definition file. An error is about reading it.
func load(c *cli.Context, file string) (*source, error) {
	text, err := readFile(c, file)
	if err != nil {
		return nil, err
	}
	s := &source{name: file, text: text}
	if file == standardInput {
		s.name = stdinName
	}
	s.processes, s.diagnostics = definition.Load(s.name, text)
	return s, nil
}

// loadWhole is load for commands that need processes: diagnostics go to standard error,
// and one of them that is an error ends the command.
func loadWhole(c *cli.Context, file string) (*source, error) {
	s, err := load(c, file)
	if err != nil {
		return nil, err
	}
	for _, d := range s.diagnostics {
		shared.Talk(c, "%s", strings.TrimSuffix(d.Text(s.text), "\n"))
	}
	if wrong, _ := count(s.diagnostics); wrong > 0 {
		return nil, shared.Failedf("%s: %s: correct the file, then try again", s.name, plural(wrong, "error"))
	}
	if len(s.processes) == 0 {
		return nil, shared.Failedf("%s: there is no process in it: begin with `process: NAME` and `version: 1`", s.name)
	}
	return s, nil
}

// readFile reads a file, or standard input where it is called -.
func readFile(c *cli.Context, file string) ([]byte, error) {
	in := shared.From(c).In
	if file != standardInput {
		f, err := os.Open(file)
		if err != nil {
			return nil, unreadable(file, err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, unreadable(file, err)
	case len(text) > maxFile:
		return nil, shared.Failedf("%s: over %d bytes: this is no process definition", file, maxFile)
	}
	return text, nil
}

func unreadable(file string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	remedy := "check the name of the file"
	if errors.Is(err, fs.ErrPermission) {
		remedy = "become a user who may read it"
	}
	return shared.Failedf("%s: cannot be read: %v: %s", file, err, remedy)
}

// readsStdin says how many of the names mean standard input.
func readsStdin(names ...string) int {
	n := 0
	for _, name := range names {
		if name == standardInput || name == "@"+standardInput {
			n++
		}
	}
	return n
}

// count says how many errors and warnings there are.
func count(ds []definition.Diagnostic) (wrong, doubtful int) {
	for _, d := range ds {
		if d.Severity == definition.Error {
			wrong++
		} else {
			doubtful++
		}
	}
	return wrong, doubtful
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	if stem, ok := strings.CutSuffix(word, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, word)
}
