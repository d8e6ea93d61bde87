package queue

import (
	"fmqm/internal/failpoint"
	"fmqm/message"
)

// pass passes a point of a commit, in builds that can fail there.
func (g *group) pass(point string) {
	if failpoint.Enabled {
		failpoint.Hit(point, g.kinds()...)
	}
}

// passStaged passes the point between the chunks of a transaction and itself.
func (c *core) passStaged() {
	if failpoint.Enabled && c.next < len(c.waiting) && c.waiting[c.next].stageDone > 0 {
		failpoint.Hit("commit.staged", "stage")
	}
}

// kinds says what a group commits.
func (g *group) kinds() (kinds []string) {
	for i := range g.batch.Ops {
		if g.batch.Ops[i].Key[0] == classLow {
			kinds = append(kinds, "trim")
		}
	}
	for _, w := range g.works {
		kinds = append(kinds, w.tx.kinds()...)
	}
	return kinds
}

func (tx *Tx) kinds() (kinds []string) {
	if tx.Accept != nil {
		kinds = append(kinds, "accept")
	}
	if len(tx.Tables) > 0 {
		kinds = append(kinds, "table")
	}
	for i := range tx.Put {
		if tx.Put[i].Kind == message.KindMarker {
			kinds = append(kinds, "terminate")
		}
	}
	for i := range tx.Audit {
		kinds = append(kinds, kindOf(tx.Audit[i].Event))
	}
	return kinds
}

func kindOf(e Event) string {
	switch e {
	case EventStarted:
		return "start"
	case EventTerminated, EventSkipped, EventEnded, EventStopped:
		return "termination"
	case EventIterated:
		return "iteration"
	case EventFailed:
		return "attempt"
	case EventInError:
		return "error"
	case EventRetried:
		return "retry"
	case EventPassed, EventDropped: // part of a termination, or an operator's word
	}
	return ""
}
