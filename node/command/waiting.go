package command

import (
	"context"
	"slices"
	"sync"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
)

// wordName names one word: whoever asks makes its identifier, so that another activity's may have
// the same one.
type wordName struct {
	entry message.Entry
	id    message.WordID
}

// waiting are the words whose answers somebody waits for at this node.
type waiting struct {
	mu      sync.Mutex
	answers map[wordName][]*task.Answer[message.Answer]
}

// await gives where an answer will be given, and what ends the waiting.
func (w *waiting) await(by task.Scheduler, name wordName) (*task.Answer[message.Answer], func()) {
	a := task.NewAnswer[message.Answer](by)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers == nil {
		w.answers = map[wordName][]*task.Answer[message.Answer]{}
	}
	w.answers[name] = append(w.answers[name], a)
	return a, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if rest := slices.DeleteFunc(w.answers[name], func(other *task.Answer[message.Answer]) bool { return other == a }); len(rest) > 0 {
			w.answers[name] = rest
		} else {
			delete(w.answers, name)
		}
	}
}

// answered tells those who wait.
func (w *waiting) answered(name wordName, a message.Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, waiting := range w.answers[name] {
		waiting.TryGive(a)
	}
}

// putting are the words that are about to be put, by their names: what is not on disk yet
// cannot be found there.
type putting struct {
	mu    sync.Mutex
	words map[wordName]*task.Gate
}

// begin lets one put a word, or find out that it was put, until it calls end: whoever else wants to
// waits for that, or for ctx.
func (p *putting) begin(ctx context.Context, by task.Scheduler, name wordName) (end func(), err error) {
	for {
		other := p.claim(by, name)
		if other == nil {
			return func() { p.end(name) }, nil
		}
		if _, err := by.Wait(ctx, other); err != nil {
			return nil, err
		}
	}
}

// claim notes that a word is about to be put, or gives what opens when somebody else has put it.
func (p *putting) claim(by task.Scheduler, name wordName) (other *task.Gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.words[name]; other != nil {
		return other
	}
	if p.words == nil {
		p.words = map[wordName]*task.Gate{}
	}
	p.words[name] = by.Gate()
	return nil
}

func (p *putting) end(name wordName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.words[name].Open()
	delete(p.words, name)
}

// answerSize is what an answer is taken to have, in bytes, until it is there.
const answerSize = 1 << 10

// owed are the words of peers that lie here without an answer, since the start.
type owed struct {
	mu    sync.Mutex
	words map[wordName]processtable.NodeID
	count map[processtable.NodeID]int64
}

func (o *owed) add(name wordName, peer processtable.NodeID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.words == nil {
		o.words, o.count = map[wordName]processtable.NodeID{}, map[processtable.NodeID]int64{}
	}
	if _, there := o.words[name]; !there {
		o.words[name] = peer
		o.count[peer]++
	}
}

func (o *owed) answered(name wordName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if peer, there := o.words[name]; there {
		delete(o.words, name)
		o.count[peer]--
	}
}

// to is how many answers a peer is owed.
func (o *owed) to(peer processtable.NodeID) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.count[peer]
}
