package report

import (
	"fmqm/processtable"
)

// Nodes are those of the roster, and the origin, as far as they are known. A node that only does the work of calls is
// among them where their home says that some is under way there, where silent says that the home does not answer,
// wherever the history is asked for: of what has ended the home says all else (N20); and where something was suspended,
// since only they say whether they have heard of that (N29).
func (g *Gathered) Nodes(silent func(processtable.NodeID) bool) (nodes []processtable.NodeID) {
	all := g.Asked.History || g.marked()
	for _, p := range g.Roster {
		if p.Node != unlocated {
			nodes = append(nodes, processtable.NodeID(p.Node))
		}
		if len(p.At) == 0 {
			continue
		}
		at := g.worksAt(p.Node)
		for _, n := range p.At {
			if all || at[n] || silent(processtable.NodeID(p.Node)) {
				nodes = append(nodes, processtable.NodeID(n))
			}
		}
	}
	if g.Origin != "" {
		nodes = append(nodes, processtable.NodeID(g.Origin))
	}
	return nodes
}

// marked: a node that has answered has heard of a suspend.
func (g *Gathered) marked() bool {
	for _, r := range g.Reports {
		if len(r.Marks) > 0 {
			return true
		}
	}
	return false
}

// Workers are the nodes that may do the work of calls. A page of what has ended asks them all: they say where it was done.
func (g *Gathered) Workers() (nodes []processtable.NodeID) {
	for _, p := range g.Roster {
		for _, n := range p.At {
			nodes = append(nodes, processtable.NodeID(n))
		}
	}
	return nodes
}

// worksAt are the nodes at which the work of calls is under way, as their home says.
func (g *Gathered) worksAt(home string) map[string]bool {
	at := map[string]bool{}
	for _, a := range g.Reports[home].Activities {
		if a.At != "" && !a.State.Ended() {
			at[a.At] = true
		}
	}
	return at
}
