package work

import (
	"maps"
	"strings"
	"sync"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/node/worklist"
	"fmqm/staff"
)

// Notices for people (N27): items that nobody has, of activities and of whole instances. Who sees one depends, where its staff expression
// asks who has the activity, on that activity's own item: whatever becomes of that has the notice be shown to others.

// notices are those that are shown, by the item of their activity.
type notices struct {
	mu  sync.Mutex
	all map[worklist.Key]map[worklist.Key]noticeTold
}

// noticeTold is a notice as its process thread has told of it.
type noticeTold struct {
	process behaviour.Process
	show    thread.Show
}

// showNotice takes down how a notice is now.
func (d *Desk) showNotice(p behaviour.Process, key worklist.Key, e *thread.Show) {
	n, of := &d.notices, key.Work()
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.Item == nil {
		d.list.Remove(key)
		if delete(n.all[of], key); len(n.all[of]) == 0 {
			delete(n.all, of)
		}
		return
	}
	if n.all == nil {
		n.all = map[worklist.Key]map[worklist.Key]noticeTold{}
	}
	if n.all[of] == nil {
		n.all[of] = map[worklist.Key]noticeTold{}
	}
	n.all[of][key] = noticeTold{p, *e}
	d.putNotice(p, key, e)
}

// putNotice puts a notice on the worklists of those who see it as things are.
func (d *Desk) putNotice(p behaviour.Process, key worklist.Key, e *thread.Show) {
	i := d.noticed(p, e.Item)
	class, open := d.class(p, e.Entry, i)
	d.list.Put(worklist.Item{
		Key: key, ID: message.ItemID(&e.Entry, i.At), At: i.At, Title: i.Title, Priority: i.Priority, Offered: i.Offered, Due: i.Due,
		Class: class, Rule: open, Suspended: e.Suspended, Notice: true,
	})
}

// classAnew shows the notices of an activity to those who see them now that its item is another.
func (d *Desk) classAnew(of worklist.Key) {
	n := &d.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, t := range n.all[of] {
		d.putNotice(t.process, key, &t.show)
	}
}

// noticed is an item; of a notice with who has the activity's item now, and asked of whom that says.
func (d *Desk) noticed(p behaviour.Process, i *behaviour.Item) *behaviour.Item {
	if i.Notice == nil || i.Notice.Own == nil {
		return i
	}
	of, there := d.list.Of(worklist.Key{Process: p.Table().Process, Entry: i.Notice.Of})
	has := of.By != (message.Doer{})
	if !there || !has && !(i.Notice.Holder && of.Away) { // what is offered elsewhere only, nobody here may have
		return i
	}
	next := *i
	if i.Notice.Holder {
		next.Staff = i.Notice.Own
	}
	if next.Did = maps.Clone(i.Did); has {
		if next.Did == nil {
			next.Did = message.Doers{}
		}
		next.Did[i.Notice.Of.Activity] = of.By
	}
	return &next
}

// isTold says whether somebody of this node's staff sees a notice of an item: so he may see the item too, and transfer it.
func (d *Desk) isTold(of worklist.Key, person staff.Name) bool {
	n := &d.notices
	n.mu.Lock()
	keys := make([]worklist.Key, 0, len(n.all[of]))
	for key := range n.all[of] {
		keys = append(keys, key)
	}
	n.mu.Unlock()
	for _, key := range keys {
		if i, there := d.list.Of(key); there && i.Rule.May(string(person)) {
			return true
		}
	}
	return false
}

// isToldAs is isTold of a person as histories have him.
func (d *Desk) isToldAs(p behaviour.Process, of message.Entry, s *staff.Staff, person string) bool {
	name, known := s.Surely(staff.Person(person))
	return known && d.isTold(worklist.Key{Process: p.Table().Process, Entry: of}, name)
}

// shownAt is the place of an item as people know it: of a notice that of its activity.
func (d *Desk) shownAt(i *worklist.Item) worklist.Home {
	at := d.place(i)
	if !i.Notice {
		return at
	}
	work := i.Key.Work()
	at.Entry = work.Entry
	if of, there := d.list.Of(work); there { // which is offered here, and lives elsewhere
		at.Entry = d.place(&of).Entry
	}
	return at
}

// MaxPeople is how many bytes of names a program is told.
const MaxPeople = 4 << 10

// People names those who see a notice now, as a program of it is told them: ann,bob; no more than MaxPeople bytes.
func (d *Desk) People(p behaviour.Process, e message.Entry, i *behaviour.Item) string {
	a, err := d.asking(p, e, d.noticed(p, i))
	if err != nil {
		return ""
	}
	q, err := a.ask(d.Site.Staff(), d.Scheduler.Now())
	if err != nil {
		return ""
	}
	all, _ := q.All(MaxPeople / 2)
	if len(all) == 0 {
		all = d.administrators(p, MaxPeople/2)
	}
	var names strings.Builder
	for _, one := range all {
		if names.Len()+1+len(one.Name) > MaxPeople {
			break
		}
		if names.Len() > 0 {
			names.WriteByte(',')
		}
		names.WriteString(string(one.Name))
	}
	return names.String()
}
