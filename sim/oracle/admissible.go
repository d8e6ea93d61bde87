package oracle

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fmqm/definition"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// The interpreter is told how races came out, and would take any outcome that can be for any that was.
// So a second judge looks at the history alone (N14): each outcome has one cause, which came before it.

// Due is a timer of an entry: its name and time are the key of the message that says that it has come.
type Due struct {
	Entry message.Entry
	Key   message.Key
}

// Fact is one thing that a site has on disk of an instance; beside At exactly one of these is set.
type Fact struct {
	At      processtable.NodeID // the site: what offers an activity beside its home does so at each in the same scope
	Set     *Due                // a timer is set
	Came    *Due                // its time has come
	Arrived *Arrived
	Record  *record.AuditRecord
	Heard   *Heard
	Begun   *Begun
}

// Arrived is a connector of an activity that begins with the first ones, as it came to its queue.
type Arrived struct {
	Entry   message.Entry
	Source  processtable.ActivityID
	Control message.Truth
}

// Admissible says what in the history of an instance cannot be: facts are in the order in which they
// came to the disks of all sites. Of one that has finished nothing may go on.
func Admissible(p *definition.Process, facts []Fact, finished bool) []string {
	j := &judge{process: p, places: Places(p), notices: map[string]int{}, tolds: map[string]*told{}, timers: map[string]*timer{}, arrived: map[string][]*Arrived{}, of: map[string][]*record.AuditRecord{}, begun: map[string]int{}, sent: map[processtable.ActivityID]uint64{}, taken: map[processtable.ActivityID]string{}}
	for i := range facts {
		f := &facts[i]
		j.at = f.At
		switch {
		case f.Set != nil:
			j.set(f.Set)
		case f.Came != nil:
			j.came(f.Came)
		case f.Arrived != nil:
			path := f.Arrived.Entry.Scope.Path(f.Arrived.Entry.Activity)
			j.arrived[path] = append(j.arrived[path], f.Arrived)
		case f.Record != nil && f.Record.Told == nil: // see Tellings
			j.take(f.Record)
		}
	}
	if finished {
		j.nothingLeft(&p.Graph, "")
	}
	return j.all
}

// judge judges a history.
type judge struct {
	process *definition.Process
	at      processtable.NodeID // of what is judged
	notices map[string]int      // by path of what has them: how often one was due, and has not run since
	tolds   map[string]*told    // by that, and the number
	places  map[string]Place
	timers  map[string]*timer
	arrived map[string][]*Arrived              // by path, in the order in which they came
	of      map[string][]*record.AuditRecord   // by path, what has happened so far
	begun   map[string]int                     // by path of a bundle: up to its last element of which anything is recorded
	sent    map[processtable.ActivityID]uint64 // by token of an event, when it was sent
	taken   map[processtable.ActivityID]string // and who has received it
	all     []string
}

// timer is what is known of an activity's deadline.
type timer struct {
	set  message.Key
	came bool
}

func (j *judge) add(format string, args ...any) {
	j.all = append(j.all, fmt.Sprintf(format, args...))
}

const deadline = "deadline"

// set: a deadline is counted once for an activation, whatever comes.
func (j *judge) set(d *Due) {
	if d.Key.Source != deadline {
		return
	}
	path := d.Entry.Scope.Path(d.Entry.Activity)
	if before := j.timers[path]; before == nil {
		j.timers[path] = &timer{set: d.Key}
	} else if before.set != d.Key {
		j.add("%s has a deadline at %d, and before it had one at %d", path, d.Key.Number, before.set.Number)
	}
}

func (j *judge) came(d *Due) {
	if number, notice := d.Entry.Scope.OfNotice(); notice {
		j.noticeCame(d.Entry.Scope, d.Entry.Activity, number)
	}
	if d.Key.Source != deadline {
		return
	}
	path := d.Entry.Scope.Path(d.Entry.Activity)
	if t := j.timers[path]; t != nil && t.set == d.Key {
		t.came = true
	}
}

