package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// saidInAll is how much of what programs have said a history tells, the newest of it.
const saidInAll = 256 << 10

// History joins what the nodes have recorded. Of the instance itself only its origin's word counts.
func (g *Gathered) History() api.HistoryAnswer {
	a := api.HistoryAnswer{Events: []api.HistoryEvent{}, Unreachable: g.Unreachable, Removed: g.removed(), Clocks: g.read().clocks(), More: g.more()}
	if a.Unreachable == nil {
		a.Unreachable = []api.Unreachable{}
	}
	for node, r := range g.Reports {
		for i := range r.Events {
			if !g.misattributed(node, &r.Events[i]) && g.Asked.wants(&r.Events[i]) {
				a.Events = append(a.Events, r.Events[i])
			}
		}
	}
	slices.SortStableFunc(a.Events, compareEvents)
	for i := range a.Events {
		e := &a.Events[i]
		e.Scope = ShownScope(message.Scope(e.Scope), e.Activity)
	}
	return a
}

// compareEvents orders history: by the logical clock, then, at one moment of it, what leads
// to something before what it leads to, whatever the clocks of nodes say (invariant 14).
func compareEvents(x, y api.HistoryEvent) int {
	return cmp.Or(cmp.Compare(x.Clock, y.Clock), cmp.Compare(rank(x.Event), rank(y.Event)),
		x.Time.Compare(y.Time), cmp.Compare(x.Node, y.Node), compareScopes(message.Scope(x.Scope), message.Scope(y.Scope)), cmp.Compare(x.Activity, y.Activity))
}

// compareScopes orders scopes as people count: the ninth element, iteration or run before the tenth.
func compareScopes(x, y message.Scope) int {
	const decimals = "0123456789"
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	number := len(strings.TrimRight(string(x[:same]), decimals)) // where the one begins in which they may differ
	digits := func(s message.Scope) int {
		return len(s) - number - len(strings.TrimLeft(string(s[number:]), decimals))
	}
	if number > 0 && strings.IndexByte("[#~", x[number-1]) >= 0 && digits(x) != digits(y) {
		return cmp.Compare(digits(x), digits(y))
	}
	return cmp.Compare(x, y)
}

// rank is where an event stands among those of one activity at one moment of the clock: an
// operator's hand comes before what follows from it, an end after all else.
func rank(e api.Event) int {
	switch e {
	case api.EventStarted:
		return 0
	case api.EventAsked, api.EventBegun:
		return 1
	case api.EventRetried, api.EventForced, api.EventDropped, api.EventAnswered, api.EventDecided, api.EventClaimed, api.EventSuspended, api.EventResumed, api.EventExpedited,
		api.EventRestarted, api.EventEndKept:
		return 2
	case api.EventIterated, api.EventFailed, api.EventInError, api.EventPassed, api.EventReturned, api.EventCancelling,
		api.EventSent, api.EventReceived, api.EventPutBack, api.EventRaced, api.EventNotified, api.EventRecalled,
		api.EventOffered, api.EventReleased, api.EventTransferred, api.EventSaved, api.EventCompleted, api.EventWithdrawn, api.EventEscalated:
		return 3
	case api.EventTerminated, api.EventSkipped, api.EventStopped, api.EventCancelled:
		return 4
	case api.EventEnded, api.EventErased:
	}
	return 5
}

// eventsOf gives what the node has recorded of an instance, as far as it is asked for.
func eventsOf(self processtable.NodeID, v *audit.InstanceView, q *Question) []api.HistoryEvent {
	all := make([]api.HistoryEvent, 0, len(v.Ends)+len(v.Events))
	take := func(r record.AuditRecord, stderr string) {
		if e, tells := eventFrom(self, r); tells && q.wants(&e) {
			e.Stderr = stderr
			all = append(all, e)
		}
	}
	for i := range v.Ends {
		take(v.Ends[i], "")
	}
	size := 0
	for _, r := range slices.Backward(v.Events) {
		if size += len(r.Stderr); size > saidInAll {
			r.Stderr = ""
		}
		take(r, r.Stderr)
	}
	return all
}

// wants says whether an event is asked for.
func (q *Question) wants(e *api.HistoryEvent) bool {
	switch {
	case e.Clock < q.Since:
		return false
	case q.Activity == "" || InPath(q.Activity, e.Scope, e.Activity):
		return true
	case e.Event != api.EventBegun && e.Event != api.EventReturned:
		return false
	}
	return InPath(q.Activity, within(e.Scope, e.Activity, e.Iteration, e.Run), string(processtable.Source))
}

