package rebuild

import (
	"context"
	"errors"
	"maps"
	"slices"

	"fmqm/processtable"
	"fmqm/queue"
)

// endHere ends what waits here of instances that have ended. It may wait for what is lost with the
// peer's store, and will not come: of an instance that has ended nothing is sent to the peer again,
// so the peer does not send it again either. An instance ends without an activity only where a dead
// path has passed around that (N6), and then all that leads out of the activity is resolved: nothing
// is taken from the instance. Its origin says here that it is over, as it says it to the peer (N7).
// An origin that does not answer is asked by the next rebuild; one that this node has no link to because
// it stops, by this one, after the next start.
func (r *rebuilding) endHere(ctx context.Context) error {
	s := survey{of: r.of, peer: r.peer}
	known := func(origin processtable.NodeID) bool { return origin != "" }
	return s.queues(ctx, r.of.processesOf(r.peer), known, func(found []owed) error {
		byOrigin := map[processtable.NodeID][]int{}
		for i := range found {
			byOrigin[found[i].origin] = append(byOrigin[found[i].origin], i)
		}
		for _, origin := range slices.Sorted(maps.Keys(byOrigin)) {
			told, err := s.ask(ctx, origin, found, byOrigin[origin])
			if errors.Is(err, queue.ErrStopped) {
				return err
			}
			if err != nil {
				r.of.Log.Warn().Err(err).Str("origin", string(origin)).Int("instances", len(byOrigin[origin])).
					Msg("it is not known whether instances have ended of which something waits here: rebuild the peer again when the site where they were started answers")
				continue
			}
			for _, i := range byOrigin[origin] {
				if !told[i].Ended {
					continue
				}
				if err := r.of.Site.TellEnd(ctx, found[i].instance, found[i].process, r.of.Self, origin); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
