package program

import (
	"bytes"
	"fmt"
	"sync"
	"unicode/utf8"

	"fmqm/container"
)

// output makes the output container of what a program wrote, given its return code:
// nothing written is the defaults, and so is what is no container after a return
// code other than 0, where the return code is what counts.
func (c *Call) output(written []byte, rc int64, lines *lines) (*container.Struct, error) {
	if c.NoOutput || len(bytes.TrimSpace(written)) == 0 {
		return container.New(c.OutputType), nil
	}
	out, err := container.DecodeJSON(c.OutputType, written)
	switch {
	case err == nil:
		return out, nil
	case rc == 0:
		return nil, fmt.Errorf("the output is not a container of type %s: %w", c.OutputType, err)
	}
	if c.RCIsData {
		lines.say(fmt.Sprintf("fmqm: with return code %d the output counts as empty: %v", rc, err))
	}
	return container.New(c.OutputType), nil
}

// lines cuts what programs print into lines for Call.Log. Several streams may write
// to one.
type lines struct {
	mu   sync.Mutex
	log  func(string)
	hide secrets
	left int // bytes that may still be logged
}

func newLines(log func(string), hide secrets) *lines {
	return &lines{log: log, hide: hide, left: MaxLogBytes}
}

// longest is how much of a line is looked at: a secret that begins in what is logged
// must be seen whole.
func (l *lines) longest() int {
	if len(l.hide) == 0 {
		return MaxLogLine
	}
	return MaxLogLine + len(l.hide[0].value)
}

// say logs one line, without secrets. What is not UTF-8 in it is replaced.
func (l *lines) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil || l.left <= 0 {
		return
	}
	line = hideUsers(l.hide.in(line, MaxLogLine))
	line = line[:min(len(line), MaxLogLine)]
	l.left -= len(line) + logLineCost
	l.log(string(bytes.ToValidUTF8([]byte(line), []byte(string(utf8.RuneError)))))
	if l.left <= 0 {
		l.log(fmt.Sprintf("fmqm: more than %d bytes logged: the rest of this attempt's output is dropped", MaxLogBytes))
	}
}

// full says whether nothing more is logged.
func (l *lines) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left <= 0
}

// stream is one of a program's outputs on its way to lines. It is an io.Writer.
type stream struct {
	to   *lines
	line []byte
}

func (s *stream) Write(p []byte) (int, error) {
	n := len(p)
	if s.to.full() {
		return n, nil // quickly: it may be a great deal
	}
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			s.add(p)
			return n, nil
		}
		s.add(p[:end])
		s.flush()
		p = p[end+1:]
	}
}

func (s *stream) add(p []byte) {
	s.line = append(s.line, p[:min(len(p), s.to.longest()-len(s.line))]...)
}

// flush logs the line at hand, if there is one.
func (s *stream) flush() {
	if line := bytes.TrimRight(s.line, "\r"); len(line) > 0 {
		s.to.say(string(line))
	}
	s.line = s.line[:0]
}

// bounded keeps what is written, up to a limit; then it calls over once and keeps
// nothing more.
type bounded struct {
	buf   bytes.Buffer
	limit int
	over  func()
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	switch {
	case b.full:
	case b.buf.Len()+len(p) > b.limit:
		b.full = true
		b.buf.Reset()
		b.over()
	default:
		b.buf.Write(p)
	}
	return len(p), nil
}
