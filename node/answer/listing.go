package answer

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// AskList is the kind of question that ListTo answers.
const AskList = "list"

// Bounds of one answer of a list: it says how far it has come, and the next goes on there.
const (
	listLooks   = 10_000                  // instances that it reads
	listTime    = 1200 * time.Millisecond // before it asks nobody any more; who asked waits for question.Timeout
	listBytes   = 1 << 20                 // of what it tells, roughly
	listAsking  = 8                       // instances of which it asks the nodes at once
	listErrors  = 100                     // activities in error that it names of an instance
	listReasons = 256                     // bytes of a reason
)

// ListQuestion asks a site for the instances that were started there, newest first; in the state unknown,
// for those that wait for a start there.
type ListQuestion struct {
	All     bool               `json:"all,omitempty"`
	State   api.InstanceState  `json:"state,omitempty"`
	Process string             `json:"process,omitempty"`
	InError bool               `json:"in_error,omitempty"`
	Since   time.Time          `json:"since,omitzero"`
	Parent  message.InstanceID `json:"parent,omitzero"` // only those that activities of this one have begun
	Below   audit.Place        `json:"below,omitzero"`  // only what stands below; the zero one: all
	Limit   int                `json:"limit"`

	after message.InstanceID // instead of Below
}

// ListReport is its answer. More: there may be others, below Next.
type ListReport struct {
	Instances []api.Instance `json:"instances"`
	More      bool           `json:"more,omitempty"`
	Next      audit.Place    `json:"next,omitzero"`
}

func (q *ListQuestion) process() (processtable.ProcessID, error) {
	if q.Process == "" {
		return processtable.ProcessID{}, nil
	}
	return processtable.ParseProcessID(q.Process)
}

// ended: what is asked for has ended, or may have.
func (q *ListQuestion) ended() bool {
	return !q.InError && (q.All || q.asksEnded())
}

// asksEnded: only what has ended is asked for.
func (q *ListQuestion) asksEnded() bool {
	return q.State == api.InstanceFinished || q.State == api.InstanceTerminated
}

// asksErrors: only what an activity is in error in is asked for.
func (q *ListQuestion) asksErrors() bool { return q.InError || q.State == api.InstanceInError }

// below says whether a place is one of those that are asked for.
func (q *ListQuestion) below(p audit.Place) bool {
	return q.Below == (audit.Place{}) || q.Below.Compare(p) < 0
}

// of says whether a process is asked for.
func (q *ListQuestion) of(id processtable.ProcessID) bool {
	want, _ := q.process()
	return want.Name == "" || want.Name == id.Name && (want.Version == 0 || want.Version == id.Version)
}

// begunBy says whether what an activity has begun, or nobody (nil), is asked for.
func (q *ListQuestion) begunBy(p *api.Parent) bool {
	return q.Parent == message.InstanceID{} || p != nil && p.Instance == q.Parent
}

// ListTo is listHere for a peer: of the processes in which it has a part.
func (a *Answers) ListTo(ctx context.Context, peer processtable.NodeID, q ListQuestion) (ListReport, error) {
	if _, err := q.process(); err != nil {
		return ListReport{}, err
	}
	q.Limit = max(1, min(q.Limit, api.MaxPage))
	return a.listHere(ctx, q, func(id processtable.ProcessID) bool { return a.concerns(peer, id) })
}

