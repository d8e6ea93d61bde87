// Package question carries questions between nodes, and their answers: JSON over the links,
// beside the messages, and never persistent (paper §4). What is asked is for whoever asks.
package question

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fmqm/internal/task"
	"fmqm/internal/text"
	"fmqm/processtable"
)

// Timeout bounds what a question to all peers may take: who waits for a status
// waits for 2 s at most, and something is left for putting the answers together.
const Timeout = 1800 * time.Millisecond

// Carrier carries a question to a peer. An error means that it did not answer.
type Carrier interface {
	Query(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error)
}

// Answer answers a question with f.
func Answer[Q, A any](body []byte, f func(Q) (A, error)) ([]byte, error) {
	var q Q
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("read question: %w", err)
	}
	a, err := f(q)
	if err != nil {
		return nil, err
	}
	return text.Encode(a)
}

// Reply is one peer's answer, or why there is none.
type Reply[A any] struct {
	Node   processtable.NodeID
	Answer A
	Err    error
}

// late: the peer is connected, and did not answer in time. People are told just that.
type late struct{ error }

func (late) Error() string   { return "no answer in time" }
func (l late) Unwrap() error { return l.error }

// Ask puts a question to a peer. An error means that it did not answer.
func Ask[A any](ctx context.Context, c Carrier, peer processtable.NodeID, kind string, question any) (A, error) {
	var a A
	body, err := text.Encode(question)
	if err != nil {
		return a, fmt.Errorf("ask: %w", err)
	}
	reply, err := c.Query(ctx, peer, kind, body)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = late{err}
		}
		return a, err
	}
	if err := json.Unmarshal(reply, &a); err != nil {
		return a, fmt.Errorf("read answer: %w", err)
	}
	return a, nil
}

// All puts a question to peers at once and waits for all, or for the time-out.
func All[A any](ctx context.Context, by task.Scheduler, c Carrier, peers []processtable.NodeID, kind string, question any) []Reply[A] {
	ctx, cancel := by.WithTimeout(ctx, Timeout)
	defer cancel()
	replies := make([]Reply[A], len(peers))
	all := task.NewGroup(by)
	for i, peer := range peers {
		all.Go(func() {
			replies[i].Node = peer
			replies[i].Answer, replies[i].Err = Ask[A](ctx, c, peer, kind, question)
		})
	}
	_ = all.Wait(context.Background())
	return replies
}
