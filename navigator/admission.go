package navigator

import (
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// Refuses says why peer may not send a message of this process, or nothing (invariant 11).
// Whether it fits the table in content is the process thread's to judge.
func (p *Process) Refuses(peer processtable.NodeID, h *message.Header) string {
	t := p.table
	if !t.MayStart(h.Origin) {
		return fmt.Sprintf("it says that its instance was started at %s, and %s may not be started there", h.Origin, t.Process)
	}
	if reason := behaviour.Misplaced(t, h.Activity, h.Scope); reason != "" {
		return reason
	}
	if reason := refusesOrigin(t, h); reason != "" {
		return reason
	}
	switch h.Kind {
	case message.KindMarker, message.KindMark:
		if !t.HasPart(peer) {
			return fmt.Sprintf("%s has no part in %s", peer, t.Process)
		}
	case message.KindNotice:
		return p.refusesNotice(peer, h)
	case message.KindConnector:
		return p.refusesConnector(peer, h)
	case message.KindBegin, message.KindOffer:
		return p.refusesBegin(peer, h)
	case message.KindReturn, message.KindCancel:
		return p.refusesInner(peer, h)
	case message.KindRecall, message.KindRecalled:
		return p.refusesRecall(peer, h)
	case message.KindRecord, message.KindSnapshot, message.KindTable, message.KindCurrent, message.KindDue, message.KindStart, message.KindChunk: // none is of a process's work between sites
	case message.KindEvent, message.KindWait, message.KindPast, message.KindOver: // of no process
	case message.KindWord, message.KindAnswer: // who asks is proved otherwise (N15)
	}
	return ""
}

// refusesNotice: only the host of an activity tells of its error. It may do so under another
// definition: that may be the error. Other than sink only a bundle around is told (R32).
func (p *Process) refusesNotice(peer processtable.NodeID, h *message.Header) string {
	t := p.table
	if reason := refusesSource(peer, t, h); reason != "" {
		return reason
	}
	switch {
	case h.Activity != processtable.Sink:
		entry := h.Entry()
		bundle := p.activities.Get(entry.Row())
		if bundle == nil || !bundle.isBundle() {
			return fmt.Sprintf("it is a notice for %s, which is no bundle at %s", h.Activity, t.Node)
		}
		return refusesInside(t, bundle, h)
	case h.Number != 0 && !t.Deadlines:
		return fmt.Sprintf("it tells of a deadline of %s, and no notice of %s is about deadlines", h.Source, t.Process)
	case t.Format <= processtable.FlowMarkFormat && h.SourceScope != "":
		return fmt.Sprintf("it is from scope %q, and no activity of %s is inside of a composite", h.SourceScope, t.Process)
	}
	return ""
}

// refusesConnector checks both ends of a connector against the table, and that there is one.
func (p *Process) refusesConnector(peer processtable.NodeID, h *message.Header) string {
	t := p.table
	entry := h.Entry()
	target := p.rows.Get(entry.Row())
	if target == nil {
		return notHosted(t, h)
	}
	host, reason := hostOf(t, h)
	switch {
	case reason != "":
		return reason
	case host != peer:
		if reason := onBehalf(peer, host, t, h); reason != "" {
			return reason
		}
	}
	switch {
	case h.SourceScope != h.Scope:
		return fmt.Sprintf("it is from scope %q, and for scope %q: a connector leads out of no composite", h.SourceScope, h.Scope)
	case !target.Follows(h.Source):
		return fmt.Sprintf("no connector of %s leads from %s to %s", t.Process, h.Source, h.Activity)
	case h.Onward && t.Format < 2:
		return fmt.Sprintf("the table of %s here lets nobody act on its behalf", t.Process)
	case h.Onward && !p.diesAlone(entry.Row()): // put, it would take the place of the connector's own message
		return fmt.Sprintf("it says that what leads out of %s was resolved, and no connector alone skips %s in the table of %s here", h.Activity, h.Activity, t.Process)
	}
	return ""
}

// refusesInner checks who cancels an activity here, or tells a block of an error inside of it.
func (p *Process) refusesInner(peer processtable.NodeID, h *message.Header) string {
	t, entry := p.table, h.Entry()
	target := p.activities.Get(entry.Row())
	if target == nil {
		return notHosted(t, h)
	}
	if (target.Kind == processtable.KindCall || len(target.elsewhere) > 0) && h.Kind == message.KindReturn {
		return refusesCalled(peer, t, target, h)
	}
	if reason := refusesSource(peer, t, h); reason != "" {
		return reason
	}
	switch {
	case h.Kind == message.KindReturn:
		return refusesError(t, target, h)
	case h.Kind == message.KindCancel && h.SourceScope == h.Scope && !slices.Contains(target.CancelledBy, h.Source):
		return fmt.Sprintf("it says that %s cancels %s, which the table of %s here does not allow", h.Source, h.Activity, t.Process)
	case h.Kind == message.KindCancel && h.SourceScope != h.Scope && h.Source != h.Scope.Inside():
		return fmt.Sprintf("it says that %s cancels %s, and that is not inside of it", h.Source, h.Activity)
	}
	return ""
}

// refusesRecall checks that a recall, or its answer, is between two activities that a connector joins, and of the host of
// one of them (R54). An answer, and what asks for something once more, goes against the connector.
func (p *Process) refusesRecall(peer processtable.NodeID, h *message.Header) string {
	t, entry := p.table, h.Entry()
	a := p.activities.Get(entry.Row())
	if a == nil {
		return notHosted(t, h)
	}
	if reason := refusesSource(peer, t, h); reason != "" {
		return reason
	}
	if !a.leadsTo(h.Source) && (h.Kind == message.KindRecalled || !a.Follows(h.Source)) {
		return fmt.Sprintf("no connector of %s joins %s and %s, and it is of a recall between them", t.Process, h.Source, h.Activity)
	}
	return ""
}

// refusesError checks that a block here catches errors, and that what tells it of one is inside of it, in
// an iteration that it can have (N10).
func refusesError(t *processtable.Table, block *Activity, h *message.Header) string {
	if _, found := inside(h.SourceScope, h.Scope); !found || block.Kind != processtable.KindBlock || !block.Continues {
		return fmt.Sprintf("it tells %s of an error in the scope %q, and the table of %s here has %s catch none there", h.Activity, h.SourceScope, t.Process, h.Activity)
	}
	return refusesInside(t, block, h)
}

// refusesInside checks that what something is told of is inside of a composite here, in an execution of that
// which there can be (N10).
func refusesInside(t *processtable.Table, composite *Activity, h *message.Header) string {
	within, found := inside(h.SourceScope, h.Scope)
	if !found || within.Inside() != composite.Name {
		return fmt.Sprintf("the scope %q is not inside of %s", h.SourceScope, h.Activity)
	}
	if err := within.Fits(append(slices.Clone(composite.Path), composite.Inner())); err != nil {
		return fmt.Sprintf("activity %s of %s: %v", h.Source, t.Process, err)
	}
	return ""
}

// inside is the outermost scope inside of another one that a scope is in, if it is in that at all.
func inside(scope, outer message.Scope) (message.Scope, bool) {
	for scope != "" {
		around := scope.Leave()
		if around == outer {
			return scope, true
		}
		scope = around
	}
	return "", false
}

// diesAlone says whether an activity here may be passed around (R18).
func (p *Process) diesAlone(row processtable.RowID) bool {
	a := p.activities.Get(row)
	return a != nil && a.diesAlone
}

func notHosted(t *processtable.Table, h *message.Header) string {
	return fmt.Sprintf("activity %s of %s is not hosted at %s", h.Activity, t.Process, t.Node)
}

// refusesOrigin: what is hosted where its instance was started is here for the instances that were started here (R40).
// That they were, as the message says, the process thread asks (invariant 11).
func refusesOrigin(t *processtable.Table, h *message.Header) string {
	entry := h.Entry()
	if node, known := t.NodeOf(entry.Row()); known && node == processtable.Origin && h.Origin != t.Node {
		return fmt.Sprintf("activity %s of %s is hosted where the instance was started, and it says that this was at %s", h.Activity, t.Process, h.Origin)
	}
	return ""
}

// hostOf gives the node that a message's source lives at: of what is at the origin, as source of the process is, that
// alone (R40).
func hostOf(t *processtable.Table, h *message.Header) (host processtable.NodeID, reason string) {
	host, ok := t.HostOf(h.SourceRow(), h.Origin)
	ok = ok && placed(t, h.SourceScope)
	switch {
	case !ok && h.SourceScope != "":
		return "", fmt.Sprintf("%s has no activity %s in the scope %q", t.Process, h.Source, h.SourceScope)
	case !ok:
		return "", fmt.Sprintf("%s has no activity %s", t.Process, h.Source)
	}
	return host, ""
}

// placed says whether the blocks that a scope names are inside of one another in the process: else who
// hosts something in another block could speak for this one. Their numbers are for whoever hosts them
// to judge. Before format 5 a table does not say what is inside of what.
func placed(t *processtable.Table, scope message.Scope) bool {
	if t.Format < processtable.BlockFormat {
		return true
	}
	frames, err := scope.Frames()
	if err != nil {
		return false
	}
	for i := len(frames) - 1; i >= 0; i-- {
		f, around := frames[i], processtable.ActivityID("")
		if i > 0 && frames[i-1].Composite == f.Composite && frames[i-1].Element >= 0 && f.Element < 0 {
			i-- // one element of a bundle, which is a composite itself
		}
		if i > 0 {
			around = frames[i-1].Composite
		}
		if block, known := t.Of(f.Composite); !known || block.Inside != around {
			return false
		}
	}
	return true
}

// onBehalf says why peer may not send what another node's activity is the source of: it
// may where the table lets it resolve that one's connectors on its host's behalf, and
// then it can only say that the activity is dead (N6).
func onBehalf(peer, host processtable.NodeID, t *processtable.Table, h *message.Header) string {
	switch {
	case !t.MayResolve(peer, h.Source, h.Origin):
		return hostedElsewhere(peer, host, t, h)
	case h.Control != message.Unresolved && h.Control != dead(t) || h.Data > message.DataAbsent:
		return fmt.Sprintf("activity %s of %s is hosted at %s: %s may only say on its behalf that it was skipped", h.Source, t.Process, host, peer)
	}
	return ""
}

func hostedElsewhere(peer, host processtable.NodeID, t *processtable.Table, h *message.Header) string {
	return fmt.Sprintf("activity %s of %s is hosted at %s, and the message came from %s", h.Source, t.Process, host, peer)
}

// refusesSource says why peer may not speak for the source of a message, or nothing.
func refusesSource(peer processtable.NodeID, t *processtable.Table, h *message.Header) string {
	if row := h.SourceRow(); row.Begun > 0 && t.Hosts(row, peer, h.Origin) && placed(t, h.SourceScope) {
		return ""
	}
	switch host, reason := hostOf(t, h); {
	case reason != "":
		return reason
	case host != peer:
		return hostedElsewhere(peer, host, t, h)
	}
	return ""
}

// refusesBegin checks that what begins here does the work of a call, or offers what another node is the home of, and that its home
// begins it (R33, R47), or tells it of its item (R48).
func (p *Process) refusesBegin(peer processtable.NodeID, h *message.Header) string {
	t, entry := p.table, h.Entry()
	work := p.activities.Get(entry.Row())
	if work == nil || !work.isWork() || h.Kind == message.KindOffer && !work.isOffer() || h.Source != h.Activity || h.SourceScope != h.Scope.Leave() {
		return fmt.Sprintf("it begins %s in the scope %q, and no activity of %s has that done, or offered, at %s", h.Activity, h.Scope, t.Process, t.Node)
	}
	return refusesSource(peer, t, h)
}

// refusesCalled checks that what returns to a call here is from a node that may do its work, and says which
// (R33): so no node can return in the place of another.
func refusesCalled(peer processtable.NodeID, t *processtable.Table, call *Activity, h *message.Header) string {
	if h.Source != call.Name || h.SourceScope.Leave() != h.Scope {
		return fmt.Sprintf("%s in the scope %q is not what does the work of %s", h.Source, h.SourceScope, h.Activity)
	}
	nodes := t.WorkersOf(call.Name).Nodes
	if number := message.Work(nodes, peer); number == 0 || number != h.Number {
		return fmt.Sprintf("the work of %s of %s is done, or offered, at one of %v, and the message, with the number %d, came from %s", h.Activity, t.Process, nodes, h.Number, peer)
	}
	return refusesInside(t, call, h)
}