// listHere lists what was started here, of the processes that shows lets through.
func (a *Answers) listHere(ctx context.Context, q ListQuestion, shows func(processtable.ProcessID) bool) (ListReport, error) {
	of, err := q.process()
	if err != nil {
		return ListReport{}, err
	}
	ctx, cancel := a.Scheduler.WithTimeout(ctx, listTime)
	defer cancel()
	if q.State == api.InstanceUnknown {
		return a.listUnstarted(ctx, q, of, shows)
	}
	places, err := a.Queue.Places(audit.ListOptions{
		All: q.ended(), Process: a.noticedIn(&q), InError: q.asksErrors(),
		Since: q.Since, Before: q.after, Below: q.Below, Limit: listLooks,
	})
	if err != nil {
		return ListReport{}, err
	}
	r := ListReport{Instances: []api.Instance{}, More: len(places) == listLooks}
	for size := 0; len(places) > 0; {
		if len(r.Instances) == q.Limit || ctx.Err() != nil && r.Next != (audit.Place{}) {
			r.More = true
			return r, nil
		}
		batch, rest, at, err := a.readInstances(q, places, q.Limit-len(r.Instances), shows)
		if err != nil {
			return ListReport{}, err
		}
		known := a.listInError(ctx, batch, r.Next == (audit.Place{}))
		if q.State == "" {
			known = len(batch) // those of which the nodes could not be asked stay running
		}
		for _, i := range batch[:known] {
			if size >= listBytes {
				r.More = true
				return r, nil
			}
			r.Next = placeOf(i)
			if i.Errors = shownErrors(i.Errors); !q.InError {
				i.Errors = nil
			}
			if (q.State == "" || i.State == q.State) && (!q.InError || i.InError > 0) {
				r.Instances = append(r.Instances, i)
				size += sizeOf(i)
			}
		}
		if known < len(batch) {
			r.More = true
			return r, nil
		}
		r.Next, places = at, rest
	}
	if !r.More {
		r.Next = audit.Place{}
	}
	return r, nil
}

// placeOf is where an instance stands; of one of which no start is known, behind all others.
func placeOf(i api.Instance) audit.Place {
	if i.Started.IsZero() {
		i.Started = time.Unix(0, 0)
	}
	return audit.Place{Started: i.Started, Instance: i.Instance}
}

// sizeOf is about how many bytes an instance has in JSON.
func sizeOf(i api.Instance) int {
	size := 400 + 2*len(i.Key)
	for _, e := range i.Errors {
		size += 200 + 2*len(e.Reason)
	}
	return size
}

// readInstances reads up to limit instances of those that stand at places, as the store
// here knows them, and gives the places that it has not come to, and where it is: one that
// is not shown is not named, but the moment of its start.
func (a *Answers) readInstances(q ListQuestion, places []audit.Place, limit int, shows func(processtable.ProcessID) bool) (found []api.Instance, rest []audit.Place, at audit.Place, err error) {
	for len(places) > 0 && len(found) < limit {
		at = places[0]
		started, ended, known, err := a.Queue.Instance(at.Instance)
		if err != nil {
			return nil, nil, at, err
		}
		places = places[1:]
		switch {
		case !known:
			continue
		case !shows(started.Process):
			at.Instance = uuid.Max
			continue
		case ended != nil && !q.ended(), !q.of(started.Process), !q.begunBy(report.ParentOf(&started)):
			continue
		}
		i, err := a.listed(started, ended)
		if err == nil && i.State == api.InstanceRunning && i.InError == 0 && !q.asksEnded() {
			i.InError, err = a.inChild(started.Process, started.Instance)
		}
		if err != nil {
			return nil, nil, at, err
		}
		asked := i.State == api.InstanceRunning && i.InError > 0 // its state is for its nodes to tell
		if q.InError && i.InError == 0 || q.State != "" && i.State != q.State && !asked {
			continue
		}
		found = append(found, i)
	}
	return found, places, at, nil
}

// listed is a line of a list, as far as this node knows.
func (a *Answers) listed(started record.AuditRecord, ended *record.AuditRecord) (i api.Instance, err error) {
	i = api.Instance{
		Instance: started.Instance, Process: started.Process.String(), Origin: string(a.Self),
		Key: started.Reason, State: api.InstanceRunning, Started: started.Time, Parent: report.ParentOf(&started), StartedBy: started.By,
	}
	switch {
	case ended == nil:
		err = a.listRunning(&i, started)
	case ended.Event == record.EventStopped:
		i.State, i.Ended = api.InstanceTerminated, ended.Time
	default:
		i.State, i.Ended = api.InstanceFinished, ended.Time
	}
	return i, err
}

