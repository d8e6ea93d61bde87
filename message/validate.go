package message

import (
	"fmt"

	"github.com/google/uuid"

	"fmqm/processtable"
)

// validate says what of a header no message can have, whatever its process.
func (h *Header) validate() error {
	switch {
	case !h.validQueue():
		return invalid("process %.80q is not a name", h.Queue.Process.Name)
	case h.Queue.Process.Version < 1 || h.Queue.Process.Version > processtable.MaxVersion:
		return invalid("version %d of the process is not between 1 and %d", h.Queue.Process.Version, processtable.MaxVersion)
	case !processtable.ValidNode(string(h.Queue.Node)):
		return invalid("node %.80q is not a name", h.Queue.Node)
	case h.Origin != "" && !processtable.ValidNode(string(h.Origin)):
		return invalid("origin %.80q is not a node's name", h.Origin)
	case h.OnBehalf != "" && !processtable.ValidNode(string(h.OnBehalf)):
		return invalid("on behalf of %.80q, which is not a node's name", h.OnBehalf)
	case h.Activity != "" && !processtable.ValidActivity(string(h.Activity)):
		return invalid("activity %.80q is not a name", h.Activity)
	case h.Source != "" && !processtable.ValidActivity(string(h.Source)):
		return invalid("source %.80q is not an activity's name", h.Source)
	case !printable(string(h.Scope), MaxScope):
		return invalid("scope is longer than %d or has more than printable ASCII", MaxScope)
	case h.SourceScope != h.Scope && !validScope(h.SourceScope):
		return invalid("scope %.80q of the source is not one", h.SourceScope)
	case !printable(h.Trace, MaxTrace):
		return invalid("trace is longer than %d or has more than printable ASCII", MaxTrace)
	case h.Control > TrueFailed:
		return invalid("state %d of the control connector is unknown", h.Control)
	case h.Data > DataWords:
		return invalid("state %d of the data connector is unknown", h.Data)
	case h.Lane > LaneControl:
		return invalid("lane %d is unknown", h.Lane)
	case h.Rank > MaxRank || h.Rank != 0 && (h.Instance == uuid.Nil || h.Kind.OfInstance()):
		return invalid("priority %d is over %d, or is not of an instance's work", int(h.Rank)-1, processtable.MaxPriority)
	case h.Onward && h.OnBehalf == "":
		return invalid("onward without on behalf")
	}
	return h.validateKind()
}

// validateKind says what a message of its kind cannot be without.
func (h *Header) validateKind() error {
	needsActivity, needsSource := true, false
	switch h.Kind {
	case KindConnector:
		needsSource = true
	case KindRecord, KindSnapshot, KindNotice:
	case KindWord, KindAnswer:
		if h.Number == 0 || h.Source != "" || h.SourceScope != h.Scope || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("a word, or its answer, has a number, and neither source nor connector")
		}
	case KindReturn:
		needsSource = true
		child := h.Source == processtable.Sink && h.SourceScope == h.Scope && h.Number != 0 // N19
		inner := h.SourceScope != h.Scope && h.SourceScope.Within(h.Scope) && h.Number == 0
		work := h.Source == h.Activity && h.SourceScope != "" && h.SourceScope.Leave() == h.Scope // N20
		if !child && !inner && !work || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("what returns leads out of a composite, or has the number of a child whose sink it is of, and has no connector")
		}
	case KindStart:
		if h.Activity != processtable.Source || h.Source != "" || h.Scope != "" || h.SourceScope != "" || h.Number != 0 ||
			h.Origin != h.Queue.Node || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("what starts an instance is for its source, at the node where that is started, and has no connector")
		}
	case KindBegin:
		needsSource = true
		if to, from := h.Scope, h.SourceScope; to.Leave() != from || to == from ||
			h.Number != 0 || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("what begins leads into a composite, and has no connector")
		}
	case KindOffer:
		needsSource = true
		if to, from := h.Scope, h.SourceScope; to.Leave() != from || to == from || h.Source != h.Activity || h.Number == 0 ||
			h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("what tells an offer of its item is of the activity around it, has a number, and no connector")
		}
	case KindRecall, KindRecalled:
		needsSource = true
		if h.SourceScope != h.Scope || h.Number == 0 || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("a recall, or its answer, is of the same scope, has a number, and resolves no connector")
		}
	case KindChunk:
		if h.Number == 0 || h.Source != "" || h.SourceScope != h.Scope || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("a chunk is its entry's own, has a number, and no connector")
		}
	case KindCancel:
		needsSource = true
		if h.SourceScope != h.Scope && h.SourceScope != h.Scope.Leave() || h.Number != 0 || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("what cancels is of the same scope, or of the composite around it, and has no connector")
		}
	case KindDue:
		needsActivity = h.Activity != "" || h.Scope != "" // or the instance's, which has a time at which it goes on
		if h.SourceScope != h.Scope || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("a timer that is due is its entry's own, and has no connector")
		}
	case KindEvent, KindWait, KindPast, KindOver:
		needsSource = true
		if reason := h.invalidEvent(); reason != "" {
			return invalid("%s", reason)
		}
	case KindMarker:
		needsActivity = false
	case KindMark:
		needsActivity = false
		if h.Number == 0 || h.Activity != "" || h.Source != "" || h.Scope != "" || h.SourceScope != "" || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "" {
			return invalid("a mark is for an instance, has a number, and names no activity and no connector")
		}
	case KindTable, KindCurrent:
		return nil
	default:
		return invalid("kind %d is unknown", h.Kind)
	}
	switch {
	case h.Instance == uuid.Nil:
		return invalid("no instance")
	case needsActivity && h.Activity == "":
		return invalid("no activity")
	case needsSource && h.Source == "":
		return invalid("no source")
	}
	return nil
}

// validQueue says whether the message's queue can be one: of a process, or, for what is of events, the one
// of those.
func (h *Header) validQueue() bool {
	if h.OfEvents() {
		return KindEvent <= h.Kind && h.Kind <= KindOver || h.Kind == KindDue && h.Activity == processtable.EventMeets
	}
	return processtable.ValidProcess(h.Queue.Process.Name)
}

// invalidEvent says why a message about events cannot be one, or nothing.
func (h *Header) invalidEvent() string {
	switch {
	case h.SourceScope != h.Scope || h.Number != 0 || h.Control != Unresolved || h.Data != DataNone || h.OnBehalf != "":
		return "what is about an event has no connector, and no number"
	case !h.OfEvents() && (h.Kind != KindEvent || !isEvent(h.Source)):
		return "a receive is given events, each under its token"
	case h.OfEvents() && (h.Activity != processtable.EventMeets || h.Scope != "" || h.Origin != ""):
		return "an event meets receives in an entry of its own, of no instance"
	case h.Kind == KindWait && !IsWaitToken(h.Source), h.Kind == KindPast && !isEvent(h.Source), !IsToken(h.Source), h.OfEvents() && h.Kind == KindEvent && !isEvent(h.Source):
		return "what is about an event, or a receive that waits, comes under its token"
	}
	return ""
}

func validScope(s Scope) bool {
	_, err := s.Frames()
	return err == nil && len(s) <= MaxScope
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

func printable(s string, limit int) bool {
	if len(s) > limit {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