// take takes what is recorded, and looks for the cause of each outcome among what came before.
func (j *judge) take(r *record.AuditRecord) {
	path := r.Scope.Path(r.Activity)
	place, known := j.places[string(r.Activity)]
	if !isSaid(r) {
		j.element(r.Scope)
	}
	if r.Event == record.EventEscalated {
		j.escalated(j.placeOf(r.Scope, r.Activity), place, r)
		return
	}
	if r.Event == record.EventNotified {
		j.notified(path, place, r)
		return
	}
	if known && place.Staff != nil && IsWork(r.Scope, r.Activity) {
		j.offered(path, place, r)
		return
	}
	if known && IsWork(r.Scope, r.Activity) {
		j.work(path, place, r)
		return
	}
	if known && !isOwn(r.Activity) {
		if r.TimedOut {
			j.timedOut(path, place, r)
		}
		if r.Failure != "" {
			j.failed(path, place, r)
		}
		if r.Event == record.EventCancelled && place.Call == nil && place.Bundle == nil {
			j.attempted(path, r)
		}
		switch {
		case isElement(r.Scope, r.Activity):
		case place.Start.Kind == definition.StartFirst:
			j.first(path, place, r)
		default:
			j.decided(path, place, r)
		}
	}
	if r.Event == record.EventCancelled {
		j.cancelled(path, r)
	}
	if known && !isOwn(r.Activity) {
		j.forced(path, r)
	}
	if r.Event == record.EventSent {
		j.sent[r.About.Token] = r.Clock
	}
	if r.Event == record.EventReceived {
		j.received(path, place, r)
	}
	if isEnd(r) {
		if j.find(path, isEnd) != nil {
			j.add("%s ends twice", path)
		}
	}
	j.of[path] = append(j.of[path], r)
}

// notified: a program has run beside the work, once for each time that it was due, and before that has ended; no connector
// has to do with it (N23).
func (j *judge) notified(path string, place Place, r *record.AuditRecord) {
	notices := place.notices(j.process, r)
	if len(notices) == 0 {
		j.add("%s has no notices, and one has run", path)
	}
	if len(notices) > 0 && !slices.ContainsFunc(notices, func(n definition.Notice) bool { return n.Program != "" }) {
		j.add("the notices of %s have no program, and one has run", path)
	}
	if r.Iteration > 1 && !slices.ContainsFunc(notices, func(n definition.Notice) bool { return n.Every != nil }) {
		j.add("a notice of %s has run for the %d. time, and none is to run again", path, r.Iteration)
	}
	if j.notices[path]--; j.notices[path] < 0 {
		j.add("a notice of %s has run, and none was due", path)
	}
	if e := j.find(path, isEnd); e != nil {
		j.add("a notice of %s has run, and that had ended", path)
	}
	if len(r.Sent) > 0 || len(r.Consumed) > 0 {
		j.add("a notice of %s sends %d messages, and has taken %d connectors", path, len(r.Sent), len(r.Consumed))
	}
}

// notices are those of what a record is of: of sink they are the process's, and of what offers an activity beside its home those for people.
func (p Place) notices(process *definition.Process, r *record.AuditRecord) []definition.Notice {
	switch {
	case r.Scope == "" && r.Activity == processtable.Sink:
		return process.Notify
	case p.Activity == nil:
		return nil
	case p.Staff != nil && IsWork(r.Scope, r.Activity):
		return slices.DeleteFunc(slices.Clone(p.Notify), func(n definition.Notice) bool { return n.Staff == nil && n.Program != "" })
	}
	return p.Notify
}

// element notes how far the bundles around came.
func (j *judge) element(scope message.Scope) {
	for ; scope != ""; scope = scope.Leave() {
		if f, ok := last(scope); ok && f.Element >= 0 {
			path := scope.Leave().Path(f.Composite)
			j.begun[path] = max(j.begun[path], f.Element+1)
		}
	}
}

// work takes what is recorded of what does the work of a call: it has its own attempts, and its end is that of the
// call's work only.
func (j *judge) work(path string, place Place, r *record.AuditRecord) {
	if place.Call == nil {
		j.add("%s is the work of a call, and there is none", path)
	}
	if r.TimedOut {
		j.add("%s has timed out where its work is done, and its deadline is not there", path)
	}
	if isEnd(r) {
		if j.find("work of "+path, isEnd) != nil {
			j.add("the work of %s ends twice", path)
		}
		j.of["work of "+path] = append(j.of["work of "+path], r)
		return
	}
	j.of[path] = append(j.of[path], r)
}

// offered takes what another node records of what it offers: nothing but that, and that it does not any more (N27).
func (j *judge) offered(path string, place Place, r *record.AuditRecord) {
	if len(place.OfferedAt) == 0 {
		j.add("%s is offered elsewhere, and its definition does not say so", path)
	}
	switch r.Event {
	case record.EventOffered, record.EventWithdrawn, record.EventCancelled, record.EventStopped, record.EventAnswered: // this of its notices
	default:
		j.add("%s has event %d where it is offered beside its home", path, r.Event)
	}
	for _, s := range r.Sent { // to nobody but its notices there
		if _, notice := s.Scope.OfNotice(); !notice || s.Kind != message.KindCancel || s.Target != r.Activity {
			j.add("%s sends a message to %s where it is offered beside its home", path, s.Target)
		}
	}
	at := j.placeOf(r.Scope, r.Activity)
	if isEnd(r) && j.find(at, isEnd) != nil {
		j.add("%s ends twice where it is offered beside its home", at)
	}
	j.of[at] = append(j.of[at], r)
}

