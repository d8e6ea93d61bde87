package definition

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/internal/text"
	"fmqm/processtable"
)

// ShownBundle is what makes an activity one execution for each element of a list (N21).
type ShownBundle struct {
	ForEach  string `json:"for_each"` // the member that takes one element, or _STRUCT
	Parallel int    `json:"parallel"`
	Until    string `json:"until,omitempty"`
	Failed   string `json:"failed,omitempty"`
}

// ShownCall says where an activity is done (N20).
type ShownCall struct {
	Node string   `json:"node"` // an expression
	Of   []string `json:"of"`
}

func showBundle(b *processtable.Bundle) *ShownBundle {
	if b == nil {
		return nil
	}
	s := &ShownBundle{ForEach: forEach(b.Member), Parallel: b.Parallel}
	if b.Until != nil {
		s.Until = b.Until.Text
	}
	if b.Failed != nil {
		s.Failed = b.Failed.Text
	}
	return s
}

func showCall(c *processtable.Call) *ShownCall {
	if c == nil {
		return nil
	}
	s := &ShownCall{Node: c.Node.Text}
	for _, n := range c.Of {
		s.Of = append(s.Of, string(n))
	}
	return s
}

// forEach is what takes one element, as it is written.
func forEach(member string) string {
	if member == "" {
		return wholeContainer
	}
	return member
}

// roles are what a row of a name is, in the order in which one begins the next.
const (
	roleEach = "each" // one execution of a bundle
	roleWork = "work" // what a call has done
	// roleOffer is what is offered beside its home.
	roleOffer = "offer"
)

// roleOf says what a row is that another of its name begins; empty: none does.
func roleOf(a *processtable.Activity) string {
	switch {
	case !a.Begun():
		return ""
	case a.Path[len(a.Path)-1].Elements:
		return roleEach
	case a.Manual != nil:
		return roleOffer
	}
	return roleWork
}

// around gives the names of what an activity is inside of, each once.
func around(a *processtable.Activity) []string {
	var all []string
	for _, c := range a.Path {
		if name := string(c.Activity); name != string(a.Name) && (len(all) == 0 || all[len(all)-1] != name) {
			all = append(all, name)
		}
	}
	return all
}

// label names a row: "pack", "each pack", "work of pack".
func (a *ShownActivity) label() string {
	path := strings.Join(append(slices.Clone(a.Inside), a.Activity), "/")
	switch a.Role {
	case roleEach:
		return "each " + path
	case roleWork:
		return "work of " + path
	case roleOffer:
		return "offer of " + path
	}
	return path
}

// begins says what a row begins of its name.
func (a *ShownActivity) begins() []string {
	var all []string
	if b := a.Bundle; b != nil {
		all = append(all, fmt.Sprintf("is done for each %s, %d at once", b.ForEach, b.Parallel))
		if b.Until != "" {
			all = append(all, "ends when "+text.Line(b.Until))
		}
		if b.Failed != "" {
			all = append(all, "counts as failed where "+text.Line(b.Failed))
		}
	}
	if c := a.Call; c != nil {
		all = append(all, fmt.Sprintf("is done at %s, one of %s", text.Line(c.Node), fewNodes(c.Of)))
	}
	return all
}

// fewNodes lists nodes, not all if there are many.
func fewNodes(nodes []string) string {
	const most = 8
	if len(nodes) <= most {
		return strings.Join(nodes, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(nodes[:most-2], ", "), len(nodes)-most+2)
}
