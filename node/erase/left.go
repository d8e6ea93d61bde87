package erase

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fmqm/internal/task"
	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

const (
	// looks is how many messages of each peer's queue are looked at, at most.
	looks = 100_000
	// refusedPage is how many refused messages are read at once, mostRefused how many are looked at, at most.
	refusedPage = 256
	mostRefused = 10_000
)

// waitsApart are the peers for which messages wait that have no number of the link yet.
func (e *Eraser) waitsApart() map[processtable.NodeID]bool {
	apart := map[processtable.NodeID]bool{}
	for _, peer := range e.options.Queue.Peers() {
		if s, err := e.options.Queue.Transmission(peer).Stats(); err == nil && s.Apart > 0 {
			apart[peer] = true
		}
	}
	return apart
}

// Bounds of how long it is waited until notices are gone.
const (
	noticeLooks = 50
	noticePause = 10 * time.Millisecond
)

// takeOff ends the notices that tell of what has happened to an instance which was started here: they have its input, and its
// output. It waits until their messages have gone, so that the files that are written anew do not have them; what is slower than that is told as left.
func (e *Eraser) takeOff(ctx context.Context, s *record.Erasing) error {
	if s.Origin != e.options.Self {
		return nil
	}
	for look := range noticeLooks {
		open, err := e.options.Queue.BrowseInstance(s.Process, s.Instance)
		if err != nil {
			return err
		}
		all := message.TakeOff(open, "data of its instance are erased")
		if len(all) == 0 {
			return nil
		}
		if look == 0 {
			if err := e.options.Site.Commit(ctx, &record.Tx{Put: all}); err != nil {
				return err
			}
		}
		if err := task.Sleep(ctx, e.options.Scheduler, noticePause); err != nil {
			return err
		}
	}
	return nil
}

// left says what of an instance lies here that is not overwritten, and what to do; empty: nothing does.
func (e *Eraser) left(p processtable.ProcessID, i message.InstanceID) (string, error) {
	var parts []string
	open, err := e.options.Queue.BrowseInstance(p, i)
	if err != nil {
		return "", err
	}
	if len(open) > 0 {
		parts = append(parts, text.Counted(len(open), "message of it lies", "messages of it lie")+" in the queue of "+p.String()+": wait until what they are for has ended, or terminate the instance once more")
	}
	refused, err := e.refused(i)
	if err != nil {
		return "", err
	}
	if len(refused) > 0 {
		parts = append(parts, fmt.Sprintf("refused messages have data of it: drop them there (fmqm refused drop %s)", strings.Join(refused, " ")))
	}
	apart := e.waitsApart()
	for _, peer := range e.options.Queue.Peers() {
		count := 0
		all, err := e.options.Queue.EachHeld(peer, looks, func(h message.Header) bool {
			if h.Instance == i {
				count++
			}
			return true
		})
		switch {
		case err != nil:
			return "", err
		case count > 0:
			parts = append(parts, text.Counted(count, "message of it waits", "messages of it wait")+" for "+string(peer)+": wait until that is heard")
		case !all, apart[peer]:
			parts = append(parts, fmt.Sprintf("messages wait for %s, and some of them may be of it: wait until that is heard", peer))
		}
	}
	return strings.Join(parts, "; "), nil
}

// refused are the numbers of the refused messages of an instance.
func (e *Eraser) refused(i message.InstanceID) (numbers []string, err error) {
	for after, seen := uint64(0), 0; seen < mostRefused; {
		page, err := e.options.Queue.RefusedAfter(after, refusedPage)
		if err != nil || len(page) == 0 {
			return numbers, err
		}
		for _, m := range page {
			if m.Header != nil && m.Header.Instance == i {
				numbers = append(numbers, fmt.Sprint(m.Number))
			}
		}
		after, seen = page[len(page)-1].Number, seen+len(page)
	}
	return numbers, nil
}
