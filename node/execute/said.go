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
	mu   sync.Mutex
	last []byte
	cut  bool // there was more
}

// add takes a line.
func (s *stderrTail) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = append(append(s.last, line...), '\n')
	if over := len(s.last) - record.MaxStderr; over > 0 {
		s.last, s.cut = append(s.last[:0], s.last[over:]...), true
	}
}

// String gives the last lines, whole ones if one is.
func (s *stderrTail) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSuffix(string(s.last), "\n")
	if _, whole, ok := strings.Cut(text, "\n"); ok && s.cut {
		text = whole
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
