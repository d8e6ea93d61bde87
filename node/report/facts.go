package report

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
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
	Held func(b behaviour.Behaviour, origin processtable.NodeID) string
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
		return f.removed()
	}
	r := Report{
		Known: f.Known, Process: f.table().Process.String(), Origin: originOf(v), Roster: RosterOf(f.table()),
		Clock: clockOf(v), Anew: f.Anew, Disk: f.Disk,
	}
	ended := ends{}
	for _, rec := range v.Ends {
		if q.History { // it goes without outputs and inputs
			rec.Output = nil
		}
		ended[api.InScope(string(rec.Scope), string(rec.Activity))] = rec
	}
	lives := inspect(f.Process, v.Messages, f.Runs, f.Now)
	f.instance(&r, ended)
	f.activities(&r, ended, lives)
	if q.History {
		r.Events, r.Mark = news(f.Store, eventsOf(f.Self, v), q.Told)
	} else {
		r.tell(f.table(), lives, v.Events)
	}
	r.Heard = heardFrom(f.table(), ended, lives)
	return r
}

func (f *Facts) table() *processtable.Table { return f.Process.Table() }

// originOf is where an instance was started, as anything of it here says: whatever comes of
// an instance names its origin.
func originOf(v *audit.InstanceView) string {
	if origin := StartedAt(v); origin != "" || v.Marker == nil {
		return origin
	}
	return string(v.Marker.Origin)
}

// StartedAt is originOf without a marker's word, which may have come before all else of the
// instance, from whoever guessed its identifier.
func StartedAt(v *audit.InstanceView) string {
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
	return clock
}

// heardFrom names the activities of other nodes whose messages have come: they have ended,
// whatever their nodes said a moment before.
func heardFrom(t *processtable.Table, ended ends, lives []live) []string {
	heard := scopes{}
	for _, rec := range ended {
		for _, c := range rec.Consumed {
			heard.add(c.Key.Scope, c.Key.Source)
		}
	}
	for i := range lives {
		for _, source := range lives[i].Has {
			heard.add(lives[i].Scope, source)
		}
	}
	var out []string
	for _, p := range t.Roster {
		if p.Node == t.Node {
			continue
		}
		for _, scope := range heard.of(p.Activity) {
			out = append(out, api.InScope(string(scope), string(p.Activity)))
		}
	}
	return out
}

// scopes are those in which there is something of an activity.
type scopes map[processtable.ActivityID]map[message.Scope]bool

func (s scopes) add(scope message.Scope, a processtable.ActivityID) {
	if s[a] == nil {
		s[a] = map[message.Scope]bool{}
	}
	s[a][scope] = true
}

