package command

import (
	"context"
	"slices"
	"sync"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
)

// waiting are the words whose answers somebody waits for at this node.
type waiting struct {
	mu      sync.Mutex
	answers map[message.WordID][]*task.Answer[message.Answer]
}

// await gives where an answer will be given, and what ends the waiting.
func (w *waiting) await(by task.Scheduler, id message.WordID) (*task.Answer[message.Answer], func()) {
	a := task.NewAnswer[message.Answer](by)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers == nil {
		w.answers = map[message.WordID][]*task.Answer[message.Answer]{}
	}
	w.answers[id] = append(w.answers[id], a)
	return a, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if rest := slices.DeleteFunc(w.answers[id], func(other *task.Answer[message.Answer]) bool { return other == a }); len(rest) > 0 {
			w.answers[id] = rest
		} else {
			delete(w.answers, id)
		}
	}
}

// answered tells those who wait.
func (w *waiting) answered(a message.Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, waiting := range w.answers[a.Word] {
		waiting.TryGive(a)
	}
}

// putting are the words that are about to be put, by their identifiers: what is not on disk yet
// cannot be found there.
type putting struct {
	mu    sync.Mutex
	words map[message.WordID]*task.Gate
}

// begin lets one put a word, or find out that it was put, until it calls end: whoever else wants to
// waits for that, or for ctx.
func (p *putting) begin(ctx context.Context, by task.Scheduler, id message.WordID) (end func(), err error) {
	for {
		other := p.claim(by, id)
		if other == nil {
			return func() { p.end(id) }, nil
		}
		if _, err := by.Wait(ctx, other); err != nil {
			return nil, err
		}
	}
}

// claim notes that a word is about to be put, or gives what opens when somebody else has put it.
func (p *putting) claim(by task.Scheduler, id message.WordID) (other *task.Gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.words[id]; other != nil {
		return other
	}
	if p.words == nil {
		p.words = map[message.WordID]*task.Gate{}
	}
	p.words[id] = by.Gate()
	return nil
}

func (p *putting) end(id message.WordID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.words[id].Open()
	delete(p.words, id)
}

// answerSize is what an answer is taken to have, in bytes, until it is there.
const answerSize = 1 << 10

// owed are the words of peers that lie here without an answer, since the start.
type owed struct {
	mu    sync.Mutex
	words map[message.WordID]processtable.NodeID
	count map[processtable.NodeID]int64
}

func (o *owed) add(id message.WordID, peer processtable.NodeID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.words == nil {
		o.words, o.count = map[message.WordID]processtable.NodeID{}, map[processtable.NodeID]int64{}
	}
	if _, there := o.words[id]; !there {
		o.words[id] = peer
		o.count[peer]++
	}
}

func (o *owed) answered(id message.WordID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if peer, there := o.words[id]; there {
		delete(o.words, id)
		o.count[peer]--
	}
}

// to is how many answers a peer is owed.
func (o *owed) to(peer processtable.NodeID) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.count[peer]
}
