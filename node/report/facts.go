package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// StatusEvents is how many events that ended nothing a report looks at where it does not
// tell the history.
const StatusEvents = 100

// ends are the records that entries were ended with, by their names as by api.InScope.
type ends map[string]record.AuditRecord

// Facts is what a site knows of an instance: of its store as of one commit, and which
// programs run.
type Facts struct {
	Self    processtable.NodeID
	Process behaviour.Process // nil: its table is not here
	View    *audit.InstanceView
	Known   bool // the view knows it
	Runs    map[message.Entry]Run
	Refused []Refused // of this instance, the newest first
	Now     time.Time
	Store   string // the site's incarnation
	Anew    bool   // the store is a new or an older one
	Disk    string // why the site takes on nothing, where room on its disk is low
	// Held says what keeps an activity that could run from running, or nothing.
	Held func(row *processtable.Activity, to []processtable.NodeID) string
	// Offered says how it is with the work item of an entry of the process, for people.
	Offered func(message.Entry) string

	told picked
}

// Report answers a question about an instance.
func (f *Facts) Report(q Question) Report {
	v := f.View
	switch {
	case f.Process == nil && f.Known: // it waits for its table, and names process and origin (N3)
		return Report{Known: true, Process: v.Process.String(), Origin: originOf(v)}
	case f.Process == nil:
		return Report{}
	case v.Removed != nil:
		return f.removed(&q)
	}
	origin := processtable.NodeID(originOf(v))
	r := Report{
		Known: f.Known, Process: f.table().Process.String(), Origin: string(origin), Roster: RosterOf(f.table(), origin),
		Clock: clockOf(v), Anew: f.Anew, Disk: f.Disk, Begun: f.told.begun, Upto: f.told.upto,
	}
	ended := ends{}
	for _, rec := range v.Ends {
		if !q.asksEnds(string(rec.Scope)) {
			continue
		}
		if q.History { // it goes without outputs and inputs
			rec.Output = nil
		}
		ended[api.InScope(string(rec.Scope), string(rec.Activity))] = rec
	}
	r.Marks = marksAt(v.Marks, origin)
	lives := inspect(f.Process, v.Messages, f.Runs, f.Now, expeditedHere(v.Marks, origin))
	f.instance(&r, ended)
	f.activities(&r, &q, ended, lives)
	if q.History {
		r.Events, r.Mark = news(f.Store, eventsOf(f.Self, v, &q), q.Told)
	} else {
		r.tell(f.table(), &q, lives, v.Events)
	}
	r.Heard = heardFrom(f.table(), origin, ended, lives)
	return r
}

func (f *Facts) table() *processtable.Table { return f.Process.Table() }

// originOf is where an instance was started, as anything of it here says: whatever comes of
// an instance names its origin.
func originOf(v *audit.InstanceView) string {
	origin := startedAt(v)
	switch {
	case origin == "" && v.Marker != nil:
		return string(v.Marker.Origin)
	case origin == "" && len(v.Marks) > 0:
		return string(v.Marks[0].Origin)
	}
	return origin
}

// startedAt is originOf without a marker's word, which may have come before all else of the
// instance, from whoever guessed its identifier.
func startedAt(v *audit.InstanceView) string {
	for _, records := range [][]record.AuditRecord{v.Ends, v.Events} {
		for i := range records {
			if o := records[i].Origin; o != "" && !records[i].Hearsay() {
				return string(o)
			}
		}
	}
	for i := range v.Messages {
		if o := v.Messages[i].Origin; o != "" {
			return string(o)
		}
	}
	if v.Other != nil {
		return string(v.Other.Origin)
	}
	return ""
}

// clockOf is up to which moment of the logical clock a view tells of its instance.
func clockOf(v *audit.InstanceView) (clock uint64) {
	for _, records := range [][]record.AuditRecord{v.Ends, v.Events} {
		for i := range records {
			if !records[i].Hearsay() { // it knows of that moment by others
				clock = max(clock, records[i].Clock)
			}
		}
	}
	for i := range v.Messages {
		if v.Messages[i].Kind == message.KindWord {
			continue
		}
		clock = max(clock, v.Messages[i].Clock)
	}
	if v.Other != nil {
		clock = max(clock, v.Other.Clock)
	}
	return clock
}

