// Package secret reads files that hold one secret: a password, a token.
//
// What it guarantees: no error shows anything of what is in the file, and no secret is
// taken from a file that others can read.
package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// MaxSize bounds such a file, in bytes.
const MaxSize = 4 << 10

// Read reads a secret; one line end after it is not part of it. It has one line and is
// not empty, and Check finds nothing.
func Read(path string) (string, error) {
	if err := Check(path); err != nil {
		return "", err
	}
	text, err := ReadFile(path, MaxSize)
	if err != nil {
		return "", err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case len(text) == 0:
		return "", fmt.Errorf("%s is empty: write the secret into it", path)
	case bytes.ContainsAny(text, "\n\r\x00"):
		return "", fmt.Errorf("%s has more than one line: write the secret into it, and nothing else", path)
	}
	return string(text), nil
}

// ReadFile reads a file of at most so many bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > most {
		return nil, fmt.Errorf("%s has more than %d bytes: check that it is the right file", path, most)
	}
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			return text, nil
		}
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return nil, fmt.Errorf("cannot read %s: %w", path, err)
}
