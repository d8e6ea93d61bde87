package tables

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/processtable"
)

// NodeQuestion asks a site what it has. A site of an older version reads none of it.
type NodeQuestion struct {
	// Children are processes, NAME or NAME@VERSION, of which its activities would begin instances.
	Children []string `json:"children,omitempty"`
}

// ReportNode answers who uploads a table at another site.
func (t *Tables) ReportNode(q NodeQuestion) NodeReport {
	r := t.ReportSelf()
	if len(q.Children) == 0 {
		return r
	}
	has := t.startable()
	r.Children = map[string]string{}
	for _, child := range q.Children {
		id, err := processtable.ParseProcessID(child)
		if err != nil || slices.ContainsFunc(has, func(p processtable.ProcessID) bool {
			return isOf(p, id) && !t.Queue.IsRetired(p) && (id.Version > 0 || t.Queue.IsCurrent(p))
		}) {
			continue
		}
		r.Children[child] = instead(id, has)
	}
	return r
}

// startable are the processes of which an instance may be started here, by name and version.
func (t *Tables) startable() []processtable.ProcessID {
	var all []processtable.ProcessID
	for _, p := range t.Site.Processes() {
		if p.Table().IsStart() {
			all = append(all, p.Table().Process)
		}
	}
	return all
}

// isOf says whether a process is one that is asked for: in any version, where none is named (of which one has to
// be current).
func isOf(p, asked processtable.ProcessID) bool {
	return p.Name == asked.Name && (asked.Version == 0 || p.Version == asked.Version)
}

// mostNamed is how many processes are named that a site has instead of one that it has not.
const mostNamed = 3

// instead names what there is: the newest of that name, or else some of the others; or nothing.
func instead(asked processtable.ProcessID, has []processtable.ProcessID) string {
	var names []string
	for i, p := range has { // versions rise
		switch {
		case i+1 < len(has) && has[i+1].Name == p.Name:
		case p.Name == asked.Name:
			return p.String()
		default:
			names = append(names, p.String())
		}
	}
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// childrenOf are the processes of which a table's activities begin instances, and that the upload does not
// bring to its node.
func (u *upload) childrenOf(t *processtable.Table) []string {
	var all []string
	for _, a := range t.Activities {
		if a.Child == nil || slices.Contains(all, a.Child.String()) {
			continue
		}
		given := func(other *processtable.Table) bool {
			return other.Node == t.Node && other.IsStart() && isOf(other.Process, processtable.ProcessID(*a.Child))
		}
		if !slices.ContainsFunc(u.tables, given) {
			all = append(all, a.Child.String())
		}
	}
	return all
}

// warnChildren names processes of which a node is to begin instances, and that it has not.
func (u *upload) warnChildren(t *processtable.Table, report NodeReport) {
	for _, child := range u.childrenOf(t) {
		other, lacks := report.Children[child]
		if !lacks {
			continue
		}
		if other != "" {
			other = "; it has " + other
		}
		u.answer.Warnings = append(u.answer.Warnings, fmt.Sprintf("%s: %s has no current %s and none is given: upload it too%s", t.Process, t.Node, child, other))
	}
}
