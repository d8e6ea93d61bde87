package queue

import (
	"context"
	"sync"
)

// maxLoadBytes is how much the messages in mailboxes may hold before links stop
// accepting.
const maxLoadBytes = 64 << 20

// load is what waits in all mailboxes to be folded, against its limit.
type load struct {
	limit   int        // entries
	relaxed func()     // called when it is not congested any more
	mu      sync.Mutex // guards what follows
	entries int
	bytes   int
	full    bool
	room    chan struct{} // closed when it is not congested any more; nil: nobody waits
}

func (l *load) add(entries, bytes int) {
	l.mu.Lock()
	l.entries += entries
	l.bytes += bytes
	full := l.entries >= l.limit || l.bytes >= maxLoadBytes
	relaxed := l.full && !full
	l.full = full
	if relaxed && l.room != nil {
		close(l.room)
		l.room = nil
	}
	l.mu.Unlock()
	if relaxed {
		l.relaxed()
	}
}

func (l *load) congested() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries
}

// wait blocks while it is congested, or until ctx ends.
func (l *load) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		if !l.full {
			l.mu.Unlock()
			return nil
		}
		if l.room == nil {
			l.room = make(chan struct{})
		}
		room := l.room
		l.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
