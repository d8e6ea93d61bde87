package rebuild

import (
	"context"
	"slices"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What the peer had decided before it lost its store may come out otherwise now: a deadline, what cancels, an error
// that is caught (N14). Who was told of it then keeps it, and says it again. Of some ends nobody has told: the peer
// itself had passed around an activity that was dead (N6), or had cancelled all that is around it (N25). So the
// activity's host says it (R41): else what follows on that at the peer, which now goes another way, would wait for ever.

// unsaid gives what activities that have ended here say to the peer of that, and have told nobody.
func (s *survey) unsaid(def behaviour.Process, history []record.AuditRecord) (all []behaviour.Spoken) {
	told := map[message.Entry]bool{}
	for i := range history {
		for _, sent := range history[i].Sent {
			if sent.Kind == 0 { // a connector: all that lead out of an activity are resolved in one transaction
				told[entryOf(&history[i])] = true
			}
		}
	}
	for i := range history {
		h := &history[i]
		if (h.Event == record.EventSkipped || h.Event == record.EventCancelled) && !told[entryOf(h)] {
			all = append(all, def.Unsaid(behaviour.Spoken{
				Instance: h.Instance, Origin: h.Origin, Scope: h.Scope, Source: h.Activity, Clock: h.Clock, Reason: h.Reason, Node: s.peer, Rank: h.Rank,
			})...)
		}
	}
	return all
}

// passedAround gives what activities that wait here, and that others have passed around, say to the peer of that.
func (s *survey) passedAround(o *owed) (all []behaviour.Spoken) {
	for _, e := range o.waits {
		for i := range e.Messages {
			if m := &e.Messages[i]; m.Onward {
				all = append(all, o.def.Unsaid(behaviour.Spoken{
					Instance: m.Instance, Origin: m.Origin, Scope: m.Scope, Source: m.Activity, Clock: message.Next(m.Clock), Node: s.peer, Rank: m.Rank,
				})...)
			}
		}
	}
	return all
}

// passed visits the instances of which activities wait here that others have passed around, with what these say to the
// peer, where it is to be told.
func (s *survey) passed(ctx context.Context, unasked map[processtable.NodeID]bool, visit func(*owed) error) error {
	known := func(origin processtable.NodeID) bool { return origin != "" }
	return s.queues(ctx, s.of.processesOf(s.peer), known, func(found []owed) error {
		for i := range found {
			found[i].spoken = s.passedAround(&found[i])
		}
		found = slices.DeleteFunc(found, func(o owed) bool { return len(o.spoken) == 0 })
		err := s.judge(ctx, found, unasked)
		for i := range found {
			if err == nil && found[i].send {
				err = visit(&found[i])
			}
		}
		return err
	})
}

// sendPassed puts what these say. It comes before what the audit tells: what ends meanwhile is said then.
func (r *rebuilding) sendPassed(ctx context.Context) error {
	s := survey{of: r.of, peer: r.peer, mark: r.mark}
	return s.passed(ctx, map[processtable.NodeID]bool{}, func(o *owed) error {
		for part := uint64(0); part < uint64(len(o.spoken)); {
			next, err := r.putSome(ctx, o, part, func(*record.Rebuild, uint64) {})
			if err != nil {
				return err
			}
			part = next
		}
		return nil
	})
}
