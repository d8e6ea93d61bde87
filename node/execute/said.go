package execute

import (
	"strings"
	"sync"

	"fmqm/queue/record"
)

// stderrTail keeps the end of what a program writes to its standard error (where it gives no
// output: to its standard output as well), for whoever asks why it fails. It is safe for
// concurrent use.
type stderrTail struct {
	limit int // bytes that are kept, at least record.MaxStderr

	mu      sync.Mutex
	last    []byte // lines, each with its end; up to twice the limit
	skipped int64  // bytes before it
}

// add takes a line.
func (s *stderrTail) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = append(append(s.last, line...), '\n')
	if limit := max(s.limit, record.MaxStderr); len(s.last) > 2*limit { // not each time: that would copy all for each line
		s.cut(limit)
	}
}

// cut lets go of what is before the last so many bytes.
func (s *stderrTail) cut(limit int) {
	if over := len(s.last) - limit; over > 0 {
		s.last = append(s.last[:0], s.last[over:]...)
		s.skipped += int64(over)
	}
}

// String gives the last record.MaxStderr bytes.
func (s *stderrTail) String() string {
	text, _ := s.end(record.MaxStderr)
	return text
}

// all gives as much as is kept, and how many bytes were written before it.
func (s *stderrTail) all() (text string, skipped int64) {
	return s.end(max(s.limit, record.MaxStderr))
}

// end gives the last lines, whole ones if one is, and how many bytes were written before them.
func (s *stderrTail) end(limit int) (text string, skipped int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := max(0, len(s.last)-limit)
	text, skipped = strings.TrimSuffix(string(s.last[over:]), "\n"), s.skipped+int64(over)
	if first, whole, ok := strings.Cut(text, "\n"); ok && skipped > 0 {
		text, skipped = whole, skipped+int64(len(first))+1
	}
	return strings.ToValidUTF8(text, "\uFFFD"), skipped
}