// heardFrom names the activities of other nodes whose messages have come: they have ended,
// whatever their nodes said a moment before.
func heardFrom(t *processtable.Table, origin processtable.NodeID, ended ends, lives []live) []string {
	heard := scopes{}
	for _, rec := range ended {
		for _, c := range rec.Consumed {
			heard.add(processtable.RowID{Name: c.Key.Source}, c.Key.Scope)
		}
	}
	for i := range lives {
		for _, source := range lives[i].Has {
			heard.add(processtable.RowID{Name: source}, lives[i].Scope)
		}
	}
	var out []string
	for _, p := range t.Roster {
		if p.Node.At(origin) == t.Node {
			continue
		}
		for _, scope := range heard.of(processtable.RowID{Name: p.Activity}) {
			out = append(out, api.InScope(string(scope), string(p.Activity)))
		}
	}
	return out
}

// scopes are those in which there is something of a row.
type scopes map[processtable.RowID]map[message.Scope]bool

func (s scopes) add(row processtable.RowID, scope message.Scope) {
	if s[row] == nil {
		s[row] = map[message.Scope]bool{}
	}
	s[row][scope] = true
}

// of gives those of a row in order: the ninth iteration before the tenth.
func (s scopes) of(row processtable.RowID) []message.Scope {
	return slices.SortedFunc(maps.Keys(s[row]), compareScopes)
}

// removed says what is left of an instance whose audit retention has removed.
func (f *Facts) removed(q *Question) Report {
	removed := f.View.Removed
	r := Report{
		Known: true, Process: removed.Process.String(), Origin: string(removed.Origin), Removed: removed.Time,
		Roster: RosterOf(f.table(), removed.Origin), Disk: f.Disk,
	}
	if s := removed.Start; s != nil {
		r.State, r.Key, r.Started, r.Ended = api.InstanceFinished, s.Key, s.Started, s.Ended
		if removed.Stopped {
			r.State = api.InstanceTerminated
		}
	}
	for _, a := range f.table().Activities {
		if a.Added() || f.elsewhere(a, removed.Origin) {
			continue
		}
		for _, scope := range q.scopesOf(f.table(), a, nil) {
			r.Activities = append(r.Activities, api.Activity{
				Scope: string(scope), Activity: string(a.Name), Kind: kindOf(a), Node: string(f.Self), State: api.ActivityUnknown,
				Reason: removedAudit,
			})
		}
	}
	return r
}

// removedAudit is why a node does not know any more what has become of an activity.
const removedAudit = "it has ended; retention removed its audit"

// instance adds what only the origin knows.
func (f *Facts) instance(r *Report, ended ends) {
	start, ok := ended[string(processtable.Source)]
	if ok {
		r.State, r.Key, r.Started, r.Parent, r.StartedBy = api.InstanceRunning, start.Reason, start.Time, ParentOf(&start), start.By
		if start.Erased != nil {
			r.Erased = start.Erased.Time
		}
		r.Priority = PriorityOf(f.table(), &start)
	}
	end, over := ended[string(processtable.Sink)]
	if !ok || !over {
		if marker := f.View.Marker; marker != nil && marker.Origin == f.Self {
			r.State = api.InstanceTerminated // its entries are being ended; of one that was not started here nothing else stays
			if m, err := message.DecodeMarker(marker.Body); err == nil {
				r.By, r.Why = m.By, m.Why()
			}
		}
		return
	}
	r.Ended, r.State = end.Time, api.InstanceFinished
	if end.Event == record.EventStopped {
		m := message.Marker{Reason: strings.TrimPrefix(end.Reason, "instance "), By: end.By}
		r.State, r.By, r.Why = api.InstanceTerminated, end.By, m.Why()
		return
	}
	r.Output = asJSON(f.table().Output, end.Output)
}

