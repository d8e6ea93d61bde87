package node

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// statusEvents is how many events that ended nothing a report looks at where it does not
// tell the history.
const statusEvents = 100

// report says what this node knows of an instance: what the store has of it, as of one
// commit, and which programs run. It holds up no process thread.
func (n *Node) report(q instanceQuestion) (instanceReport, error) {
	var of processtable.ProcessID
	if q.Process != "" {
		var err error
		if of, err = processtable.ParseProcessID(q.Process); err != nil {
			return instanceReport{}, err
		}
	}
	run, events := n.executing(q.Instance), statusEvents // before the store is read: what has ended since is there
	if q.History {
		events = queue.AllEvents
	}
	v, err := n.queue.ViewInstance(q.Instance, of, events)
	if err != nil {
		return instanceReport{}, err
	}
	known := v.Process != (processtable.ProcessID{})
	if !known {
		v.Process = of
	}
	t := n.thread(v.Process)
	switch {
	case t == nil && known: // it waits for its table, and names process and origin (N3)
		return instanceReport{Known: true, Process: v.Process.String(), Origin: originOf(&v)}, nil
	case t == nil:
		return instanceReport{}, nil
	case v.Removed != nil:
		return n.reportRemoved(t, *v.Removed), nil
	}
	r := instanceReport{
		Known: known, Process: v.Process.String(), Origin: originOf(&v), Roster: rosterOf(t.process.Table()),
		Clock: clockOf(&v), Anew: n.anew.Load(), Disk: n.pressure.disk(),
	}
	if r.asides, err = n.refusals.of(n.queue, q.Instance); err != nil {
		return instanceReport{}, err
	}
	ended := map[processtable.ActivityID]queue.AuditRecord{}
	for _, record := range v.Ends {
		if q.History { // it goes without outputs and inputs
			record.Output = nil
		}
		ended[record.Activity] = record
	}
	lives := inspect(t.process, v.Messages, run, n.sched.Now())
	n.reportInstance(&r, t, ended, v.Marker)
	n.reportActivities(&r, t, ended, lives)
	if q.History {
		r.Events, r.Mark = n.news(n.eventsOf(&v), q.Told)
	} else {
		r.tell(t, lives, v.Events)
	}
	r.Heard = heardFrom(t.process.Table(), ended, lives)
	return r, nil
}

// executing gives the attempts of an instance that are under way here.
func (n *Node) executing(i message.InstanceID) map[message.Entry]attempt {
	all := map[message.Entry]attempt{}
	for _, t := range n.threads() {
		maps.Copy(all, t.shown.of(i))
	}
	return all
}

// originOf is where an instance was started, as anything of it here says: whatever comes of
// an instance names its origin.
func originOf(v *queue.InstanceView) string {
	if origin := begunAt(v); origin != "" || v.Marker == nil {
		return origin
	}
	return string(v.Marker.Origin)
}

