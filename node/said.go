package node

import (
	"strings"
	"sync"

	"fmqm/queue"
)

// saidInAll is how much of what programs have said a history tells, the newest of it.
const saidInAll = 256 << 10

// saidLast keeps the end of what a program writes to its standard error (where it gives no
// output: to its standard output as well), for whoever asks why it fails. It is safe for
// concurrent use.
type saidLast struct {
	mu   sync.Mutex
	last []byte
	cut  bool // there was more
}

// add takes a line.
func (s *saidLast) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = append(append(s.last, line...), '\n')
	if over := len(s.last) - queue.MaxStderr; over > 0 {
		s.last, s.cut = append(s.last[:0], s.last[over:]...), true
	}
}

// String gives the last lines, whole ones if one is.
func (s *saidLast) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSuffix(string(s.last), "\n")
	if _, whole, ok := strings.Cut(text, "\n"); ok && s.cut {
		text = whole
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
