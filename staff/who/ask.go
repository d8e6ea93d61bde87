package who

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
	"fmqm/staff"
)

// Doer is who did an activity, or has started the instance. Its zero value is nobody.
type Doer struct {
	Person staff.Person // name@node; what is otherwise, such as `user:bob`, is nobody for sure
	For    staff.Person // whom that person stood in for; empty: nobody
}

// Ask is what a staff expression is asked of.
type Ask struct {
	Staff    *staff.Staff // nil: nobody is eligible
	Now      time.Time    // for absences
	Input    *container.Struct
	Instance string
	// Did is who did what the expression asks for, and who has started the instance (Source). What is not
	// there was skipped or ended by hand: nobody did it.
	Did map[processtable.ActivityID][]Doer
}

// Question is a staff expression over one input, of one staff, at one time.
type Question struct {
	staff *staff.Staff
	now   time.Time
	root  *term
	key   string
}

// UnknownRoles are those that the question asks for and the staff does not have: a slip of the pen more often than not.
func (q *Question) UnknownRoles() []string {
	roles := q.staff.Roles()
	var unknown []string
	var visit func(*term)
	visit = func(t *term) {
		for _, r := range t.texts {
			if t.is == processtable.WhoRole && !slices.Contains(roles, staff.Role(r)) && !slices.Contains(unknown, r) {
				unknown = append(unknown, r)
			}
		}
		for _, p := range t.parts {
			visit(p)
		}
	}
	visit(q.root)
	return unknown
}

// term is a term whose texts and lists are worked out.
type term struct {
	is    processtable.WhoIs
	parts []*term
	texts []string // of a role or an organisation
	all   bool     // of all of texts; else of one
	truth bool     // of data; of a list of nobody that is asked for all
	sure  names    // of a person, of did and manages: who surely is meant
	maybe names    // and who may be; all of sure too
}

type names map[staff.Name]struct{}

func (s names) has(n staff.Name) bool { _, has := s[n]; return has }
func (s names) add(n staff.Name)      { s[n] = struct{}{} }

// Ask works out what of the expression does not depend on a person. The error is that of an
// expression over the data, which is neither TRUE nor FALSE.
func (x *Expression) Ask(a Ask) (*Question, error) {
	if a.Input == nil {
		a.Input = container.New(x.input)
	}
	r := &resolver{Ask: a}
	root, err := r.term(x.root)
	if err != nil {
		return nil, fmt.Errorf("who may do it: %w", err)
	}
	return &Question{staff: a.Staff, now: a.Now, root: root, key: r.key.String()}, nil
}

// Key is the same for two questions that have the same answers, of one staff and at one time.
func (q *Question) Key() string { return q.key }

// Until says how long the answers hold, of this staff; false: for ever.
func (q *Question) Until() (time.Time, bool) { return q.staff.Until(q.now) }

// resolver works out the terms of one question.
type resolver struct {
	Ask
	spent condition.Spent
	key   strings.Builder
}

func (r *resolver) term(l *loaded) (*term, error) {
	t := &term{is: l.Is, all: l.Each == processtable.EachAll}
	var said []string
	var err error
	switch l.Is {
	case processtable.WhoAnd, processtable.WhoOr, processtable.WhoNot:
	case processtable.WhoRole, processtable.WhoOrg:
		if t.texts, err = r.textsOf(l); err == nil {
			said, t.truth = t.texts, t.all && len(t.texts) == 0
		}
	case processtable.WhoPerson:
		if said, err = r.textsOf(l); err == nil {
			r.people(t, said)
		}
	case processtable.WhoDid, processtable.WhoManages:
		said = r.doers(t, l.Activity)
	case processtable.WhoData:
		t.truth, err = r.data(l)
		said = []string{strconv.FormatBool(t.truth)}
	default:
		err = fmt.Errorf("a term %d is not known", l.Is)
	}
	if err != nil {
		return nil, err
	}
	r.write(l, said)
	for _, p := range l.parts {
		part, err := r.term(p)
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, part)
	}
	return t, nil
}

// write adds a term to the question's key.
func (r *resolver) write(l *loaded, said []string) {
	fmt.Fprintf(&r.key, "%d.%d.%d", l.Is, l.Each, len(l.parts))
	for _, s := range said {
		r.key.WriteString(strconv.Quote(s))
	}
	r.key.WriteByte(';')
}

func (r *resolver) value(l *loaded) (container.Value, error) {
	if l.expr == nil {
		return nil, fmt.Errorf("a term %d is damaged: compile and upload the process again", l.Is)
	}
	return l.expr.Eval(&r.spent, r.Input, &condition.Values{Instance: r.Instance})
}

func (r *resolver) textsOf(l *loaded) ([]string, error) {
	v, err := r.value(l)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]container.Value)
	if !ok {
		list = []container.Value{v}
	}
	texts := make([]string, 0, len(list))
	for _, one := range list {
		s, ok := one.(string)
		if !ok {
			return nil, fmt.Errorf("%q gives %T, not a text", l.Of.Text, one)
		}
		texts = append(texts, s)
	}
	slices.Sort(texts)
	return slices.Compact(texts), nil
}

func (r *resolver) data(l *loaded) (bool, error) {
	v, err := r.value(l)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("%q gives %T, not TRUE or FALSE", l.Of.Text, v)
	}
	return b, nil
}

// people finds who is meant by texts: by one of them, or by all of them.
func (r *resolver) people(t *term, texts []string) {
	t.truth = t.all && len(texts) == 0
	t.sure, t.maybe = names{}, names{}
	for i, s := range texts {
		sure, maybe := names{}, names{}
		r.meant(s, sure, maybe)
		switch {
		case i == 0:
			t.sure, t.maybe = sure, maybe
		case t.all:
			t.sure, t.maybe = both(t.sure, sure), both(t.maybe, maybe)
		default:
			for n := range sure {
				t.sure.add(n)
			}
			for n := range maybe {
				t.maybe.add(n)
			}
		}
	}
}

func both(a, b names) names {
	all := names{}
	for n := range a {
		if b.has(n) {
			all.add(n)
		}
	}
	return all
}

// meant finds who a text means: `ann` is somebody here, `ann@ward` of a site; behind a space is whom
// the person stood in for, as histories have it.
func (r *resolver) meant(text string, sure, maybe names) {
	person, standsFor, _ := strings.Cut(text, " ")
	if n := staff.Name(person); r.Staff.Has(n) {
		sure.add(n)
		maybe.add(n)
		person = ""
	}
	r.did(Doer{Person: staff.Person(person), For: staff.Person(standsFor)}, sure, maybe)
}

// did finds who a doer is here, and who he may be.
func (r *resolver) did(d Doer, sure, maybe names) {
	if n, ok := r.Staff.Surely(d.Person); ok {
		sure.add(n)
	}
	for _, p := range []staff.Person{d.Person, d.For} {
		for _, n := range r.Staff.Perhaps(p) {
			maybe.add(n)
		}
	}
}

// doers finds who did an activity, or manages who did, and gives it as a text.
func (r *resolver) doers(t *term, activity processtable.ActivityID) (said []string) {
	t.sure, t.maybe = names{}, names{}
	for _, d := range r.Did[activity] {
		said = append(said, string(d.Person), string(d.For))
		r.did(d, t.sure, t.maybe)
	}
	if t.is == processtable.WhoManages {
		t.sure, t.maybe = r.managers(t.sure), r.managers(t.maybe)
	}
	return said
}

func (r *resolver) managers(of names) names {
	all := names{}
	for n := range of {
		if m, ok := r.Staff.Manager(n); ok {
			all.add(m)
		}
	}
	return all
}
