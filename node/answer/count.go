package answer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue/audit"
)

// countLooks is how many places of the index one answer counts, unless its time is over before.
const countLooks = 500_000

// countsByIndex: what is counted need not be read.
func (q *ListQuestion) countsByIndex() bool {
	told := func(s api.InstanceState) bool { return s == api.InstanceRunning || hasEnded(s) }
	return !q.reads() && q.Parent == (message.InstanceID{}) && !slices.ContainsFunc(q.states(), func(s api.InstanceState) bool { return !told(s) })
}

// countHere counts what was started here, by the index: what runs counts as running, also where nothing goes on in it.
// How many of those are in error is counted with the first page.
func (a *Answers) countHere(ctx context.Context, q *ListQuestion, of processtable.ProcessID, shows func(processtable.ProcessID) bool) (r ListReport, err error) {
	o := q.options(of, shows)
	o.Limit = countLooks
	if o.Search, r.Searched, err = a.terms(q, shows); err != nil {
		return r, err
	}
	n, err := a.Queue.CountInstances(o, func() bool { return ctx.Err() != nil })
	if err != nil {
		return ListReport{}, err
	}
	c := &api.ListCount{Count: n.Running + n.Finished + n.Stopped, States: map[api.InstanceState]int{}}
	for state, n := range map[api.InstanceState]int{api.InstanceRunning: n.Running, api.InstanceFinished: n.Finished, api.InstanceTerminated: n.Stopped} {
		if n > 0 {
			c.States[state] = n
		}
	}
	r.Count, r.More, r.Next = c, n.More, n.Next
	switch {
	case q.InError:
		c.InError = c.Count
	case q.Below == (audit.Place{}) && o.States&audit.Running != 0:
		o.InError = true
		in, err := a.Queue.CountInstances(o, nil)
		if err != nil {
			return ListReport{}, err
		}
		c.InError = in.Running
	}
	return r, nil
}

// countOf counts lines of a list.
func countOf(all []api.Instance) *api.ListCount {
	c := &api.ListCount{Count: len(all), States: map[api.InstanceState]int{}}
	for _, i := range all {
		if c.States[i.State]++; i.InError > 0 {
			c.InError++
		}
	}
	return c
}

// count answers how many instances there are. Each site goes on by itself: next names those that have not come to
// the end, and where they go on.
func (a *Answers) count(ctx context.Context, q ListQuestion, r api.ListRequest) (answer api.ListAnswer, err error) {
	// What others have counted cannot be taken apart again: of a number nobody sees what it is made of.
	caller := api.CallerOf(ctx)
	if r.Everywhere && !caller.MayAll(api.RightViewer) && (q.Process == "" || !caller.Sees(q.Process)) {
		return answer, api.Errorf(api.CodeRefused, "name one with --process, or count those of this site: --here", "%s may count over all sites only what is of a process that he may see", caller.Name)
	}
	below, err := parseNexts(r.Next)
	if err != nil {
		return answer, api.Errorf(api.CodeUsage, "send `next` of the page before as it was", "next=%s does not name places in a list", r.Next)
	}
	sites := []processtable.NodeID{a.Self}
	if r.Everywhere {
		sites = append(sites, a.startSites(q)...)
	}
	if r.Next == "" {
		for _, site := range sites {
			below[site] = q.Below
		}
	}
	maps.DeleteFunc(below, func(site processtable.NodeID, _ audit.Place) bool { return !slices.Contains(sites, site) })
	answer.Instances, answer.Count = []api.Instance{}, &api.ListCount{States: map[api.InstanceState]int{}}
	next := map[processtable.NodeID]audit.Place{}
	var told []*Searched
	for _, h := range a.counts(ctx, q, below) {
		if h.Err != nil && h.Node == a.Self {
			return api.ListAnswer{}, h.Err
		}
		told = append(told, believedSearch(q, caller, h.Answer.Searched))
		answer.Unreachable = append(answer.Unreachable, h.Answer.Unreachable...)
		switch {
		case h.Err != nil:
			answer.Unreachable = append(answer.Unreachable, a.unheard(h.Node, h.Err))
			continue
		case h.Answer.Count != nil:
			answer.Count.Add(h.Answer.Count)
		}
		if h.Answer.More {
			next[h.Node] = h.Answer.Next
		}
	}
	if err := unsearchable(q.Process, told); err != nil {
		return api.ListAnswer{}, err
	}
	answer.Next = nextsText(next)
	answer.More = answer.Next != ""
	return answer, nil
}

// counts asks the sites, each for what stands below its place.
func (a *Answers) counts(ctx context.Context, q ListQuestion, below map[processtable.NodeID]audit.Place) (all []question.Reply[ListReport]) {
	for node := range below {
		all = append(all, question.Reply[ListReport]{Node: node})
	}
	slices.SortFunc(all, func(x, y question.Reply[ListReport]) int { return cmp.Compare(x.Node, y.Node) })
	ctx, cancel := a.Scheduler.WithTimeout(ctx, question.Timeout)
	defer cancel()
	caller, group := api.CallerOf(ctx), task.NewGroup(a.Scheduler)
	for n := range all {
		at, own := &all[n], q
		own.Below = below[at.Node]
		group.Go(func() {
			if at.Node == a.Self {
				at.Answer, at.Err = a.listHere(ctx, own, seenBy(caller))
			} else {
				at.Answer, at.Err = question.Ask[ListReport](ctx, a.Site, at.Node, own.kind(), own)
			}
		})
	}
	_ = group.Wait(context.Background())
	return all
}

// seenBy says which processes a caller may see.
func seenBy(caller api.Caller) func(processtable.ProcessID) bool {
	return func(id processtable.ProcessID) bool { return caller.Sees(id.String()) }
}

// nextsText names places at sites; parseNexts reads it.
func nextsText(next map[processtable.NodeID]audit.Place) string {
	var all []string
	for node, p := range next {
		all = append(all, string(node)+"="+placeText(p))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

func parseNexts(s string) (map[processtable.NodeID]audit.Place, error) {
	next := map[processtable.NodeID]audit.Place{}
	if s == "" {
		return next, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		node, place, _ := strings.Cut(part, "=")
		p, err := parsePlace(place)
		if err != nil {
			return nil, err
		}
		next[processtable.NodeID(node)] = p
	}
	return next, nil
}
