package node

import (
	"context"
	"maps"
	"slices"

	"fmqm/behaviour"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// browseChunk is how many entries a survey reads at a time.
const browseChunk = 256

// survey finds what a peer is to be sent again.
type survey struct {
	node    *Node
	peer    processtable.NodeID
	mark    queue.Rebuild
	planned bool // the peer cannot be asked yet: it counts as if it had lost everything
}

// owed is what one instance was sent, and whether the peer gets it again.
type owed struct {
	instance message.InstanceID
	process  processtable.ProcessID
	origin   processtable.NodeID
	thread   *processThread
	spoken   []behaviour.Spoken
	over     bool           // an operator has terminated it: its origin sends the peer a marker again
	removed  *queue.Removed // the instance had ended, and retention has removed what was sent of it
	send     bool
	stale    bool // the peer has the instance, started there, as one that has not ended
	unknown  bool // it was started at the peer, which does not know it
}

// read gives what instances were sent, in the order of ids; all includes those that were
// started at the peer and of which nothing was sent there.
func (s *survey) read(ids []message.InstanceID, all bool) ([]owed, error) {
	upto, err := s.upto()
	if err != nil {
		return nil, err
	}
	var found []owed
	for _, id := range ids {
		history, err := s.node.queue.History(id)
		if err != nil {
			return nil, err
		}
		removed, gone, err := s.node.queue.Removed(id)
		if err != nil {
			return nil, err
		}
		if gone {
			if o, concerned := s.forgotten(removed); concerned {
				found = append(found, o)
			}
			continue
		}
		if len(history) == 0 {
			continue
		}
		o := owed{instance: id, process: history[0].Process, origin: history[0].Origin, thread: s.node.thread(history[0].Process)}
		if o.thread == nil {
			continue
		}
		o.spoken = s.spoken(history, upto)
		marker, err := s.node.queue.Marker(o.process, o.instance)
		if err != nil {
			return nil, err
		}
		o.over = marker != nil && marker.Origin == o.origin
		marked := o.over && o.origin == s.node.name && o.thread.process.Table().HasPart(s.peer) // markers are in no audit
		if len(o.spoken) > 0 || marked || all && o.origin == s.peer {
			found = append(found, o)
		}
	}
	return found, nil
}

// forgotten gives what is left of an instance whose audit retention has removed, if the peer
// may have a part in it. Of what was sent there nothing can be sent again. The instance has
// ended: where something of it is under way at the peer, a marker of its origin ends that (N7).
func (s *survey) forgotten(r queue.Removed) (owed, bool) {
	o := owed{instance: r.Instance, process: r.Process, origin: r.Origin, thread: s.node.thread(r.Process), removed: &r}
	if o.thread == nil || o.origin != s.peer && !o.thread.process.Table().HasPart(s.peer) {
		return o, false
	}
	return o, true
}

// upto is where the transmission queue begins that the peer's new store gets by itself.
func (s *survey) upto() (at [link.Lanes]queue.Position, err error) {
	if !s.planned {
		return s.node.queue.Began(s.peer)
	}
	t := s.node.queue.Transmission(s.peer)
	for lane := range at {
		at[lane] = t.Low(message.Lane(lane))
	}
	return at, nil
}

// spoken gives what the audit says was sent to the peer and is not with it.
func (s *survey) spoken(history []queue.AuditRecord, upto [link.Lanes]queue.Position) []behaviour.Spoken {
	passed := map[message.Entry]bool{}
	for i := range history {
		if h := &history[i]; h.Event == queue.EventPassed {
			passed[message.Entry{Instance: h.Instance, Scope: h.Scope, Activity: h.Activity}] = true
		}
	}
	var all []behaviour.Spoken
	for i := range history {
		h := &history[i]
		for _, sent := range h.Sent {
			if sent.Node != s.peer || int(sent.Lane) >= len(upto) ||
				sent.Number > upto[sent.Lane].Number || sent.Number <= s.mark.Floor[sent.Lane] {
				continue
			}
			target := message.Entry{Instance: h.Instance, Scope: h.Scope, Activity: sent.Target}
			all = append(all, behaviour.Spoken{
				Instance: h.Instance, Origin: h.Origin, Scope: h.Scope, Source: h.Activity, Clock: h.Clock,
				RC: h.RC, Output: h.Output, Target: sent.Target, Node: sent.Node,
				Control: sent.Control, Data: sent.Data, Lane: sent.Lane,
				Onward: sent.Control == message.False && passed[target],
			})
		}
	}
	return all
}

// judge decides which of what was sent is sent again: what belongs to an instance that
// has not ended, or of which something waits at the peer. An instance that was started at
// the peer has to be known there: without its record it could never end.
func (s *survey) judge(ctx context.Context, found []owed, unasked map[processtable.NodeID]bool) error {
	byNode := map[processtable.NodeID][]int{}
	for i := range found {
		byNode[found[i].origin] = append(byNode[found[i].origin], i)
		if found[i].origin != s.peer {
			byNode[s.peer] = append(byNode[s.peer], i)
		}
	}
	standings := map[processtable.NodeID]map[int]standing{}
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		indexes := byNode[node]
		if node == s.peer && s.planned {
			continue
		}
		told, err := s.ask(ctx, node, found, indexes)
		switch {
		case err == nil:
			standings[node] = told
		case node == s.peer && s.mark.Stage != queue.StageDone:
			return err // it has to say
		default:
			unasked[node] = true
		}
	}
	for i := range found {
		o := &found[i]
		at, asked := standings[o.origin][i]
		o.unknown = o.origin == s.peer && !at.Started && (asked || s.planned)
		open := standings[s.peer][i].Open
		if o.removed != nil { // where its origin says so, what is left of it at the peer is ended
			o.send = open && at.Ended && o.origin != s.peer
			o.stale = o.origin == s.peer && at.Started && !at.Ended
			continue
		}
		o.send = len(o.spoken) > 0 && !o.unknown && (!at.Ended || open)
		if o.over { // what the peer had is not needed any more, and who ended it has to say so
			o.send = (o.send || open) && o.origin != s.peer && (asked || s.planned)
		}
	}
	return nil
}

// ask asks a node, perhaps this one, how instances stand there.
func (s *survey) ask(ctx context.Context, node processtable.NodeID, found []owed, indexes []int) (map[int]standing, error) {
	q := make([]askedInstance, len(indexes))
	for at, i := range indexes {
		q[at] = askedInstance{found[i].instance, found[i].process.String()}
	}
	all, err := s.node.standings(ctx, node, q)
	if err != nil {
		return nil, err
	}
	told := make(map[int]standing, len(indexes))
	for at, i := range indexes {
		told[i] = all[at]
	}
	return told, nil
}

// queues visits what waits here of instances that were started at the peer.
func (s *survey) queues(visit func([]owed) error) error {
	for _, t := range s.node.threads() {
		after := message.Entry{}
		for more := true; more; {
			var entries []queue.EntryMessages
			var err error
			if entries, more, err = s.node.queue.BrowseFrom(t.id(), after, browseChunk); err != nil {
				return err
			}
			var found []owed
			for _, e := range entries {
				after = e.Entry
				if len(e.Messages) == 0 || e.Messages[0].Origin != s.peer {
					continue
				}
				if len(found) == 0 || found[len(found)-1].instance != e.Entry.Instance {
					found = append(found, owed{instance: e.Entry.Instance, process: t.id(), origin: s.peer, thread: t})
				}
			}
			if err := visit(found); err != nil {
				return err
			}
		}
	}
	return nil
}
