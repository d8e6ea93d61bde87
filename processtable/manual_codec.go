package processtable

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/internal/cbor"
)

// Keys of what has people from format 8 on: of an activity's more, of a manual activity, of a term,
// of a part of a title, of a priority.
const (
	keyManual   = 20
	keyPriority = 21

	keyManualStaff = 1
	keyManualTitle = 2
	keyManualDid   = 3 // list of activities
	keyManualAt    = 4 // list of nodes

	keyWhoIs       = 1
	keyWhoParts    = 2 // list of terms
	keyWhoOf       = 3 // index of a condition
	keyWhoEach     = 4
	keyWhoActivity = 5

	keyTitleText   = 1
	keyTitleMember = 2 // list of steps

	keyPriorityFixed = 1
	keyPriorityExpr  = 2 // index of a condition
)

// field is one that was written before its map.
type field struct {
	key     byte
	written []byte
}

// peopleOf writes what a table has of people beside its activities, before its conditions are.
func (e *encoder) peopleOf(t *Table) (all []field, err error) {
	if t.Starters == nil && t.Administrator == nil && t.Priority == nil {
		return nil, nil
	}
	if t.Format < PeopleFormat {
		return nil, fmt.Errorf("format %d has nothing that people do, and no priorities", t.Format)
	}
	if t.Starters != nil {
		all = append(all, field{keyStarters, e.who(nil, t.Starters, 1)})
	}
	if t.Administrator != nil {
		all = append(all, field{keyAdministrator, e.who(nil, t.Administrator, 1)})
	}
	if t.Priority != nil {
		all = append(all, field{keyPriorities, e.priority(nil, t.Priority)})
	}
	return all, e.err
}

func writeFields(m *cbor.Map, all []field) {
	for _, f := range all {
		m.Key(f.key)
		m.B = append(m.B, f.written...)
	}
}

// people writes what a row has of people.
func (e *encoder) people(of *cbor.Map, a *Activity) {
	if n := a.Manual; n != nil {
		of.Key(keyManual)
		m := cbor.BeginMap(of.B)
		if n.Staff != nil {
			m.Key(keyManualStaff)
			m.B = e.who(m.B, n.Staff, 1)
		}
		list(&m, keyManualTitle, n.Title, appendTitle)
		list(&m, keyManualDid, n.Did, appendName[ActivityID])
		list(&m, keyManualAt, n.Offered, appendName[NodeID])
		of.B = m.B
	}
	if a.Priority != nil {
		of.Key(keyPriority)
		of.B = e.priority(of.B, a.Priority)
	}
}

func appendTitle(b []byte, p TitlePart) []byte {
	m := cbor.BeginMap(b)
	m.Text(keyTitleText, p.Text)
	list(&m, keyTitleMember, p.Member, func(b []byte, n int) []byte { return cbor.AppendInt(b, int64(n)) })
	return m.B
}

func (e *encoder) priority(b []byte, p *Priority) []byte {
	m := cbor.BeginMap(b)
	m.Int(keyPriorityFixed, int64(p.Fixed))
	if p.Expr != nil {
		writeIndex(&m, keyPriorityExpr, e.condition(p.Expr))
	}
	return m.B
}

func (e *encoder) who(b []byte, w *Who, depth int) []byte {
	if w == nil || depth > MaxWhoDepth {
		e.fail("who may do it: a term is missing, or nested deeper than %d", MaxWhoDepth)
		return b
	}
	m := cbor.BeginMap(b)
	m.Uint(keyWhoIs, uint64(w.Is))
	list(&m, keyWhoParts, w.Parts, func(b []byte, p *Who) []byte { return e.who(b, p, depth+1) })
	if w.Of != nil {
		writeIndex(&m, keyWhoOf, e.condition(w.Of))
	}
	m.Uint(keyWhoEach, uint64(w.Each))
	m.Text(keyWhoActivity, string(w.Activity))
	return m.B
}

var (
	manualFields   = []string{keyManualStaff: "staff", keyManualTitle: "title", keyManualDid: "did", keyManualAt: "offered_at"}
	titleFields    = []string{keyTitleText: "text", keyTitleMember: "member"}
	priorityFields = []string{keyPriorityFixed: "fixed", keyPriorityExpr: "expression"}
	whoFields      = []string{keyWhoIs: "is", keyWhoParts: "parts", keyWhoOf: "of", keyWhoEach: "each", keyWhoActivity: "activity"}
)

