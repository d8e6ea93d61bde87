package node

import (
	"context"
	"errors"
	"maps"
	"slices"

	"fmqm/api"
	"fmqm/internal/text"
	"fmqm/link"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Live reports whether the node works: the committer and every process thread answer.
// What does not answer before ctx ends counts as dead. It writes nothing, so a disk that
// hangs shows only when something is committed.
func (n *Node) Live(ctx context.Context) api.Health {
	h := api.Health{State: api.HealthOK}
	if n.isStopped() {
		h.Add("node", api.HealthFailed, "it is stopping")
		return h
	}
	if err := n.commit(ctx, &record.Tx{}); err != nil {
		h.Add("committer", api.HealthFailed, silent(err))
	} else {
		h.Add("committer", api.HealthOK, "")
	}
	dead := 0
	threads := n.allThreads()
	for _, t := range threads {
		if _, err := t.Gauges(ctx); err != nil {
			dead++
			h.Add("process "+t.ID().String(), api.HealthFailed, silent(err))
		}
	}
	if dead == 0 {
		h.Add("processes", api.HealthOK, "")
	}
	return h
}

func silent(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "it did not answer in time"
	}
	return err.Error()
}

// Ready is Live, and what a sysadmin should know although the node works: links that
// are down, messages that wait for a table or for a peer that nobody configured, and
// congestion. None of these makes a node unready: it works on without its peers.
func (n *Node) Ready(ctx context.Context) api.Health {
	h := n.Live(ctx)
	if n.queue.Congested() {
		h.Add("load", api.HealthDegraded, "too much work is waiting: links accept nothing for the moment")
	} else {
		h.Add("load", api.HealthOK, "")
	}
	n.pressure.health(&h)
	for _, peer := range n.peers() {
		l := n.Link(peer)
		if l == nil {
			continue
		}
		name, s := "link "+string(peer), l.Status()
		if s.State == link.StateConnected {
			h.Add(name, api.HealthOK, "")
			continue
		}
		reason := string(s.State)
		if s.Reason != "" {
			reason += ": " + s.Reason
		}
		h.Add(name, api.HealthDegraded, reason+"; "+text.Counted(s.Waiting, "message waits", "messages wait"))
	}
	for _, peer := range n.queue.Peers() {
		if n.Link(peer) == nil {
			h.Add("link "+string(peer), api.HealthDegraded, "messages wait for it, and it is not in links.peers")
		}
	}
	parked := n.queue.Parked()
	for _, process := range slices.SortedFunc(maps.Keys(parked), processtable.ProcessID.Compare) {
		h.Add("process "+process.String(), api.HealthDegraded, text.Counted(parked[process], "message waits", "messages wait")+" here for its table: upload it")
	}
	return h
}

func (n *Node) isStopped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stopped
}
