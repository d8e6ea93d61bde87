package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fmqm/message"
	"fmqm/queue/record"
)

// told is a line of a story: what matters to a reader of all that happens.
type told struct {
	at, last    time.Duration
	where, text string
	more        int // how often the same happened again, until last
}

// dull are events that no story needs: what was sent and committed is told by what is in it, and
// the end is told by the report.
var dull = map[string]bool{"sends": true, "gets": true, "calls": true, "commits": true, "records": true, "runs": true, "breaks": true}

// again is how often the same is told; then it is counted.
const again = 3

// tell adds a line to the story.
func (j *journal) tell(where, format string, args ...any) {
	if !j.keep {
		return
	}
	t := told{at: j.now(), where: where, text: strings.TrimSuffix(fmt.Sprintf(format, args...), ": <nil>")}
	same := j.same[where+t.text]
	if len(same) == again {
		last := &j.told[same[again-1]]
		last.more, last.last = last.more+1, t.at
		return
	}
	j.same[where+t.text] = append(same, len(j.told))
	j.told = append(j.told, t)
}

// String is the line, to the millisecond.
func (t told) String() string {
	line := fmt.Sprintf("%12v  %s %s", brief(t.at), t.where, t.text)
	if t.more > 0 {
		line += fmt.Sprintf(" (and %d times more, until %v)", t.more, brief(t.last))
	}
	return line
}

// brief is a time for people.
func brief(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// story gives the lines, with instances by their numbers.
func (w *World) story() (lines []string) {
	names := w.plan.instanceNames()
	for _, t := range w.journal.told {
		lines = append(lines, names.Replace(t.String()))
	}
	return lines
}

// instanceNames has a story say the number of an instance for its identifier.
func (p *Plan) instanceNames() *strings.Replacer {
	var names []string
	for i, x := range p.Instances {
		names = append(names, x.ID.String(), fmt.Sprintf("instance %d", i), unknown(x.ID).String(), fmt.Sprintf("no instance, beside %d", i))
	}
	return strings.NewReplacer(names...)
}

// said is what a site's log says, in short.
func said(logged []byte) string {
	var l struct{ Message, Peer, State, Reason, Error string }
	if json.Unmarshal(logged, &l) != nil {
		return string(logged)
	}
	text := l.Message
	for _, more := range []string{l.Peer, l.State, l.Reason, l.Error} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// tell tells what a transaction did at a site.
func (x *watch) tell(s *site, t *transaction) {
	if !x.world.journal.keep {
		return
	}
	var parts []string
	for _, peer := range slices.Sorted(maps.Keys(t.taken)) {
		parts = append(parts, "takes what "+string(peer)+" sent")
	}
	var put []string
	for e, keys := range t.put {
		for _, k := range keys {
			put = append(put, fmt.Sprintf("has %s for %s", kindOf(k), shown(e)))
		}
	}
	slices.Sort(put)
	parts = append(parts, put...)
	for i := range t.records {
		r := &t.records[i]
		parts = append(parts, fmt.Sprintf("%s %s", shown(entryOf(r)), eventOf(r.Event)))
	}
	for _, peer := range slices.Sorted(maps.Keys(t.items)) {
		parts = append(parts, fmt.Sprintf("puts %d for %s", t.items[peer], peer))
	}
	if len(parts) > 0 {
		x.world.journal.tell(string(s.name), "commits: %s", strings.Join(parts, "; "))
	}
}

func kindOf(k message.Key) string {
	switch k.Kind {
	case message.KindConnector:
		return "the message from " + string(k.Source)
	case message.KindSnapshot:
		return "the state"
	case message.KindNotice:
		return "a notice from " + string(k.Source)
	case message.KindDue:
		return "the time " + string(k.Source)
	case message.KindWord:
		return "a word"
	case message.KindCancel:
		return "that " + string(k.Source) + " cancels it"
	case message.KindBegin:
		return "the begin of " + string(k.Source)
	case message.KindReturn:
		return "the return of " + string(k.Scope)
	case message.KindStart:
		return "the start"
	case message.KindOffer:
		return "an offer from " + string(k.Source)
	case message.KindRecall, message.KindRecalled:
		return "a message about a restart"
	case message.KindChunk:
		return "a chunk"
	case message.KindEvent, message.KindWait, message.KindPast, message.KindOver:
		return "a message about an event"
	case message.KindRecord, message.KindMarker, message.KindMark, message.KindTable, message.KindCurrent, message.KindAnswer:
	}
	return fmt.Sprintf("a message of kind %d", k.Kind)
}

func eventOf(e record.Event) string {
	texts := map[record.Event]string{
		record.EventStarted: "starts", record.EventEnded: "ends", record.EventTerminated: "has run", record.EventSkipped: "is skipped",
		record.EventStopped: "is stopped", record.EventCancelled: "is cancelled", record.EventCancelling: "cancels what is inside", record.EventIterated: "runs once more", record.EventFailed: "has failed, and is tried again",
		record.EventInError: "is in error", record.EventRetried: "is retried", record.EventForced: "is finished by an operator", record.EventRestarted: "is restarted", record.EventRecalled: "is recalled", record.EventKept: "is not restarted", record.EventPassed: "is passed",
		record.EventDropped: "does without a message that was refused", record.EventAsked: "is asked for at its site by an operator", record.EventAnswered: "is what an operator is answered about",
		record.EventBegun: "begins an instance", record.EventReturned: "is returned to",
		record.EventSent: "sends an event", record.EventReceived: "receives an event", record.EventPutBack: "puts an event back",
		record.EventOffered: "is offered", record.EventClaimed: "is claimed", record.EventReleased: "is released", record.EventTransferred: "goes to another person", record.EventSaved: "has a draft",
		record.EventCompleted: "is completed", record.EventWithdrawn: "is withdrawn", record.EventEscalated: "has a notice for people",
		record.EventSuspended: "is suspended", record.EventResumed: "goes on after it was suspended", record.EventExpedited: "has another priority", record.EventErased: "has data overwritten",
		record.EventDecided: "is decided with the first connectors", record.EventRaced: "has a connector that came too late", record.EventNotified: "has a notice", record.EventThinned: "has fewer iterations in the audit",
	}
	if text := texts[e]; text != "" {
		return text
	}
	return fmt.Sprintf("has event %d", e)
}