// within is the scope of what is inside of a block in an iteration; run is as it is shown.
func within(scope, block string, iteration, run int) string {
	f := message.Frame{Composite: processtable.ActivityID(block), Iteration: iteration, Run: max(0, run-1), Element: -1}
	return string(message.Scope(scope).Enter(f))
}

// Events are the words of the API for what the audit records.
var Events = map[record.Event]api.Event{
	record.EventStarted:    api.EventStarted,
	record.EventEnded:      api.EventEnded,
	record.EventTerminated: api.EventTerminated,
	record.EventSkipped:    api.EventSkipped,
	record.EventStopped:    api.EventStopped,
	record.EventIterated:   api.EventIterated,
	record.EventFailed:     api.EventFailed,
	record.EventInError:    api.EventInError,
	record.EventRetried:    api.EventRetried,
	record.EventPassed:     api.EventPassed,
	record.EventDropped:    api.EventDropped,
	record.EventAsked:      api.EventAsked,
	record.EventAnswered:   api.EventAnswered,
	record.EventCancelled:  api.EventCancelled,
	record.EventCancelling: api.EventCancelling,
	record.EventBegun:      api.EventBegun,
	record.EventReturned:   api.EventReturned,
	record.EventSent:       api.EventSent,
	record.EventReceived:   api.EventReceived,
	record.EventPutBack:    api.EventPutBack,
	record.EventDecided:    api.EventDecided,
	record.EventRaced:      api.EventRaced,
	record.EventNotified:   api.EventNotified,
	record.EventForced:     api.EventForced,
	record.EventSuspended:  api.EventSuspended,
	record.EventResumed:    api.EventResumed,
	record.EventErased:     api.EventErased,
	record.EventExpedited:  api.EventExpedited,
	record.EventRestarted:  api.EventRestarted,
	record.EventRecalled:   api.EventRecalled,
	record.EventKept:       api.EventEndKept,

	record.EventOffered:     api.EventOffered,
	record.EventClaimed:     api.EventClaimed,
	record.EventReleased:    api.EventReleased,
	record.EventTransferred: api.EventTransferred,
	record.EventSaved:       api.EventSaved,
	record.EventCompleted:   api.EventCompleted,
	record.EventWithdrawn:   api.EventWithdrawn,
	record.EventEscalated:   api.EventEscalated,
}

// eventFrom is a record of a node in the words of the API; false: it tells people nothing.
func eventFrom(node processtable.NodeID, r record.AuditRecord) (e api.HistoryEvent, tells bool) {
	if r.Event == record.EventThinned {
		return e, false
	}
	e = api.HistoryEvent{
		Clock: r.Clock, Time: r.Time, Node: string(node), Scope: string(r.Scope), Activity: string(r.Activity), Event: Events[r.Event],
		Iteration: r.Iteration, Run: ShownRun(r.Run), Attempt: r.Attempt, Reason: r.Reason, By: r.By,
	}
	if r.People != nil {
		e.For, e.Operator = r.People.For, r.People.Operator
	}
	if frames, err := r.Scope.Frames(); err == nil && len(frames) > 0 && added(e.Activity) {
		switch r.Event {
		case record.EventTerminated: // source and sink are the engine's: an iteration begins and returns with them
			return blockEvent(e, frames[len(frames)-1], r.Scope), true
		case record.EventStopped, record.EventSkipped, record.EventCancelled:
			return e, false
		default: // it is in error, or an operator did something about that
		}
	}
	switch r.Event {
	case record.EventFailed, record.EventInError:
		if r.RC != 0 { // else most had none: a program that was killed, or could not be started
			e.RC = &r.RC
		}
	case record.EventNotified:
		if r.RC != 0 {
			e.RC = &r.RC
		}
		if r.Told != nil {
			e.Reason, e.Iteration = notifiedOf(&r), 0
		}
	case record.EventTerminated, record.EventIterated:
		e.RC = &r.RC
		switch {
		case r.TimedOut:
			e.Reason = "its deadline has come"
		case r.Failure != "":
			e.Reason = "goes on after an error: " + r.Failure
		}
	case record.EventStarted:
		if r.Reason != "" {
			e.Reason = "key " + r.Reason
		}
	case record.EventEnded, record.EventSkipped, record.EventStopped, record.EventRetried, record.EventPassed, record.EventDropped, record.EventAsked, record.EventAnswered,
		record.EventCancelled, record.EventCancelling, record.EventThinned, record.EventForced, record.EventSuspended, record.EventResumed,
		record.EventRestarted, record.EventRecalled, record.EventKept:
	case record.EventExpedited:
		e.About = "priority " + strconv.Itoa(r.Rank.Priority(0))
	case record.EventBegun, record.EventReturned:
		if r.Child != nil {
			e.About = r.Child.Instance.String()
		} else if len(r.Sent) > 0 { // of a call
			e.About = string(r.Sent[0].Node)
		}
	case record.EventSent, record.EventReceived, record.EventPutBack:
		if r.About != nil {
			e.About = aboutEvent(r.About)
		}
	case record.EventOffered, record.EventClaimed, record.EventReleased, record.EventTransferred, record.EventSaved, record.EventCompleted, record.EventWithdrawn:
		at := message.Entry{Instance: r.Instance, Scope: r.Scope, Activity: r.Activity}
		e.About = itemID(at, message.Execution{Iteration: r.Iteration, Run: r.Run})
		if r.People != nil && r.People.To != "" {
			e.About += " " + r.People.To
		}
	case record.EventEscalated:
		at := message.Entry{Instance: r.Instance, Scope: r.Scope.Notice(r.Attempt - 1), Activity: r.Activity}
		if r.Told != nil {
			at.Scope = r.Scope.Told(r.Attempt-1, r.Iteration)
			e.Reason, e.Iteration = strings.TrimPrefix(r.Reason+", "+toldOf(r.Told), ", "), 0
		}
		e.About, e.Attempt = itemID(at, message.NoticeExecution), 0
	case record.EventDecided, record.EventRaced:
		e.About = joined(r.Counted)
	case record.EventErased:
		if e.About = "all data"; r.Erased != nil && !r.Erased.Members.All {
			e.About = strings.Join(r.Erased.Members.Paths, ", ")
		}
	}
	return e, true
}

