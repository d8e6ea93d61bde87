package answer

import (
	"cmp"
	"context"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
)

// Status gathers from all nodes of the process (invariant 1: no central database): the top of the instance.
func (a *Answers) Status(ctx context.Context, id message.InstanceID) (api.Status, error) {
	return a.StatusOf(ctx, id, api.StatusRequest{})
}

// StatusOf is Status with the activities that are asked for.
func (a *Answers) StatusOf(ctx context.Context, id message.InstanceID, r api.StatusRequest) (api.Status, error) {
	g, err := a.standing(ctx, id)
	if err != nil {
		return api.Status{}, err
	}
	r.After = string(message.Scope(r.After).Full())
	if _, after := api.CutScope(r.After); after != "" && !g.Has(after) {
		return api.Status{}, g.NoActivity(after)
	}
	s, of := g.Status(), g
	switch {
	case r.Tree:
		r.Limit = cmp.Or(r.Limit, api.MaxPage)
		of, err = a.gatherMore(ctx, g, report.Question{Tree: &report.Page{States: r.States, After: r.After, Limit: r.Limit}})
	case r.Scope != "":
		if err := g.NoPath(r.Scope); err != nil {
			return s, err
		}
		if bundle, found := g.Bundle(r.Scope); found {
			r.Limit = cmp.Or(r.Limit, api.MaxPage)
			of, err = a.gatherMore(ctx, g, report.Question{Tree: &report.Page{States: r.States, After: cmp.Or(r.After, bundle), Limit: r.Limit}})
			if err == nil {
				of.ShowElements(&s, bundle, r)
			}
			return s, err
		}
		of, r.Scope, err = a.enter(ctx, g, r.Scope)
	}
	if err != nil {
		return api.Status{}, err
	}
	of.Show(&s, r)
	return s, nil
}

// standing is Gather of all that says whether an instance goes on: where something is in error, or done by another
// instance, also of what is beside it in its block, and of that instance.
func (a *Answers) standing(ctx context.Context, id message.InstanceID) (*report.Gathered, error) {
	g, err := a.Gather(ctx, id, "")
	if err == nil && g.MayStand() {
		g, err = a.gatherOpen(ctx, g)
	}
	if err == nil {
		a.askChildren(ctx, g)
	}
	return g, err
}

// enter finds the scope that a PATH names, and asks for what is in it.
func (a *Answers) enter(ctx context.Context, g *report.Gathered, path string) (*report.Gathered, string, error) {
	for range message.MaxNesting + 1 {
		scope, ask, err := g.Enter(path)
		if err != nil || ask == nil {
			return g, string(scope), err
		}
		if g, err = a.gatherMore(ctx, g, report.Question{Scopes: ask}); err != nil {
			return nil, "", err
		}
	}
	return nil, "", api.Errorf(api.CodeFailed, "ask again", "the nodes do not tell what is in %s", path)
}

// Started is the status of an instance that was started here just now, as this node knows it:
// no other is asked.
func (a *Answers) Started(id message.InstanceID, process processtable.ProcessID) (api.Status, error) {
	own, err := a.Report(report.Question{Instance: id, Process: process.String(), Scopes: []string{""}})
	if err != nil {
		return api.Status{}, err
	}
	g := report.NewGathered(a.Self, id)
	g.Add(string(a.Self), own)
	s, heard := g.Status(), g.Heard()
	for i := range s.Activities {
		if at := &s.Activities[i]; at.State == api.ActivityUnknown && heard[api.InScope(at.Scope, at.Activity)] == "" {
			at.State = api.ActivityInactive // its node was not asked
		}
	}
	return s, nil
}

// History gathers what all nodes have recorded, of what is asked for.
func (a *Answers) History(ctx context.Context, id message.InstanceID, r api.HistoryRequest) (api.HistoryAnswer, error) {
	g, err := a.gather(ctx, gathering{q: report.Question{Instance: id, History: true, Scopes: []string{""}, Activity: r.Activity, Since: r.Since}})
	if err == nil {
		err = named(g, r.Activity)
	}
	if err != nil {
		return api.HistoryAnswer{}, err
	}
	return g.History(), nil
}

// Why says what each waiting activity waits for.
func (a *Answers) Why(ctx context.Context, id message.InstanceID, r api.WhyRequest) (api.WhyAnswer, error) {
	g, err := a.Gather(ctx, id, r.Process)
	if err == nil {
		err = named(g, r.Activity)
	}
	if err == nil {
		g, err = a.gatherOpen(ctx, g)
	}
	if err != nil {
		return api.WhyAnswer{}, err
	}
	a.askChildren(ctx, g)
	return g.Why(r.Activity, func(node string) (bool, time.Time) { return a.heard(g, node) }), nil
}

// named is the error of a PATH that names nothing of the process, or what it cannot have; empty names all.
func named(g *report.Gathered, path string) error {
	if path == "" || g.Has(path) {
		return g.NoPath(path)
	}
	_, name := api.CutScope(path)
	return g.NoActivity(name)
}

// heard reports whether a node answered just now, and when it was last heard.
func (a *Answers) heard(g *report.Gathered, node string) (bool, time.Time) {
	if node == string(a.Self) {
		return true, a.Scheduler.Now()
	}
	_, answered := g.Reports[node]
	return answered, a.lastHeard(processtable.NodeID(node))
}
