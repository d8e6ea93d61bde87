package node

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// Bounds of one answer of a list: it says how far it has come, and the next goes on there.
const (
	listLooks   = 10_000                  // instances that it reads
	listTime    = 1200 * time.Millisecond // before it asks nobody any more; who asked waits for gatherTimeout
	listBytes   = 1 << 20                 // of what it tells, roughly
	listAsking  = 8                       // instances of which it asks the nodes at once
	listErrors  = 100                     // activities in error that it names of an instance
	listReasons = 256                     // bytes of a reason
)

// listQuestion asks a site for the instances that were started there, newest first.
type listQuestion struct {
	All     bool              `json:"all,omitempty"`
	State   api.InstanceState `json:"state,omitempty"`
	Process string            `json:"process,omitempty"`
	InError bool              `json:"in_error,omitempty"`
	Since   time.Time         `json:"since,omitzero"`
	Below   queue.Place       `json:"below,omitzero"` // only what stands below; the zero one: all
	Limit   int               `json:"limit"`

	after message.InstanceID // instead of Below
}

// listReport is its answer. More: there may be others, below Next.
type listReport struct {
	Instances []api.Instance `json:"instances"`
	More      bool           `json:"more,omitempty"`
	Next      queue.Place    `json:"next,omitzero"`
}

func questionOf(r api.ListRequest) (q listQuestion, err error) {
	q = listQuestion{All: r.All, State: r.State, Process: r.Process, InError: r.InError, Since: r.Since, Limit: r.Limit, after: r.After}
	if r.Next != "" {
		if q.Below, err = parsePlace(r.Next); err != nil {
			return q, api.Errorf(api.CodeUsage, "send `next` of the page before as it was", "next=%s does not name a place in a list", r.Next)
		}
	}
	if _, err := q.process(); err != nil {
		return q, api.Errorf(api.CodeUsage, "write NAME@VERSION, or NAME for every version", "list: %v", err)
	}
	return q, nil
}

func placeText(p queue.Place) string {
	return strconv.FormatInt(p.Started.UnixNano(), 10) + "." + p.Instance.String()
}

func parsePlace(s string) (p queue.Place, err error) {
	nanos, id, _ := strings.Cut(s, ".")
	at, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil {
		return p, err
	}
	p.Started = time.Unix(0, at).UTC()
	p.Instance, err = uuid.Parse(id)
	return p, err
}

func (q *listQuestion) process() (processtable.ProcessID, error) {
	if q.Process == "" {
		return processtable.ProcessID{}, nil
	}
	return processtable.ParseProcessID(q.Process)
}

// ended: what is asked for has ended, or may have.
func (q *listQuestion) ended() bool {
	return !q.InError && (q.All || q.State == api.InstanceFinished || q.State == api.InstanceTerminated)
}

// below says whether a place is one of those that are asked for.
func (q *listQuestion) below(p queue.Place) bool {
	return q.Below == (queue.Place{}) || q.Below.Compare(p) < 0
}

// of says whether a process is asked for.
func (q *listQuestion) of(id processtable.ProcessID) bool {
	want, _ := q.process()
	return want.Name == "" || want.Name == id.Name && (want.Version == 0 || want.Version == id.Version)
}

// List gives instances, newest first: those that were started here, or those of all sites
// that may start a process in which this node has a part.
func (n *Node) List(ctx context.Context, r api.ListRequest) (api.ListAnswer, error) {
	q, err := questionOf(r)
	if err != nil {
		return api.ListAnswer{}, err
	}
	var sites []processtable.NodeID
	if r.Everywhere {
		sites = n.startSites(q)
	}
	reports := task.NewAnswer[[]reply[listReport]](n.sched)
	n.sched.Go(func() { reports.Give(askAll[listReport](ctx, n, sites, askList, q)) })
	own, err := n.listHere(ctx, q, func(processtable.ProcessID) bool { return true })
	if err != nil {
		return api.ListAnswer{}, asAPI(err)
	}
	l := merging{question: q}
	l.add(own)
	heard, _, _ := reports.Wait(context.Background()) // for gatherTimeout at most
	for _, r := range heard {
		if r.Err == nil {
			l.add(n.believedList(r.Node, q, r.Answer))
			continue
		}
		l.unreachable = append(l.unreachable, n.unheard(r.Node, r.Err))
	}
	return l.answer(), nil
}

