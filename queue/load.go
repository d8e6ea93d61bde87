package queue

import (
	"context"
	"sync"

	"fmqm/internal/task"
)

// maxLoadBytes is how much the messages in mailboxes may hold before links stop
// accepting.
const maxLoadBytes = 64 << 20

// load is what waits in all mailboxes to be folded, against its limit.
type load struct {
	by      task.Scheduler
	limit   int        // entries
	relaxed func()     // called when it is not congested any more
	mu      sync.Mutex // guards what follows
	entries int
	bytes   int
	full    bool
	room    *task.Gate // open once it is not congested any more; nil: nobody waits
}

func newLoad(by task.Scheduler) load { return load{by: by} }

func (l *load) add(entries, bytes int) {
	l.mu.Lock()
	l.entries += entries
	l.bytes += bytes
	full := l.entries >= l.limit || l.bytes >= maxLoadBytes
	relaxed := l.full && !full
	l.full = full
	if relaxed && l.room != nil {
		l.room.Open()
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
			l.room = l.by.Gate()
		}
		room := l.room
		l.mu.Unlock()
		if _, err := l.by.Wait(ctx, room); err != nil {
			return err
		}
	}
}
