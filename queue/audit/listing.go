package audit

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// States is a set of what a store says of instances that were started here.
type States uint8

// The states. What runs may be in error, or be about to end by an operator's marker.
const (
	Running States = 1 << iota
	Finished
	Stopped // by an operator's terminate, or by the deadline of its process
)

// AllStates are all of them.
const AllStates = Running | Finished | Stopped

// listedAs gives where in the index those of the states stand.
func (s States) listedAs() (all []record.Listed) {
	for state, l := range map[States]record.Listed{Running: record.ListedRunning, Finished: record.ListedFinished, Stopped: record.ListedStopped} {
		if s&state != 0 {
			all = append(all, l)
		}
	}
	slices.Sort(all)
	return all
}

// ListOptions say which instances to list.
type ListOptions struct {
	// States are those that are listed; none: those that run.
	States States
	// Process lists only its instances: of all versions if Version is 0, of every process if
	// Name is empty.
	Process processtable.ProcessID
	// Of leaves out the processes that it does not let through; nil: none.
	Of func(processtable.ProcessID) bool
	// InError lists only running ones that an activity has told of an error, and those whose
	// subprocesses have begun such ones; States says nothing then.
	InError bool
	// Search lists only those that fulfil all terms; Process has a name then.
	Search []Term
	// Since leaves out what was started before, Until what was started then or later; the zero times nothing.
	Since, Until time.Time
	// Oldest lists the oldest start first.
	Oldest bool
	// Limit is how many; 100 if 0.
	Limit int
	// Before continues a list: only what stands behind this instance, which was started here.
	Before message.InstanceID
	// Below continues a list as well: only what stands behind it, which may be of another node.
	Below Place
}

const defaultListLimit = 100

// Place is where an instance stands in a list, which has the newest first. The zero Place
// is above all.
type Place struct {
	Started  time.Time
	Instance message.InstanceID
}

// Compare is negative where p stands above q: the newest start first.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(record.TimerDue(q.Started), record.TimerDue(p.Started)), slices.Compare(q.Instance[:], p.Instance[:]))
}

// tail is what the keys of all indexes have of a place.
func (p Place) tail() []byte { return record.AppendStartKey(nil, p.Started, p.Instance)[1:] }

// InstanceInfo is an instance that was started here.
type InstanceInfo struct {
	Started record.AuditRecord
	Ended   *record.AuditRecord // nil: it runs
}

// Instances lists instances that were started here. It reads the part of the index that it gives, and those instances.
func (q *Queue) Instances(o ListOptions) ([]InstanceInfo, error) {
	places, err := q.Places(o)
	if err != nil {
		return nil, err
	}
	infos := make([]InstanceInfo, 0, len(places))
	for _, p := range places {
		started, ended, found, err := q.Instance(p.Instance)
		if err != nil {
			return nil, fmt.Errorf("list instances: %w", err)
		}
		if found && (ended == nil || o.States != 0) {
			infos = append(infos, InstanceInfo{Started: started, Ended: ended})
		}
	}
	return infos, nil
}

// Running counts the instances of a version that were started here and have not ended. It goes through their keys in
// the index.
func (q *Queue) Running(id processtable.ProcessID) (int, error) {
	c, err := q.CountInstances(ListOptions{Process: id, States: Running, Limit: math.MaxInt}, nil)
	if err != nil {
		return 0, fmt.Errorf("count instances of %s: %w", id, err)
	}
	return c.Running, nil
}

// Places is Instances, of which nothing is read but where they stand: one that has ended a
// moment ago may be among those that run.
func (q *Queue) Places(o ListOptions) (places []Place, err error) {
	if o.Limit <= 0 {
		o.Limit = defaultListLimit
	}
	_, err = q.walk(o, walking{wanted: o.Limit}, func(p Place, _ record.Listed) bool {
		places = append(places, p)
		return len(places) < o.Limit
	})
	return places, err
}

// Found are places that a search has found. More: it has ended before it had as many as were wanted or had seen all, and
// goes on below Next.
type Found struct {
	Places []Place
	More   bool
	Next   Place
}

// Search is Places that ends early: after it has looked at as many instances as one search may, or when enough says so,
// which it is asked now and then; nil: it does not. It may have found nothing by then.
func (q *Queue) Search(o ListOptions, enough func() bool) (f Found, err error) {
	if o.Limit <= 0 {
		o.Limit = defaultListLimit
	}
	f.Next, err = q.walk(o, walking{wanted: o.Limit, looks: q.bounds.looks, enough: enough}, func(p Place, _ record.Listed) bool {
		f.Places = append(f.Places, p)
		return len(f.Places) < o.Limit
	})
	f.More = f.Next != Place{}
	return f, err
}