// placeOf is the path of an execution, and of what is begun in a scope of its own, as an offer beside its home is, that scope and the site.
func (j *judge) placeOf(scope message.Scope, activity processtable.ActivityID) string {
	if IsWork(scope, activity) {
		return fmt.Sprintf("%s in %s at %s", activity, scope, j.at)
	}
	return scope.Path(activity)
}

// isEnd: nothing more becomes of the execution.
func isEnd(r *record.AuditRecord) bool {
	switch r.Event {
	case record.EventTerminated, record.EventSkipped, record.EventCancelled, record.EventStopped, record.EventStarted, record.EventEnded:
		return true
	default:
		return false
	}
}

// find gives what is recorded of an execution and fulfils a condition; nil: nothing does.
func (j *judge) find(path string, is func(*record.AuditRecord) bool) *record.AuditRecord {
	if i := slices.IndexFunc(j.of[path], is); i >= 0 {
		return j.of[path][i]
	}
	return nil
}

func hasRun(r *record.AuditRecord) bool { return r.Event == record.EventTerminated }

func isError(r *record.AuditRecord) bool { return r.Event == record.EventInError }

// timedOut: its own deadline has come, and nothing has come back of a block's iteration before.
func (j *judge) timedOut(path string, place Place, r *record.AuditRecord) {
	if t := j.timers[path]; place.Deadline == nil || t == nil || !t.came {
		j.add("%s has timed out, and its deadline has not come", path)
	}
	if r.RC != -1 {
		j.add("%s has timed out, and has the return code %d", path, r.RC)
	}
	if place.Block != nil && j.find(path, isError) == nil && j.find(inside(r).Path(processtable.Sink), hasRun) != nil {
		j.add("%s has timed out, and its iteration %d had returned", path, r.Iteration)
	}
	if place.Call == nil {
		j.attempted(path, r)
	}
}

// inside is the scope of a block's iteration that a record tells of.
func inside(r *record.AuditRecord) message.Scope {
	return r.Scope.Enter(message.Frame{Composite: r.Activity, Iteration: r.Iteration, Run: r.Run, Element: -1})
}

// received: it is an event that the receive waits for, was sent before, unless it came from outside, and no other has
// received it (N24). Whoever is asked for is of this instance: its events have it for their key.
func (j *judge) received(path string, place Place, r *record.AuditRecord) {
	about := r.About
	if place.Activity == nil || place.Receive == nil || !slices.Contains(place.Receive.Names(), string(about.Name)) {
		j.add("%s has received %s, and does not wait for it", path, about.Name)
	}
	if clock, was := j.sent[about.Token]; about.ID == "" && (!was || clock >= r.Clock) {
		j.add("%s has received %s of %s at %d, and nothing had sent it before (%d)", path, about.Name, about.Node, r.Clock, clock)
	}
	if other, was := j.taken[about.Token]; was {
		j.add("%s has received an event that %s had received", path, other)
	}
	j.taken[about.Token] = path
}

// attempted: of attempts an end counts those that have failed, and the one under way, if there was one.
func (j *judge) attempted(path string, r *record.AuditRecord) {
	n := 0
	for _, before := range j.of[path] {
		if before.Event == record.EventFailed && before.Iteration == r.Iteration {
			n++
		}
	}
	if j.find(path, isError) == nil && r.Attempt != n && r.Attempt != n+1 {
		j.add("%s has ended in attempt %d, and %d have failed", path, r.Attempt, n)
	}
}

// failed: it goes on after errors, and there was one.
func (j *judge) failed(path string, place Place, r *record.AuditRecord) {
	if !place.Continues {
		j.add("%s goes on after an error, and is not to", path)
	}
	if place.Block == nil {
		return
	}
	within := inside(r)
	for _, records := range j.of {
		for _, e := range records {
			if isError(e) && e.Scope.Within(within) && e.Clock < r.Clock && saysOf(r.Failure, e) {
				return
			}
		}
	}
	j.add("%s has caught %q, and nothing inside of it was in error so", path, r.Failure)
}

