package lane

import (
	"bytes"
	"fmt"

	"fmqm/message"
	"fmqm/queue/commit"
	"fmqm/queue/prepare"
	"fmqm/queue/record"
)

// PeerReads says what the peer reads from now on (N17): what is put and needs more gets no
// number of the link and waits apart, and what waits apart and needs no more gets its number. It
// is recorded, and holds until the peer says otherwise. It does not block.
func (t *Transmission) PeerReads(r message.Reads) {
	t.of.committer.Reads(commit.Reads{Peer: t.peer, Reads: r})
}

// Reads gives what the peer has said last that it reads; [message.Before] of one that was never heard.
func (t *Transmission) Reads() message.Reads {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reads
}

// Lacks says what the peer lacks to read a message, for people; empty: it reads it, as far as
// it has said. A peer that was never heard is taken to read what the version before this did.
func (t *Transmission) Lacks(needs message.Needs) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reads.Lacks(needs)
}

// move makes the transaction that the core asks for: items that waited apart go into lanes. They
// are read beside the commits: nothing else takes them away.
func (l *Lanes) move(f commit.MoveFact) {
	l.background.Go(func() {
		w, err := l.prepareMove(f)
		if err != nil {
			_ = l.records.Judge(fmt.Errorf("read what waits apart for %s: %w", f.Peer, err))
			return
		}
		l.committer.Submit(w)
	})
}

func (l *Lanes) prepareMove(f commit.MoveFact) (*prepare.Changes, error) {
	w := l.committer.Empty()
	w.Move = &commit.Move{Peer: f.Peer}
	for _, number := range f.Numbers {
		key := record.AppendApartKey(nil, f.Peer, number)
		value, err := l.records.Get(key)
		if err != nil {
			return nil, err
		}
		a, err := record.ReadApart(key, bytes.Clone(value))
		if err != nil {
			return nil, err
		}
		payload, err := l.records.Body(a.Place)
		if err != nil {
			return nil, err
		}
		w.MoveApart(&a, payload)
	}
	return w, nil
}
