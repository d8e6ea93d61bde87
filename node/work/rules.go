package work

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/staff"
	"fmqm/staff/who"
)

// expressions are staff expressions made ready, each once.
type expressions struct {
	mu    sync.Mutex
	ready map[*processtable.Who]*who.Expression
}

// of gives an expression, over an input of a type.
func (x *expressions) of(w *processtable.Who, input *container.Type) (*who.Expression, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.ready[w]; e != nil {
		return e, nil
	}
	e, err := who.Load(w, input)
	if err != nil {
		return nil, err
	}
	if x.ready == nil {
		x.ready = map[*processtable.Who]*who.Expression{}
	}
	x.ready[w] = e
	return e, nil
}

// asking is what a staff expression is asked of, whoever works here.
type asking struct {
	of       *who.Expression
	input    *container.Type
	encoded  []byte // CBOR container; nil: it is not asked for
	instance string
	did      map[processtable.ActivityID][]who.Doer
}

// asks makes ready what is asked about an item.
func (d *Desk) asking(p behaviour.Process, e message.Entry, i *behaviour.Item) (*asking, error) {
	input, err := d.inputOf(p, e, i)
	if err != nil {
		return nil, err
	}
	x, err := d.expressions.of(i.Staff, input)
	if err != nil {
		return nil, err
	}
	a := &asking{of: x, input: input, instance: e.Instance.String(), did: doersOf(i)}
	if i.Input != nil {
		a.encoded, err = container.EncodeCBOR(i.Input)
	}
	return a, err
}

// inputOf is the type of what an item's staff expression is over.
func (d *Desk) inputOf(p behaviour.Process, e message.Entry, i *behaviour.Item) (*container.Type, error) {
	if i.Notice != nil {
		return i.Notice.Input, nil
	}
	row := p.Table().Activity(e.Row())
	if row == nil {
		return nil, fmt.Errorf("%s is not hosted at %s", e.Path(), d.Self)
	}
	return row.Input, nil
}

// doersOf says who did what is asked for about an item.
func doersOf(i *behaviour.Item) map[processtable.ActivityID][]who.Doer {
	all := map[processtable.ActivityID][]who.Doer{}
	for activity, did := range i.Did {
		all[activity] = []who.Doer{doerOf(did)}
	}
	return all
}

func doerOf(d message.Doer) who.Doer {
	return who.Doer{Person: staff.Person(d.Person), For: staff.Person(d.For)}
}

// ask asks it of a staff, at a time.
func (a *asking) ask(s *staff.Staff, now time.Time) (*who.Question, error) {
	ask := who.Ask{Staff: s, Now: now, Instance: a.instance, Did: a.did}
	if a.encoded != nil {
		v, err := container.DecodeCBOR(a.input, a.encoded)
		if err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
		ask.Input, _ = v.(*container.Struct)
	}
	return a.of.Ask(ask)
}

// rule says who may have the items of a class, by the staff as it is.
type rule struct {
	*asking
	desk    *Desk
	process behaviour.Process

	mu    sync.Mutex
	asked *who.Question // of
	staff *staff.Staff  // this one
	until time.Time     // and up to then; zero: for ever
	none  *bool         // nobody may have them; nil: that was not asked
}

// May says whether a person is shown them: he may have them, or nobody may and he administers the process (N27).
func (r *rule) May(person string) bool {
	q, err := r.question()
	if err != nil {
		return false
	}
	if _, may, err := q.Eligible(staff.Name(person)); may || err != nil {
		return may && err == nil
	}
	s, now := r.desk.Site.Staff(), r.desk.Scheduler.Now()
	return r.desk.administers(r.process, s, now, string(staff.At(staff.Name(person), r.desk.Self))) && r.isNone(q)
}

func (r *rule) question() (*who.Question, error) {
	s, now := r.desk.Site.Staff(), r.desk.Scheduler.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked != nil && r.staff == s && (r.until.IsZero() || now.Before(r.until)) {
		return r.asked, nil
	}
	q, err := r.ask(s, now)
	if err != nil {
		return nil, err
	}
	r.asked, r.staff, r.none = q, s, nil
	r.until, _ = q.Until()
	return q, nil
}

// isNone is isNone of the question, which is answered once: it may ask of all who work here.
func (r *rule) isNone(q *who.Question) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q != r.asked {
		return isNone(q)
	}
	if r.none == nil {
		none := isNone(q)
		r.none = &none
	}
	return *r.none
}

// isNone says whether a question surely holds of nobody.
func isNone(q *who.Question) bool {
	n, whole := q.Count()
	return n == 0 && whole
}

// nobody may have an item of which nobody can tell who.
type nobody struct{}

func (nobody) May(string) bool { return false }

