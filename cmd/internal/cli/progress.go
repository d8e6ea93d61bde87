package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
)

// How a progress shows.
const (
	progressAfter = 300 * time.Millisecond // what is done by then is not worth a line
	progressEvery = 100 * time.Millisecond
)

// Progress shows how far something long has come: one line on standard error, drawn over
// and over, and only if that is a terminal. Its methods are safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer // nil: nothing is shown
	now   func() time.Time
	next  time.Time // not to be drawn before
	drawn bool
}

// NewProgress begins a progress; its user ends it.
func NewProgress(c *cli.Context) *Progress {
	w := From(c).Err
	if !IsTerminal(w) {
		w = nil
	}
	return newProgress(w, time.Now)
}

func newProgress(w io.Writer, now func() time.Time) *Progress {
	return &Progress{w: w, now: now, next: now().Add(progressAfter)}
}

// Show says how far it has come.
func (p *Progress) Show(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.w == nil || now.Before(p.next) {
		return
	}
	p.next, p.drawn = now.Add(progressEvery), true
	fmt.Fprint(p.w, "\r\x1b[K"+OneLine(fmt.Sprintf(format, args...)))
}

// End takes the line away.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.w, p.drawn = nil, false
}

// Bytes shows a number of bytes to people.
func Bytes(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