// activities adds a line for each activity hosted here: for one that is inside of a composite, in
// each scope in which there is something of it, or that is asked for, and one without a scope where
// that is none. Source and sink of a block, which are the engine's, have one where they are in error.
func (f *Facts) activities(r *Report, q *Question, ended ends, lives []live) {
	current, known := map[string]live{}, scopes{}
	for _, rec := range ended {
		known.add(rec.Scope.Row(rec.Activity), rec.Scope)
	}
	for _, l := range lives {
		current[l.name()] = l
		known.add(l.row(), l.Scope)
		r.Notices = append(r.Notices, l.Notices...)
		if q.Tree != nil && l.Activity == processtable.Source && l.Scope != "" {
			r.Begun = append(r.Begun, string(l.Scope))
		}
	}
	for _, a := range f.table().Activities {
		if f.elsewhere(a, processtable.NodeID(r.Origin)) {
			continue
		}
		if len(a.Path) > 0 && !a.Added() && !a.Begun() { // what a bundle or a call begins has its name, and says nothing of where that is
			r.Inside = append(r.Inside, string(a.Name))
		}
		for _, scope := range q.scopesOf(f.table(), a, known.of(a.Row())) {
			name := api.InScope(string(scope), string(a.Name))
			rec, over := ended[name]
			l, under := current[name]
			switch {
			case a.Added() && (scope == "" || l.State != api.ActivityInError):
			case over:
				r.Activities = append(r.Activities, f.endedActivity(a, rec))
				if last := &r.Activities[len(r.Activities)-1]; under && l.Restart != "" { // N30
					last.Reason, last.Restart = l.Restart, api.RestartAsked
					if l.GivenUp {
						last.Restart = api.RestartGivenUp
					}
				}
			case under:
				l.awaitStart(f.Self, ended)
				f.underWay(r, a, &l)
			default:
				b := f.Process.Activity(a.Row())
				at := message.Entry{Scope: scope, Activity: a.Name}
				f.underWay(r, a, &live{View: b.View(b.Empty(at), f.Now), Scope: scope, Activity: a.Name, State: api.ActivityInactive})
			}
		}
	}
}

// underWay adds an activity that has not ended, and what it waits for.
func (f *Facts) underWay(r *Report, a *processtable.Activity, l *live) {
	child, of := childOf(&l.Child)
	r.Activities = append(r.Activities, api.Activity{
		Scope: string(l.Scope), Activity: string(a.Name), Kind: kindOf(a), Node: string(f.Self), State: l.State, Child: child, Of: of,
		Iterations: l.Iterations, Run: ShownRun(l.Run), Attempts: severalAttempts(l.Attempts), RC: l.RC, Reason: l.Error, Started: l.Started,
		Output: shownOutput(a, l.Output), Due: dueOf(a, l), Waits: waitOf(l), At: string(l.At), Elements: elementsOf(l.Elements),
	})
	if l.Item != nil {
		last := &r.Activities[len(r.Activities)-1]
		last.Item, last.By, last.For = l.item(), l.Item.By.Person, l.Item.By.For
	}
	if l.Rank != 0 {
		r.Activities[len(r.Activities)-1].Priority = api.ShownPriority(l.Rank.Priority(api.DefaultPriority))
	}
	if a.Kind == processtable.KindBundle { // iterations are of its elements
		r.Activities[len(r.Activities)-1].Iterations = 0
	}
	aside := asideOf(f.Refused, f.Process.Activity(a.Row()), l)
	if l.State == api.ActivitySkipped && aside == 0 {
		return // what it still absorbs holds up nobody, and comes
	}
	w := Waiting{Scope: string(l.Scope), Activity: string(a.Name), Program: string(a.Program), Due: l.Due, At: &Execution{l.Iterations, l.Run}, Aside: aside}
	if e := l.Elements; e != nil {
		w.Stuck, w.UnderWay = e.InError > 0 && e.InError == e.UnderWay, e.UnderWay
	}
	if l.Item != nil {
		w.Held = f.Offered(l.entry)
	} else if l.unstarted {
		w.Held = notStarted(f.table(), l)
	} else if (l.State == api.ActivityReady || l.Begins) && !l.Due.After(f.Now) {
		w.Held = cmp.Or(l.Held, f.Held(a, l.To))
	}
	for _, from := range l.Waits {
		w.For = append(w.For, string(from))
	}
	r.Waits = append(r.Waits, w)
}

