package node

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// report says what this node knows of an instance: what has ended, from the audit;
// what is under way, from the process thread.
func (n *Node) report(ctx context.Context, q instanceQuestion) (instanceReport, error) {
	records, err := n.queue.History(q.Instance)
	if err != nil {
		return instanceReport{}, fmt.Errorf("read the history of %s: %w", q.Instance, err)
	}
	removed, gone, err := n.queue.Removed(q.Instance) // after the records: where some are missing, it is there
	if err != nil {
		return instanceReport{}, err
	}
	if t := n.thread(removed.Process); gone && t != nil {
		return n.reportRemoved(t, removed), nil
	}
	t, err := n.threadOf(q, records)
	if err != nil {
		return instanceReport{}, err
	}
	if t == nil {
		return n.reportParked(q)
	}
	var lives []live
	var liveErr error
	if err := t.ask(ctx, func(now time.Time) { lives, liveErr = t.core.inspect(q.Instance, now) }); err != nil {
		return instanceReport{}, err
	}
	if liveErr != nil {
		return instanceReport{}, liveErr
	}
	marker, err := n.queue.Marker(t.core.id(), q.Instance)
	if err != nil {
		return instanceReport{}, err
	}
	r := instanceReport{Process: t.core.id().String(), Roster: rosterOf(t.core.process.Table), Disk: n.pressure.disk()}
	r.Known = len(records) > 0 || len(lives) > 0 || marker != nil
	r.Origin = originOf(records, lives, marker)
	if r.asides, err = n.refusals(q.Instance); err != nil {
		return instanceReport{}, err
	}
	ended := map[processtable.ActivityID]queue.AuditRecord{}
	for _, record := range records {
		switch record.Event {
		case queue.EventTerminated, queue.EventSkipped, queue.EventStopped, queue.EventStarted, queue.EventEnded:
			ended[record.Activity] = record
		case queue.EventIterated, queue.EventFailed, queue.EventInError, queue.EventRetried, queue.EventPassed, queue.EventDropped:
		}
		if q.History {
			r.Events = append(r.Events, eventFrom(n.name, record))
		}
	}
	n.reportInstance(&r, t, ended, marker != nil)
	n.reportActivities(&r, t, ended, lives)
	return r, nil
}

// originOf is where an instance was started, as anything of it here says: whatever comes of
// an instance names its origin.
func originOf(records []queue.AuditRecord, lives []live, marker *message.Message) string {
	for i := range records {
		if o := records[i].Origin; o != "" {
			return string(o)
		}
	}
	for i := range lives {
		if o := lives[i].Origin; o != "" {
			return string(o)
		}
	}
	if marker != nil {
		return string(marker.Origin)
	}
	return ""
}

// reportParked says what is known of an instance whose process has no table here: what
// waits for the table names process and origin (N3).
func (n *Node) reportParked(q instanceQuestion) (instanceReport, error) {
	for id := range n.queue.Parked() {
		if q.Process != "" && q.Process != id.String() {
			continue
		}
		found, err := n.queue.BrowseInstance(id, q.Instance)
		if err != nil {
			return instanceReport{}, fmt.Errorf("look for %s among what waits for the table of %s: %w", q.Instance, id, err)
		}
		if len(found) > 0 {
			return instanceReport{Known: true, Process: id.String(), Origin: string(found[0].Origin)}, nil
		}
	}
	return instanceReport{}, nil
}

// reportRemoved says what is left of an instance whose audit retention has removed.
func (n *Node) reportRemoved(t *thread, removed queue.Removed) instanceReport {
	r := instanceReport{
		Known: true, Process: removed.Process.String(), Origin: string(removed.Origin), Removed: removed.Time,
		Roster: rosterOf(t.core.process.Table), Disk: n.pressure.disk(),
	}
	if s := removed.Start; s != nil {
		r.State, r.Key, r.Started, r.Ended = api.InstanceFinished, s.Key, s.Started, s.Ended
		if removed.Stopped {
			r.State = api.InstanceTerminated
		}
	}
	for _, a := range t.core.process.Table.Activities {
		if a.Kind == processtable.KindSource || a.Kind == processtable.KindSink {
			continue
		}
		r.Activities = append(r.Activities, api.Activity{
			Activity: string(a.Name), Node: string(n.name), State: api.ActivityUnknown,
			Reason: "it has ended; its audit was removed by retention on " + day(removed.Time),
		})
	}
	return r
}

