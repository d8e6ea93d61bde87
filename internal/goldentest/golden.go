// Package goldentest is for tests of what stays readable for ever (N17): files with the bytes
// of every version of a format that was ever written.
package goldentest

import (
	"bytes"
	"encoding/hex"
	"maps"
	"os"
	"strings"
	"testing"
)

// Stay holds a format to a file, of which each line is a name, a tab and the bytes in
// hexadecimal, and no line is ever changed: each value is still written as its line says, and
// reads, which is given the bytes, reports where they are not read as that value. A line
// without a value, and a value without a line, are errors.
func Stay[V any](t *testing.T, file string, values map[string]V, write func(V) ([]byte, error), reads func(t *testing.T, want V, data []byte)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(values)
	for line := range strings.Lines(string(text)) {
		name, digits, _ := strings.Cut(strings.TrimSpace(line), "\t")
		t.Run(name, func(t *testing.T) {
			want, known := values[name]
			if !known {
				t.Fatal("it is kept, and not read any more")
			}
			delete(left, name)
			data, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			reads(t, want, data)
			if written, err := write(want); err != nil || !bytes.Equal(written, data) {
				t.Errorf("it is written as %x, %v", written, err)
			}
		})
	}
	for name, v := range left {
		data, err := write(v)
		t.Errorf("no bytes are kept of this one (%v):\n%s\t%x", err, name, data)
	}
}