// unheard names a node that did not answer. Of one that is connected the reason is told.
func (n *Node) unheard(node processtable.NodeID, err error) api.Unreachable {
	u := api.Unreachable{Node: string(node), LastHeard: n.lastHeard(node)}
	if n.mayAnswer(node, err) {
		u.Reason = err.Error()
	}
	return u
}

// startSites gives the other sites where an instance that is asked for may have been started.
func (n *Node) startSites(q listQuestion) (sites []processtable.NodeID) {
	for _, t := range n.threads() {
		if table := t.process.Table(); q.of(table.Process) {
			sites = append(sites, table.Starts...)
		}
	}
	slices.Sort(sites)
	return slices.DeleteFunc(slices.Compact(sites), func(s processtable.NodeID) bool { return s == n.name })
}

// listFor is listHere for a peer: of the processes in which it has a part.
func (n *Node) listFor(ctx context.Context, peer processtable.NodeID, q listQuestion) (listReport, error) {
	if _, err := q.process(); err != nil {
		return listReport{}, err
	}
	q.Limit = max(1, min(q.Limit, api.MaxPage))
	return n.listHere(ctx, q, func(id processtable.ProcessID) bool { return n.concerns(peer, id) })
}

// listHere lists what was started here, of the processes that shows lets through.
func (n *Node) listHere(ctx context.Context, q listQuestion, shows func(processtable.ProcessID) bool) (listReport, error) {
	of, err := q.process()
	if err != nil {
		return listReport{}, err
	}
	places, err := n.queue.Places(queue.ListOptions{
		All: q.ended(), Process: of, InError: q.InError || q.State == api.InstanceInError,
		Since: q.Since, Before: q.after, Below: q.Below, Limit: listLooks,
	})
	if err != nil {
		return listReport{}, err
	}
	ctx, cancel := n.sched.WithTimeout(ctx, listTime)
	defer cancel()
	r := listReport{Instances: []api.Instance{}, More: len(places) == listLooks}
	for size := 0; len(places) > 0; {
		if len(r.Instances) == q.Limit || ctx.Err() != nil && r.Next != (queue.Place{}) {
			r.More = true
			return r, nil
		}
		batch, rest, at, err := n.readInstances(q, places, q.Limit-len(r.Instances), shows)
		if err != nil {
			return listReport{}, err
		}
		known := n.listInError(ctx, batch)
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
			if q.State == "" || i.State == q.State {
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
		r.Next = queue.Place{}
	}
	return r, nil
}

func placeOf(i api.Instance) queue.Place {
	return queue.Place{Started: i.Started, Instance: i.Instance}
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
func (n *Node) readInstances(q listQuestion, places []queue.Place, limit int, shows func(processtable.ProcessID) bool) (found []api.Instance, rest []queue.Place, at queue.Place, err error) {
	for len(places) > 0 && len(found) < limit {
		at = places[0]
		started, ended, known, err := n.queue.Instance(at.Instance)
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
		case ended != nil && !q.ended(), !q.of(started.Process):
			continue
		}
		i, err := n.listed(started, ended)
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
func (n *Node) listed(started queue.AuditRecord, ended *queue.AuditRecord) (i api.Instance, err error) {
	i = api.Instance{
		Instance: started.Instance, Process: started.Process.String(), Origin: string(n.name),
		Key: started.Reason, State: api.InstanceRunning, Started: started.Time,
	}
	switch {
	case ended == nil:
		err = n.listRunning(&i, started)
	case ended.Event == queue.EventStopped:
		i.State, i.Ended = api.InstanceTerminated, ended.Time
	default:
		i.State, i.Ended = api.InstanceFinished, ended.Time
	}
	return i, err
}

// listRunning adds what the origin's queue says of an instance that has not ended: an
// operator's marker, and which activities told of an error.
func (n *Node) listRunning(i *api.Instance, started queue.AuditRecord) error {
	marker, err := n.queue.Marker(started.Process, started.Instance)
	if err != nil {
		return err
	}
	if marker != nil && marker.Origin == n.name {
		i.State = api.InstanceTerminated
		return nil
	}
	messages, err := n.queue.Browse(started.Process, message.Entry{Instance: started.Instance, Activity: processtable.Sink})
	if err != nil {
		return err
	}
	for _, m := range messages {
		if m.Kind != message.KindNotice {
			continue
		}
		if notice, err := message.DecodeNotice(m.Body); err == nil && !notice.Cleared {
			i.InError++
			i.Errors = append(i.Errors, api.ActivityError{Activity: string(m.Source), Node: n.hostOf(started.Process, m.Source), Reason: notice.Error})
		}
	}
	return nil
}

func (n *Node) hostOf(id processtable.ProcessID, a processtable.ActivityID) string {
	t := n.thread(id)
	if t == nil {
		return ""
	}
	host, _ := t.process.Table().NodeOf(a)
	return string(host)
}

// listInError says of running instances, of which activities told of an error, whether
// anything else can go on: as status does, which asks their nodes. It gives how many of
// them, from the first, it could ask for before ctx ended; at least one.
func (n *Node) listInError(ctx context.Context, all []api.Instance) int {
	asking, places := task.NewGroup(n.sched), task.NewPlaces(n.sched, listAsking)
	defer func() { _ = asking.Wait(context.Background()) }()
	for at := range all {
		i := &all[at]
		if i.State != api.InstanceRunning || i.InError == 0 {
			continue
		}
		if at > 0 && ctx.Err() != nil {
			return at
		}
		_ = places.Acquire(context.Background())
		asking.Go(func() {
			n.listStatus(ctx, i)
			places.Release()
		})
	}
	return len(all)
}

// listStatus puts into a line of a list what status says of the instance. Of one that no
// node can tell the state of, what its origin was told stays.
func (n *Node) listStatus(ctx context.Context, i *api.Instance) {
	s, err := n.Status(ctx, i.Instance)
	if err != nil || s.State == api.InstanceUnknown {
		return
	}
	i.State, i.InError, i.Ended, i.Errors = s.State, s.InError, s.Ended, nil
	for _, a := range s.Activities {
		if a.State == api.ActivityInError {
			i.Errors = append(i.Errors, api.ActivityError{Activity: a.Activity, Node: a.Node, Reason: a.Reason})
		}
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

// believedList gives what of a site's list counts: what may be started there, by the
// table here, and stands where it was asked for.
func (n *Node) believedList(node processtable.NodeID, q listQuestion, r listReport) listReport {
	r.More = r.More && q.below(r.Next)
	r.Instances = slices.DeleteFunc(r.Instances, func(i api.Instance) bool {
		id, err := processtable.ParseProcessID(i.Process)
		if err != nil || !q.of(id) || !q.below(placeOf(i)) || i.Started.Before(q.Since) {
			return true
		}
		t := n.thread(id)
		return t == nil || !t.process.Table().MayStart(node)
	})
	for at := range r.Instances {
		i := &r.Instances[at]
		i.Origin = string(node)
		id, _ := processtable.ParseProcessID(i.Process)
		i.Errors = slices.DeleteFunc(shownErrors(i.Errors), func(e api.ActivityError) bool {
			return n.hostOf(id, processtable.ActivityID(e.Activity)) != e.Node
		})
	}
	return r
}

// merging puts the lists of several sites into one. Where one has not come as far as the
// others, what these have below that waits for the next page.
type merging struct {
	question    listQuestion
	all         []api.Instance
	more        bool
	down        queue.Place // with more: as far as every site has come
	unreachable []api.Unreachable
}

func (l *merging) add(r listReport) {
	l.all = append(l.all, r.Instances...)
	if r.More && (!l.more || r.Next.Compare(l.down) < 0) {
		l.more, l.down = true, r.Next
	}
}

func (l *merging) answer() api.ListAnswer {
	slices.SortStableFunc(l.all, func(x, y api.Instance) int { return placeOf(x).Compare(placeOf(y)) })
	l.all = slices.CompactFunc(l.all, func(x, y api.Instance) bool { return x.Instance == y.Instance })
	whole := len(l.all)
	if l.more {
		l.all = slices.DeleteFunc(l.all, func(i api.Instance) bool { return placeOf(i).Compare(l.down) > 0 })
	}
	if len(l.all) > l.question.Limit {
		l.all = l.all[:l.question.Limit]
		l.down = placeOf(l.all[len(l.all)-1])
	}
	a := api.ListAnswer{Instances: l.all, More: l.more || len(l.all) < whole, Unreachable: l.unreachable}
	if a.More {
		a.Next = placeText(l.down)
	}
	return a
}
