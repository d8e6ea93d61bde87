package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	"fmqm/container"
)

// JSONInput is a JSON object that a flag gives: in the line, as @FILE, or as - for standard
// input.
type JSONInput struct {
	Text []byte // as it was written; nil: the flag is not there
	name string // for places in it: the file, <stdin>, or the flag
	flag string
}

// ReadJSON reads the JSON object of a flag.
func ReadJSON(c *cli.Context, flag string) (JSONInput, error) {
	in := JSONInput{name: "--" + flag, flag: "--" + flag}
	if !c.IsSet(flag) {
		return in, nil
	}
	value := c.String(flag)
	text, err := []byte(value), error(nil)
	switch file, isFile := strings.CutPrefix(value, "@"); {
	case value == "-" || value == "@-":
		in.name = "<stdin>"
		text, err = readJSONFrom(From(c).In)
	case isFile:
		in.name = file
		text, err = readJSONFile(file)
	}
	switch {
	case err != nil:
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return in, Usagef("--%s: %s: cannot be read: %v", flag, in.name, err)
	case len(text) > container.MaxJSON:
		return in, Usagef("--%s: over %d bytes: pass a reference (a file, a URL) instead of the content", flag, container.MaxJSON)
	case len(bytes.TrimSpace(text)) == 0:
		return in, Usagef(`%s is empty: write a JSON object such as '{"customer": "ann"}', @FILE or -`, in.name)
	}
	if line, column, what, wrong := container.SyntaxError(text); wrong {
		return in, Usagef(`%s:%d:%d: not JSON: %s: write an object such as '{"customer": "ann"}', @FILE or -`, in.name, line, column, what)
	}
	if bytes.TrimSpace(text)[0] != '{' {
		return in, Usagef(`%s: not a JSON object: write one such as '{"customer": "ann"}'`, in.name)
	}
	in.Text = text
	return in, nil
}

func readJSONFrom(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, container.MaxJSON+1))
}

func readJSONFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readJSONFrom(f)
}

// Explain tells everything that an error says is wrong with what was given, each with its
// line and column there, and gives the error to end with. Another error it gives back.
func (in JSONInput) Explain(c *cli.Context, err error) error {
	problems := problemsOf(err)
	if in.Text == nil || len(problems) == 0 {
		return err
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = in.line(p)
	}
	if len(lines) == 1 {
		return &Error{Exit: ExitCode(err), Text: lines[0]}
	}
	for _, line := range lines {
		Talk(c, "%s", line)
	}
	return &Error{Exit: ExitCode(err), Text: fmt.Sprintf("%s: %d things are wrong: correct them, then try again", in.flag, len(lines))}
}

// line is a problem with its place.
func (in JSONInput) line(p api.Problem) string {
	text := in.name + ": "
	if line, column, ok := container.TokenAt(in.Text, p.Token); ok {
		text = fmt.Sprintf("%s:%d:%d: ", in.name, line, column)
	}
	for _, part := range []string{p.Path, p.Message, p.Remedy} {
		if part != "" {
			text += part + ": "
		}
	}
	return strings.TrimSuffix(text, ": ")
}

// problemsOf is what a node says of a container, or what was found here.
func problemsOf(err error) []api.Problem {
	var answered *api.Error
	if errors.As(err, &answered) {
		return answered.Problems
	}
	var all []api.Problem
	for _, e := range container.All(err) {
		all = append(all, api.Problem{Path: e.Path, Message: e.What, Remedy: e.Remedy, Token: e.Token})
	}
	return all
}
