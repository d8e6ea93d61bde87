package report

import (
	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// PriorityOf is the priority that an instance was started with, by the audit record of its start: what it was given, or
// the process's. nil: that is api.DefaultPriority.
func PriorityOf(t *processtable.Table, start *record.AuditRecord) *int {
	fixed := api.DefaultPriority
	if t != nil && t.Priority != nil && t.Priority.Expr == nil {
		fixed = t.Priority.Fixed
	}
	return api.ShownPriority(start.Rank.Priority(fixed))
}

// expeditedHere is what the marks at a node have made of the priority of an instance that was started at origin; 0: nothing.
func expeditedHere(all []message.Message, origin processtable.NodeID) message.Rank {
	var marks []message.Marked
	for i := range all {
		if m, err := message.MarkOf(&all[i]); err == nil {
			marks = append(marks, m)
		}
	}
	if last := message.Expedited(marks, origin); last != nil {
		return last.Rank
	}
	return 0
}
