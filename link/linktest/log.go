package linktest

import (
	"bytes"
	"sync"
)

// Log keeps what is written to it, by any goroutine. Its zero value is empty.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes a line of a log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
