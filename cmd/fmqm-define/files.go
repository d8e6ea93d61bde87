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

// maxInput is how many bytes of --input and --results are read. A definition has a limit
// of its own, definition.MaxFile.
const maxInput = 64 << 20

// mostShown is how many diagnostics of a file are shown where not all are asked for.
const mostShown = 100

// standardInput is what FILE is called to mean standard input, and stdinName what
// diagnostics call it.
const (
	standardInput = "-"
	stdinName     = "<stdin>"
)

// source is a definition file that was read.
type source struct {
	name        string
	text        *definition.Source
	bytes       []byte // the file
	processes   []*definition.Process
	diagnostics []definition.Diagnostic
	asWritten   map[string]bool // processes that are compiled with conditions as the file has them; see planUpload
}

// load reads and checks a definition file. An error is about reading it.
func load(c *cli.Context, file string) (*source, error) {
	text, err := readFile(c, file, definition.MaxFile)
	if err != nil {
		return nil, err
	}
	s := &source{name: file, text: definition.NewSource(text), bytes: text}
	if file == standardInput {
		s.name = stdinName
	}
	s.processes, s.diagnostics = definition.Load(s.name, text)
	return s, nil
}

// loadWhole is load for commands that need processes: diagnostics go to standard error,
// and one of them that is an error ends the command.
func loadWhole(c *cli.Context, file string) (*source, error) {
	all, err := loadAll(c, []string{file})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// loadAll is loadWhole for several files, which are one whole: what is wrong is told of all of
// them, and no process may be in two.
func loadAll(c *cli.Context, files []string) ([]*source, error) {
	if readsStdin(files...) > 1 {
		return nil, shared.Usagef("- is given twice: standard input can be read only once")
	}
	all, unread := make([]*source, len(files)), make([]error, len(files))
	var wrong []string
	in := map[string]string{} // the file of each process
	for i, file := range files {
		all[i], unread[i] = load(c, file)
	}
	together(all)
	for i, s := range all {
		if s == nil {
			wrong = append(wrong, unread[i].Error())
			continue
		}
		for _, d := range definition.First(s.diagnostics, mostShown, "see fmqm-define check --all") {
			shared.Talk(c, "%s", strings.TrimSuffix(s.text.Text(d), "\n"))
		}
		if n, _ := count(s.diagnostics); n > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %s: correct the file, then try again", s.name, plural(n, "error")))
		} else if len(s.processes) == 0 {
			wrong = append(wrong, s.name+": it has no process: begin with `process: NAME` and `version: 1`")
		}
		for _, p := range s.processes {
			if first, ok := in[processID(p)]; ok {
				wrong = append(wrong, fmt.Sprintf("%s: process %s is also in %s: name only one of the two files, or raise the version of one", s.name, processID(p), first))
			}
			in[processID(p)] = s.name
		}
	}
	if len(wrong) > 0 {
		return nil, shared.Failedf("%s", strings.Join(wrong, "\n"))
	}
	return all, nil
}

// together adds to the diagnostics of files what is wrong between them: a subprocess in one with other
// containers than its process has in another.
func together(sources []*source) {
	of := map[string]*source{}
	for _, s := range sources {
		if s != nil {
			of[s.name] = s
		}
	}
	for _, d := range definition.Together(processesOf(sources)) {
		s := of[d.File]
		s.diagnostics = append(s.diagnostics, d)
		definition.Sort(s.diagnostics)
	}
}

// processesOf gives the processes of all files.
func processesOf(sources []*source) []*definition.Process {
	var all []*definition.Process
	for _, s := range sources {
		if s != nil {
			all = append(all, s.processes...)
		}
	}
	return all
}

// processID is NAME@VERSION.
func processID(p *definition.Process) string { return fmt.Sprintf("%s@%d", p.Name, p.Version) }

// readFile reads a file, or standard input where it is called -: one byte more than most
// of it, so that who has a limit sees that it is over it.
func readFile(c *cli.Context, file string, most int64) ([]byte, error) {
	in := shared.From(c).In
	if file != standardInput {
		f, err := os.Open(file)
		if err != nil {
			return nil, unreadable(file, err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, unreadable(file, err)
	}
	return text, nil
}

// readInputFile is readFile for what is no definition.
func readInputFile(c *cli.Context, file string) ([]byte, error) {
	text, err := readFile(c, file, maxInput)
	if err == nil && len(text) > maxInput {
		return nil, shared.Failedf("%s: the file has over %d bytes: pass a reference (a file name, a URL) instead of the content", file, maxInput)
	}
	return text, err
}

// unreadable is why a file could not be read.
func unreadable(file string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	remedy := "check the name of the file"
	if errors.Is(err, fs.ErrPermission) {
		remedy = "run this as a user who may read it"
	}
	return &unread{file: file, message: fmt.Sprintf("cannot be read: %v", err), remedy: remedy}
}

// unread says that a file could not be read. It is an error of a command, and a diagnostic
// among those of other files.
type unread struct{ file, message, remedy string }

func (u *unread) Error() string { return fmt.Sprintf("%s: %s: %s", u.file, u.message, u.remedy) }

func (u *unread) diagnostic() definition.Diagnostic {
	return definition.Diagnostic{
		File: u.file, Line: 1, Column: 1, Severity: definition.Error, Code: definition.CodeUnreadable, Message: u.message, Remedy: u.remedy,
	}
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
