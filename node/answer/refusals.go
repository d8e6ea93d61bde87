package answer

import (
	"slices"
	"sync"

	"fmqm/message"
	"fmqm/node/report"
	"fmqm/queue"
	"fmqm/queue/record"
)

const (
	// refusalsKept is how many refused messages, the newest, are known by their instances.
	refusalsKept = 1000
	refusalsPage = 100 // read at once
)

// refusals are the connector messages that process threads have set aside, without their
// bodies: each is read once, whoever asks about instances. It is safe for concurrent use. No
// lock is held while the store is read: the committer tells of what is taken, and never waits
// for who asks.
type refusals struct {
	mu   sync.Mutex
	seen seenRefusals
	all  []report.Refused // by number
}

// seenRefusals is how far the store was looked at.
type seenRefusals struct {
	begun bool
	upto  uint64 // the highest number that was looked at
	takes int    // how often some were taken out
}

// of gives those of an instance, the newest first.
func (r *refusals) of(q *queue.Manager, i message.InstanceID) ([]report.Refused, error) {
	if err := r.read(q); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []report.Refused
	for _, refused := range slices.Backward(r.all) {
		if refused.Message.Instance == i {
			found = append(found, refused)
		}
	}
	return found, nil
}

// read looks at what was set aside since somebody last did.
func (r *refusals) read(q *queue.Manager) error {
	for {
		seen := r.sofar()
		if !seen.begun {
			newest, err := q.RefusedList(1)
			if err != nil {
				return err
			}
			r.begin(newest)
			continue
		}
		page, err := q.RefusedAfter(seen.upto, refusalsPage)
		if err != nil {
			return err
		}
		if r.take(seen, page) && len(page) < refusalsPage {
			return nil
		}
	}
}

func (r *refusals) sofar() seenRefusals {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// begin lets the reading begin with the newest that are kept.
func (r *refusals) begin(newest []record.RefusedHead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.begun {
		return
	}
	if r.seen.begun = true; len(newest) > 0 && newest[0].Number > refusalsKept {
		r.seen.upto = newest[0].Number - refusalsKept
	}
}

// take takes what was read, unless somebody else has read on meanwhile, or taken some out,
// which may be among these: then it is read again.
func (r *refusals) take(as seenRefusals, page []record.RefusedHead) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen != as {
		return false
	}
	for i := range page {
		r.seen.upto = page[i].Number
		r.add(&page[i])
	}
	return true
}

// add keeps what no peer's link has refused: that is of no entry here. r.mu is held.
func (r *refusals) add(head *record.RefusedHead) {
	if head.Peer != "" || head.Header == nil || head.Header.Kind != message.KindConnector {
		return
	}
	m := message.Message{Header: *head.Header}
	if r.all = append(r.all, report.Refused{Number: head.Number, Message: m, Reason: head.Reason}); len(r.all) > refusalsKept {
		r.all = slices.Delete(r.all, 0, 1)
	}
}

// taken: a transaction is on disk that has taken these out.
func (r *refusals) taken(numbers []uint64) {
	if len(numbers) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.takes++
	r.all = slices.DeleteFunc(r.all, func(m report.Refused) bool { return slices.Contains(numbers, m.Number) })
}
