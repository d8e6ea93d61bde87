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

// AskList, AskFind and AskResting are kinds of question that ListTo answers. A site of before knows only the first, and
// would pass over what it does not know of a question: so one that has more goes by the second, which it refuses, and one
// for what is suspended, of which sites of before have none, by the third.
const (
	AskList    = "list"
	AskFind    = "find"
	AskResting = "resting"
)

// Bounds of one answer of a list: it says how far it has come, and the next goes on there.
const (
	listLooks   = 10_000                  // instances that it reads
	listAhead   = 256                     // places that are read at once, where not each is one that is asked for
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

	Sought // what a site of before does not know
}

// ListReport is its answer. More: there may be others, below Next.
type ListReport struct {
	Instances []api.Instance `json:"instances"`
	More      bool           `json:"more,omitempty"`
	Next      audit.Place    `json:"next,omitzero"`

	Count       *api.ListCount    `json:"count,omitempty"`       // where they are to be counted, instead of Instances
	Unreachable []api.Unreachable `json:"unreachable,omitempty"` // sites that had to be asked about them, and did not answer
	Searched    *Searched         `json:"searched,omitempty"`    // nil: nothing was asked for, or no instance of the process is started there
}

func (q *ListQuestion) process() (processtable.ProcessID, error) {
	if q.Process == "" {
		return processtable.ProcessID{}, nil
	}
	return processtable.ParseProcessID(q.Process)
}

// states gives those that are asked for; none: all.
func (q *ListQuestion) states() []api.InstanceState {
	if q.State != "" {
		return []api.InstanceState{q.State}
	}
	return q.States
}

// wants says whether the state of an instance is asked for. One of which something is suspended runs, or is in error, all the same.
func (q *ListQuestion) wants(i *api.Instance) bool {
	return len(q.states()) == 0 || slices.Contains(q.states(), i.State) || i.Suspended && q.asksSuspended()
}

// asksSuspended: what is suspended is asked for, beside other states.
func (q *ListQuestion) asksSuspended() bool {
	return slices.Contains(q.states(), api.InstanceSuspended)
}

func hasEnded(s api.InstanceState) bool {
	return s == api.InstanceFinished || s == api.InstanceTerminated
}

// ended: what is asked for has ended, or may have.
func (q *ListQuestion) ended() bool {
	return !q.InError && (q.All || slices.ContainsFunc(q.states(), hasEnded))
}

// asksEnded: only what has ended is asked for.
func (q *ListQuestion) asksEnded() bool {
	running := func(s api.InstanceState) bool { return !hasEnded(s) }
	return len(q.states()) > 0 && !slices.ContainsFunc(q.states(), running)
}

// asksErrors: only what an activity is in error in is asked for.
func (q *ListQuestion) asksErrors() bool {
	other := func(s api.InstanceState) bool { return s != api.InstanceInError }
	return q.InError || len(q.states()) > 0 && !slices.ContainsFunc(q.states(), other)
}

// indexed gives where in the index that is which is asked for.
func (q *ListQuestion) indexed() (s audit.States) {
	if len(q.states()) == 0 {
		if q.All && !q.InError {
			return audit.AllStates
		}
		return audit.Running
	}
	for _, state := range q.states() {
		switch state {
		case api.InstanceFinished:
			s |= audit.Finished
		case api.InstanceTerminated:
			s |= audit.Stopped
		default:
			s |= audit.Running
		}
	}
	return s
}

// compare is negative where a place stands above another one in the list that is asked for.
func (q *ListQuestion) compare(x, y audit.Place) int {
	if q.Oldest {
		x, y = y, x
	}
	return x.Compare(y)
}

// below says whether a place is one of those that are asked for.
func (q *ListQuestion) below(p audit.Place) bool {
	return q.Below == (audit.Place{}) || q.compare(q.Below, p) < 0
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
	if err := q.checkSearch(); err != nil {
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
	switch {
	case q.State == api.InstanceUnknown:
		return a.listUnstarted(ctx, q, of, shows)
	case q.Count && q.countsByIndex():
		return a.countHere(ctx, &q, of, shows)
	case q.Count:
		q.Limit = api.MaxPage
	}
	p := page{a: a, q: q, of: of, shows: shows, r: ListReport{Instances: []api.Instance{}}}
	if err := p.run(ctx); err != nil {
		return ListReport{}, err
	}
	if q.Count {
		p.r.Count, p.r.Instances = countOf(p.r.Instances), nil
	}
	return p.r, nil
}

// page is one that is being made.
type page struct {
	a      *Answers
	q      ListQuestion
	of     processtable.ProcessID
	shows  func(processtable.ProcessID) bool
	r      ListReport
	size   int // of what is in r, in bytes, roughly
	filter filter
}

// run reads places of the index until the page is full, or has cost what it may.
func (p *page) run(ctx context.Context) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	o := p.q.options(p.of, p.shows)
	o.InError, o.Search = p.q.asksErrors(), p.filter.search
	for looked := 0; ; {
		o.Limit = min(p.ahead(), listLooks-looked)
		found, err := p.places(ctx, o)
		if err != nil {
			return err
		}
		if full, err := p.add(ctx, found.Places); full || err != nil {
			return err
		}
		switch {
		case found.More:
			o.Below = found.Next
		case len(found.Places) < o.Limit:
			p.r.Next = audit.Place{}
			return nil
		default:
			o.Below = found.Places[len(found.Places)-1]
		}
		if looked += len(found.Places); looked >= listLooks || found.More {
			p.r.More, p.r.Next = true, o.Below
			return nil
		}
	}
}