// childOf is an instance that was begun for an activity, and of which process; nil: none was.
func childOf(c *message.Child) (*api.InstanceID, string) {
	if *c == (message.Child{}) {
		return nil, ""
	}
	id := c.Instance
	return &id, c.Process.String()
}

// waitOf is what a receive waits for; nil: it does not.
func waitOf(l *live) *api.EventWait {
	if len(l.Events) == 0 || l.State != api.ActivityRunning {
		return nil
	}
	w := &api.EventWait{Key: l.Key}
	for _, name := range l.Events {
		w.Events = append(w.Events, string(name))
	}
	return w
}

// ParentOf is the activity that has begun an instance, by the record of its start; nil: none has.
func ParentOf(started *record.AuditRecord) *api.Parent {
	p := started.Parent
	if p == nil {
		return nil
	}
	return &api.Parent{Instance: p.Instance, Process: p.Process.String(), Scope: string(p.Scope), Activity: string(p.Activity)}
}

// dueOf is when an activity under way ends, or goes on, whatever comes; zero: it is not known to.
func dueOf(a *processtable.Activity, l *live) time.Time {
	if a.Kind == processtable.KindWait {
		return l.Due
	}
	return l.Deadline
}

// Bounds of what a report shows of inputs.
const (
	inputShown = 64 << 10  // bytes of one, in JSON
	inputsInIt = 512 << 10 // of all
)

// tell adds to activities that have not ended what their programs get, and have said last:
// where one runs this attempt, else the last that failed.
func (r *Report) tell(t *processtable.Table, q *Question, lives []live, events []record.AuditRecord) {
	shown := make(map[string]int, len(r.Activities))
	for i := range r.Activities {
		shown[api.InScope(r.Activities[i].Scope, r.Activities[i].Activity)] = i
	}
	size := 0
	for at := range lives {
		l := &lives[at]
		i, ok := shown[l.name()]
		a := t.Activity(l.row())
		if !ok || a == nil || a.Program == "" || !q.asksEnds(string(l.Scope)) {
			continue
		}
		if l.Input != nil && len(a.Input.Members) > 0 {
			input, err := container.EncodeJSON(l.Input)
			if err == nil && len(input) <= inputShown && size+len(input) <= inputsInIt {
				r.Activities[i].Input = input
				size += len(input)
			}
		}
		switch {
		case l.runs:
			r.Activities[i].Stderr = l.Said
		case l.State == api.ActivityInError, l.State == api.ActivityReady && l.Error != "":
			r.Activities[i].Stderr = lastSaid(events, l)
		}
	}
}

// lastSaid gives what an activity's program said in the last attempt that failed.
func lastSaid(events []record.AuditRecord, l *live) (last string) {
	for i := range events {
		if e := &events[i]; e.Activity == l.Activity && e.Scope == l.Scope && (e.Event == record.EventFailed || e.Event == record.EventInError) {
			last = e.Stderr
		}
	}
	return last
}

// Refused is a connector message that a process thread has set aside, without its body.
type Refused struct {
	Number  uint64
	Message message.Message
	Reason  string
}

// asideOf gives the newest message that was set aside and that the activity still lacks.
func asideOf(asides []Refused, b behaviour.Behaviour, l *live) uint64 {
	for _, aside := range asides {
		if aside.Message.Activity == l.Activity && aside.Message.Scope == l.Scope && behaviour.Lacks(b, &l.View, aside.Message.Source) {
			return aside.Number
		}
	}
	return 0
}
