package queue

import (
	"bytes"
	"slices"

	"fmqm/internal/failpoint"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
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
	reads := record.AppendName([]byte{record.ClassMeta}, record.ReadsName)
	for i := range ops {
		switch key := ops[i].Key; {
		case key[0] == record.ClassLow:
			kinds = append(kinds, "trim")
		case key[0] == record.ClassApart && ops[i].Value != nil:
			kinds = append(kinds, "apart")
		case bytes.HasPrefix(key, reads):
			kinds = append(kinds, "reads")
		case bytes.Equal(key, record.KeyRecreated):
			kinds = append(kinds, "anew")
		}
	}
	for _, w := range works {
		kinds = append(kinds, workOf(w).kinds()...)
	}
	return kinds
}

func (w *work) kinds() []string {
	kinds := append(kindsOfTx(w.Tx), kindsOfRefused(w.Tx)...)
	if a := w.Tx.Accept; a != nil {
		kinds = append(kinds, "accept")
	}
	if len(w.Tx.Park) > 0 {
		kinds = append(kinds, "park")
	}
	if r := w.Tx.Rebuild; r != nil {
		kinds = append(kinds, rebuildKind(r, len(w.Tx.Put) > 0))
	}
	if w.Tx.Schedule != nil {
		kinds = append(kinds, "schedule")
	}
	if len(w.Tx.Retire) > 0 {
		kinds = append(kinds, "retire")
	}
	if len(w.Tx.Final) > 0 {
		kinds = append(kinds, "final")
	}
	if len(w.Tx.Without) > 0 {
		kinds = append(kinds, "without")
	}
	if len(w.Tx.Remove) > 0 {
		kinds = append(kinds, "remove")
	}
	if len(w.Tx.Rewrite) > len(w.Tx.Supersede) { // of what is superseded that says what it is (N30)
		kinds = append(kinds, "overwrite")
	} else if w.Tx.Erasing != nil {
		kinds = append(kinds, kindOfErasing(w.Tx.Erasing))
	}
	if w.Move != nil {
		kinds = append(kinds, "move")
	}
	switch b := w.Bind; {
	case b == nil:
	case b.Start == nil:
		kinds = append(kinds, "meet")
	case b.Start.NewStore:
		kinds = append(kinds, "rebind")
	default:
		kinds = append(kinds, "begin")
	}
	return kinds
}

// kindOfErasing says whether an erasing is noted, all is overwritten, or it is done.
func kindOfErasing(e *record.Erasing) string {
	switch {
	case e.Gone:
		return "scrubbed"
	case e.Over:
		return "erased"
	}
	return "erase"
}

func kindsOfTx(tx *record.Tx) (kinds []string) {
	if a := tx.Accept; a != nil && len(a.Whole) > 0 {
		kinds = append(kinds, "whole")
	} else if a != nil && len(a.Parts) > 0 {
		kinds = append(kinds, "part")
	}
	if len(tx.Tables) > 0 {
		kinds = append(kinds, "table")
	}
	if len(tx.Current) > 0 {
		kinds = append(kinds, "current")
	}
	for i := range tx.Put {
		switch kind := tx.Put[i].Kind; {
		case kind == message.KindMarker && len(tx.Consume) > 0:
			kinds = append(kinds, kindOfEnding(&tx.Put[i]))
		case kind == message.KindMarker:
			kinds = append(kinds, "terminate")
		case kind == message.KindMark:
			kinds = append(kinds, kindOfMark(tx, &tx.Put[i]))
		case kind == message.KindBegin: // which its source, or the row of the work, takes later
			kinds = append(kinds, kindOfBegin(&tx.Put[i]))
		case kind == message.KindReturn && tx.Put[i].Source == tx.Put[i].Activity && tx.Accept == nil:
			kinds = append(kinds, kindOfReturn(&tx.Put[i]))
		case kind == message.KindChunk:
			kinds = append(kinds, "gather")
		case kind == message.KindStart: // which its source takes later
			kinds = append(kinds, "child")
		case kind == message.KindWait:
			kinds = append(kinds, "wait")
		case kind == message.KindEvent && !tx.Put[i].OfEvents():
			kinds = append(kinds, "match")
		}
	}
	for i := range tx.Timers {
		if t := &tx.Timers[i]; t.Name != "" && t.Process != processtable.EventQueue { // that of a pause has none
			kinds = append(kinds, "deadline")
		}
	}
	for i := range tx.Audit {
		kinds = append(kinds, kindsOf(tx.Audit[i].Event)...)
		kinds = append(kinds, kindsOfEnd(&tx.Audit[i])...)
	}
	return append(append(kinds, kindsOfWhole(tx)...), kindsOfTold(tx)...)
}

