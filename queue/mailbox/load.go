package mailbox

import (
	"context"
	"sync"

	"fmqm/internal/task"
)

// maxBytes is how much the messages in mailboxes may hold before links stop
// accepting.
const maxBytes = 64 << 20

// Load is what waits in all mailboxes of a store to be folded, against its limit. Its methods are
// safe for concurrent use.
type Load struct {
	by      task.Scheduler
	limit   int        // entries
	relaxed *task.Bell // is rung when it is not congested any more
	mu      sync.Mutex // guards what follows
	entries int
	bytes   int
	full    bool
	room    *task.Gate // open once it is not congested any more; nil: nobody waits
}

// NewLoad gives a load of nothing, which is congested from limit entries on. It rings relaxed when
// it is not any more.
func NewLoad(by task.Scheduler, limit int, relaxed *task.Bell) *Load {
	return &Load{by: by, limit: limit, relaxed: relaxed}
}

func (l *Load) add(entries, bytes int) {
	l.mu.Lock()
	l.entries += entries
	l.bytes += bytes
	full := l.entries >= l.limit || l.bytes >= maxBytes
	relaxed := l.full && !full
	l.full = full
	if relaxed && l.room != nil {
		l.room.Open()
		l.room = nil
	}
	l.mu.Unlock()
	if relaxed {
		l.relaxed.Ring()
	}
}

// Congested says whether so much waits that links should not accept.
func (l *Load) Congested() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// Spare is for how many entries more there is room.
func (l *Load) Spare() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full {
		return 0
	}
	return max(0, l.limit-l.entries)
}

// Count is how many entries have newcomers.
func (l *Load) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries
}

// Wait blocks while it is congested, or until ctx ends.
func (l *Load) Wait(ctx context.Context) error {
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
