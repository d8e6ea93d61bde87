package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fmqm/internal/task"
)

// maxPending is how many bytes wait to be written; what comes beyond is dropped.
const maxPending = 4 << 20

// lookAgain is how often files are looked at for their age.
const lookAgain = time.Hour

// Options make Logs.
type Options struct {
	// Dir is the directory of the files; it is made when there is something to write. Empty: nothing is kept.
	Dir       string
	Limits    Limits
	Scheduler task.Scheduler
	Log       zerolog.Logger
	// Low says whether room on the disk is low.
	Low func() bool
}

// Logs are what programs of a node have written last. The methods are safe for concurrent use.
type Logs struct {
	options Options
	limits  atomic.Pointer[Limits]
	wake    *task.Bell
	dropped atomic.Uint64

	mu      sync.Mutex
	pending [][]byte // lines that are to be written, and stay until they are
	bytes   int

	writing sync.Mutex // held by who writes
	failing bool       // so it was said
	files   files
}

// New makes Logs. It neither reads nor writes.
func New(o Options) *Logs {
	l := &Logs{options: o, wake: o.Scheduler.Bell(), files: files{dir: o.Dir}}
	l.limits.Store(&o.Limits)
	return l
}

// SetLimits takes up other limits.
func (l *Logs) SetLimits(limits Limits) {
	l.limits.Store(&limits)
	l.wake.Ring()
}

// Limit is how many bytes of one attempt are kept now; 0: nothing is kept.
func (l *Logs) Limit() int {
	if limits := l.limits.Load(); l.options.Dir != "" && limits.Bytes > 0 {
		return limits.Attempt
	}
	return 0
}

// Dropped is of how many attempts nothing was kept, because the disk was slow, failed, or was low.
func (l *Logs) Dropped() uint64 { return l.dropped.Load() }

// Keep keeps what an attempt has written, if it has written something. It waits for nothing.
func (l *Logs) Keep(a Attempt) {
	if a.Text == "" || l.Limit() == 0 {
		return
	}
	line, err := encode(&a)
	if err != nil {
		l.dropped.Add(1)
		return
	}
	l.mu.Lock()
	fits := l.bytes+len(line) <= maxPending
	if fits {
		l.pending = append(l.pending, line)
		l.bytes += len(line)
	}
	l.mu.Unlock()
	if !fits {
		l.dropped.Add(1)
		return
	}
	l.wake.Ring()
}

// encode makes a line of an attempt.
func encode(a *Attempt) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // for who looks into the file, and since it is shorter
	err := e.Encode(a)
	return b.Bytes(), err
}

// SpaceChanged is told that room on the disk is low, or no longer.
func (l *Logs) SpaceChanged() { l.wake.Ring() }

// Run writes what is kept, until ctx ends.
func (l *Logs) Run(ctx context.Context) {
	if l.options.Dir == "" {
		return
	}
	for ctx.Err() == nil {
		l.write()
		wait, cancel := l.options.Scheduler.WithTimeout(ctx, lookAgain)
		_, _ = l.options.Scheduler.Wait(wait, l.wake)
		cancel()
	}
}

// Close writes what is left. Run has ended.
func (l *Logs) Close(context.Context) error {
	if l.options.Dir != "" {
		l.write()
	}
	l.files.close()
	return nil
}

// write writes what waits, and removes what is beyond the limits. An error costs the lines at hand.
func (l *Logs) write() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	lines := l.pending
	l.mu.Unlock()
	limits, low := *l.limits.Load(), l.options.Low != nil && l.options.Low()
	if low {
		limits.Bytes = 0
	}
	err := l.files.write(lines, limits, l.options.Scheduler.Now())
	if err != nil || limits.Bytes == 0 {
		l.dropped.Add(uint64(len(lines)))
	}
	if err != nil && !l.failing {
		l.options.Log.Warn().Err(err).Str("directory", l.options.Dir).Msg("what programs have written is not kept for fmqm logs")
	}
	l.failing = err != nil
	l.mu.Lock()
	for i := range lines {
		l.bytes -= len(l.pending[i])
		l.pending[i] = nil
	}
	if l.pending = l.pending[len(lines):]; len(l.pending) == 0 {
		l.pending = nil
	}
	l.mu.Unlock()
}
