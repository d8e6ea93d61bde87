package answer

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/audit"
)

// questionOf reads what somebody asks.
func questionOf(r api.ListRequest) (q ListQuestion, err error) {
	q = ListQuestion{
		All: r.All, State: r.State, Process: r.Process, InError: r.InError, Since: r.Since, Limit: r.Limit, Parent: r.Parent,
		Sought: Sought{
			States: r.States, Until: r.Until, Oldest: r.Oldest, Activity: processtable.ActivityID(r.Activity), By: r.StartedBy,
			Where: r.Where, WaitingOn: processtable.NodeID(r.WaitingOn), Count: r.Count, Search: r.Search,
		},
	}
	if r.Next != "" && !r.Count {
		if q.Below, err = parsePlace(r.Next); err != nil {
			return q, api.Errorf(api.CodeUsage, "send `next` of the page before as it was", "next=%s does not name a place in a list", r.Next)
		}
	}
	if _, err := q.process(); err != nil {
		return q, api.Errorf(api.CodeUsage, "write NAME@VERSION, or NAME for every version", "list: %v", err)
	}
	if q.State == api.InstanceUnknown && (q.InError || !q.Since.IsZero() || r.After != (message.InstanceID{}) || q.Parent != (message.InstanceID{}) || !q.plain()) {
		return q, api.Errorf(api.CodeUsage, "leave out what asks for more: `process`, `limit` and `next` narrow it",
			"state=unknown: what waits for no start has neither a time nor an error, nor a parent")
	}
	if q.Where != "" && q.Process == "" {
		return q, api.Errorf(api.CodeUsage, "add `process`", "where is a condition over the input of a process, and none is named")
	}
	return q, q.checkSearch()
}

// checkSearch refuses what no list can be asked for.
func (q *ListQuestion) checkSearch() error {
	switch {
	case len(q.Search) == 0:
		return nil
	case q.Process == "":
		return api.Errorf(api.CodeUsage, "add `process`", "search is over members that a process declares, and none is named")
	case len(q.Search) > maxTerms:
		return api.Errorf(api.CodeUsage, "ask for less, and for the rest with `where`", "search: %d terms, and at most %d are allowed", len(q.Search), maxTerms)
	}
	for _, text := range q.Search {
		if _, err := parseTerm(text); err != nil {
			return err
		}
	}
	return nil
}

// placeAfter is where an instance stands that a list is to go on behind, wherever it was started.
func (a *Answers) placeAfter(ctx context.Context, i message.InstanceID) (audit.Place, error) {
	started, _, known, err := a.Queue.Instance(i)
	if err != nil || known {
		return audit.Place{Started: started.Time, Instance: i}, err
	}
	g, err := a.Gather(ctx, i, "")
	if err != nil {
		return audit.Place{}, err
	}
	at := g.Status().Started
	if at.IsZero() {
		return audit.Place{}, api.Errorf(api.CodeUnreachable, "ask again when the site where it was started is back",
			"after %s: nobody who answers knows when it was started", i)
	}
	return audit.Place{Started: at, Instance: i}, nil
}

func placeText(p audit.Place) string {
	return strconv.FormatInt(p.Started.UnixNano(), 10) + "." + p.Instance.String()
}

func parsePlace(s string) (p audit.Place, err error) {
	nanos, id, _ := strings.Cut(s, ".")
	at, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil {
		return p, err
	}
	p.Started = time.Unix(0, at).UTC()
	p.Instance, err = uuid.Parse(id)
	return p, err
}

// List gives instances, newest first: those that were started here, or those of all sites
// that may start a process in which this node has a part.
func (a *Answers) List(ctx context.Context, r api.ListRequest) (api.ListAnswer, error) {
	q, err := questionOf(r)
	if err != nil {
		return api.ListAnswer{}, err
	}
	if r.After != (message.InstanceID{}) {
		if q.Below, err = a.placeAfter(ctx, r.After); err != nil {
			return api.ListAnswer{}, err
		}
	}
	if q.Count {
		return a.count(ctx, q, r)
	}
	var sites []processtable.NodeID
	if r.Everywhere {
		sites = a.startSites(q)
	}
	reports := task.NewAnswer[[]question.Reply[ListReport]](a.Scheduler)
	a.Scheduler.Go(func() { reports.Give(question.All[ListReport](ctx, a.Scheduler, a.Site, sites, q.kind(), q)) })
	caller := api.CallerOf(ctx)
	own, err := a.listHere(ctx, q, seenBy(caller))
	if err != nil {
		return api.ListAnswer{}, err
	}
	l := merging{question: q}
	l.add(own)
	told := []*Searched{own.Searched}
	heard, _, _ := reports.Wait(context.Background()) // for question.Timeout at most
	for _, r := range heard {
		if r.Err == nil {
			r.Answer.Instances = slices.DeleteFunc(r.Answer.Instances, func(i api.Instance) bool { return !caller.Sees(i.Process) })
			l.add(a.believedList(r.Node, q, r.Answer))
			told = append(told, believedSearch(q, caller, r.Answer.Searched))
			continue
		}
		l.unreachable = append(l.unreachable, a.unheard(r.Node, r.Err))
	}
	if err := unsearchable(q.Process, told); err != nil {
		return api.ListAnswer{}, err
	}
	return l.answer(), nil
}

