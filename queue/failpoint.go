package queue

import (
	"bytes"

	"fmqm/internal/failpoint"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// pass passes a point of a commit, in builds that can fail there.
func pass(point string, kinds []string) {
	if failpoint.Enabled {
		failpoint.Hit(point, kinds...)
	}
}

// kindsOfWrite says what a commit changes, in builds that can fail there.
func kindsOfWrite(ops []store.Op, works []*commit.Work) (kinds []string) {
	if !failpoint.Enabled {
		return nil
	}
	for i := range ops {
		if ops[i].Key[0] == record.ClassLow {
			kinds = append(kinds, "trim")
		}
		if bytes.Equal(ops[i].Key, record.KeyAnew) {
			kinds = append(kinds, "anew")
		}
	}
	for _, w := range works {
		kinds = append(kinds, workOf(w).kinds()...)
	}
	return kinds
}

func (w *work) kinds() []string {
	kinds := append(w.tx.kinds(), w.tx.kindsOfAside()...)
	if a := w.tx.Accept; a != nil {
		kinds = append(kinds, "accept")
	}
	if len(w.tx.Park) > 0 {
		kinds = append(kinds, "park")
	}
	if r := w.tx.Rebuild; r != nil {
		kinds = append(kinds, rebuildKind(r, len(w.tx.Put) > 0))
	}
	switch b := w.Bind; {
	case b == nil:
	case b.Start == nil:
		kinds = append(kinds, "meet")
	case b.Start.Anew:
		kinds = append(kinds, "rebind")
	default:
		kinds = append(kinds, "begin")
	}
	return kinds
}

func (tx *Tx) kinds() (kinds []string) {
	if a := tx.Accept; a != nil && len(a.Whole) > 0 {
		kinds = append(kinds, "whole")
	} else if a != nil && len(a.Parts) > 0 {
		kinds = append(kinds, "part")
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
		kinds = append(kinds, kindsOf(tx.Audit[i].Event)...)
	}
	return kinds
}

// kindsOfAside says what a transaction does with messages that take no effect.
func (tx *Tx) kindsOfAside() (kinds []string) {
	switch {
	case len(tx.SetAside) > 0 && tx.Accept != nil:
		kinds = append(kinds, "aside")
	case len(tx.SetAside) > 0:
		kinds = append(kinds, "refuse")
	case len(tx.Consume) > 0 && len(tx.Consume[0].Keys) > 0 && len(tx.Put)+len(tx.Audit) == 0:
		kinds = append(kinds, "absorb")
	}
	if len(tx.TakeAside) > 0 && !dropped(tx.Audit) {
		kinds = append(kinds, "again")
	}
	return kinds
}

func dropped(audit []AuditRecord) bool {
	for i := range audit {
		if audit[i].Event == EventDropped {
			return true
		}
	}
	return false
}

// rebuildKind says which step of a rebuilding a transaction takes.
func rebuildKind(r *Rebuild, puts bool) string {
	switch {
	case r.Stage == StageDecided:
		return "rebuild"
	case r.Stage == StageDone:
		return "rebuilt"
	case puts:
		return "chunk"
	case r.After == message.InstanceID{}:
		return "asked"
	}
	return "page"
}

func kindsOf(e Event) []string {
	switch e {
	case EventStarted:
		return []string{"start"}
	case EventTerminated, EventEnded:
		return []string{"termination"}
	case EventSkipped:
		return []string{"termination", "skip"}
	case EventStopped:
		return []string{"termination", "stop"}
	case EventIterated:
		return []string{"iteration"}
	case EventFailed:
		return []string{"attempt"}
	case EventInError:
		return []string{"error"}
	case EventRetried:
		return []string{"retry"}
	case EventPassed:
		return []string{"pass"}
	case EventDropped:
		return []string{"drop"}
	}
	return nil
}