// Counts says how many instances a list has.
type Counts struct {
	Running, Finished, Stopped int
	// More: it did not come to the end, and goes on below Next.
	More bool
	Next Place
}

// Standing says, by the start of an instance that was started here, where it stands in lists.
func (q *Queue) Standing(i message.InstanceID) (record.Standing, bool, error) {
	return q.records.Standing(i)
}

// CountInstances counts what Places would give, up to o.Limit of them, or until enough says so, which it is asked now and
// then; nil: it does not. It goes through keys of the index alone.
func (q *Queue) CountInstances(o ListOptions, enough func() bool) (c Counts, err error) {
	if o.Limit <= 0 {
		o.Limit = defaultListLimit
	}
	c.Next, err = q.walk(o, walking{counted: true, wanted: mostRead, looks: o.Limit, enough: enough}, func(_ Place, of record.Listed) bool {
		switch of {
		case record.ListedFinished:
			c.Finished++
		case record.ListedStopped:
			c.Stopped++
		case record.ListedRunning, record.ListedInError, record.ListedUnplaced:
			c.Running++
		}
		return true
	})
	c.More = c.Next != Place{}
	return c, err
}

// walking is how a list is gone through.
type walking struct {
	counted bool        // what state each has is wanted
	wanted  int         // how many will be visited, as far as is known
	looks   int         // how many instances it looks at; 0: all
	enough  func() bool // it is asked now and then whether to stop; nil: it goes on
}

// walk visits what a list has, in its order, as of one commit, until visit gives false. Where it stops because it has looked
// at enough it gives the last place that it has looked at; else none.
func (q *Queue) walk(o ListOptions, w walking, visit func(Place, record.Listed) bool) (stopped Place, err error) {
	below := o.Below
	if o.Before != (message.InstanceID{}) {
		started, _, found, err := q.Instance(o.Before)
		if err != nil {
			return stopped, fmt.Errorf("list instances: %w", err)
		}
		if !found {
			return stopped, fmt.Errorf("list instances: instance %s was not started here", o.Before)
		}
		below = Place{started.Time, o.Before}
	}
	running, known := q.running.asked(&o) // before the store: what ends in between stands in both, and once in the list
	err = q.engine.View(func(r store.Reader) error {
		l := listing{in: q.records.In(r), o: o, bounds: q.bounds, counted: w.counted, chunk: min(max(w.wanted, leastRead), mostRead), running: running, known: known}
		l.bound(below)
		if err := l.begin(); err != nil {
			return err
		}
		var failed error
		looked, last := 0, Place{}
		err := l.run(func(p Place, of record.Listed) bool {
			if looked > 0 && (looked == w.looks || w.enough != nil && looked%mostRead == mostRead-1 && w.enough()) {
				stopped = last
				return false
			}
			looked, last = looked+1, p
			fits := true
			if l.seeks != nil {
				if of, fits, failed = l.seeks.look(p, of); failed != nil {
					return false
				}
			}
			return !fits || visit(p, of)
		})
		return cmp.Or(failed, err)
	})
	if err != nil {
		return Place{}, fmt.Errorf("list instances: %w", q.records.Judge(err))
	}
	return stopped, nil
}

// Waiting is an instance of which something lies in the queue of a process.
type Waiting struct {
	Process  processtable.ProcessID
	Instance message.InstanceID
}

// Waiting gives the instances of which something lies in the queue of a process, as ListOptions name
// processes, the highest identifier first. It goes through keys alone.
func (q *Queue) Waiting(of processtable.ProcessID) (all []Waiting, err error) {
	o := ListOptions{Process: of}
	err = q.records.Each(store.ScanOptions{Prefix: o.prefix(record.ClassMessage), KeysOnly: true}, func(key, _ []byte) error {
		k := record.KeyReader{Rest: key[1:]}
		w := Waiting{k.Process(), message.InstanceID(k.Bytes(16))}
		if k.Bad {
			return record.Damaged(key, record.ErrKey.Error())
		}
		if len(all) == 0 || all[len(all)-1] != w {
			all = append(all, w)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list what waits: %w", q.records.Judge(err))
	}
	slices.SortStableFunc(all, func(x, y Waiting) int { return bytes.Compare(y.Instance[:], x.Instance[:]) })
	return all, nil
}

// prefix is what the keys of a class begin with where they are of the process.
func (o *ListOptions) prefix(class byte) []byte {
	switch {
	case o.Process.Name == "":
		return []byte{class}
	case o.Process.Version == 0:
		return record.AppendName([]byte{class}, o.Process.Name)
	}
	return record.AppendProcess(nil, class, o.Process)
}