// toldOf says what a notice tells of: "end", "error of documents#2/check".
func toldOf(t *message.Told) string {
	if path := t.Path(); path != "" {
		return t.On.String() + " of " + path
	}
	return t.On.String()
}

// notifiedOf says which program has told of what; of one that has failed why stands at the end, with what helps.
func notifiedOf(r *record.AuditRecord) string {
	if program, failed := strings.CutSuffix(r.Reason, " has failed: "+r.Failure); failed && r.Failure != "" {
		return fmt.Sprintf("%s (%s) has failed: %s", program, toldOf(r.Told), r.Failure)
	}
	return r.Reason + ", " + toldOf(r.Told)
}

// aboutEvent names an event: NAME, or NAME KEY.
func aboutEvent(e *message.EventRef) string {
	if e.Key == "" {
		return string(e.Name)
	}
	return string(e.Name) + " " + e.Key
}

// joined are the names of activities, for people.
func joined(names []processtable.ActivityID) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = string(name)
	}
	return strings.Join(all, ", ")
}

// blockEvent says of a block what the end of its source or sink in a scope means for it.
func blockEvent(e api.HistoryEvent, f message.Frame, scope message.Scope) api.HistoryEvent {
	e.Event = api.EventReturned
	if e.Activity == string(processtable.Source) {
		e.Event = api.EventBegun
	}
	e.Scope, e.Activity, e.Iteration, e.Run, e.Attempt = string(scope.Leave()), string(f.Composite), f.Iteration, ShownRun(f.Run), 0
	return e
}

// news gives what of all events of an instance whoever asks has not been told, and the mark
// for next time: what stands above his mark if all below is what he was told, else everything.
func news(store string, all []api.HistoryEvent, told Mark) ([]api.HistoryEvent, Mark) {
	mark := Mark{Store: store, Count: len(all)}
	above := []api.HistoryEvent{}
	for i := range all {
		mark.Clock = max(mark.Clock, all[i].Clock)
		if told.below(&all[i]) {
			above = append(above, all[i])
		}
	}
	if told.Store == mark.Store && told.Count == len(all)-len(above) {
		return above, mark
	}
	return all, mark
}

// below says whether an event stands above the mark.
func (m Mark) below(e *api.HistoryEvent) bool {
	if m.At != 0 && e.Clock == m.Clock {
		return e.Time.UnixNano() > m.At
	}
	return e.Clock > m.Clock
}

// comparePlaces orders events as marks part them.
func comparePlaces(x, y api.HistoryEvent) int {
	return cmp.Or(cmp.Compare(x.Clock, y.Clock), x.Time.Compare(y.Time))
}
