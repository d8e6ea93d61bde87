package logs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"fmqm/message"
)

// maxLine is the longest line that is read: a text of which each byte is escaped.
const maxLine = 8 << 20

// Query asks for attempts.
type Query struct {
	Instance message.InstanceID
	Match    func(*Attempt) bool // which of the instance's; nil: all
	Limit    int                 // at most so many, the newest
	Bytes    int                 // and of so many bytes in JSON together, but the newest in any case
}

// Find gives attempts of an instance, the oldest first, and says whether there are older ones. running
// are those that run, or ran a moment ago. A file that cannot be read is passed over: what it has is
// told as not there, and logs may be gone at any time.
func (l *Logs) Find(q Query, running []Attempt) (found []Attempt, more bool) {
	p := &picking{query: q, prefix: prefixOf(q.Instance), at: map[identity]int{}}
	l.mu.Lock()
	pending := slices.Clone(l.pending)
	l.mu.Unlock()
	// In the order in which an attempt comes: who runs becomes what is pending, and that a line of a file.
	// So nothing is missed, and what is there twice is told as it was last.
	var here []Attempt
	for _, a := range running {
		if a.Instance == q.Instance && (q.Match == nil || q.Match(&a)) {
			here = append(here, a)
		}
	}
	waiting := p.lines(pending)
	open := l.files.open()
	defer func() {
		for _, f := range open {
			_ = f.Close()
		}
	}()
	p.take(waiting)
	p.take(here)
	for _, f := range slices.Backward(open) {
		if p.full() {
			p.more = p.more || p.any(f)
			continue
		}
		p.take(p.read(f))
	}
	return p.result()
}

// Remove takes out all that is kept of an instance.
func (l *Logs) Remove(id message.InstanceID) error {
	if l.options.Dir == "" {
		return nil
	}
	l.write() // what waits is in a file then
	return l.files.remove(prefixOf(id))
}

// prefixOf is how a line of an instance begins.
func prefixOf(id message.InstanceID) []byte { return []byte(`{"instance":"` + id.String() + `"`) }

// picking is how far a search is.
type picking struct {
	query  Query
	prefix []byte
	found  []Attempt
	at     map[identity]int // where in found
	more   bool
}

// full says whether there are as many as are asked for, so that older ones are of no use.
func (p *picking) full() bool { return len(p.found) >= p.query.Limit }

// take adds attempts that were not told by what was read before.
func (p *picking) take(all []Attempt) {
	for _, a := range all {
		at, known := p.at[a.identity()]
		switch {
		case !known:
			p.at[a.identity()] = len(p.found)
			p.found = append(p.found, a)
		case p.found[at].Ended.IsZero():
			p.found[at] = a
		}
	}
}

// result gives the newest, as many as fit.
func (p *picking) result() ([]Attempt, bool) {
	slices.SortStableFunc(p.found, func(a, b Attempt) int { return b.Compare(&a) }) // newest first
	bytes, n := 0, 0
	for ; n < min(len(p.found), p.query.Limit); n++ {
		line, _ := json.Marshal(&p.found[n])
		if bytes += len(line); n > 0 && bytes > p.query.Bytes {
			break
		}
	}
	out := p.found[:n]
	slices.Reverse(out)
	return out, p.more || n < len(p.found)
}

// lines gives the attempts of the instance among lines.
func (p *picking) lines(all [][]byte) (found []Attempt) {
	for _, line := range all {
		if a, is := p.line(line); is {
			found = append(found, a)
		}
	}
	return found
}

// line reads one line, if it is of the instance and asked for.
func (p *picking) line(line []byte) (a Attempt, is bool) {
	if !bytes.HasPrefix(line, p.prefix) || json.Unmarshal(line, &a) != nil {
		return a, false
	}
	return a, p.query.Match == nil || p.query.Match(&a)
}

// read gives the attempts in a file.
func (p *picking) read(f io.Reader) (found []Attempt) {
	eachLine(f, func(line []byte) bool {
		if a, is := p.line(line); is {
			found = append(found, a)
		}
		return true
	})
	return found
}

// any says whether a file has one.
func (p *picking) any(f io.Reader) (has bool) {
	eachLine(f, func(line []byte) bool {
		_, has = p.line(line)
		return !has
	})
	return has
}

// eachLine calls do for each line, until it gives false.
func eachLine(r io.Reader, do func(line []byte) bool) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxLine)
	for s.Scan() && do(s.Bytes()) { // an error ends it as the end does
	}
}

// open opens all files, the oldest first. One that is removed meanwhile stays readable.
func (f *files) open() (all []*os.File) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.dir == "" {
		return nil
	}
	listed, _ := f.list() // no directory, nothing kept
	for _, one := range listed {
		if file, err := os.Open(one.path); err == nil {
			all = append(all, file)
		}
	}
	return all
}

// remove takes out the lines with a prefix. A file with such a line is written anew, and takes the
// place of the one before at once.
func (f *files) remove(prefix []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut()
	all, err := f.list()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, one := range all {
		err = errors.Join(err, without(one, prefix))
	}
	return err
}

// without writes a file anew without the lines that have a prefix. Its time stays, which its age is
// reckoned from.
func without(one file, prefix []byte) error {
	text, err := os.ReadFile(one.path)
	if err != nil || !bytes.Contains(text, prefix) {
		return err
	}
	var kept []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, prefix) {
			kept = append(kept, line...)
		}
	}
	if len(kept) == 0 {
		return os.Remove(one.path)
	}
	anew := one.path + ".new"
	if err := os.WriteFile(anew, kept, 0o600); err != nil {
		_ = os.Remove(anew)
		return err
	}
	if err := os.Chtimes(anew, one.last, one.last); err != nil {
		return err
	}
	return os.Rename(anew, one.path)
}