// of gives those of an activity in order: the ninth iteration before the tenth.
func (s scopes) of(a processtable.ActivityID) []message.Scope {
	return slices.SortedFunc(maps.Keys(s[a]), func(x, y message.Scope) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
}

// removed says what is left of an instance whose audit retention has removed.
func (f *Facts) removed() Report {
	removed := f.View.Removed
	r := Report{
		Known: true, Process: removed.Process.String(), Origin: string(removed.Origin), Removed: removed.Time,
		Roster: RosterOf(f.table()), Disk: f.Disk,
	}
	if s := removed.Start; s != nil {
		r.State, r.Key, r.Started, r.Ended = api.InstanceFinished, s.Key, s.Started, s.Ended
		if removed.Stopped {
			r.State = api.InstanceTerminated
		}
	}
	for _, a := range f.table().Activities {
		if a.Added() {
			continue
		}
		r.Activities = append(r.Activities, api.Activity{
			Activity: string(a.Name), Node: string(f.Self), State: api.ActivityUnknown,
			Reason: "it has ended; retention removed its audit",
		})
	}
	return r
}

func RosterOf(t *processtable.Table) []api.Place {
	out := make([]api.Place, len(t.Roster))
	for i, p := range t.Roster {
		out[i] = api.Place{Activity: string(p.Activity), Node: string(p.Node)}
	}
	return out
}

// instance adds what only the origin knows.
func (f *Facts) instance(r *Report, ended ends) {
	start, ok := ended[string(processtable.Source)]
	if ok {
		r.State, r.Key, r.Started = api.InstanceRunning, start.Reason, start.Time
	}
	end, over := ended[string(processtable.Sink)]
	if !ok || !over {
		if marker := f.View.Marker; marker != nil && marker.Origin == f.Self {
			r.State = api.InstanceTerminated // its entries are being ended; of one that was not started here nothing else stays
			if m, err := message.DecodeMarker(marker.Body); err == nil {
				r.By = m.By
			}
		}
		return
	}
	r.Ended, r.State = end.Time, api.InstanceFinished
	if end.Event == record.EventStopped {
		r.State, r.By = api.InstanceTerminated, end.By
		return
	}
	r.Output = asJSON(f.table().Output, end.Output)
}

// activities adds a line for each activity hosted here: for one that is inside of a composite, in
// each scope in which there is something of it, and one without a scope where there is nothing.
func (f *Facts) activities(r *Report, ended ends, lives []live) {
	current, known := map[string]live{}, scopes{}
	for _, rec := range ended {
		known.add(rec.Scope, rec.Activity)
	}
	for _, l := range lives {
		current[l.name()] = l
		known.add(l.Scope, l.Activity)
		r.Notices = append(r.Notices, l.Notices...)
	}
	for _, a := range f.table().Activities {
		if a.Added() {
			continue
		}
		if len(a.Path) > 0 {
			r.Inside = append(r.Inside, string(a.Name))
		}
		in := known.of(a.Name)
		if len(in) == 0 {
			in = []message.Scope{""}
		}
		for _, scope := range in {
			key := message.Entry{Scope: scope, Activity: a.Name}
			name := api.InScope(string(scope), string(a.Name))
			if rec, ok := ended[name]; ok {
				r.Activities = append(r.Activities, f.endedActivity(a, rec))
				continue
			}
			l, ok := current[name]
			l.awaitStart(f.Self, ended)
			if !ok {
				b := f.Process.Activity(a.Row())
				l = live{View: b.View(b.Empty(key), f.Now), Scope: scope, Activity: a.Name, State: api.ActivityInactive}
			}
			f.underWay(r, a, &l)
		}
	}
}

// underWay adds an activity that has not ended, and what it waits for.
func (f *Facts) underWay(r *Report, a *processtable.Activity, l *live) {
	r.Activities = append(r.Activities, api.Activity{
		Scope: string(l.Scope), Activity: string(a.Name), Node: string(f.Self), State: l.State,
		Iterations: l.Iterations, Attempts: severalAttempts(l.Attempts), RC: l.RC, Reason: l.Error, Started: l.Started,
		Output: shownOutput(a, l.Output),
	})
	aside := asideOf(f.Refused, f.Process.Activity(a.Row()), l)
	if l.State == api.ActivitySkipped && aside == 0 {
		return // what it still absorbs holds up nobody, and comes
	}
	w := Waiting{Scope: string(l.Scope), Activity: string(a.Name), Program: string(a.Program), Due: l.Due, At: &Execution{l.Iterations, l.Run}, Aside: aside}
	if l.unstarted {
		w.Held = notStarted(f.table(), l)
	} else if l.State == api.ActivityReady && !l.Due.After(f.Now) {
		w.Held = cmp.Or(l.Held, f.Held(f.Process.Activity(a.Row()), l.Origin))
	}
	for _, from := range l.Waits {
		w.For = append(w.For, string(from))
	}
	r.Waits = append(r.Waits, w)
}

// Bounds of what a report shows of inputs.
const (
	inputShown = 64 << 10  // bytes of one, in JSON
	inputsInIt = 512 << 10 // of all
)

// tell adds to activities that have not ended what their programs get, and have said last:
// where one runs this attempt, else the last that failed.
func (r *Report) tell(t *processtable.Table, lives []live, events []record.AuditRecord) {
	shown := make(map[string]int, len(r.Activities))
	for i := range r.Activities {
		shown[api.InScope(r.Activities[i].Scope, r.Activities[i].Activity)] = i
	}
	size := 0
	for at := range lives {
		l := &lives[at]
		i, ok := shown[l.name()]
		a := t.Activity(l.row())
		if !ok || a == nil || a.Program == "" {
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

func (f *Facts) endedActivity(a *processtable.Activity, rec record.AuditRecord) api.Activity {
	out := api.Activity{Scope: string(rec.Scope), Activity: string(a.Name), Node: string(f.Self)}
	switch rec.Event {
	case record.EventSkipped:
		out.State = api.ActivitySkipped
		return out
	case record.EventStopped:
		out.State, out.Reason, out.By = api.ActivityTerminated, rec.Reason, rec.By
		return out
	default:
		out.State = api.ActivityTerminated
	}
	if rec.By != "" {
		out.Reason, out.By = rec.Reason+" by "+rec.By, rec.By
	}
	rc := rec.RC
	out.RC, out.Iterations = &rc, rec.Iteration
	out.Attempts = severalAttempts(rec.Attempt)
	out.Started, out.Ended = rec.Started, rec.Time
	out.Output = shownOutput(a, rec.Output)
	return out
}

// severalAttempts: attempts are told where there was more than one.
func severalAttempts(n int) int {
	if n > 1 {
		return n
	}
	return 0
}

// shownOutput is an activity's output container for a status; nothing where the
// definition names none.
func shownOutput(a *processtable.Activity, encoded []byte) json.RawMessage {
	if a.NoOutput {
		return nil
	}
	return asJSON(a.Output, encoded)
}

// asJSON shows a container that the audit holds, or nothing if it cannot be read.
func asJSON(t *container.Type, encoded []byte) json.RawMessage {
	if encoded == nil || len(t.Members) == 0 {
		return nil
	}
	v, err := container.DecodeCBOR(t, encoded)
	if err != nil {
		return nil
	}
	out, err := container.EncodeJSON(v)
	if err != nil {
		return nil
	}
	return out
}