// unheard names a node that did not answer. Of one that is connected the reason is told.
func (a *Answers) unheard(node processtable.NodeID, err error) api.Unreachable {
	u := api.Unreachable{Node: string(node), LastHeard: a.lastHeard(node)}
	if !errors.Is(err, link.ErrNotConnected) {
		u.Reason = err.Error()
	}
	return u
}

// startSites gives the other sites where an instance that is asked for may have been started.
func (a *Answers) startSites(q ListQuestion) (sites []processtable.NodeID) {
	for _, p := range a.Site.Processes() {
		if table := p.Table(); q.of(table.Process) {
			sites = append(sites, table.Starts...)
		}
	}
	slices.Sort(sites)
	return slices.DeleteFunc(slices.Compact(sites), func(s processtable.NodeID) bool { return s == a.Self })
}

// believedList gives what of a site's list counts: what may be started there, by the
// table here, and is what was asked for. What was started here waits for no start there.
func (a *Answers) believedList(node processtable.NodeID, q ListQuestion, r ListReport) ListReport {
	r.More = r.More && q.below(r.Next)
	r.Instances = slices.DeleteFunc(r.Instances, func(i api.Instance) bool {
		id, err := processtable.ParseProcessID(i.Process)
		if err != nil || !q.of(id) || !q.below(placeOf(i)) || i.Started.Before(q.Since) || !q.Until.IsZero() && !i.Started.Before(q.Until) || !q.wants(&i) || !q.begunBy(i.Parent) {
			return true
		}
		if i.State == api.InstanceUnknown && a.startedHere(id, i.Instance) {
			return true
		}
		t := a.tableOf(id)
		return t == nil || !t.MayStart(node)
	})
	for at := range r.Instances {
		i := &r.Instances[at]
		i.Origin = string(node)
		id, _ := processtable.ParseProcessID(i.Process)
		i.Errors = slices.DeleteFunc(shownErrors(i.Errors), func(e api.ActivityError) bool {
			host := a.hostOf(id, message.Scope(e.Scope).Row(processtable.ActivityID(e.Activity)), node)
			return host == "" || host != e.Node
		})
	}
	return r
}

// startedHere says whether an instance of a process was started here. Where that cannot be read it may have
// been.
func (a *Answers) startedHere(process processtable.ProcessID, i message.InstanceID) bool {
	started, found, err := a.Queue.Ended(message.Entry{Instance: i, Activity: processtable.Source})
	return err != nil || found && started.Process == process
}

// merging puts the lists of several sites into one. Where one has not come as far as the
// others, what these have below that waits for the next page.
type merging struct {
	question    ListQuestion
	all         []api.Instance
	more        bool
	down        audit.Place // with more: as far as every site has come
	unreachable []api.Unreachable
}

func (l *merging) add(r ListReport) {
	l.all = append(l.all, r.Instances...)
	for _, u := range r.Unreachable {
		if !slices.ContainsFunc(l.unreachable, func(known api.Unreachable) bool { return known.Node == u.Node }) {
			l.unreachable = append(l.unreachable, u)
		}
	}
	if r.More && (!l.more || l.question.compare(r.Next, l.down) < 0) {
		l.more, l.down = true, r.Next
	}
}

func (l *merging) answer() api.ListAnswer {
	slices.SortStableFunc(l.all, func(x, y api.Instance) int { return l.question.compare(placeOf(x), placeOf(y)) })
	l.all = slices.CompactFunc(l.all, func(x, y api.Instance) bool {
		return x.Instance == y.Instance && l.question.State != api.InstanceUnknown // then there may be one of each process
	})
	whole := len(l.all)
	if l.more {
		l.all = slices.DeleteFunc(l.all, func(i api.Instance) bool { return l.question.compare(placeOf(i), l.down) > 0 })
	}
	if n := l.question.Limit; len(l.all) > n {
		for n < len(l.all) && placeOf(l.all[n]).Compare(placeOf(l.all[n-1])) == 0 { // the next page begins below
			n++
		}
		l.all = l.all[:n]
		l.down = placeOf(l.all[n-1])
	}
	for _, i := range l.all {
		for at := range i.Errors {
			e := &i.Errors[at]
			e.Scope = report.ShownScope(message.Scope(e.Scope), e.Activity)
		}
	}
	a := api.ListAnswer{Instances: l.all, More: l.more || len(l.all) < whole, Unreachable: l.unreachable}
	if a.More {
		a.Next = placeText(l.down)
	}
	return a
}
