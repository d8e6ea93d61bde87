package definition

import (
	"slices"

	"fmqm/processtable"
)

// begun are the rows that a bundle or a call begins, which have its name (N20, N21): one execution for each
// element, and at each of its nodes what does a call's work.
type begun struct {
	each *processtable.Activity // nil: it is no bundle
	work *processtable.Activity // nil: it is no call
	at   []processtable.NodeID  // where the work is done, or it is offered
	// offer is of a manual activity that is offered beside its home; nil: it is not.
	offer *processtable.Activity
}

// atHome are those of them that the table of the activity's node has in any case.
func (b *begun) atHome() []*processtable.Activity {
	if b == nil || b.each == nil {
		return nil
	}
	return []*processtable.Activity{b.each}
}

// workAt is the one that does the work at a node, if that may be, or offers it there.
func (b *begun) workAt(node processtable.NodeID) []*processtable.Activity {
	switch {
	case b == nil || !slices.Contains(b.at, node):
		return nil
	case b.offer != nil:
		return []*processtable.Activity{b.offer}
	}
	return []*processtable.Activity{b.work}
}

// rowsOf makes the rows of an activity: the one that its connectors lead to, and the one that does what it is,
// which are the same where it is neither bundle nor call.
func (c *compiler) rowsOf(a *Activity, path []processtable.Composite) (outer, done *processtable.Activity) {
	done = entryOf(a)
	done.Path = path
	elsewhere := a.isOfferedElsewhere()
	if a.Bundle == nil && a.Call == nil && !elsewhere {
		return done, done
	}
	of := &begun{}
	c.begun[done.Name] = of
	if elsewhere {
		defer func() { c.offer(a, done, of) }()
	}
	if a.Bundle == nil && a.Call == nil {
		return done, done
	}
	last := path
	begins := func(row *processtable.Activity) {
		row.Path = last
		if last = slices.Concat(last, []processtable.Composite{row.Inner()}); outer == nil {
			outer = row
			return
		}
		row.Start = always()
		of.each = row
	}
	if a.Bundle != nil {
		begins(bundleRow(a))
	}
	if a.Call != nil {
		begins(callRow(a))
		of.work = done
		done.Deadline, done.Notify = nil, nil // they are the call's, at home
		for _, node := range a.Call.Of {
			of.at = append(of.at, processtable.NodeID(node))
		}
		c.workers = append(c.workers, processtable.Worker{Activity: done.Name, Each: a.Bundle != nil, Nodes: of.at})
	} else {
		of.each = done
	}
	outer.FirstMatch, done.FirstMatch = a.FirstMatch, false
	done.Path, done.Start = last, always()
	return outer, done
}

// offer makes the row of an activity at the nodes where it is offered beside its home: what it shows people, notices too, and
// nothing of what follows.
func (c *compiler) offer(a *Activity, done *processtable.Activity, of *begun) {
	of.at = done.Manual.Elsewhere(processtable.NodeID(a.Node))
	of.offer = &processtable.Activity{
		Name: done.Name, Kind: processtable.KindManual, Manual: done.Manual, Input: done.Input, Output: done.Output, NoOutput: done.NoOutput,
		Path: slices.Concat(done.Path, []processtable.Composite{done.Inner()}), Start: always(), MaxIterations: 1,
		Retry: processtable.Retry{Attempts: 1}, Priority: done.Priority, Notify: processtable.AtOffers(done.Notify),
	}
	c.workers = append(c.workers, processtable.Worker{Activity: done.Name, Each: a.Bundle != nil, Nodes: of.at})
}

func bundleRow(a *Activity) *processtable.Activity {
	b := &processtable.Bundle{Member: a.Bundle.Member, Parallel: a.Bundle.Parallel}
	if a.Bundle.Until != nil {
		b.Until = &a.Bundle.Until.Checked
	}
	if a.Bundle.Failed != nil {
		b.Failed = &a.Bundle.Failed.Checked
	}
	return &processtable.Activity{
		Name: processtable.ActivityID(a.Name), Kind: processtable.KindBundle, Bundle: b,
		Input: a.Bundle.Input, Output: a.Bundle.Output,
	}
}

func callRow(a *Activity) *processtable.Activity {
	call := &processtable.Call{Node: &a.Call.Node.Checked}
	for _, node := range a.Call.Of {
		call.Of = append(call.Of, processtable.NodeID(node))
	}
	return &processtable.Activity{
		Name: processtable.ActivityID(a.Name), Kind: processtable.KindCall, Call: call,
		Input: a.Input, Output: a.Output, Deadline: a.Deadline.inTable(), Continues: a.Continues, Notify: noticesInTable(a.Notify),
	}
}

// done is the row that does what an activity is, given the one that its connectors lead to.
func (c *compiler) done(outer *processtable.Activity) *processtable.Activity {
	switch of := c.begun[outer.Name]; {
	case of == nil:
		return outer
	case of.work != nil:
		return of.work
	case of.each != nil:
		return of.each
	}
	return outer
}

// longestScope is how long the scopes of a graph can be, and in which composite that is.
func (c *compiler) longestScope(g *graph) (inside processtable.ActivityID, most int) {
	inside, most = g.inside, processtable.ScopeSize(g.source.Path)
	for _, a := range g.Activities {
		innermost := c.done(c.row(g, a.Name))
		if of := c.begun[innermost.Name]; of != nil && of.offer != nil {
			innermost = of.offer
		}
		if n := processtable.ScopeSize(innermost.LongestPath()); n > most {
			inside, most = processtable.ActivityID(a.Name), n
		}
	}
	return inside, most
}
