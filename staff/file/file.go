package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"fmqm/staff"
)

// Limits of a staff file.
const (
	MaxSize = 64 << 20 // bytes
	// maxParts bounds what the parsed file takes in memory, some hundred bytes a part: 100,000
	// people with 40 words each.
	maxParts = 4_000_000
)

// Read reads the staff of a node from the file at path. The error is of type Problems.
func Read(path string, at staff.Site) (*staff.Staff, error) {
	text, err := load(path)
	if err != nil {
		return nil, unread(path, err)
	}
	return Parse(path, text, at)
}

// unread says why a file cannot be read.
func unread(path string, err error) Problems {
	remedy := "name the file itself"
	switch {
	case errors.Is(err, errSize):
		return Problems{{Where: path, What: err.Error(), Remedy: "this is no list of people of one node"}}
	case errors.Is(err, fs.ErrNotExist):
		remedy = "write one (docs/staff.md shows how), or name yours"
	case errors.Is(err, fs.ErrPermission):
		remedy = "let the user who runs this read it"
	}
	var at0 *fs.PathError
	if errors.As(err, &at0) {
		err = at0.Err
	}
	return Problems{{Where: path, What: fmt.Sprintf("cannot read the staff file: %v", err), Remedy: remedy}}
}

var errSize = fmt.Errorf("the file has over %d MiB", MaxSize>>20)

func load(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		return nil, errSize
	}
	return text, err
}

// Parse reads the staff of a node from text; path is what problems name. The error is of type
// Problems.
func Parse(path string, text []byte, at staff.Site) (*staff.Staff, error) {
	r := &reader{file: path, text: text}
	d, ok := r.draft()
	if !ok || len(r.problems) > 0 {
		return nil, r.sorted()
	}
	return r.check(d, at)
}

// ParseDraft reads what a text says, and does not check what it means. The error is of type
// Problems.
func ParseDraft(path string, text []byte) (staff.Draft, error) {
	r := &reader{file: path, text: text}
	d, ok := r.draft()
	if !ok || len(r.problems) > 0 {
		return staff.Draft{}, r.sorted()
	}
	return d, nil
}

func (r *reader) check(d staff.Draft, at staff.Site) (*staff.Staff, error) {
	s, wrong := d.Check(at)
	for _, p := range wrong {
		r.problem(p.Line, p.Column, p.What, p.Remedy)
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return s, nil
}

// parts says of how many parts a text may be once it is parsed: at most one more than there are
// characters that can end one.
func parts(text []byte) int {
	n := 1
	for _, c := range []string{":", ",", "[", "{", "- ", "-\n", "-\t", "-\r", "?"} {
		n += bytes.Count(text, []byte(c))
	}
	return n
}