// listRunning adds what the origin's queue says of an instance that has not ended: an
// operator's marker, and which activities told of an error.
func (a *Answers) listRunning(i *api.Instance, started record.AuditRecord) error {
	marker, err := a.Queue.Marker(started.Process, started.Instance)
	if err != nil {
		return err
	}
	if marker != nil && marker.Origin == a.Self {
		i.State = api.InstanceTerminated
		return nil
	}
	i.Errors, err = a.noticesOf(started.Process, started.Instance)
	i.InError = len(i.Errors)
	return err
}

// noticesOf gives the activities of an instance that was started here that have told of an error.
func (a *Answers) noticesOf(id processtable.ProcessID, instance message.InstanceID) (all []api.ActivityError, err error) {
	messages, err := a.Queue.Browse(id, message.Entry{Instance: instance, Activity: processtable.Sink})
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if m.Kind != message.KindNotice {
			continue
		}
		if notice, err := message.DecodeNotice(m.Body); err == nil && !notice.Cleared {
			all = append(all, api.ActivityError{Scope: string(m.SourceScope), Activity: string(m.Source), Node: a.hostOf(id, m.SourceRow(), a.Self), Reason: notice.Error})
		}
	}
	return all, nil
}

func (a *Answers) hostOf(id processtable.ProcessID, activity processtable.RowID, origin processtable.NodeID) string {
	t := a.tableOf(id)
	if t == nil {
		return ""
	}
	host, _ := t.HostOf(activity, origin)
	return string(host)
}

// listInError says of running instances, of which activities told of an error, whether
// anything else can go on: as status does, which asks their nodes. It gives how many of
// them, from the first, it could ask for before ctx ended: one that was cut short is asked
// for again. begins: it is the first to use the time of ctx, and gives at least one; those that
// have had all of the time are not asked again.
func (a *Answers) listInError(ctx context.Context, all []api.Instance, begins bool) int {
	asking, places := task.NewGroup(a.Scheduler), task.NewPlaces(a.Scheduler, listAsking)
	cut := make([]bool, len(all))
	asked, known := 0, len(all)
	for at := range all {
		i := &all[at]
		if i.State != api.InstanceRunning || i.InError == 0 {
			continue
		}
		if (at > 0 || !begins) && ctx.Err() != nil {
			known = at
			break
		}
		_ = places.Acquire(context.Background())
		asked++
		hasAll := begins && asked <= listAsking
		asking.Go(func() {
			a.listStatus(ctx, i)
			cut[at] = !hasAll && ctx.Err() != nil
			places.Release()
		})
	}
	_ = asking.Wait(context.Background())
	if first := slices.Index(cut, true); first >= 0 {
		known = first
	}
	return known
}

// listStatus puts into a line of a list what status says of the instance. Of one that no
// node can tell the state of, what its origin was told stays.
func (a *Answers) listStatus(ctx context.Context, i *api.Instance) {
	g, err := a.standing(ctx, i.Instance)
	if err != nil {
		return
	}
	s := g.Status()
	if s.State == api.InstanceUnknown {
		return
	}
	i.State, i.InError, i.Ended, i.Errors = s.State, s.InError, s.Ended, nil
	for _, at := range g.Errors() {
		i.Errors = append(i.Errors, api.ActivityError{Scope: at.Scope, Activity: at.Activity, Node: at.Node, Reason: at.Reason})
	}
}

// shownErrors bounds what a list names of an instance's errors.
func shownErrors(errors []api.ActivityError) []api.ActivityError {
	errors = errors[:min(len(errors), listErrors)]
	for i := range errors {
		errors[i].Reason = text.Cut(errors[i].Reason, listReasons)
	}
	return errors
}
