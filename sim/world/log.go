package world

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/fnv"
	"time"
)

// journal has every event of a world, one line each, as a running hash; and as lines where
// they are to be told.
type journal struct {
	now   func() time.Duration
	sum   hash.Hash
	buf   []byte
	lines []string
	keep  bool
	count int
}

func newJournal(now func() time.Duration, keep bool) *journal {
	return &journal{now: now, sum: sha256.New(), keep: keep}
}

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
}

// hash is over all that was noted so far.
func (j *journal) hash() string { return hex.EncodeToString(j.sum.Sum(nil)[:16]) }

// digest stands for bytes in a line.
func digest(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}
