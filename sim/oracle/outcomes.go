package oracle

import (
	"slices"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Outcomes are how the races of a run came out (N14), as its audit says. They are given to the
// interpreter, which refuses what cannot be; whether each had a cause is for Admissible.
type Outcomes struct {
	of      map[string]*course
	bundles map[string]*elements
	sent    map[processtable.ActivityID]sent // by token of an event, who has sent it
}

// sent is who has sent an event, and when.
type sent struct {
	path  string
	clock uint64
}

// elements are what is recorded of those of a bundle.
type elements struct {
	begun int   // up to the last one of which anything is
	ended []int // those that have ended by themselves, in the order in which they did
}

// course is what is recorded of an execution.
type course struct {
	activity string
	failed   map[int]int                 // by iteration: attempts that were to be repeated
	inError  *record.AuditRecord         // nil: it never was
	end      *record.AuditRecord         // nil: it has not ended
	passed   bool                        // what leads out of it was resolved before it ended (N6)
	got      map[int]*record.AuditRecord // by iteration: the event that a receive has taken
	done     map[int]*record.AuditRecord // by iteration: who has completed a manual activity
	counted  []string                    // which connectors it began with, if it does not wait for all
	work     *record.AuditRecord         // of a call: how what does its work has ended; nil: it has not, or it is none
	begun    bool                        // its work was begun, or an instance
}

// OutcomesOf reads the audit of an instance at all its sites; records of one site are in the order in
// which they came.
func OutcomesOf(records []record.AuditRecord) *Outcomes {
	o := &Outcomes{of: map[string]*course{}, bundles: map[string]*elements{}, sent: map[processtable.ActivityID]sent{}}
	for i := range records {
		r := &records[i]
		path := r.Scope.Path(r.Activity)
		o.element(r)
		c := o.of[path]
		if c == nil {
			c = &course{activity: string(r.Activity), failed: map[int]int{}, got: map[int]*record.AuditRecord{}, done: map[int]*record.AuditRecord{}}
			o.of[path] = c
		}
		switch r.Event {
		case record.EventFailed:
			c.failed[r.Iteration]++
		case record.EventInError:
			c.inError = r
		case record.EventDecided:
			c.counted = nil
			for _, source := range r.Counted {
				c.counted = append(c.counted, string(source))
			}
		case record.EventPassed:
			c.passed = true
		case record.EventBegun:
			c.begun = c.begun || !IsWork(r.Scope, r.Activity)
		case record.EventSent:
			o.sent[r.About.Token] = sent{path, r.Clock}
		case record.EventReceived:
			c.got[r.Iteration] = r
		case record.EventCompleted:
			c.done[r.Iteration] = r
		case record.EventTerminated, record.EventSkipped, record.EventCancelled:
			if IsWork(r.Scope, r.Activity) {
				c.work = r
				continue
			}
			c.end = r
		default:
		}
	}
	return o
}

// element notes what a record says of the bundles around.
func (o *Outcomes) element(r *record.AuditRecord) {
	if isSaid(r) {
		return
	}
	for scope := r.Scope; scope != ""; scope = scope.Leave() {
		f, ok := last(scope)
		if !ok || f.Element < 0 {
			continue
		}
		path := scope.Leave().Path(f.Composite)
		e := o.bundles[path]
		if e == nil {
			e = &elements{}
			o.bundles[path] = e
		}
		e.begun = max(e.begun, f.Element+1)
		if scope == r.Scope && isElement(r.Scope, r.Activity) && r.Event == record.EventTerminated {
			e.ended = append(e.ended, f.Element)
		}
	}
}

// isSaid: the record is of what an operator has said of an execution, which need not be there (N15).
func isSaid(r *record.AuditRecord) bool {
	return r.Event == record.EventAsked || r.Event == record.EventAnswered || r.Event == record.EventDropped
}

// Bundle implements interpret.Bundles. What has ended at the bundle's site has returned in that moment.
func (r racing) Bundle(a *definition.Activity, scope interpret.Scope) (came interpret.Came, known bool) {
	if e := r.outcomes.bundles[scope.Path(a.Name)]; e != nil {
		came.Begun, came.Returned = e.begun, e.ended
	}
	return came, true
}

// Races has programs say how races came out as well.
func (o *Outcomes) Races(programs interpret.Programs) interpret.Programs {
	return racing{programs, o}
}

type racing struct {
	interpret.Programs
	outcomes *Outcomes
}

// Do implements interpret.Clerks: what is done is for the programs to say, and who has done it for the run.
func (r racing) Do(a *definition.Activity, call interpret.Call) interpret.Outcome {
	o := r.Programs.Run(a, call)
	if c := r.outcomes.of[call.Scope.Path(a.Name)]; c != nil && c.done[call.Iteration] != nil {
		if o.By = c.done[call.Iteration].By; c.done[call.Iteration].People != nil {
			o.For = c.done[call.Iteration].People.For
		}
	}
	return o
}

// Race implements interpret.Races.
func (r racing) Race(a *definition.Activity, at interpret.At) interpret.Race {
	c := r.outcomes.of[at.Scope.Path(a.Name)]
	if c == nil {
		return interpret.Race{Stays: a.Receive != nil && at.Iteration > 0}
	}
	if a.Call != nil && a.Bundle == nil {
		return c.called(a, at)
	}
	race := c.race(a, at)
	if a.Receive != nil && at.Iteration > 0 && race.First == interpret.Itself {
		race = r.outcomes.received(a, c, at)
	}
	return race
}

// received says what a receive has got in an iteration: of this instance's own events, since it asks for those of no
// other, or of those that came from outside, which have the defaults. What was sent after a block around it had ended, of which its site
// had not heard yet, comes from outside for it: nothing that is ended with the block waits for what follows on that.
func (o *Outcomes) received(a *definition.Activity, c *course, at interpret.At) interpret.Race {
	r := c.got[at.Iteration]
	if r == nil {
		return interpret.Race{Stays: true}
	}
	from := o.sent[r.About.Token]
	if c.end != nil && c.end.Iteration == at.Iteration && o.over(at.Scope, from.clock) {
		if v, err := container.DecodeCBOR(a.Output, c.end.Output); err == nil {
			output, _ := v.(*container.Struct)
			return interpret.Race{Got: &interpret.Got{Event: string(r.About.Name), Output: output}}
		}
	}
	if i := slices.Index(a.Receive.Names(), string(r.About.Name)); r.About.ID != "" && i >= 0 {
		data := container.New(a.Receive.Events[i].Type)
		return interpret.Race{Got: &interpret.Got{Event: string(r.About.Name), Output: interpret.Echo(data, a.Output).Output}}
	}
	return interpret.Race{Got: &interpret.Got{Event: string(r.About.Name), From: from.path}}
}

// over says whether a block around a scope had ended before its time by a moment.
func (o *Outcomes) over(scope interpret.Scope, clock uint64) bool {
	for at := message.Scope(scope); at != ""; at = at.Leave() {
		c := o.of[at.Leave().Path(at.Inside())]
		if c == nil {
			continue
		}
		if end := c.endedEarly(); end != nil && end.Clock < clock {
			return true
		}
	}
	return false
}

// called is race of a call: how far it had come is told by what does its work.
func (c *course) called(a *definition.Activity, at interpret.At) interpret.Race {
	of := *c
	if c.end != nil && c.work != nil && c.end.Iteration > 0 {
		end := *c.end
		end.Iteration, end.Attempt = max(1, c.work.Iteration), max(1, c.work.Attempt) // that ends it may come before what begins it
		of.end = &end
		if returned := c.work.Event == record.EventTerminated; returned != at.Back && !at.InError {
			of.end = nil
		}
	} else if at.Back {
		of.end = nil
	}
	if at.Back { // whatever attempts there were
		at.Attempt = of.failed[at.Iteration] + 1
	}
	race := of.race(a, at)
	race.Unbegun = race.First == interpret.Deadline && !c.begun
	return race
}

// race says what came first, at a place in the course.
func (c *course) race(a *definition.Activity, at interpret.At) (race interpret.Race) {
	ended := func(r *record.AuditRecord, inError bool) {
		switch {
		case r == nil || !c.isAt(r, inError, at):
		case r.TimedOut:
			race.First = interpret.Deadline
		case r.Event == record.EventCancelled && c.passed:
			race.First, race.Dead = interpret.Canceller, true
		case r.Event == record.EventCancelled && tells(r):
			race.First = interpret.Canceller
		case r.Event == record.EventCancelled:
			race.First = interpret.Around
		case a.Block != nil:
			race.Caught = r.Failure
		}
	}
	if c.hasFailedLate() {
		ended(c.inError, false)
	}
	if c.end != nil && race.First == interpret.Itself && race.Caught == "" {
		ended(c.end, c.inError != nil)
	}
	if at.Iteration == 0 {
		race.Counted = c.counted
	}
	return race
}

// isAt says whether the end that r tells of came where the execution is.
func (c *course) isAt(r *record.AuditRecord, inError bool, at interpret.At) bool {
	switch {
	case inError || at.InError:
		return inError && at.InError
	case r.Iteration == 0 || at.Iteration == 0:
		return r.Iteration == at.Iteration
	}
	return r.Iteration == at.Iteration && at.Attempt == c.failed[r.Iteration]+1
}

// tells: who was cancelled has resolved what leads out of it, so not all that is around was cancelled.
func tells(r *record.AuditRecord) bool {
	for i := range r.Sent {
		if r.Sent[i].Kind == 0 {
			return true
		}
	}
	return false
}

// hasFailedLate: the execution was ended, and what follows from that end has failed.
func (c *course) hasFailedLate() bool {
	return c.inError != nil && c.inError.Ending != message.Ending{}
}

// endedEarly is the record of what has ended the execution while it was not in error; nil: it has come to
// its end by itself, or to none.
func (c *course) endedEarly() *record.AuditRecord {
	r := c.end
	if c.hasFailedLate() {
		r = c.inError
	}
	if r == nil || c.inError != nil && r != c.inError || !r.TimedOut && r.Event != record.EventCancelled {
		return nil
	}
	return r
}

// isOwn: source and sink are the engine's.
func isOwn(a processtable.ActivityID) bool { return a == processtable.Source || a == processtable.Sink }
