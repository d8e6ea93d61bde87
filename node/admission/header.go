package admission

import (
	"fmt"

	"fmqm/message"
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
	case h.Number != 0 && h.Kind != message.KindConnector && h.Kind != message.KindRecall && h.Kind != message.KindRecalled && h.Kind != message.KindDue && h.Kind != message.KindWord && h.Kind != message.KindAnswer && h.Kind != message.KindMark && h.Kind != message.KindOffer &&
		(h.Kind != message.KindNotice || h.Number != message.NoticeOfDeadline) && (h.Kind != message.KindReturn || h.Source != h.Activity): // of a call, whose work says its node (N20)
		return fmt.Sprintf("it has the number %d, and a message of this kind is the only one from its source", h.Number)
	}
	for _, scope := range []message.Scope{h.Scope, h.SourceScope} {
		if _, err := scope.Frames(); err != nil {
			return err.Error()
		}
	}
	switch h.Kind {
	case message.KindTable, message.KindCurrent:
		return ""
	case message.KindConnector:
		return impossibleConnector(self, h)
	case message.KindNotice:
		return impossibleNotice(self, h)
	case message.KindMarker, message.KindMark:
		return impossibleMarker(h)
	case message.KindWord, message.KindAnswer:
		return impossibleWord(h)
	case message.KindReturn, message.KindCancel:
		return impossibleInner(h)
	case message.KindRecall, message.KindRecalled:
		if h.Origin == "" {
			return noOrigin
		}
		return ""
	case message.KindEvent:
		if !h.OfEvents() {
			return "an event goes into the event queue of a node: only that gives it to a receive"
		}
		return ""
	case message.KindOffer:
		return impossibleInner(h)
	case message.KindBegin:
		if h.Activity == h.Source { // of a call (N20), or of what is offered here (N27)
			return impossibleInner(h)
		}
		return ownKind
	case message.KindRecord, message.KindSnapshot, message.KindDue, message.KindStart, message.KindChunk, message.KindWait, message.KindPast, message.KindOver:
		return ownKind
	}
	return fmt.Sprintf("its kind %d is unknown", h.Kind)
}

const ownKind = "a message of this kind never leaves its node"

func impossibleConnector(self processtable.NodeID, h *message.Header) string {
	switch {
	case h.Origin == "":
		return noOrigin
	case h.Activity == processtable.Sink && h.Scope == "" && h.Origin != self:
		return fmt.Sprintf("sink of an instance started at %s is not at %s", h.Origin, self)
	case h.OnBehalf != "" && !h.Onward, h.Onward && (h.OnBehalf != self || !h.Control.IsFalse()):
		return fmt.Sprintf("it says that it acts on behalf of %s: only the record of a dead path may say that, and only to that node", h.OnBehalf)
	}
	return ""
}

// impossibleInner is of what cancels, or tells a block of an error inside of it.
func impossibleInner(h *message.Header) string {
	switch {
	case h.Origin == "":
		return noOrigin
	case h.Source == processtable.Source || h.Source == processtable.Sink:
		return fmt.Sprintf("%s of a block never leaves its node, and neither does what it says", h.Source)
	}
	return ""
}

func impossibleNotice(self processtable.NodeID, h *message.Header) string {
	toBundle := h.Activity != processtable.Sink && h.SourceScope != h.Scope && h.SourceScope.Within(h.Scope) // N21
	switch {
	case !toBundle && (h.Activity != processtable.Sink || h.Scope != "" || h.Origin != self):
		return fmt.Sprintf("a notice goes to sink at the node where the instance was started, and this one is for %s of an instance started at %q", h.Activity, h.Origin)
	case toBundle && h.Number != 0:
		return "that a deadline has ended an activity is for sink to know, and for no bundle"
	case h.Control != message.Unresolved || h.Data != message.DataNone || h.OnBehalf != "":
		return "a notice resolves no connector"
	}
	return ""
}

// impossibleWord is of a word and its answer: see command.Commands.Rule for what their bodies say.
func impossibleWord(h *message.Header) string {
	switch {
	case h.Origin != "":
		return fmt.Sprintf("it says that its instance was started at %s, which is not for an operator's word to tell", h.Origin)
	case h.Kind == message.KindAnswer && h.Lane != message.LaneControl:
		return "the answer to a word goes in the lane for expedited messages"
	}
	return ""
}

func impossibleMarker(h *message.Header) string {
	switch {
	case h.Origin == "":
		return noOrigin
	case h.Activity != "" || h.Source != "" || h.Control != message.Unresolved || h.Data != message.DataNone || h.OnBehalf != "":
		return "a marker is for an instance, and names no activity and no connector"
	case h.Scope != "" || h.SourceScope != "": // or it would lie beside the instance's
		return "a marker is for an instance, and names no scope"
	case h.Lane != message.LaneControl:
		return "a marker goes in the lane for expedited messages"
	}
	return ""
}

const noOrigin = "it does not say where its instance was started"