// day is a date for people.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// threadOf finds the process of an instance: as the asker says, as the history says,
// or by looking into each process queue.
func (n *Node) threadOf(q instanceQuestion, records []queue.AuditRecord) (*thread, error) {
	if len(records) > 0 {
		return n.thread(records[0].Process), nil
	}
	if q.Process != "" {
		id, err := processtable.ParseProcessID(q.Process)
		if err != nil {
			return nil, err
		}
		return n.thread(id), nil
	}
	for _, t := range n.threads() {
		found, err := n.queue.BrowseInstance(t.core.id(), q.Instance)
		if err != nil {
			return nil, fmt.Errorf("look for %s in the queue of %s: %w", q.Instance, t.core.id(), err)
		}
		marker, err := n.queue.Marker(t.core.id(), q.Instance)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 || marker != nil {
			return t, nil
		}
	}
	return nil, nil
}

func rosterOf(t *processtable.Table) []api.Place {
	out := make([]api.Place, len(t.Roster))
	for i, p := range t.Roster {
		out[i] = api.Place{Activity: string(p.Activity), Node: string(p.Node)}
	}
	return out
}

// reportInstance adds what only the origin knows.
func (n *Node) reportInstance(r *instanceReport, t *thread, ended map[processtable.ActivityID]queue.AuditRecord, marked bool) {
	start, ok := ended[processtable.Source]
	if !ok {
		return
	}
	r.State, r.Key, r.Started = api.InstanceRunning, start.Reason, start.Time
	end, ok := ended[processtable.Sink]
	if !ok {
		if marked {
			r.State = api.InstanceTerminated // its entries are being ended
		}
		return
	}
	r.Ended, r.State = end.Time, api.InstanceFinished
	if end.Event == queue.EventStopped {
		r.State = api.InstanceTerminated
		return
	}
	r.Output = asJSON(t.core.process.Table.Output, end.Output)
}

func (n *Node) reportActivities(r *instanceReport, t *thread, ended map[processtable.ActivityID]queue.AuditRecord, lives []live) {
	current := map[processtable.ActivityID]live{}
	for _, l := range lives {
		current[l.Activity] = l
		for _, name := range l.Notices {
			r.Notices = append(r.Notices, string(name))
		}
	}
	for _, a := range t.core.process.Table.Activities {
		if a.Kind == processtable.KindSource || a.Kind == processtable.KindSink {
			continue
		}
		if record, ok := ended[a.Name]; ok {
			r.Activities = append(r.Activities, n.endedActivity(a, record))
			continue
		}
		l, ok := current[a.Name]
		if !ok {
			l = live{Activity: a.Name, State: api.ActivityInactive}
			for _, c := range a.InControl {
				l.Waits = append(l.Waits, c.From)
			}
		}
		r.Activities = append(r.Activities, api.Activity{
			Activity: string(a.Name), Node: string(n.name), State: l.State,
			Iterations: l.Iterations, Attempts: severalAttempts(l.Attempts), RC: l.RC, Reason: l.Reason, Started: l.Started,
			Output: shownOutput(a, l.Output),
		})
		if l.State == api.ActivitySkipped {
			continue // what it still absorbs holds up nobody
		}
		w := waiting{Activity: string(a.Name), Program: string(a.Program), Due: l.Due}
		if l.State == api.ActivityReady && !l.Due.After(n.clock.Now()) {
			w.Held = cmp.Or(l.Held, n.pressure.why(a, l.Origin))
		}
		w.Aside = asideOf(r.asides, l)
		for _, from := range l.Waits {
			w.For = append(w.For, string(from))
		}
		r.Waits = append(r.Waits, w)
	}
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
		out.State, out.Reason = api.ActivityTerminated, record.Reason
		return out
	default:
		out.State = api.ActivityTerminated
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

var apiEvent = map[queue.Event]api.Event{
	queue.EventStarted:    api.EventStarted,
	queue.EventEnded:      api.EventEnded,
	queue.EventTerminated: api.EventTerminated,
	queue.EventSkipped:    api.EventSkipped,
	queue.EventStopped:    api.EventStopped,
	queue.EventIterated:   api.EventIterated,
	queue.EventFailed:     api.EventFailed,
	queue.EventInError:    api.EventInError,
	queue.EventRetried:    api.EventRetried,
	queue.EventPassed:     api.EventPassed,
	queue.EventDropped:    api.EventDropped,
}

func eventFrom(node processtable.NodeID, r queue.AuditRecord) api.HistoryEvent {
	e := api.HistoryEvent{
		Clock: r.Clock, Time: r.Time, Node: string(node), Activity: string(r.Activity), Event: apiEvent[r.Event],
		Iteration: r.Iteration, Attempt: r.Attempt, Reason: r.Reason,
	}
	switch r.Event {
	case queue.EventTerminated, queue.EventIterated, queue.EventFailed, queue.EventInError:
		rc := r.RC
		e.RC = &rc
	case queue.EventStarted:
		if r.Reason != "" {
			e.Reason = "key " + r.Reason
		}
	case queue.EventEnded, queue.EventSkipped, queue.EventStopped, queue.EventRetried, queue.EventPassed, queue.EventDropped:
	}
	return e
}
