package node

import (
	"slices"
	"sync"

	"fmqm/message"
	"fmqm/queue"
)

const (
	// refusalsKept is how many refused messages, the newest, are known by their instances.
	refusalsKept = 1000
	refusalsPage = 100 // read at once
)

// refusals are the connector messages that process threads have set aside, without their
// bodies: each is read once, whoever asks about instances. It is safe for concurrent use.
type refusals struct {
	mu    sync.Mutex
	begun bool
	upto  uint64           // the highest number that was looked at
	all   []refusedMessage // by number
}

// refusedMessage is a connector message that a process thread has set aside, without its body.
type refusedMessage struct {
	number uint64
	m      message.Message
	reason string
}

// of gives those of an instance, the newest first.
func (r *refusals) of(q *queue.Manager, i message.InstanceID) ([]refusedMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.read(q); err != nil {
		return nil, err
	}
	var found []refusedMessage
	for _, refused := range slices.Backward(r.all) {
		if refused.m.Instance == i {
			found = append(found, refused)
		}
	}
	return found, nil
}

// read looks at what was set aside since it last did; r.mu is held.
func (r *refusals) read(q *queue.Manager) error {
	if !r.begun {
		newest, err := q.SetAsideList(1)
		if err != nil {
			return err
		}
		if r.begun = true; len(newest) > 0 && newest[0].Number > refusalsKept {
			r.upto = newest[0].Number - refusalsKept
		}
	}
	for {
		page, err := q.SetAsideAfter(r.upto, refusalsPage)
		if err != nil {
			return err
		}
		for i := range page {
			r.upto = page[i].Number
			r.add(&page[i])
		}
		if len(page) < refusalsPage {
			return nil
		}
	}
}

// add keeps what no peer's link has refused: that is of no entry here.
func (r *refusals) add(head *queue.AsideHead) {
	if head.Peer != "" || head.Header == nil || head.Header.Kind != message.KindConnector {
		return
	}
	m := message.Message{Header: *head.Header}
	if r.all = append(r.all, refusedMessage{number: head.Number, m: m, reason: head.Reason}); len(r.all) > refusalsKept {
		r.all = slices.Delete(r.all, 0, 1)
	}
}

// taken: a transaction is on disk that has taken these out of what is set aside.
func (r *refusals) taken(numbers []uint64) {
	if len(numbers) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(m refusedMessage) bool { return slices.Contains(numbers, m.number) })
}