// kindsOfTold says whether sink begins notices of what has happened: with the end of its instance, or of an error or a deadline. What a
// notice does itself takes up its entry.
func kindsOfTold(tx *record.Tx) []string {
	for i := range tx.Put {
		m := &tx.Put[i]
		number, is := m.Scope.OfNotice()
		if !is || m.Kind != message.KindSnapshot || m.Activity != processtable.Sink || m.Scope == message.Scope("").Notice(number) {
			continue
		}
		if slices.ContainsFunc(tx.Consume, func(c record.Consume) bool { return c.Entry == m.Entry() }) {
			continue
		}
		if slices.ContainsFunc(tx.Audit, func(a record.AuditRecord) bool { return a.Event == record.EventEnded || a.Event == record.EventStopped }) {
			return []string{"told"}
		}
		return []string{"tell"}
	}
	return nil
}

// kindOfMark says whether an instance is suspended, resumed or expedited here, or the node has acted on that.
// kindOfMark says what a mark does; or heed, where a process thread puts it once more as one that was acted on: of one with
// nothing to act on it is put so at once, with the line about it, or as it comes.
func kindOfMark(tx *record.Tx, m *message.Message) string {
	first := tx.Accept != nil || slices.ContainsFunc(tx.Audit, func(a record.AuditRecord) bool { return a.Clock == m.Clock })
	switch mark, err := message.DecodeMark(m.Body); {
	case err == nil && !mark.New && !first:
		return "heed"
	case err == nil && mark.Resumes():
		return "resume"
	case err == nil && mark.Expedites():
		return "expedite"
	}
	return "suspend"
}

// kindOfBegin says what begins: an iteration of a block, an element of a bundle, or the work of a call.
func kindOfBegin(m *message.Message) string {
	if m.Activity == processtable.Source {
		return "inside"
	}
	if frames, err := m.Scope.Frames(); err == nil && len(frames) > 0 && frames[len(frames)-1].Element >= 0 {
		return "bundle"
	}
	return "call"
}

// kindOfReturn says what has ended of a bundle or a call: a return of the work of a call has a number.
func kindOfReturn(m *message.Message) string {
	if m.Number == 0 {
		return "element"
	}
	return "work"
}

// kindsOfWhole says whether a bundle, or a call, ends with what it has begun.
func kindsOfWhole(tx *record.Tx) []string {
	if len(tx.Consume) == 0 || len(tx.Audit) == 0 || tx.Audit[0].Event != record.EventTerminated {
		return nil
	}
	for i := range tx.Consume[0].Keys {
		switch k := &tx.Consume[0].Keys[i]; {
		case k.Kind == message.KindChunk, k.Kind == message.KindReturn && k.Source == tx.Audit[0].Activity && k.Number == 0:
			return []string{"results"}
		case k.Kind == message.KindReturn && k.Source == tx.Audit[0].Activity:
			return []string{"called"}
		}
	}
	return nil
}

// kindOfEnding says whether a parent ends a child, or the child's home tells another node of it.
func kindOfEnding(marker *message.Message) string {
	if m, err := message.DecodeMarker(marker.Body); err == nil && m.Relay {
		return "abort"
	}
	return "relay"
}

