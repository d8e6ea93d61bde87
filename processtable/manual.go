package processtable

import (
	"slices"

	"fmqm/condition"
	"fmqm/container"
)

// Limits of what people do (N27).
const (
	MaxWhoText   = 4 << 10 // bytes of a staff expression as it was written
	MaxWho       = 1024    // terms of one: and, or, not, and what they join
	MaxWhoDepth  = 64      // how deep these may be inside of one another
	MaxTitle     = 200     // characters of a title, when it is filled
	MaxTitleText = 1 << 10 // bytes of the texts of a title together, as it was written
	MaxOffered   = 100     // nodes that one activity is offered at: one transaction tells them all
)

// Priorities order what is ready, and worklists: 9 is first.
const (
	MaxPriority     = 9
	DefaultPriority = 4
)

// DidMember is how people see what a hidden connector brings: no author can write such a name.
const DidMember = "@did"

// Manual is what a manual activity has beside other activities (N27): who may do it, and under which title they
// see it. Its row has no program. What is repeated, how it ends and what leads out of it are as of every
// activity: each iteration is offered anew.
//
// Who did other activities, Did, is told by hidden connectors. In tables the hidden connector of X to Y is a Mapping with
// Did, the last of the data connector from X to Y, which is made where the definition has none: of both ends alike,
// as every mapping. Its type is a string, and its From and To are empty: it is no member of a container, so
// that no condition, template or person sees it. In messages it is the last value of the connector's body, a text: the
// person (`ann@ward`), and behind a space whom that person stood in for (`ann@ward carl@ward`); it is
// empty where nobody has: an operator has ended the activity by hand, or its deadline, or who has started the
// instance was no person. It comes with DataPresent and DataWords; with DataAbsent X was skipped, and nobody did it.
// For Source it is who has started the instance. Where a bundle is of a manual activity the hidden connectors lead
// into the bundle, and each begin of an element has what they brought (message.Begin). The navigator gives all of it as
// doers by activity (Activity.Doers). A subprocess may have a hidden connector of Source: who started the parent has started
// the child.
type Manual struct {
	Staff *Who         // never nil
	Title []TitlePart  // never empty
	Did   []ActivityID // whose doers Staff and the notices ask for, of the same graph, or Source; in the order of the data connectors into it
	// Offered are the nodes to whose people it is offered, in file order, each by its own staff; nil: to those of its home
	// only. Home decides who has it, and is among them only if it is to be offered to the people there too. Each of the others has
	// a row of its own for it, Table.Workers says so: of the same name, inside of the one at home, and begun by that
	// for every iteration. It is an offer: nothing is decided there.
	Offered []NodeID
}

// Elsewhere are the nodes that the activity is offered at beside its home.
func (n *Manual) Elsewhere(home NodeID) (all []NodeID) {
	for _, node := range n.Offered {
		if node != home {
			all = append(all, node)
		}
	}
	return all
}

// OfferedAt says whether the activity is offered to the people of a node, given its home.
func (n *Manual) OfferedAt(node, home NodeID) bool {
	if len(n.Offered) == 0 {
		return node == home
	}
	return slices.Contains(n.Offered, node)
}

// TitlePart is a text, or a member of the input, whose value it shows.
type TitlePart struct {
	Text   string         // where there is no Member
	Member container.Path // into the input
}

// WhoIs says what a term of a staff expression is. The numbers are part of the stored format.
type WhoIs uint8

// The terms.
const (
	WhoAnd     WhoIs = 1 // all of Parts
	WhoOr      WhoIs = 2 // one of Parts
	WhoNot     WhoIs = 3 // not the one of Parts
	WhoRole    WhoIs = 4 // has the role Of
	WhoOrg     WhoIs = 5 // is in the organisation Of, or one below it
	WhoPerson  WhoIs = 6 // is the person Of, here or of a site
	WhoDid     WhoIs = 7 // did Activity
	WhoManages WhoIs = 8 // manages who did Activity
	WhoData    WhoIs = 9 // Of is TRUE, whoever it is
)

// WhoEach says how a term is asked for the texts of a list.
type WhoEach uint8

// How a list is asked.
const (
	EachNone WhoEach = 0 // it is one text, no list
	EachSome WhoEach = 1 // it holds for one of them: `list.exists(v, person(v))`
	EachAll  WhoEach = 2 // it holds for all of them: `list.all(v, person(v))`
)

// Who is a staff expression (N27), asked for each person of a node's staff: TRUE is eligible.
type Who struct {
	Is    WhoIs
	Parts []*Who // of WhoAnd and WhoOr: two or more; of WhoNot: one
	// Of is, for WhoRole, WhoOrg and WhoPerson, a text over the input, also where it was written as a constant; with
	// Each a list of texts. For WhoData it is a bool.
	Of       *condition.Checked
	Each     WhoEach
	Activity ActivityID // of WhoDid and WhoManages; Source: who started the instance
}

// Priority is that of an activity, or of the process.
type Priority struct {
	Fixed int                // where there is no Expr: 0 to MaxPriority
	Expr  *condition.Checked // over the input, an int: beyond the limits it is the nearest of them
}

// All calls yield for the term and every one inside of it, each before its parts.
func (w *Who) All(yield func(*Who)) {
	if w == nil {
		return
	}
	yield(w)
	for _, p := range w.Parts {
		p.All(yield)
	}
}

// Wants is the type that Of has.
func (w *Who) Wants() *container.Type {
	text := container.Scalar(container.String)
	switch {
	case w.Is == WhoData:
		return container.Scalar(container.Bool)
	case w.Each != EachNone:
		return container.NewList(text)
	}
	return text
}

// Asks names the activities whose doers the expression asks for, each once, in the order in which they occur.
func (w *Who) Asks() (all []ActivityID) {
	w.All(func(term *Who) {
		if term.Activity != "" && !slices.Contains(all, term.Activity) {
			all = append(all, term.Activity)
		}
	})
	return all
}

// people says whether a row has something that only formats from 8 on have.
func (a *Activity) people() bool {
	did := func(m Mapping) bool { return m.Did || m.Word&condition.WordBy != 0 }
	return a.Kind == KindManual || a.Manual != nil || a.Priority != nil || slices.ContainsFunc(a.Notify, func(n Notice) bool { return n.ForPeople() }) ||
		readsBy(a.Exit) || a.Bundle != nil && readsBy(a.Bundle.Failed) || slices.ContainsFunc(a.Feedback, did) ||
		slices.ContainsFunc(a.OutControl, func(c OutControl) bool { return readsBy(c.Condition) }) ||
		slices.ContainsFunc(a.InData, func(d InData) bool { return slices.ContainsFunc(d.Mappings, did) }) ||
		slices.ContainsFunc(a.OutData, func(d OutData) bool { return slices.ContainsFunc(d.Mappings, did) })
}

// Doers names the activities whose doers come to the row by hidden connectors, in the order of its connectors.
func (a *Activity) Doers() (all []ActivityID) {
	for _, d := range a.InData {
		if slices.ContainsFunc(d.Mappings, func(m Mapping) bool { return m.Did }) {
			all = append(all, d.From)
		}
	}
	return all
}
