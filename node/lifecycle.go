package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// cleanUps are what undoes the steps of a start: where a later step fails, and when the
// node stops.
type cleanUps []func(context.Context) error

func (c *cleanUps) add(f func(context.Context) error) { *c = append(*c, f) }

// run undoes all steps, the last first, each once.
func (c *cleanUps) run(ctx context.Context) error {
	var errs []error
	for len(*c) > 0 {
		last := len(*c) - 1
		f := (*c)[last]
		*c = (*c)[:last]
		errs = append(errs, f(ctx))
	}
	return errors.Join(errs...)
}

// Stop ends the node: no new work, programs that run may finish for the grace, then
// they are ended; what was submitted is committed; the store is closed. When ctx ends
// the grace ends too. Each call returns when the node has ended, with the same error.
func (n *Node) Stop(ctx context.Context) error { return n.end.Do(ctx, n.sched, n.stop) }

func (n *Node) stop(ctx context.Context) error {
	n.mu.Lock()
	n.stopped = true
	n.mu.Unlock()
	n.desk.Stop()
	if err := n.cleanUps.run(ctx); err != nil {
		return fmt.Errorf("stop node %s: %w", n.name, err)
	}
	n.log.Info().Msg("node stopped")
	return nil
}

// endLinks ends the links. They stay known: while the node stops, who asks is told of its peers as of
// peers that are not connected, and not as if there were none.
func (n *Node) endLinks(ctx context.Context) error {
	n.mu.Lock()
	links := maps.Clone(n.links)
	n.mu.Unlock()
	for _, peer := range slices.Sorted(maps.Keys(links)) {
		if err := links[peer].Stop(ctx); err != nil {
			n.log.Warn().Err(err).Str("peer", string(peer)).Msg("link did not end in time")
		}
	}
	return nil
}

// drain lets no program begin any more, and waits until none runs and their ends are
// durable, at most for the grace.
func (n *Node) drain(ctx context.Context) error {
	n.execution.Close()
	n.rest()
	if !n.started {
		return nil
	}
	ctx, cancel := n.sched.WithTimeout(ctx, n.options.Grace)
	defer cancel()
	threads := n.allThreads()
	for _, t := range threads {
		if t.Close(ctx) != nil {
			return nil // the grace is over
		}
	}
	for _, t := range threads {
		if t.Settle(ctx) != nil {
			return nil
		}
	}
	return nil
}

// endTasks ends programs and all that goes on beside the threads, and waits for the latter.
func (n *Node) endTasks(context.Context) error {
	n.kill()
	return errors.Join(n.tasks.Wait(context.Background()), n.parking.Wait(context.Background()))
}

func (n *Node) endThreads(context.Context) error {
	var errs []error
	for _, t := range n.allThreads() {
		errs = append(errs, t.End(n.started))
	}
	return errors.Join(errs...)
}