// kindsOfRefused says what a transaction does with messages that take no effect.
func kindsOfRefused(tx *record.Tx) (kinds []string) {
	switch {
	case len(tx.Refuse) > 0 && tx.Accept != nil:
		kinds = append(kinds, "aside")
	case len(tx.Refuse) > 0:
		kinds = append(kinds, "refuse")
	case len(tx.Consume) > 0 && len(tx.Consume[0].Keys) > 0 && len(tx.Put)+len(tx.Audit) == 0:
		kinds = append(kinds, "absorb")
	}
	if len(tx.Settle) > 0 && !dropped(tx.Audit) {
		kinds = append(kinds, "again")
	}
	return kinds
}

func dropped(audit []record.AuditRecord) bool {
	for i := range audit {
		if audit[i].Event == record.EventDropped {
			return true
		}
	}
	return false
}

// rebuildKind says which step of a rebuilding a transaction takes.
func rebuildKind(r *record.Rebuild, puts bool) string {
	switch {
	case r.Stage == record.StageDecided:
		return "rebuild"
	case r.Stage == record.StageDone:
		return "rebuilt"
	case puts:
		return "chunk"
	case r.After == message.InstanceID{}:
		return "asked"
	}
	return "page"
}

// kindsOfEnd says what is special about how something has ended.
func kindsOfEnd(a *record.AuditRecord) (kinds []string) {
	switch {
	case a.Event == record.EventStarted && a.Parent != nil:
		kinds = append(kinds, "born")
	case a.Event != record.EventTerminated:
	case a.Scope != "" && a.Activity == processtable.Source:
		kinds = append(kinds, "inside")
	case a.Scope != "" && a.Activity == processtable.Sink:
		kinds = append(kinds, "return")
	case a.TimedOut:
		kinds = append(kinds, "expire")
	case a.Failure != "":
		kinds = append(kinds, "carry")
	}
	return kinds
}

func kindsOf(e record.Event) []string {
	switch e {
	case record.EventStarted:
		return []string{"start"}
	case record.EventTerminated, record.EventEnded:
		return []string{"termination"}
	case record.EventSkipped:
		return []string{"termination", "skip"}
	case record.EventStopped:
		return []string{"termination", "stop"}
	case record.EventCancelled:
		return []string{"termination", "cancel"}
	case record.EventIterated:
		return []string{"iteration"}
	case record.EventFailed:
		return []string{"attempt"}
	case record.EventInError:
		return []string{"error"}
	case record.EventRetried:
		return []string{"retry"}
	case record.EventForced:
		return []string{"finish"}
	case record.EventRestarted:
		return []string{"restart"}
	case record.EventRecalled:
		return []string{"recall"}
	case record.EventKept:
		return []string{"keep"}
	case record.EventPassed:
		return []string{"pass"}
	case record.EventDropped:
		return []string{"drop"}
	case record.EventAsked:
		return []string{"word"}
	case record.EventAnswered:
		return []string{"answer"}
	case record.EventReturned:
		return []string{"back"}
	case record.EventSent:
		return []string{"event"}
	case record.EventReceived, record.EventPutBack: // the end of the receive says so
	case record.EventDecided:
		return []string{"decision"}
	case record.EventRaced:
		return []string{"race"}
	case record.EventNotified:
		return []string{"notice"}
	case record.EventThinned:
		return []string{"thin"}
	case record.EventOffered:
		return []string{"offer"}
	case record.EventClaimed:
		return []string{"claim"}
	case record.EventReleased:
		return []string{"release"}
	case record.EventTransferred:
		return []string{"transfer"}
	case record.EventSaved:
		return []string{"draft"}
	case record.EventCompleted:
		return []string{"complete"}
	case record.EventWithdrawn:
		return []string{"withdraw"}
	case record.EventEscalated:
		return []string{"escalation"}
	case record.EventErased: // how far it is says so
	case record.EventSuspended, record.EventResumed, record.EventExpedited: // their marks say so
	case record.EventBegun: // its message says so
	case record.EventCancelling: // of a block of hundreds: its parts are as a cancel
	}
	return nil
}
