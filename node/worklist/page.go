package worklist

import (
	"slices"
	"time"

	"fmqm/processtable"
)

// maxPeople is of how many people it is kept what they may have.
const maxPeople = 1024

// Query asks for a page of a worklist.
type Query struct {
	// Person is of this node's staff, with Name as histories have it, name@node; empty, with All: who asks is no person.
	Person, Name string
	All          bool // also what others have, and what is offered to others
	Claimed      bool // only what somebody has: he himself, or with All anybody
	// Epoch is of the staff, and of when people are absent: what was found out in another one does not hold any more.
	Epoch    Epoch
	Process  func(processtable.ProcessID) bool // nil: all
	Activity processtable.ActivityID           // empty: all
	After    *Item                             // the page begins behind it; nil: at the first
	Limit    int                               // at most so many; above 0
}

// Epoch is a state of affairs: which staff, and up to when it stays so.
type Epoch struct {
	Staff any // to be compared only
	Until time.Time
}

// verdicts are which classes are open to one person, by their numbers.
type verdicts struct {
	epoch Epoch
	used  uint64
	may   []uint8
}

const (
	unknown uint8 = iota
	may
	mayNot
)

func (v *verdicts) forget(number int) {
	if number < len(v.may) {
		v.may[number] = unknown
	}
}

// Page gives the items that a query asks for, in order, and whether there are more. It finds out first which
// classes are open to the person, where that is not known; what comes meanwhile may be missing.
func (l *List) Page(q Query) (page []Item, more bool) {
	if !q.All {
		l.judge(&q)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := top{limit: q.Limit + 1}
	if q.All {
		for _, r := range l.held {
			t.take(r, &q)
		}
	} else if r := l.held[q.Name]; r != nil {
		t.take(r, &q)
	}
	if v := l.people[q.Person]; !q.Claimed && (q.All || v != nil) {
		for _, c := range l.numbers {
			if c != nil && c.open.len() > 0 && (q.All || c.number < len(v.may) && v.may[c.number] == may) {
				t.take(&c.open, &q)
			}
		}
	}
	slices.SortFunc(t.best, compare)
	if more = len(t.best) > q.Limit; more {
		t.best = t.best[:q.Limit]
	}
	page = make([]Item, len(t.best))
	for i, p := range t.best {
		page[i] = p.Item
	}
	return page, more
}

// judge finds out which classes are open to a person. Meanwhile the list goes on.
func (l *List) judge(q *Query) {
	type judged struct {
		*class
		verdict uint8
	}
	var open []judged
	l.mu.Lock()
	v := l.verdictsOf(q)
	for number, c := range l.numbers {
		if c != nil && (number >= len(v.may) || v.may[number] == unknown) {
			open = append(open, judged{c, mayNot})
		}
	}
	l.mu.Unlock()
	for i := range open {
		if open[i].rule.May(q.Person) {
			open[i].verdict = may
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range open {
		if l.numbers[j.number] != j.class {
			continue
		}
		if n := len(l.numbers) - len(v.may); n > 0 {
			v.may = append(v.may, make([]uint8, n)...)
		}
		v.may[j.number] = j.verdict
	}
}

// verdictsOf is what is known of a person, and makes room for it.
func (l *List) verdictsOf(q *Query) *verdicts {
	l.asked++
	v := l.people[q.Person]
	if v == nil && len(l.people) >= maxPeople {
		var oldest string
		for person, other := range l.people {
			if before := l.people[oldest]; before == nil || other.used < before.used {
				oldest = person
			}
		}
		delete(l.people, oldest)
	}
	if v == nil || v.epoch != q.Epoch {
		v = &verdicts{epoch: q.Epoch}
		l.people[q.Person] = v
	}
	v.used = l.asked
	return v
}

// top are the first items of those that it is given: a heap whose root is the last of them.
type top struct {
	limit int
	best  []*placed
}

// take looks at the items of a run that may be among the first.
func (t *top) take(r *run, q *Query) {
	if len(r.sorted)+len(r.fresh) <= fewItems {
		for _, all := range [2][]*placed{r.sorted, r.fresh} {
			for _, p := range all {
				if !p.gone && (q.After == nil || p.compare(q.After) > 0) {
					t.look(p, q)
				}
			}
		}
		return
	}
	r.order()
	for p := range r.from(q.After) {
		if !t.look(p, q) {
			return
		}
	}
}

// fewItems is of how many items of a run it is cheaper to look at all.
const fewItems = 8

// look takes an item if it is among the first; false: it comes behind them.
func (t *top) look(p *placed, q *Query) bool {
	if len(t.best) == t.limit && compare(p, t.best[0]) >= 0 {
		return false
	}
	if (q.Process == nil || q.Process(p.Process)) && (q.Activity == "" || p.Entry.Activity == q.Activity) {
		t.push(p)
	}
	return true
}

func (t *top) push(p *placed) {
	if len(t.best) < t.limit {
		t.best = append(t.best, p)
		for i := len(t.best) - 1; i > 0 && compare(t.best[(i-1)/2], t.best[i]) < 0; i = (i - 1) / 2 {
			t.best[i], t.best[(i-1)/2] = t.best[(i-1)/2], t.best[i]
		}
		return
	}
	t.best[0] = p
	for i := 0; ; {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.best); child++ {
			if compare(t.best[child], t.best[last]) > 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		t.best[i], t.best[last], i = t.best[last], t.best[i], last
	}
}
