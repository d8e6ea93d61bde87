package api

import (
	"cmp"
	pathmatch "path"
	"slices"
	"strings"
)

// Right is what a caller may do; the words are those of `rights` in the configuration of a node (N28).
type Right string

// The rights. Each request needs one of them, see Requests.
const (
	RightNone     Right = ""         // whoever is known may ask
	RightViewer   Right = "viewer"   // to see
	RightClerk    Right = "clerk"    // to see, to start instances, to send events and to do people's work
	RightOperator Right = "operator" // what a clerk may, and to put a hand on instances
	RightDefiner  Right = "definer"  // to see, and to upload and retire processes
	RightAdmin    Right = "admin"    // all of it, and what is of the node itself: links, rebuilding, backups, its configuration
)

// AllRights are the rights that can be granted, in the order in which people read them.
func AllRights() []Right {
	return []Right{RightViewer, RightClerk, RightOperator, RightDefiner, RightAdmin}
}

// Includes says whether who has r may do what needs other.
func (r Right) Includes(other Right) bool {
	switch {
	case r == other, r == RightAdmin, other == RightNone:
		return true
	case other == RightViewer:
		return r != RightNone
	}
	return r == RightOperator && other == RightClerk
}

// Grant gives rights, to whom it is not said here, over processes.
type Grant struct {
	Rights    []Right  `json:"roles"`
	Processes []string `json:"processes,omitempty"` // names, in which * stands for any characters; nil: all, and what is of the node itself
}

// Over says whether the grant is about a process, NAME or NAME@VERSION.
func (g *Grant) Over(process string) bool {
	name, _, _ := strings.Cut(process, "@")
	return g.Processes == nil || slices.ContainsFunc(g.Processes, func(p string) bool {
		ok, err := pathmatch.Match(p, name)
		return err == nil && ok
	})
}

func (g *Grant) gives(r Right) bool {
	return slices.ContainsFunc(g.Rights, func(has Right) bool { return has.Includes(r) })
}

// Rights are those of a caller at a node whose configuration has `rights`.
type Rights struct {
	Grants []Grant
	// Node is the node's name, and Could says who has a right over a process there ("": over all), as `rights`
	// writes them: who is refused is told. Could may be nil.
	Node  string
	Could func(r Right, process string) []string
}

// May says whether the caller has a right over a process, NAME or NAME@VERSION.
func (c Caller) May(r Right, process string) bool {
	return c.has(r, func(g *Grant) bool { return g.Over(process) })
}

// MayAll says whether the caller has a right over all processes, and so over the node itself.
func (c Caller) MayAll(r Right) bool {
	return c.has(r, func(g *Grant) bool { return g.Processes == nil })
}

// MaySome says whether the caller has a right over some processes at least.
func (c Caller) MaySome(r Right) bool { return c.has(r, func(*Grant) bool { return true }) }

func (c Caller) has(r Right, over func(*Grant) bool) bool {
	if c.Rights == nil || r == RightNone {
		return true
	}
	return slices.ContainsFunc(c.Rights.Grants, func(g Grant) bool { return g.gives(r) && over(&g) })
}

// Sees says whether a process is there for the caller: what he may not see is told to him as if it were not.
func (c Caller) Sees(process string) bool { return c.May(RightViewer, process) }

// refuse is what a caller is told who lacks a right over a process; "": over all of them, and the node itself.
func (c Caller) refuse(r Right, process string) *Error {
	name, _, _ := strings.Cut(process, "@")
	who, what := c.Name, ""
	if who == "" {
		who = "who asks"
	}
	grant := "{who: " + cmp.Or(c.Operator(), "NAME") + ", roles: [" + string(r) + "]}" // a person is `person:ann` there, and not ann@ward
	if name != "" {
		what = " over " + name
		grant = strings.TrimSuffix(grant, "}") + ", processes: [" + name + "]}"
	}
	remedy := "let `rights` in its configuration have " + grant + ", and reload it"
	if c.Rights.Could != nil {
		if could := c.Rights.Could(r, name); len(could) > 0 {
			const shown = 5
			more := ""
			if len(could) > shown {
				could, more = could[:shown], " and others"
			}
			remedy = "ask " + strings.Join(could, ", ") + more + ", who may; or " + remedy
		}
	}
	return Errorf(CodeRefused, remedy, "%s may not do this at %s: it needs the right %s%s", who, c.Rights.Node, r, what)
}