// saysOf: what was caught is what an activity was in error for, as far as a record has room for it.
func saysOf(caught string, e *record.AuditRecord) bool {
	whole := fmt.Sprintf("%s: %s", e.Activity, e.Reason)
	return strings.HasPrefix(whole, caught) || strings.HasPrefix(caught, whole) && len(e.Reason) >= record.MaxReason-utf8.UTFMax
}

// cancelled: another one that cancels it has run, or something around it has ended early; and what leads
// out of it is dead.
func (j *judge) cancelled(path string, r *record.AuditRecord) {
	for i := range r.Sent {
		if s := &r.Sent[i]; s.Control == message.True || s.Data > message.DataAbsent {
			j.add("%s is cancelled, and sends to %s what is not dead", path, s.Target)
		}
	}
	if !j.byAnother(r) && !j.byAround(r) {
		j.add("%s is cancelled, and nothing that cancels it came before", path)
	}
}

// byAnother: an activity of the same scope that cancels it has run before.
func (j *judge) byAnother(r *record.AuditRecord) bool {
	for name, other := range j.places {
		if !slices.Contains(other.Cancels, string(r.Activity)) {
			continue
		}
		if j.find(r.Scope.Path(processtable.ActivityID(name)), func(o *record.AuditRecord) bool { return hasRun(o) && o.Clock < r.Clock }) != nil {
			return true
		}
	}
	return false
}

// byAround: a block around it, in the iteration in which it is, has ended early before.
func (j *judge) byAround(r *record.AuditRecord) bool {
	for scope := r.Scope; scope != ""; scope = scope.Leave() {
		block := scope.Leave().Path(scope.Inside())
		if f, ok := last(scope); ok && f.Element >= 0 && j.byBundle(block, scope.Inside(), r) {
			return true
		}
		if j.find(block, func(o *record.AuditRecord) bool { return o.Clock < r.Clock && inside(o) == scope && endsEarly(o) }) != nil {
			return true
		}
	}
	return false
}

// byBundle: a bundle around it has ended early before, or may leave what is under way.
func (j *judge) byBundle(path string, name processtable.ActivityID, r *record.AuditRecord) bool {
	if b := j.places[string(name)].Bundle; b != nil && b.Until != nil {
		return true
	}
	return j.find(path, func(o *record.AuditRecord) bool { return o.Clock < r.Clock && endsEarly(o) }) != nil
}

// byHand: an operator has ended it (N30).
func byHand(r *record.AuditRecord) bool {
	return r.Event == record.EventForced || r.Event == record.EventSkipped && r.By != ""
}

// forced: what an operator ends had not ended, and begins nothing more: a block or bundle that was ended by hand has come
// back in no other way.
func (j *judge) forced(path string, r *record.AuditRecord) {
	if byHand(r) && j.find(path, isEnd) != nil {
		j.add("%s is ended by hand, and it had ended", path)
	}
	before := j.find(path, func(o *record.AuditRecord) bool { return o.Event == record.EventForced })
	switch {
	case before == nil:
	case r.Event == record.EventForced:
		j.add("%s is finished by hand twice", path)
	case r.Event == record.EventIterated || r.Event == record.EventFailed || r.Event == record.EventTerminated && r.By != before.By:
		j.add("%s was finished by %s, and then %d", path, before.By, r.Event)
	}
}

// endsEarly: with that, what is inside of a block is cancelled.
func endsEarly(r *record.AuditRecord) bool {
	return byHand(r) || r.Event == record.EventCancelled || r.Event == record.EventCancelling || r.Ending != message.Ending{}
}

// nothingLeft: all activities have ended, in each iteration that has begun.
func (j *judge) nothingLeft(g *definition.Graph, scope message.Scope) {
	for _, a := range g.Activities {
		path := scope.Path(processtable.ActivityID(a.Name))
		if j.find(path, isEnd) == nil {
			j.add("%s has not ended, and the instance has", path)
		}
		if a.Bundle != nil {
			for n := range j.begun[path] {
				one := *a
				one.Bundle = nil
				element := scope.Enter(message.Frame{Composite: processtable.ActivityID(a.Name), Element: n})
				j.nothingLeft(&definition.Graph{Activities: []*definition.Activity{&one}}, element)
			}
			continue
		}
		for i := 1; a.Block != nil && i <= max(1, a.MaxIterations); i++ {
			within := scope.Enter(message.Frame{Composite: processtable.ActivityID(a.Name), Iteration: i, Element: -1})
			if j.find(within.Path(processtable.Source), isEnd) == nil {
				break
			}
			if j.find(within.Path(processtable.Sink), isEnd) == nil {
				j.add("%s has begun, and has neither returned nor was it cancelled", within)
			}
			j.nothingLeft(a.Block, within)
		}
	}
}
