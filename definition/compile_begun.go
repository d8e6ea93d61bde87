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
	at   []processtable.NodeID  // where the work is done
}

// atHome are those of them that the table of the activity's node has in any case.
func (b *begun) atHome() []*processtable.Activity {
	if b == nil || b.each == nil {
		return nil
	}
	return []*processtable.Activity{b.each}
}

// workAt is the one that does the work at a node, if that may be.
func (b *begun) workAt(node processtable.NodeID) []*processtable.Activity {
	if b == nil || b.work == nil || !slices.Contains(b.at, node) {
		return nil
	}
	return []*processtable.Activity{b.work}
}

// rowsOf makes the rows of an activity: the one that its connectors lead to, and the one that does what it is,
// which are the same where it is neither bundle nor call.
func (c *compiler) rowsOf(a *Activity, path []processtable.Composite) (outer, done *processtable.Activity) {
	done = entryOf(a)
	done.Path = path
	if a.Bundle == nil && a.Call == nil {
		return done, done
	}
	of := &begun{}
	c.begun[done.Name] = of
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
		done.Deadline = nil
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
		Input: a.Input, Output: a.Output, Deadline: a.Deadline.inTable(), Continues: a.Continues,
	}
}

// done is the row that does what an activity is, given the one that its connectors lead to.
func (c *compiler) done(outer *processtable.Activity) *processtable.Activity {
	switch of := c.begun[outer.Name]; {
	case of == nil:
		return outer
	case of.work != nil:
		return of.work
	default:
		return of.each
	}
}

// longestScope is how long the scopes of a graph can be, and in which composite that is.
func (c *compiler) longestScope(g *graph) (inside processtable.ActivityID, most int) {
	inside, most = g.inside, processtable.ScopeSize(g.source.Path)
	for _, a := range g.Activities {
		if n := processtable.ScopeSize(c.done(c.row(g, a.Name)).Path); n > most {
			inside, most = processtable.ActivityID(a.Name), n
		}
	}
	return inside, most
}
