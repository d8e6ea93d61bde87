package node

import (
	"fmt"

	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
)

// What a site may send, and who proves it. All that a message says was chosen by the peer
// that brought it; proved is only who that peer is. So each field is held against what
// this node knows by itself: its name, the lane of the link, its table of the process. The
// whole list is in docs/security.md.

// impossible says why no message from another site can be as h is, whatever its process;
// or nothing. Lane is the one that it came in.
func impossible(self processtable.NodeID, lane message.Lane, h *message.Header) string {
	switch {
	case h.Queue.Node != self:
		return fmt.Sprintf("it is for node %s, and this is %s", h.Queue.Node, self)
	case h.Lane != lane:
		return fmt.Sprintf("it came in lane %d and belongs in lane %d", lane, h.Lane)
	case h.Clock > message.MaxClock:
		return fmt.Sprintf("its logical clock is %d: no instance comes beyond %d", h.Clock, uint64(message.MaxClock))
	case h.Scope != "":
		return fmt.Sprintf("it is for scope %q, and this version knows no scopes", h.Scope)
	}
	switch h.Kind {
	case message.KindTable:
		return ""
	case message.KindConnector:
		return impossibleConnector(self, h)
	case message.KindNotice:
		return impossibleNotice(self, h)
	case message.KindMarker:
		return impossibleMarker(h)
	case message.KindRecord, message.KindSnapshot:
		return "a message of this kind never leaves its node"
	}
	return fmt.Sprintf("its kind %d is unknown", h.Kind)
}

func impossibleConnector(self processtable.NodeID, h *message.Header) string {
	switch {
	case h.Origin == "":
		return noOrigin
	case h.Activity == processtable.Sink && h.Origin != self:
		return fmt.Sprintf("sink of an instance started at %s is not at %s", h.Origin, self)
	case h.OnBehalf != "" && !h.Onward, h.Onward && (h.OnBehalf != self || h.Control != message.False):
		return fmt.Sprintf("it says that it acts on behalf of %s: only the record of a dead path may say that, and only to that node", h.OnBehalf)
	}
	return ""
}

func impossibleNotice(self processtable.NodeID, h *message.Header) string {
	switch {
	case h.Activity != processtable.Sink || h.Origin != self:
		return fmt.Sprintf("a notice goes to sink at the node where the instance was started, and this one is for %s of an instance started at %q", h.Activity, h.Origin)
	case h.Control != message.Unresolved || h.Data != message.DataNone || h.OnBehalf != "":
		return "a notice resolves no connector"
	}
	return ""
}

func impossibleMarker(h *message.Header) string {
	switch {
	case h.Origin == "":
		return noOrigin
	case h.Activity != "" || h.Source != "" || h.Control != message.Unresolved || h.Data != message.DataNone || h.OnBehalf != "":
		return "a marker is for an instance, and names no activity and no connector"
	case h.Lane != message.LaneControl:
		return "a marker goes in the lane for expedited messages"
	}
	return ""
}

const noOrigin = "it does not say where its instance was started"

// admit says why peer may not send a message of this process, or nothing (invariant 11).
// Whether it fits the table in content is the process thread's to judge.
func admit(peer processtable.NodeID, p *navigator.Process, h *message.Header) string {
	t := p.Table
	if !t.MayStart(h.Origin) {
		return fmt.Sprintf("it says that its instance was started at %s, and %s may not be started there", h.Origin, t.Process)
	}
	switch h.Kind {
	case message.KindMarker:
		if !t.HasPart(peer) {
			return fmt.Sprintf("%s has no part in %s", peer, t.Process)
		}
	case message.KindNotice:
		return admitNotice(peer, t, h)
	case message.KindConnector:
		return admitConnector(peer, p, h)
	case message.KindRecord, message.KindSnapshot, message.KindTable: // none is of a process's work between sites
	}
	return ""
}

// admitNotice: only the host of an activity tells of its error. It may do so under another
// definition: that may be the error.
func admitNotice(peer processtable.NodeID, t *processtable.Table, h *message.Header) string {
	host, reason := hostOf(t, h)
	switch {
	case reason != "":
		return reason
	case host != peer:
		return hostedElsewhere(peer, host, t, h)
	}
	return ""
}

// admitConnector checks both ends of a connector against the table, and that there is one.
func admitConnector(peer processtable.NodeID, p *navigator.Process, h *message.Header) string {
	t := p.Table
	target := p.Activity(h.Activity)
	if target == nil {
		return fmt.Sprintf("activity %s of %s is not hosted at %s", h.Activity, t.Process, t.Node)
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
	case !target.Follows(h.Source):
		return fmt.Sprintf("no connector of %s leads from %s to %s", t.Process, h.Source, h.Activity)
	case h.Onward && t.Format < 2:
		return fmt.Sprintf("the table of %s here lets nobody act on its behalf", t.Process)
	}
	return ""
}

// hostOf gives the node that a message's source lives at: for source of the process, the
// origin alone.
func hostOf(t *processtable.Table, h *message.Header) (host processtable.NodeID, reason string) {
	if h.Source == processtable.Source {
		return h.Origin, ""
	}
	host, ok := t.NodeOf(h.Source)
	if !ok {
		return "", fmt.Sprintf("%s has no activity %s", t.Process, h.Source)
	}
	return host, ""
}

// onBehalf says why peer may not send what another node's activity is the source of: it
// may where the table lets it resolve that one's connectors on its host's behalf, and
// then it can only say that the activity is dead (N6).
func onBehalf(peer, host processtable.NodeID, t *processtable.Table, h *message.Header) string {
	switch {
	case !t.MayResolve(peer, h.Source):
		return hostedElsewhere(peer, host, t, h)
	case h.Control == message.True || h.Data == message.DataPresent:
		return fmt.Sprintf("activity %s of %s is hosted at %s: %s may only say on its behalf that it was skipped", h.Source, t.Process, host, peer)
	}
	return ""
}

func hostedElsewhere(peer, host processtable.NodeID, t *processtable.Table, h *message.Header) string {
	return fmt.Sprintf("activity %s of %s is hosted at %s, and the message came from %s", h.Source, t.Process, host, peer)
}
