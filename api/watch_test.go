package api

import (
	"net/http"
	"sync"
	"testing"
	"time"
)

// pipeWriter gives what is written to a test.
type pipeWriter struct {
	header http.Header
	wrote  chan string
	once   sync.Once
}

func (w *pipeWriter) Header() http.Header { return w.header }
func (w *pipeWriter) WriteHeader(int)     {}
func (w *pipeWriter) Flush()              {}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.once.Do(func() { w.wrote <- string(b) })
	return len(b), nil
}

func TestAStreamWhereNothingHappensBeats(t *testing.T) {
	w := &pipeWriter{header: http.Header{}, wrote: make(chan string)}
	s := &eventStream{w: w, control: http.NewResponseController(w)}
	stop := s.beat(time.Millisecond)
	if got := <-w.wrote; got != "\n" {
		t.Errorf("got %q, want an empty line", got)
	}
	stop()
	if got := w.header.Get("Content-Type"); got != "application/jsonl" {
		t.Errorf("content type %q", got)
	}
}
