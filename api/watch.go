package api

import (
	"net/http"
	"sync"
	"time"
)

const (
	heartbeat    = 15 * time.Second // an empty line on a stream where nothing happens
	writeTimeout = 30 * time.Second // for a reader of a stream that does not read
)

// watch streams events, one a line.
func (s server) watch(w http.ResponseWriter, r *http.Request) {
	id, err := pathInstance(r)
	if err != nil {
		e := asError(err)
		writeError(w, e.Code.httpStatus(), e)
		return
	}
	out := &eventStream{w: w, control: http.NewResponseController(w)}
	stop := out.beat(heartbeat)
	err = s.b.Watch(r.Context(), id, func(e HistoryEvent) error { return out.line(e) })
	stop()
	switch {
	case err != nil && r.Context().Err() == nil:
		out.fail(asError(err))
	case !out.begun:
		out.begin()
	}
}

// eventStream writes JSON lines, each of them at once.
type eventStream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// beat begins to write an empty line every so often, so that both ends notice if the
// other is gone. It does so until stop is called.
func (s *eventStream) beat(every time.Duration) (stop func()) {
	ticker := time.NewTicker(every)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				_ = s.write([]byte("\n")) // the next event has the error too
			case <-end:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(end)
		<-ended
	}
}

func (s *eventStream) line(v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	return s.write(b)
}

func (s *eventStream) write(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	// Without a deadline of its own (a test's recorder) the connection's holds.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *eventStream) begin() {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "application/jsonl")
		s.w.WriteHeader(http.StatusOK)
	}
}

// fail tells of an error: as an answer if nothing was written yet, else as a line.
func (s *eventStream) fail(e *Error) {
	if !s.begun {
		writeError(s.w, e.Code.httpStatus(), e)
		return
	}
	_ = s.line(errorBody{e}) // the caller has gone: nobody is left to tell
}
