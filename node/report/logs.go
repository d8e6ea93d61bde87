package report

import (
	"slices"

	"fmqm/message"
	"fmqm/processtable"
)

// What programs have written is told by the nodes where they ran, attempt by attempt (package node/logs).

// LogPath is InPath of the attempts of a program: a notice counts as its activity.
func LogPath(path string, scope message.Scope, activity processtable.ActivityID) bool {
	if _, notice := scope.OfNotice(); notice {
		scope = scope.Leave()
	}
	return path == "" || InPath(path, string(scope), string(activity))
}

// LogHosts are the nodes at which programs of what a PATH names, or of what is inside of it, may have run;
// empty: of all.
func (g *Gathered) LogHosts(path string) (nodes []processtable.NodeID) {
	places := placesOf(g.Roster)
	name := string(message.Scope(path).Inside())
	for _, p := range g.Roster {
		if path != "" && p.Activity != name && !slices.Contains(places.around(p.Activity), name) {
			continue
		}
		for _, node := range append([]string{p.Node}, p.At...) {
			if node != unlocated {
				nodes = append(nodes, processtable.NodeID(node))
			}
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// LogsOf says of which attempts a node may tell: of those of what it hosts, as far as that is known.
func (g *Gathered) LogsOf(node processtable.NodeID) func(scope message.Scope, activity processtable.ActivityID) bool {
	places := placesOf(g.Roster)
	return func(scope message.Scope, activity processtable.ActivityID) bool {
		if _, notice := scope.OfNotice(); notice {
			scope = scope.Leave()
		}
		return places.hosts(scope, string(activity), string(node))
	}
}
