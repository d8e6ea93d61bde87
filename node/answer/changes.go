package answer

import (
	"slices"
	"sync"
	"sync/atomic"

	"fmqm/internal/task"
	"fmqm/message"
)

// changes tells those who wait for an instance that something of it was committed here.
type changes struct {
	mu      sync.Mutex
	waiting map[message.InstanceID][]*watcher
	count   atomic.Int64
}

type watcher struct {
	bell *task.Bell
	all  bool // it is also told of what is not decisive
}

// watch gives a bell that rings on changes, of all kinds or only on those after which an
// instance may not run any more; and what ends it.
func (c *changes) watch(by task.Scheduler, id message.InstanceID, all bool) (*task.Bell, func()) {
	w := &watcher{bell: by.Bell(), all: all}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[message.InstanceID][]*watcher{}
	}
	c.waiting[id] = append(c.waiting[id], w)
	c.count.Add(1)
	return w.bell, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting[id] = slices.DeleteFunc(c.waiting[id], func(other *watcher) bool { return other == w })
		if len(c.waiting[id]) == 0 {
			delete(c.waiting, id)
		}
		c.count.Add(-1)
	}
}

func (c *changes) tell(id message.InstanceID, decisive bool) {
	if c.count.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.waiting[id] {
		if w.all || decisive {
			w.bell.Ring()
		}
	}
}
