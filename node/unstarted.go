package node

import (
	"fmt"

	"fmqm/api"
	"fmqm/processtable"
	"fmqm/queue"
)

// awaitStart shows what the process thread says of an activity that would go on.
func (l *live) awaitStart(self processtable.NodeID, ended map[processtable.ActivityID]queue.AuditRecord) {
	if _, started := ended[processtable.Source]; started || l.Origin != self || l.Own {
		return
	}
	if l.State == api.ActivityReady || l.State == api.ActivityExecuted {
		l.State, l.unstarted = api.ActivityReady, true
	}
}

func notStarted(self processtable.NodeID) string {
	return fmt.Sprintf("waiting for its instance to be started: other sites say that it was started at %s, which does not know it. "+
		"If %s has lost its store, repeat the start; else terminate the instance", self, self)
}