func (d *decoder) manual() *Manual {
	d.since(PeopleFormat)
	n := &Manual{}
	for key := range d.Named(manualFields) {
		switch key {
		case keyManualStaff:
			n.Staff = d.who(1)
		case keyManualTitle:
			n.Title = items(d, MaxTitleText, d.titlePart)
		case keyManualDid:
			n.Did = items(d, maxActivities, name[ActivityID](d))
		case keyManualAt:
			n.Offered = items(d, MaxOffered, name[NodeID](d))
		}
	}
	return n
}

func (d *decoder) titlePart() (p TitlePart) {
	for key := range d.Named(titleFields) {
		switch key {
		case keyTitleText:
			p.Text = d.Text(MaxTitleText)
		case keyTitleMember:
			p.Member = items(d, container.MaxNesting, func() int { return d.number(MaxEncoded) })
		}
	}
	return p
}

func (d *decoder) priority() *Priority {
	d.since(PeopleFormat)
	p := &Priority{}
	for key := range d.Named(priorityFields) {
		switch key {
		case keyPriorityFixed:
			p.Fixed = d.number(MaxPriority)
		case keyPriorityExpr:
			p.Expr = d.conditionAt()
		}
	}
	return p
}

func (d *decoder) who(depth int) *Who {
	d.since(PeopleFormat)
	if depth > MaxWhoDepth {
		d.Fail("nested deeper than %d", MaxWhoDepth)
		return nil
	}
	w := &Who{}
	for key := range d.Named(whoFields) {
		switch key {
		case keyWhoIs:
			w.Is = WhoIs(d.number(int(WhoData)))
		case keyWhoParts:
			w.Parts = items(d, MaxWho, func() *Who { return d.who(depth + 1) })
		case keyWhoOf:
			w.Of = d.conditionAt()
		case keyWhoEach:
			w.Each = WhoEach(d.number(int(EachAll)))
		case keyWhoActivity:
			w.Activity = ActivityID(d.Text(MaxName))
		}
	}
	return w
}

// people checks what a row has of people.
func (v *validator) people(a *Activity) error {
	switch {
	case (a.Kind == KindManual) != (a.Manual != nil):
		return errors.New("a manual activity, and nothing else, says who may do it")
	case a.Priority != nil && (a.Added() || !a.Priority.valid()):
		return fmt.Errorf("a priority is 0 to %d, or an expression, and none of source and sink", MaxPriority)
	case a.Manual == nil:
		return nil
	}
	if a.Manual.Staff == nil {
		return errors.New("who may do it is missing")
	}
	if err := a.Manual.title(a.Input); err != nil {
		return err
	}
	did := a.Manual.Did
	if err := a.Manual.Staff.valid(func(of ActivityID) bool { return slices.Contains(did, of) }); err != nil {
		return err
	}
	if err := v.offered(a); err != nil || v.t.isWork(a.Row()) { // an offer has its doers from its begin
		return err
	}
	around := a
	if a.Begun() {
		if around = v.t.Activity(RowID{Name: a.Name, Inside: v.index.places[a.Name].Inside}); around == nil || around.Kind != KindBundle {
			return errors.New("it is begun by no bundle of the table")
		}
	}
	if !slices.Equal(around.Doers(), did) {
		return fmt.Errorf("it asks who did %q, and hidden connectors come from %q", did, around.Doers())
	}
	return nil
}

// offered checks where a manual activity is offered.
func (v *validator) offered(a *Activity) error {
	at := a.Manual.Offered
	if len(at) == 0 {
		return nil
	}
	if len(at) > MaxOffered {
		return fmt.Errorf("it is offered at %d nodes, above the limit of %d", len(at), MaxOffered)
	}
	home := v.index.places[a.Name].Node
	for i, n := range at {
		if !ValidNode(string(n)) || slices.Contains(at[:i], n) {
			return fmt.Errorf("it is offered at %q, which is not a node's name, or occurs twice", n)
		}
	}
	var nodes []NodeID
	each := a.Row().Begun == 1
	if w := v.t.WorkersOf(a.Name); w != nil {
		nodes = w.Nodes
		if v.t.isWork(a.Row()) {
			each = w.Each
		}
		if w.Each != each {
			return errors.New("the table says otherwise whether each element of a bundle is offered at other nodes")
		}
	}
	switch elsewhere := a.Manual.Elsewhere(home); {
	case home == Origin && len(elsewhere) > 0:
		return errors.New("what is hosted where the instance was started is offered nowhere else")
	case !slices.Equal(elsewhere, nodes):
		return fmt.Errorf("it is offered at %v, and the table has such rows at %v", elsewhere, nodes)
	}
	return nil
}