// ahead is how many places are read at once: one more than are wanted says whether there are more.
func (p *page) ahead() int {
	if p.q.reads() {
		return max(p.q.Limit+1, listAhead)
	}
	return p.q.Limit + 1
}

// add adds what is asked for of the instances at some places, and says whether the page has ended with them.
func (p *page) add(ctx context.Context, places []audit.Place) (full bool, err error) {
	r, q := &p.r, &p.q
	for len(places) > 0 {
		if len(r.Instances) == q.Limit || ctx.Err() != nil && r.Next != (audit.Place{}) {
			r.More = true
			return true, nil
		}
		batch, rest, at, err := p.read(ctx, places, q.Limit-len(r.Instances))
		if err != nil {
			return false, err
		}
		known := p.a.listInError(ctx, batch, r.Next == (audit.Place{}))
		if len(q.states()) == 0 {
			known = len(batch) // those of which the nodes could not be asked stay running
		}
		waits := p.filter.waiting(ctx, p, batch[:known])
		for n, i := range batch[:known] {
			if p.size >= listBytes {
				r.More = true
				return true, nil
			}
			r.Next = placeOf(i)
			if i.Errors = shownErrors(i.Errors); !q.InError {
				i.Errors = nil
			}
			if q.wants(&i) && (!q.InError || i.InError > 0) && waits[n] {
				r.Instances = append(r.Instances, i)
				p.size += sizeOf(i)
			}
		}
		if known < len(batch) {
			r.More = true
			return true, nil
		}
		r.Next, places = at, rest
	}
	return false, nil
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

// read reads up to limit instances of those that stand at places, as the store
// here knows them, and gives the places that it has not come to, and where it is: one that
// is not shown is not named, but the moment of its start. It ends with ctx, but not before the first.
func (p *page) read(ctx context.Context, places []audit.Place, limit int) (found []api.Instance, rest []audit.Place, at audit.Place, err error) {
	a, q := p.a, &p.q
	for first := true; len(places) > 0 && len(found) < limit && (first || ctx.Err() == nil); first = false {
		at = places[0]
		started, ended, known, err := a.Queue.Instance(at.Instance)
		if err != nil {
			return nil, nil, at, err
		}
		places = places[1:]
		switch {
		case !known:
			continue
		case !p.shows(started.Process):
			if at.Instance = uuid.Max; q.Oldest {
				at.Instance = uuid.Nil
			}
			continue
		case ended != nil && !q.ended(), !q.of(started.Process), !q.begunBy(report.ParentOf(&started)), !p.filter.fits(&started):
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
		if q.InError && i.InError == 0 || !q.wants(&i) && !asked {
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
	marks, err := a.marksOf(started)
	if err != nil {
		return i, err
	}
	i.Priority = a.priorityOf(started, marks)
	switch {
	case ended == nil:
		i.Suspended = slices.ContainsFunc(message.InForce(marks), func(m message.Marked) bool { return m.Origin == a.Self })
		err = a.listRunning(&i, started)
	case ended.Event == record.EventStopped:
		i.State, i.Ended = api.InstanceTerminated, ended.Time
	default:
		i.State, i.Ended = api.InstanceFinished, ended.Time
	}
	return i, err
}

// marksOf are the marks of an instance that was started here.
func (a *Answers) marksOf(started record.AuditRecord) (marks []message.Marked, err error) {
	found, err := a.Queue.Marks(started.Process, started.Instance)
	if err != nil {
		return nil, err
	}
	for i := range found {
		mark, err := message.MarkOf(&found[i])
		if err != nil {
			return nil, err
		}
		marks = append(marks, mark)
	}
	return marks, nil
}

// priorityOf is the priority of an instance that was started here, as it is now.
func (a *Answers) priorityOf(started record.AuditRecord, marks []message.Marked) *int {
	if last := message.Expedited(marks, a.Self); last != nil {
		return api.ShownPriority(last.Rank.Priority(api.DefaultPriority))
	}
	return report.PriorityOf(a.tableOf(started.Process), &started)
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
