package launch

import (
	"io"
	"os"
)

// Asked reads a report.
func Asked(report io.Reader, p Program) error { return asked(nowhere{}, "", report, &p) }

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }

// OpenSmall opens a small stage beside an executable.
var OpenSmall = openSmall

// Through starts programs through a small stage from now on, until the function that it gives is called.
func Through(f *os.File) (back func()) {
	before := small
	small = func() *os.File { return f }
	return func() { small = before }
}
