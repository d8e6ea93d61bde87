package worklist

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"fmqm/message"
	"fmqm/processtable"
)

// Key names a work item by its place: there is one at most for an entry at a time.
type Key struct {
	Process processtable.ProcessID
	Entry   message.Entry
}

// Rule says who may have the items of a class. It may take some milliseconds.
type Rule interface {
	// May says whether a person of this node's staff may have them.
	May(person string) bool
}

// Item is a work item. It never changes: what becomes of it is another one.
type Item struct {
	Key
	ID       string // message.ItemID
	At       message.Execution
	Title    string
	Priority int
	Offered  time.Time
	Due      time.Time // zero: never
	Claim    uint64
	By       message.Doer // who has it; zero: it is offered
	Claimed  time.Time
	Drafted  bool
	// Suspended: nothing that is said of it is carried out (N29).
	Suspended bool
	Class     string // the same people may have the items of one class
	Rule      Rule   // of the class
	// Home is where it is decided about, if that is another node; Asked the word by which somebody here has got it, then. Elsewhere
	// are other nodes that offer it too.
	Home      *Home
	Asked     message.WordID
	Elsewhere []processtable.NodeID
	Away      bool // it is not offered here, where it is decided about
	// Notice: it is a notice of the activity that its entry is named after, which nobody has.
	Notice bool
}

// Work is the item that a notice is of, if that is one: of the activity; of an item that is no notice, it is the same.
func (k Key) Work() Key {
	if _, notice := k.Entry.Scope.OfNotice(); notice {
		k.Entry.Scope = k.Entry.Scope.Leave()
	}
	return k
}

// Home is the place of an item at another node, which decides about it.
type Home struct {
	Node  processtable.NodeID
	Entry message.Entry
}

// compare orders items as worklists do: by priority, then the oldest first.
func (i *Item) compare(o *Item) int {
	return cmp.Or(-cmp.Compare(i.Priority, o.Priority), i.Offered.Compare(o.Offered), cmp.Compare(i.ID, o.ID),
		cmp.Compare(i.Process.Name, o.Process.Name), cmp.Compare(i.Process.Version, o.Process.Version))
}

// List is the work items of a node. Its methods are safe for concurrent use, and none but Page waits.
type List struct {
	mu      sync.Mutex
	items   map[Key]*placed
	named   map[string][]*placed // by how their names begin
	classes map[string]*class
	numbers []*class // by number; nil: free
	free    []int    // of these
	held    map[string]*run
	people  map[string]*verdicts
	asked   uint64 // how often somebody was
	gone    []Item // that were taken out last: a ring
	next    int    // of it
}

// placed is an item, and the run that it stands in.
type placed struct {
	Item
	in   *run
	gone bool
}

// class are the items that the same people may have.
type class struct {
	name   string
	number int
	rule   Rule
	count  int // of its items, also of those that somebody has
	open   run // those that nobody has
}

// New makes an empty list.
func New() *List {
	return &List{items: map[Key]*placed{}, named: map[string][]*placed{}, classes: map[string]*class{}, held: map[string]*run{}, people: map[string]*verdicts{}}
}

// Put adds an item, or takes the place of the one with its key.
func (l *List) Put(i Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(i.Key)
	p := &placed{Item: i}
	c := l.classes[i.Class]
	if c == nil {
		c = l.newClass(i.Class, i.Rule)
	}
	p.Rule, c.count = c.rule, c.count+1
	l.items[i.Key] = p
	l.named[beginning(i.ID)] = append(l.named[beginning(i.ID)], p)
	if p.in = &c.open; i.By.Person != "" {
		if p.in = l.held[i.By.Person]; p.in == nil {
			p.in = &run{}
			l.held[i.By.Person] = p.in
		}
	}
	p.in.add(p)
}

// keptGone is of how many items that were taken out it is known which they were.
const keptGone = 1024

// Remove takes an item out, if it is there. Of the last of those Find still tells, so that who repeats what he has
// said learns what has come of it.
func (l *List) Remove(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.items[k]
	if p == nil {
		return
	}
	if l.remove(k); len(l.gone) < keptGone {
		l.gone = append(l.gone, p.Item)
		return
	}
	l.gone[l.next] = p.Item
	l.next = (l.next + 1) % keptGone
}

func (l *List) remove(k Key) {
	p := l.items[k]
	if p == nil {
		return
	}
	delete(l.items, k)
	l.unname(p)
	if p.in.remove(p); p.By.Person != "" && p.in.len() == 0 {
		delete(l.held, p.By.Person)
	}
	if c := l.classes[p.Class]; c.count > 1 {
		c.count--
	} else {
		delete(l.classes, c.name)
		l.numbers[c.number] = nil
		l.free = append(l.free, c.number)
	}
}

// nameLetters are so few that of a thousand items or more many share them: the index by names then takes next to no room,
// and in 100,000 there are some 25 to look at.
const nameLetters = 3

func beginning(id string) string { return id[:min(len(id), nameLetters)] }

func (l *List) unname(p *placed) {
	at := beginning(p.ID)
	if l.named[at] = slices.DeleteFunc(l.named[at], func(o *placed) bool { return o == p }); len(l.named[at]) == 0 {
		delete(l.named, at)
	}
}

func (l *List) newClass(name string, rule Rule) *class {
	c := &class{name: name, rule: rule, number: len(l.numbers)}
	if last := len(l.free) - 1; last >= 0 {
		c.number = l.free[last]
		l.free = l.free[:last]
		l.numbers[c.number] = c
		for _, v := range l.people {
			v.forget(c.number)
		}
	} else {
		l.numbers = append(l.numbers, c)
	}
	l.classes[name] = c
	return c
}

// Len is how many items there are, and how many of them are offered to whoever may have them.
func (l *List) Len() (all, offered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.classes {
		offered += c.open.len()
	}
	return len(l.items), offered
}

// Find gives the items whose ID begins with a text; if there is none, those that were taken out lately. Whoever says something about an
// item writes so much of its name that few are looked at.
func (l *List) Find(id string) (found []Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	take := func(all []*placed) {
		for _, p := range all {
			if strings.HasPrefix(p.ID, id) {
				found = append(found, p.Item)
			}
		}
	}
	if len(id) >= nameLetters {
		take(l.named[beginning(id)])
	} else {
		for _, all := range l.named {
			take(all)
		}
	}
	for i := 0; i < len(l.gone) && len(found) == 0; i++ {
		if strings.HasPrefix(l.gone[i].ID, id) {
			return []Item{l.gone[i]}
		}
	}
	return found
}

// Of gives the item of an entry; false: there is none.
func (l *List) Of(k Key) (Item, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.items[k]
	if p == nil {
		return Item{}, false
	}
	return p.Item, true
}