// did checks the hidden one of a data connector: what asks is a manual activity, or one with a notice that does, or a subprocess,
// which is told who has started the instance, or the bundle or call of one; who is asked for a manual activity, or source. Of an end that
// is elsewhere nothing is known.
func (v *validator) did(all []Mapping, from, to RowID) error {
	i := slices.IndexFunc(all, func(m Mapping) bool { return m.Did })
	if i < 0 {
		return nil
	}
	m := all[i]
	if i != len(all)-1 || len(m.From)+len(m.To) != 0 || m.RC || m.Word != 0 || m.Expr != nil || m.OfWords || m.Append || m.Type.Kind != container.String {
		return errors.New("who did it is a text, once, of no member, and behind what the connector maps")
	}
	if a := v.t.Activity(from); a != nil && a.Kind != KindManual && from != (RowID{Name: Source}) {
		return fmt.Errorf("%s is no manual activity, so nobody did it", from.Name)
	}
	a, asks := v.t.Activity(to), false
	for begun := uint8(1); a != nil && (a.Kind == KindBundle || a.Kind == KindCall); begun++ {
		asks = asks || a.asksInNotice(from.Name) // a call has the notices itself
		a = v.t.Activity(RowID{Name: to.Name, Inside: to.Name, Begun: begun})
	}
	if a != nil && a.Kind != KindManual && (a.Kind != KindProcess || from.Name != Source) && !asks && !a.asksInNotice(from.Name) {
		return fmt.Errorf("%s is no manual activity, and has no notice that asks for it, so it does not ask who did it", to.Name)
	}
	return nil
}

func (n *Manual) title(input *container.Type) error {
	size := 0
	for i, p := range n.Title {
		size += len(p.Text)
		switch {
		case (p.Text != "") == (len(p.Member) > 0) || !utf8.ValidString(p.Text):
			return fmt.Errorf("title: part %d is a text, or a member", i)
		case len(p.Member) > 0:
			if t, err := input.TypeAt(p.Member); err != nil {
				return fmt.Errorf("title: %w", err)
			} else if t.Kind == container.Structure || t.Kind == container.List {
				return fmt.Errorf("title: part %d is a %s, which no title shows", i, t)
			}
		}
	}
	if len(n.Title) == 0 || size > MaxTitleText {
		return fmt.Errorf("title: want 1 to %d bytes of text", MaxTitleText)
	}
	return nil
}

func (p *Priority) valid() bool {
	return 0 <= p.Fixed && p.Fixed <= MaxPriority && (p.Expr == nil || p.Fixed == 0)
}

// valid checks a staff expression: known says whose doers may be asked for.
func (w *Who) valid(known func(ActivityID) bool) error {
	terms := 0
	var failed error
	w.All(func(term *Who) {
		if terms++; failed == nil {
			failed = term.validTerm(known)
		}
	})
	if failed == nil && terms > MaxWho {
		failed = fmt.Errorf("who may do it: %d terms, above the limit of %d", terms, MaxWho)
	}
	return failed
}

func (w *Who) validTerm(known func(ActivityID) bool) error {
	parts, of, each, activity := len(w.Parts), w.Of != nil, w.Each, w.Activity
	var good bool
	switch w.Is {
	case WhoAnd, WhoOr:
		good = parts >= 2 && !of && each == EachNone && activity == ""
	case WhoNot:
		good = parts == 1 && !of && each == EachNone && activity == ""
	case WhoRole, WhoOrg, WhoPerson:
		good = parts == 0 && of && activity == ""
	case WhoDid, WhoManages:
		good = parts == 0 && !of && each == EachNone && known(activity)
	case WhoData:
		good = parts == 0 && of && each == EachNone && activity == ""
	}
	if !good {
		return fmt.Errorf("who may do it: a term %d of %d parts, about %q, cannot be", w.Is, parts, activity)
	}
	return nil
}

// tablePeople checks what a table has of people beside its activities.
func (v *validator) tablePeople() error {
	nobody := func(ActivityID) bool { return false }
	if w := v.t.Starters; w != nil {
		if err := w.valid(nobody); err != nil {
			return fmt.Errorf("who may start it: %w", err)
		}
	}
	if w := v.t.Administrator; w != nil {
		if err := w.valid(nobody); err != nil {
			return fmt.Errorf("administrator: %w", err)
		}
	}
	if v.t.Priority != nil && !v.t.Priority.valid() {
		return fmt.Errorf("its priority is 0 to %d, or an expression", MaxPriority)
	}
	return nil
}

// readsBy says whether a condition reads who did it, which only formats from 8 on have.
func readsBy(c *condition.Checked) bool { return c != nil && c.Reads&condition.WordBy != 0 }
