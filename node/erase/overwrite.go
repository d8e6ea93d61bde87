package erase

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// gone stands where a text was.
const gone = "erased"

// overwriting overwrites data in the records of one instance.
type overwriting struct {
	table      *processtable.Table // nil: it is not here
	definition processtable.ShortHash
	members    container.Members
	now        time.Time
	// apart are the peers for which messages wait that have no number of the link yet. The committer writes that number into
	// the record that tells of the message: such a record is not touched.
	apart map[processtable.NodeID]bool

	children map[message.InstanceID]processtable.ProcessID // that its activities have begun
	untaken  int                                           // records that were not touched
}

// change overwrites what is to be overwritten in a record, and says whether there was anything.
func (o *overwriting) change(a *record.AuditRecord) bool {
	if a.Event == record.EventErased {
		return false
	}
	if a.Child != nil {
		o.children[a.Child.Instance] = a.Child.Process
	}
	before, input := *a, a.InputSum()
	changed := o.output(a)
	changed = texts(a) || changed
	switch {
	case !changed:
		return false
	case slices.ContainsFunc(a.Sent, func(s record.Sent) bool { return s.Number == 0 && o.apart[s.Node] }):
		o.untaken++
		*a = before
		return false
	case a.Erased == nil:
		a.Erased = &record.Erased{Time: o.now}
	}
	if a.Event == record.EventStarted {
		a.Erased.Input = input
		a.Search = o.found(a)
	}
	return true
}

// output overwrites in the container, or the event, that a record has. What cannot be read as what it should be goes whole.
func (o *overwriting) output(a *record.AuditRecord) bool {
	if len(a.Output) == 0 {
		return false
	}
	var row *processtable.Activity
	if o.table != nil {
		row = o.table.Activity(a.Scope.Row(a.Activity))
	}
	switch a.Event {
	case record.EventSent:
		return o.event(a, row)
	case record.EventOffered:
		return o.offer(a, row)
	case record.EventClaimed, record.EventReleased, record.EventTransferred: // what the offers of an item were told: who has it
		return false
	default:
	}
	for _, of := range typesOf(a, row) {
		if anew, changed, read := o.container(of, a.Output); read {
			a.Output = anew
			return changed
		}
	}
	a.Output = nil
	return true
}

// found gives what an instance is still found by: the values that its input has as before. Where nobody can tell, that
// is nothing.
func (o *overwriting) found(a *record.AuditRecord) (stays []record.Searched) {
	if o.table == nil || len(a.Search) == 0 {
		return nil
	}
	now := record.SearchedOf(o.table, a.Output)
	for _, s := range a.Search {
		if slices.ContainsFunc(now, func(n record.Searched) bool { return n.Member == s.Member && bytes.Equal(n.Value, s.Value) }) {
			stays = append(stays, s)
		}
	}
	return stays
}

// typesOf are what the container of a record may be of: of what was begun the input, and of a sink, whose input is the
// output of what it ends.
func typesOf(a *record.AuditRecord, row *processtable.Activity) []*container.Type {
	switch {
	case row == nil:
		return nil
	case a.Event == record.EventBegun, a.Activity == processtable.Sink:
		return []*container.Type{row.Input}
	}
	return []*container.Type{row.Output}
}

// container overwrites in an encoded value; read: it is of that type.
func (o *overwriting) container(of *container.Type, encoded []byte) (anew []byte, changed, read bool) {
	v, err := container.DecodeCBOR(of, encoded)
	if err != nil {
		return nil, false, false
	}
	if v, changed = o.members.Erase(of, v); !changed {
		return encoded, false, true
	}
	anew, err = container.EncodeCBOR(v)
	return anew, true, err == nil
}

