package launch

import "io"

// Asked reads a report.
func Asked(report io.Reader, p Program) error { return asked(nowhere{}, "", report, &p) }

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }
