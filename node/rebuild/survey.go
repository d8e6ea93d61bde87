package rebuild

import (
	"context"
	"errors"
	"maps"
	"slices"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// browseChunk is how many entries a survey reads at a time.
const browseChunk = 256

// survey finds what a peer is to be sent again.
type survey struct {
	of      *Rebuilds
	peer    processtable.NodeID
	mark    record.Rebuild
	planned bool // the peer cannot be asked yet: it counts as if it had lost everything
}

// owed is what one instance was sent, and whether the peer gets it again.
type owed struct {
	instance message.InstanceID
	process  processtable.ProcessID
	origin   processtable.NodeID
	def      behaviour.Process
	spoken   []behaviour.Spoken
	sent     int                    // of these were sent; the others nobody had to say before
	waits    []record.EntryMessages // of it, of what queues has found
	over     bool                   // an operator has terminated it: its origin sends the peer a marker again
	removed  *record.Removed        // the instance had ended, and retention has removed what was sent of it
	send     bool
	stale    bool // the peer has the instance, started there, as one that has not ended
	unknown  bool // it was started at the peer, which does not know it
}

// passage: it is no instance, but an event that was passed on.
func (o *owed) passage() bool { return o.process == processtable.EventQueue }

// read gives what instances were sent, in the order of ids; all includes those that were
// started at the peer and of which nothing was sent there.
func (s *survey) read(ids []message.InstanceID, all bool) ([]owed, error) {
	upto, err := s.upto()
	if err != nil {
		return nil, err
	}
	var found []owed
	for _, id := range ids {
		history, err := s.of.Queue.History(id)
		if err != nil {
			return nil, err
		}
		removed, gone, err := s.of.Queue.Removed(id)
		if err != nil {
			return nil, err
		}
		if gone {
			if o, concerned := s.forgotten(removed); concerned {
				found = append(found, o)
			}
			continue
		}
		own := slices.IndexFunc(history, func(h record.AuditRecord) bool { return !h.Hearsay() })
		if own < 0 { // nothing of the instance was ever here
			continue
		}
		o := owed{instance: id, process: history[own].Process, origin: history[own].Origin, def: s.of.Site.Process(history[own].Process)}
		if o.passage() {
			o.def = s.of.Events
		}
		if o.def == nil {
			continue
		}
		o.spoken = s.spoken(history, upto)
		o.sent = len(o.spoken)
		o.spoken = append(o.spoken, s.unsaid(o.def, history)...)
		marker, err := s.of.Queue.Marker(o.process, o.instance)
		if err != nil {
			return nil, err
		}
		o.over = marker != nil && marker.Origin == o.origin
		marked := o.over && o.origin == s.of.Self && o.def.Table().HasPart(s.peer) // markers are in no audit
		if len(o.spoken) > 0 || marked || all && o.origin == s.peer {
			found = append(found, o)
		}
	}
	return found, nil
}

// forgotten gives what is left of an instance whose audit retention has removed, if the peer
// may have a part in it. Of what was sent there nothing can be sent again. The instance has
// ended: where something of it is under way at the peer, a marker of its origin ends that (N7).
func (s *survey) forgotten(r record.Removed) (owed, bool) {
	o := owed{instance: r.Instance, process: r.Process, origin: r.Origin, def: s.of.Site.Process(r.Process), removed: &r}
	if o.def == nil || o.origin != s.peer && !o.def.Table().HasPart(s.peer) {
		return o, false
	}
	return o, true
}

// upto is where the transmission queue begins that the peer's new store gets by itself.
func (s *survey) upto() (at [record.Lanes]record.Position, err error) {
	if !s.planned {
		return s.of.Queue.Began(s.peer)
	}
	t := s.of.Queue.Transmission(s.peer)
	for lane := range at {
		at[lane] = t.Low(message.Lane(lane))
	}
	return at, nil
}

// spoken gives what the audit says was sent to the peer and is not with it.
func (s *survey) spoken(history []record.AuditRecord, upto [record.Lanes]record.Position) []behaviour.Spoken {
	passed := map[message.Entry]bool{}
	for i := range history {
		if h := &history[i]; h.Event == record.EventPassed {
			passed[message.Entry{Instance: h.Instance, Scope: h.Scope, Activity: h.Activity}] = true
		}
	}
	restarted := restarts(history)
	var all []behaviour.Spoken
	for i := range history {
		h := &history[i]
		if h.Event == record.EventTerminated && h.Run < restarted[entryOf(h)] { // what it had sent was taken out (N30)
			continue
		}
		for _, sent := range h.Sent {
			if sent.Node != s.peer || int(sent.Lane) >= len(upto) ||
				sent.Number > upto[sent.Lane].Number || sent.Number <= s.mark.Floor[sent.Lane] {
				continue
			}
			target := message.Entry{Instance: h.Instance, Scope: sent.Scope, Activity: sent.Target}
			all = append(all, behaviour.Spoken{
				Instance: h.Instance, Origin: h.Origin, Scope: h.Scope, Source: h.Activity, Clock: h.Clock,
				RC: h.RC, Ending: h.Ending, Reason: h.Reason, Output: h.Output, Kind: sent.Kind, Number: sent.Nth, Within: sent.Scope, Target: sent.Target, Node: sent.Node,
				Control: sent.Control, Data: sent.Data, Lane: sent.Lane, Event: h.About, By: h.Doer(), Rank: h.Rank,
				Onward: sent.Control.IsFalse() && passed[target],
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
		if found[i].passage() {
			continue
		}
		byNode[found[i].origin] = append(byNode[found[i].origin], i)
		if found[i].origin != s.peer {
			byNode[s.peer] = append(byNode[s.peer], i)
		}
	}
	standings := map[processtable.NodeID]map[int]Standing{}
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		indexes := byNode[node]
		if node == s.peer && s.planned {
			continue
		}
		told, err := s.ask(ctx, node, found, indexes)
		switch {
		case err == nil:
			standings[node] = told
		case errors.Is(err, queue.ErrStopped), node == s.peer && s.mark.Stage != record.StageDone:
			return err // it has to say
		default:
			unasked[node] = true
		}
	}
	for i := range found {
		o := &found[i]
		if o.passage() { // nobody has to be asked (N24)
			o.send = len(o.spoken) > 0
			continue
		}
		at, asked := standings[o.origin][i]
		o.unknown = o.origin == s.peer && !at.Started && (asked || s.planned)
		open := standings[s.peer][i].Open
		if o.removed != nil { // where its origin says so, what is left of it at the peer is ended
			o.send = open && at.Ended && o.origin != s.peer
			o.stale = o.origin == s.peer && at.Started && !at.Ended
			continue
		}
		o.send = len(o.spoken) > 0 && !o.unknown && (!at.Ended || open)
		if !o.send && !o.over { // an event is for others, whatever has become of who sent it (N24)
			o.spoken = slices.DeleteFunc(o.spoken, func(p behaviour.Spoken) bool { return p.Kind != message.KindEvent })
			o.send = len(o.spoken) > 0
		}
		if o.over { // what the peer had is not needed any more, and who ended it has to say so
			o.send = (o.send || open) && o.origin != s.peer && (asked || s.planned)
		}
	}
	return nil
}

// ask asks a node, perhaps this one, how instances stand there. While this node stops it has no links,
// and nobody is taken to be silent for that: what is not known then is asked after the next start.
func (s *survey) ask(ctx context.Context, node processtable.NodeID, found []owed, indexes []int) (map[int]Standing, error) {
	q := make([]Instance, len(indexes))
	for at, i := range indexes {
		q[at] = Instance{found[i].instance, found[i].process.String()}
	}
	all, err := s.of.Standings(ctx, node, q)
	switch {
	case err != nil && s.of.Site.Stopping():
		return nil, queue.ErrStopped
	case err != nil:
		return nil, err
	}
	told := make(map[int]Standing, len(indexes))
	for at, i := range indexes {
		told[i] = all[at]
	}
	return told, nil
}

// queues visits the instances of processes of which something waits here, with where they were
// started; from says of which of those. It ends with ctx.
func (s *survey) queues(ctx context.Context, processes []behaviour.Process, from func(origin processtable.NodeID) bool, visit func([]owed) error) error {
	for _, p := range processes {
		id := p.Table().Process
		after := message.Entry{}
		for more := true; more; {
			err := ctx.Err()
			if err != nil {
				return err
			}
			var entries []record.EntryMessages
			if entries, more, err = s.of.Queue.BrowseFrom(id, after, browseChunk); err != nil {
				return err
			}
			var found []owed
			for _, e := range entries {
				after = e.Entry
				if len(e.Messages) == 0 || !from(e.Messages[0].Origin) {
					continue
				}
				if len(found) == 0 || found[len(found)-1].instance != e.Entry.Instance {
					found = append(found, owed{instance: e.Entry.Instance, process: id, origin: e.Messages[0].Origin, def: p})
				}
				last := &found[len(found)-1]
				last.waits = append(last.waits, e)
			}
			if err := visit(found); err != nil {
				return err
			}
		}
	}
	return nil
}

// restarts gives the last run that an operator has restarted of each activity.
func restarts(history []record.AuditRecord) map[message.Entry]int {
	all := map[message.Entry]int{}
	for i := range history {
		if h := &history[i]; h.Event == record.EventRestarted {
			all[entryOf(h)] = max(all[entryOf(h)], h.Run)
		}
	}
	return all
}

func entryOf(h *record.AuditRecord) message.Entry {
	return message.Entry{Instance: h.Instance, Scope: h.Scope, Activity: h.Activity}
}
