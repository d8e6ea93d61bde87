package world

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/fnv"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// journal has every event of a world, one line each, as a running hash; and as lines where
// they are to be told, with a story of those that matter (telling.go).
type journal struct {
	now   func() time.Duration
	sum   hash.Hash
	buf   []byte
	lines []string
	told  []told
	same  map[string][]int // where a text was told
	keep  bool
	count int

	effects map[string]int // of the weather
}

func newJournal(now func() time.Duration, keep bool) *journal {
	return &journal{now: now, sum: sha256.New(), keep: keep, same: map[string][]int{}, effects: map[string]int{}}
}

// met counts what of the weather had an effect. It is no event.
func (j *journal) met(what string) { j.effects[what]++ }

// note adds an event: where, what, and the rest of the line.
func (j *journal) note(where, what, format string, args ...any) {
	j.count++
	j.buf = fmt.Appendf(j.buf[:0], "%v %s %s ", j.now(), where, what)
	j.buf = fmt.Appendf(j.buf, format, args...)
	j.buf = append(j.buf, '\n')
	j.sum.Write(j.buf)
	if j.keep {
		j.lines = append(j.lines, string(j.buf[:len(j.buf)-1]))
	}
	if j.keep && !dull[what] {
		j.tell(where, "%s", strings.TrimSpace(what+" "+fmt.Sprintf(format, args...)))
	}
}

// log is where a node logs: its words stand between the events, where those are to be told, and
// are no part of the hash.
func (j *journal) log(site string) zerolog.Logger {
	if !j.keep {
		return zerolog.Nop()
	}
	return zerolog.New(&words{j, site}).Level(zerolog.InfoLevel)
}

// words are what a site logs.
type words struct {
	journal *journal
	site    string
}

func (w *words) Write(line []byte) (int, error) {
	j := w.journal
	j.lines = append(j.lines, fmt.Sprintf("%v %s logs %s", j.now(), w.site, bytes.TrimSpace(line)))
	j.tell(w.site, "logs %s", said(line))
	return len(line), nil
}

// hash is over all that was noted so far.
func (j *journal) hash() string { return hex.EncodeToString(j.sum.Sum(nil)[:16]) }

// digest stands for bytes in a line.
func digest(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}
