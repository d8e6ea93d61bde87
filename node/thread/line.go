package thread

import (
	"time"

	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
)

// turn orders what is ready (N31): the lower one goes first. It is when something became ready, earlier by Step for each
// step of its priority. So among equals the first goes first, what has waited for a Step goes like what is one step
// higher, and nothing waits for what has become ready MaxPriority Steps after it or later, whatever that is.
type turn int64

// Step is how long one waits to rise by one step of priority.
const Step = 10 * time.Minute

// readyEntry is an entry in a line, and how large it was when it came there.
type readyEntry struct {
	*instancetable.Entry
	bytes int
	to    []processtable.NodeID // into whose queues it will send
	rank  message.Rank
	since time.Time
}

func (e *readyEntry) turn() turn {
	return turn(e.since.UnixNano() - int64(e.rank.Priority(processtable.DefaultPriority))*int64(Step))
}

// line is what waits for a place of one program: for each priority in the order in which it came, which is that of turns unless
// the clock was set. The zero line is empty.
type line struct {
	of  [message.MaxRank + 1][]readyEntry
	len int
}

func (l *line) add(e readyEntry) {
	l.of[e.rank] = append(l.of[e.rank], e)
	l.len++
}

// first is the one whose turn it is; the line has one.
func (l *line) first() *readyEntry {
	var first *readyEntry
	for rank := len(l.of) - 1; rank >= 0; rank-- {
		if of := l.of[rank]; len(of) > 0 && (first == nil || of[0].turn() < first.turn()) {
			first = &of[0]
		}
	}
	return first
}

// last is the one whose turn comes after all others'; the line has one.
func (l *line) last() readyEntry {
	var last *readyEntry
	for rank := range l.of {
		if of := l.of[rank]; len(of) > 0 && (last == nil || of[len(of)-1].turn() > last.turn()) {
			last = &of[len(of)-1]
		}
	}
	return *last
}

func (l *line) takeFirst() readyEntry {
	e := *l.first()
	of := l.of[e.rank]
	of[0] = readyEntry{}
	if l.of[e.rank] = of[1:]; len(of) == 1 {
		l.of[e.rank] = of[:0] // what it has grown to stays
	}
	l.len--
	return e
}

func (l *line) takeLast() readyEntry {
	e := l.last()
	of := l.of[e.rank]
	of[len(of)-1] = readyEntry{}
	l.of[e.rank] = of[:len(of)-1]
	l.len--
	return e
}

// take takes an entry out, and gives how large it was; 0: it is not there.
func (l *line) take(e *instancetable.Entry) (bytes int) {
	for rank, of := range l.of {
		kept := of[:0]
		for _, r := range of {
			if r.Entry == e {
				bytes += r.bytes
				l.len--
			} else {
				kept = append(kept, r)
			}
		}
		clear(of[len(kept):])
		l.of[rank] = kept
	}
	return bytes
}