// begunAt is originOf without a marker's word, which may have come before all else of the
// instance, from whoever guessed its identifier.
func begunAt(v *queue.InstanceView) string {
	for _, records := range [][]queue.AuditRecord{v.Ends, v.Events} {
		for i := range records {
			if o := records[i].Origin; o != "" {
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
func clockOf(v *queue.InstanceView) (clock uint64) {
	for _, records := range [][]queue.AuditRecord{v.Ends, v.Events} {
		for i := range records {
			clock = max(clock, records[i].Clock)
		}
	}
	for i := range v.Messages {
		clock = max(clock, v.Messages[i].Clock)
	}
	return clock
}

// heardFrom names the activities of other nodes whose messages have come: they have ended,
// whatever their nodes said a moment before.
func heardFrom(t *processtable.Table, ended map[processtable.ActivityID]queue.AuditRecord, lives []live) []string {
	heard := map[processtable.ActivityID]bool{}
	for _, record := range ended {
		for _, c := range record.Consumed {
			heard[c.Key.Source] = true
		}
	}
	for i := range lives {
		for _, source := range lives[i].Has {
			heard[source] = true
		}
	}
	var out []string
	for _, p := range t.Roster {
		if p.Node != t.Node && heard[p.Activity] {
			out = append(out, string(p.Activity))
		}
	}
	return out
}

// reportRemoved says what is left of an instance whose audit retention has removed.
func (n *Node) reportRemoved(t *processThread, removed queue.Removed) instanceReport {
	r := instanceReport{
		Known: true, Process: removed.Process.String(), Origin: string(removed.Origin), Removed: removed.Time,
		Roster: rosterOf(t.process.Table()), Disk: n.pressure.disk(),
	}
	if s := removed.Start; s != nil {
		r.State, r.Key, r.Started, r.Ended = api.InstanceFinished, s.Key, s.Started, s.Ended
		if removed.Stopped {
			r.State = api.InstanceTerminated
		}
	}
	for _, a := range t.process.Table().Activities {
		if a.Kind == processtable.KindSource || a.Kind == processtable.KindSink {
			continue
		}
		r.Activities = append(r.Activities, api.Activity{
			Activity: string(a.Name), Node: string(n.name), State: api.ActivityUnknown,
			Reason: "it has ended; retention removed its audit",
		})
	}
	return r
}

func rosterOf(t *processtable.Table) []api.Place {
	out := make([]api.Place, len(t.Roster))
	for i, p := range t.Roster {
		out[i] = api.Place{Activity: string(p.Activity), Node: string(p.Node)}
	}
	return out
}

// reportInstance adds what only the origin knows.
func (n *Node) reportInstance(r *instanceReport, t *processThread, ended map[processtable.ActivityID]queue.AuditRecord, marker *message.Message) {
	start, ok := ended[processtable.Source]
	if !ok {
		return
	}
	r.State, r.Key, r.Started = api.InstanceRunning, start.Reason, start.Time
	end, ok := ended[processtable.Sink]
	if !ok {
		if marker != nil && marker.Origin == n.name {
			r.State = api.InstanceTerminated // its entries are being ended
			if m, err := message.DecodeMarker(marker.Body); err == nil {
				r.By = m.By
			}
		}
		return
	}
	r.Ended, r.State = end.Time, api.InstanceFinished
	if end.Event == queue.EventStopped {
		r.State, r.By = api.InstanceTerminated, end.By
		return
	}
	r.Output = asJSON(t.process.Table().Output, end.Output)
}

func (n *Node) reportActivities(r *instanceReport, t *processThread, ended map[processtable.ActivityID]queue.AuditRecord, lives []live) {
	current := map[processtable.ActivityID]live{}
	for _, l := range lives {
		current[l.Activity] = l
		for _, name := range l.Notices {
			r.Notices = append(r.Notices, string(name))
		}
	}
	for _, a := range t.process.Table().Activities {
		if a.Kind == processtable.KindSource || a.Kind == processtable.KindSink {
			continue
		}
		if record, ok := ended[a.Name]; ok {
			r.Activities = append(r.Activities, n.endedActivity(a, record))
			continue
		}
		l, ok := current[a.Name]
		l.awaitStart(n.name, ended)
		if !ok {
			b := t.process.Activity(a.Name)
			l = live{View: b.View(b.Empty(message.Entry{Activity: a.Name}), n.sched.Now()), Activity: a.Name, State: api.ActivityInactive}
		}
		r.Activities = append(r.Activities, api.Activity{
			Activity: string(a.Name), Node: string(n.name), State: l.State,
			Iterations: l.Iterations, Attempts: severalAttempts(l.Attempts), RC: l.RC, Reason: l.Error, Started: l.Started,
			Output: shownOutput(a, l.Output),
		})
		if l.State == api.ActivitySkipped {
			continue // what it still absorbs holds up nobody
		}
		w := waiting{Activity: string(a.Name), Program: string(a.Program), Due: l.Due}
		if l.unstarted {
			w.Held = notStarted(n.name)
		} else if l.State == api.ActivityReady && !l.Due.After(n.sched.Now()) {
			w.Held = cmp.Or(l.Held, n.pressure.why(t.process.Activity(a.Name), l.Origin))
		}
		w.Aside = asideOf(r.asides, l)
		for _, from := range l.Waits {
			w.For = append(w.For, string(from))
		}
		r.Waits = append(r.Waits, w)
	}
}

// Bounds of what a report shows of inputs.
const (
	inputShown = 64 << 10  // bytes of one, in JSON
	inputsInIt = 512 << 10 // of all
)

// tell adds to activities that have not ended what their programs get, and have said last:
// where one runs this attempt, else the last that failed.
func (r *instanceReport) tell(t *processThread, lives []live, events []queue.AuditRecord) {
	shown := make(map[string]int, len(r.Activities))
	for i := range r.Activities {
		shown[r.Activities[i].Activity] = i
	}
	size := 0
	for at := range lives {
		l := &lives[at]
		i, ok := shown[string(l.Activity)]
		a := t.process.Table().Activity(l.Activity)
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
		case l.Said != nil:
			r.Activities[i].Stderr = l.Said.String()
		case l.State == api.ActivityInError, l.State == api.ActivityReady && l.Error != "":
			r.Activities[i].Stderr = lastSaid(events, l.Activity)
		}
	}
}

// lastSaid gives what an activity's program said in the last attempt that failed.
func lastSaid(events []queue.AuditRecord, a processtable.ActivityID) (last string) {
	for i := range events {
		if e := &events[i]; e.Activity == a && (e.Event == queue.EventFailed || e.Event == queue.EventInError) {
			last = e.Stderr
		}
	}
	return last
}

// asideOf gives the newest message that was set aside and that the activity still waits for.
func asideOf(asides []refusedMessage, l live) uint64 {
	for _, aside := range asides {
		if aside.m.Activity == l.Activity && slices.Contains(l.Waits, aside.m.Source) {
			return aside.number
		}
	}
	return 0
}

func (n *Node) endedActivity(a *processtable.Activity, record queue.AuditRecord) api.Activity {
	out := api.Activity{Activity: string(a.Name), Node: string(n.name)}
	switch record.Event {
	case queue.EventSkipped:
		out.State = api.ActivitySkipped
		return out
	case queue.EventStopped:
		out.State, out.Reason, out.By = api.ActivityTerminated, record.Reason, record.By
		return out
	default:
		out.State = api.ActivityTerminated
	}
	if record.By != "" {
		out.Reason, out.By = record.Reason+" by "+record.By, record.By
	}
	rc := record.RC
	out.RC, out.Iterations = &rc, record.Iteration
	out.Attempts = severalAttempts(record.Attempt)
	out.Started, out.Ended = record.Started, record.Time
	out.Output = shownOutput(a, record.Output)
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