// class names those items that the same people may have, whoever works here, and says who may have them. What an
// expression does not read of the input is not kept.
func (d *Desk) class(p behaviour.Process, e message.Entry, i *behaviour.Item) (name string, open interface{ May(string) bool }) {
	a, err := d.asking(p, e, i)
	var q, bare *who.Question
	if err == nil {
		q, err = a.ask(nil, time.Time{})
	}
	if err != nil {
		return "nobody", nobody{}
	}
	without := *a
	without.encoded, without.instance = nil, ""
	if bare, err = without.ask(nil, time.Time{}); err == nil && bare.Key() == q.Key() {
		a = &without
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %p %s", p.Table().Process, i.Staff, q.Key()))
	return string(sum[:]), &rule{asking: a, desk: d, process: p}
}

// couldShown is how many people an answer names of those who could have an item.
const couldShown = 5

// Inquire says whether people may have an item now.
func (d *Desk) Inquire(p behaviour.Process, e *thread.Inquire) thread.Found {
	found := thread.Found{Token: e.Token, May: make([]thread.May, len(e.People))}
	s, now := d.Site.Staff(), d.Scheduler.Now()
	if len(e.Vouched) > 0 {
		return d.inquireElsewhere(e, s)
	}
	found.Over = e.Over != "" && (d.administers(p, s, now, e.Over) || d.isToldAs(p, e.Entry, s, e.Over))
	if len(e.People) == 0 {
		return found
	}
	var q *who.Question
	item := d.noticed(p, e.Item)
	a, err := d.asking(p, e.Entry, item)
	if err == nil {
		q, err = a.ask(s, now)
	}
	for i, person := range e.People {
		may := &found.May[i]
		may.Doer.Person = person
		name, known := s.Surely(staff.Person(person))
		switch {
		case e.Item.Away:
			may.Why = fmt.Sprintf("it is offered to the people of %s", nodeNames(e.Item.Elsewhere))
		case s == nil:
			may.Why = fmt.Sprintf("%s has no staff", d.Self)
		case !known:
			may.Why = fmt.Sprintf("%s is not in the staff of %s", person, d.Self)
		case err != nil:
			may.Why = err.Error()
		default:
			may.Doer.Person = string(staff.At(name, d.Self))
			standsFor, is, err := q.Eligible(name)
			if err != nil {
				may.Why = err.Error()
				continue
			}
			if may.Is = is; standsFor != "" {
				may.Doer.For = string(staff.At(standsFor, d.Self))
			}
			if !is && item.Notice != nil && isNone(q) {
				may.Is = d.administers(p, s, now, person)
			}
		}
	}
	if q != nil && !e.Item.Away {
		found.Could = could(q, e.Item)
	}
	return found
}

// could says for people who of this node may have an item. Of another one that offers it too nobody here knows.
func could(q *who.Question, i *behaviour.Item) string {
	all, whole := q.All(couldShown)
	switch none := len(all) == 0 && whole; {
	case none && (i.Home != nil || len(i.Elsewhere) > 0):
		return "nobody here may"
	case none:
		return "nobody may"
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one.Name)
	}
	if !whole {
		names = append(names, "and others")
	}
	return strings.Join(names, ", ") + " may"
}

// count says how many people may have an item, and names some of them.
func (d *Desk) count(p behaviour.Process, e message.Entry, i *behaviour.Item) (n int, some []string) {
	a, err := d.asking(p, e, d.noticed(p, i))
	if err != nil {
		return 0, nil
	}
	q, err := a.ask(d.Site.Staff(), d.Scheduler.Now())
	if err != nil {
		return 0, nil
	}
	n, _ = q.Count()
	all, _ := q.All(severalShown)
	for _, one := range all {
		some = append(some, string(staff.At(one.Name, d.Self)))
	}
	return n, some
}

// administers says whether a person administers a process, by its definition.
func (d *Desk) administers(p behaviour.Process, s *staff.Staff, now time.Time, person string) bool {
	name, known := s.Surely(staff.Person(person))
	q := d.administration(p, s, now)
	if q == nil || !known {
		return false
	}
	_, is, err := q.Eligible(name)
	return is && err == nil
}

// administration asks who administers a process; nil: its definition names nobody.
func (d *Desk) administration(p behaviour.Process, s *staff.Staff, now time.Time) *who.Question {
	w := p.Table().Administrator
	if w == nil {
		return nil
	}
	x, err := d.expressions.of(w, container.Empty)
	if err != nil {
		return nil
	}
	q, err := x.Ask(who.Ask{Staff: s, Now: now})
	if err != nil {
		return nil
	}
	return q
}

// administrators are those here who administer a process, at most limit of them.
func (d *Desk) administrators(p behaviour.Process, limit int) []who.Someone {
	q := d.administration(p, d.Site.Staff(), d.Scheduler.Now())
	if q == nil {
		return nil
	}
	all, _ := q.All(limit)
	return all
}