// event overwrites in the message of an event that was sent.
func (o *overwriting) event(a *record.AuditRecord, row *processtable.Activity) bool {
	e, err := message.DecodeEvent(a.Output)
	if err != nil || row == nil || row.Send == nil {
		a.Output = nil
		return true
	}
	data, changed, read := o.container(row.Send.Type, e.Data)
	switch {
	case !read:
		a.Output = nil
		return true
	case !changed && e.Key == "":
		return false
	}
	e.Data, e.Key = data, ""
	a.Output = message.EncodeEvent(e)
	return true
}

// offer overwrites in what begins the offers of an item at other nodes: they get its input.
func (o *overwriting) offer(a *record.AuditRecord, row *processtable.Activity) bool {
	begin, err := message.DecodeBegin(a.Output)
	if err != nil || row == nil {
		a.Output = nil
		return true
	}
	input, changed, read := o.container(row.Input, begin.Input)
	if !read {
		a.Output = nil
		return true
	}
	begin.Input = input
	a.Output = message.EncodeBegin(begin)
	return changed
}

// texts overwrites what programs and people have written, in which nobody can tell data from the rest, and the keys of events.
// Who did something, and the key of a start, stay.
func texts(a *record.AuditRecord) (changed bool) {
	if a.Stderr != "" {
		a.Stderr, changed = "", true
	}
	if a.Failure != "" && a.Failure != gone {
		a.Failure, changed = gone, true
	}
	if a.Reason != "" && a.Reason != gone && written(a) {
		a.Reason, changed = gone, true
	}
	if a.About != nil && a.About.Key != "" {
		about := *a.About
		about.Key = ""
		a.About, changed = &about, true
	}
	return changed
}

// written says whether the reason of an event may have what a program or a person has written; else it is the
// node's own, or the key of a start.
func written(a *record.AuditRecord) bool {
	switch a.Event {
	case record.EventStopped: // who has done it is the node's, and why is his
		return a.Reason != "instance "+message.TerminatedBy(cmp.Or(a.By, "an operator"), "")
	case record.EventStarted, record.EventCancelled, record.EventCancelling, record.EventPassed, record.EventDecided, record.EventRaced,
		record.EventThinned, record.EventErased:
		return false
	case record.EventEnded, record.EventTerminated, record.EventSkipped, record.EventIterated, record.EventFailed, record.EventInError, record.EventRetried,
		record.EventDropped, record.EventAsked, record.EventAnswered, record.EventBegun, record.EventReturned, record.EventNotified,
		record.EventSent, record.EventReceived, record.EventPutBack, record.EventOffered, record.EventClaimed, record.EventReleased, record.EventTransferred,
		record.EventSaved, record.EventCompleted, record.EventWithdrawn, record.EventEscalated, record.EventForced, record.EventSuspended, record.EventResumed, record.EventExpedited,
		record.EventRestarted, record.EventRecalled, record.EventKept:
	}
	return true
}

// named gives those of the paths that name something in a container of a table.
func named(t *processtable.Table, paths []string) (known []string) {
	for _, path := range paths {
		if names(t.Input, path) || names(t.Output, path) || slices.ContainsFunc(t.Activities, func(a *processtable.Activity) bool {
			return names(a.Input, path) || names(a.Output, path) || a.Send != nil && names(a.Send.Type, path)
		}) {
			known = append(known, path)
		}
	}
	return known
}

func names(t *container.Type, path string) bool { return t != nil && t.Names(path) }

// memberNames are the names that paths can have, for who has mistaken one.
func memberNames(t *processtable.Table) (all []string) {
	seen := map[*container.Type]bool{}
	var add func(*container.Type)
	add = func(of *container.Type) {
		for of != nil && of.Kind == container.List {
			of = of.Elem
		}
		if of == nil || of.Kind != container.Structure || seen[of] {
			return
		}
		seen[of] = true
		for _, m := range of.Members {
			all = append(all, m.Name)
			add(m.Type)
		}
	}
	add(t.Input)
	add(t.Output)
	for _, a := range t.Activities {
		add(a.Input)
		add(a.Output)
	}
	return all
}
