package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// InstanceView is all that a store had of an instance at one commit.
type InstanceView struct {
	Process  processtable.ProcessID // the zero one: nothing was there
	Ends     []record.AuditRecord   // the instance's start and end, and those of its activities
	Other    *record.AuditRecord    // an end that was not asked for, where none that was is there: it says whose the instance is
	Events   []record.AuditRecord   // the others, by the logical clock; the newest, as many as were asked for
	Messages []message.Message      // see BrowseInstance
	Marker   *message.Message       // an operator ended the instance
	Marks    []message.Message      // suspends and resumes (N29)
	Removed  *record.Removed        // retention has removed, or is removing, the audit
}

// AllEvents asks ViewInstance for every event.
const AllEvents = -1

// Part is what of an instance is read. What has not ended always is: blocks do not begin anew before
// they have returned, so that there is less of it than a table has rows, however often they began.
type Part struct {
	Events int             // so many of the newest, or AllEvents
	Scopes []message.Scope // the ends in these; nil: all
	// Pick, instead of Scopes, reads those ends of activities that it gives back; end is valid during
	// the call only. It is given what has ended by the keys, which costs little.
	Pick func(ended []message.Entry, end func(message.Entry) (record.AuditRecord, error)) ([]record.AuditRecord, error)
}

// ViewInstance is ViewPart of all that has ended, and of so many other events.
func (q *Queue) ViewInstance(i message.InstanceID, of processtable.ProcessID, events int) (InstanceView, error) {
	return q.ViewPart(i, of, Part{Events: events})
}

// ViewPart gives what the store has of an instance, all of it as of the same commit. Another site
// may have made up instances of other processes under its identifier: of is the process that is
// meant, or the zero one, and then it is that of the start, or end, in the audit, or the first that
// has anything in its queue.
func (q *Queue) ViewPart(i message.InstanceID, of processtable.ProcessID, p Part) (v InstanceView, err error) {
	err = q.engine.View(func(r store.Reader) error {
		v = InstanceView{}
		in := q.records.In(r)
		if err := v.readEnds(in, i, of, &p); err != nil {
			return err
		}
		among := []processtable.ProcessID{v.Process}
		if v.Process == (processtable.ProcessID{}) {
			among[0] = of
		}
		if among[0] == (processtable.ProcessID{}) {
			among = q.processes.All()
		}
		for _, id := range among {
			found, err := v.readQueue(in, id, i)
			if !found && err == nil && !q.processes.Tabled(id) {
				found, err = v.readParkedOf(in, id, i)
			}
			if found || err != nil {
				return errors.Join(err, v.readEvents(in, i, v.Process, p.Events))
			}
		}
		return v.readEvents(in, i, cmp.Or(v.Process, of), p.Events)
	})
	if err != nil {
		return InstanceView{}, fmt.Errorf("read instance %s: %w", i, q.records.Judge(err))
	}
	return v, nil
}

// StartedAt is where an instance of a process was started, as far as anything here but a marker or a mark says so; "": nothing
// does. What has happened comes before what was only sent here.
func (q *Queue) StartedAt(i message.InstanceID, of processtable.ProcessID) (origin processtable.NodeID, err error) {
	err = q.engine.View(func(r store.Reader) error {
		in := q.records.In(r)
		for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassHistory} {
			err := in.Each(store.ScanOptions{Prefix: append([]byte{class}, i[:]...)}, func(key, value []byte) error {
				a, err := in.Audit(key, value)
				if err == nil && a.Process == of && !a.Hearsay() && a.Event != record.EventThinned && a.Origin != "" {
					origin, err = a.Origin, read.ErrEnough
				}
				return err
			})
			if errors.Is(err, read.ErrEnough) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		for _, class := range []byte{record.ClassMessage, record.ClassRecord} {
			_, err := in.Messages(store.ScanOptions{Prefix: append(record.AppendProcess(nil, class, of), i[:]...)}, func(_ []byte, m message.Message) bool {
				origin = m.Origin
				return origin == ""
			})
			if err != nil || origin != "" {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("where instance %s was started: %w", i, q.records.Judge(err))
	}
	return origin, nil
}

// Clock is about up to which moment of the logical clock anything here tells of an instance of a process: what has ended at its
// top, the newest that has happened besides, and what waits.
func (q *Queue) Clock(i message.InstanceID, of processtable.ProcessID) (clock uint64, err error) {
	err = q.engine.View(func(r store.Reader) error {
		clock = 0
		in := q.records.In(r)
		newest := func(o store.ScanOptions, last bool) error {
			err := in.Each(o, func(key, value []byte) error {
				a, err := in.Audit(key, value)
				if err == nil && a.Process == of && !a.Hearsay() {
					clock = max(clock, a.Clock)
					if last {
						err = read.ErrEnough
					}
				}
				return err
			})
			if errors.Is(err, read.ErrEnough) {
				err = nil
			}
			return err
		}
		top := record.AppendName(append([]byte{record.ClassEnd}, i[:]...), "")
		if err := newest(store.ScanOptions{Prefix: top}, false); err != nil {
			return err
		}
		if err := newest(store.ScanOptions{Prefix: append([]byte{record.ClassHistory}, i[:]...), Reverse: true, Few: true}, true); err != nil {
			return err
		}
		_, err := in.Messages(store.ScanOptions{Prefix: append(record.AppendProcess(nil, record.ClassMessage, of), i[:]...)}, func(_ []byte, m message.Message) bool {
			if m.Kind != message.KindWord {
				clock = max(clock, m.Clock)
			}
			return true
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("clock of instance %s: %w", i, q.records.Judge(err))
	}
	return clock, nil
}

// readEnds reads what has ended of the process that is meant; sink's end says more than all others.
func (v *InstanceView) readEnds(in read.Records, i message.InstanceID, of processtable.ProcessID, p *Part) error {
	take := func(key, value []byte) error {
		a, err := in.Audit(key, value)
		if a.Event != record.EventThinned { // nothing has ended with that
			v.Ends = append(v.Ends, a)
		}
		return err
	}
	if err := in.Each(store.ScanOptions{Prefix: append([]byte{record.ClassInstance}, i[:]...)}, take); err != nil {
		return err
	}
	ends := append([]byte{record.ClassEnd}, i[:]...)
	prefixes := [][]byte{ends}
	if p.Scopes != nil || p.Pick != nil {
		prefixes = nil
	}
	for _, scope := range p.Scopes {
		prefixes = append(prefixes, record.AppendName(slices.Clone(ends), string(scope)))
	}
	for _, prefix := range prefixes {
		if err := in.Each(store.ScanOptions{Prefix: prefix}, take); err != nil {
			return err
		}
	}
	if p.Pick != nil {
		if err := v.pick(in, ends, p); err != nil {
			return err
		}
	}
	if err := v.readRemoved(in, i); err != nil {
		return err
	}
	v.keep(of)
	if len(v.Ends) > 0 || v.Removed != nil {
		return nil
	}
	return v.readOther(in, ends, of)
}

// pick reads the ends that are picked.
func (v *InstanceView) pick(in read.Records, ends []byte, p *Part) error {
	var ended []message.Entry
	err := in.Each(store.ScanOptions{Prefix: ends, KeysOnly: true}, func(key, _ []byte) error {
		k := record.KeyReader{Rest: key[1:]}
		e := k.Entry()
		if k.End() != nil {
			return record.Damaged(key, record.ErrKey.Error())
		}
		ended = append(ended, e)
		return nil
	})
	if err != nil {
		return err
	}
	picked, err := p.Pick(ended, func(e message.Entry) (a record.AuditRecord, err error) {
		key := record.AppendEndKey(nil, &e)
		value, err := in.Get(key)
		if err == nil {
			a, err = in.Audit(key, value)
		}
		return a, err
	})
	v.Ends = append(v.Ends, picked...)
	return err
}

// readOther reads an end, of those that were not asked for.
func (v *InstanceView) readOther(in read.Records, ends []byte, of processtable.ProcessID) error {
	err := in.Each(store.ScanOptions{Prefix: ends}, func(key, value []byte) error {
		a, err := in.Audit(key, value)
		if err != nil || a.Process != cmp.Or(of, a.Process) {
			return err
		}
		v.Other, v.Process = &a, a.Process
		return read.ErrEnough
	})
	if errors.Is(err, read.ErrEnough) {
		err = nil
	}
	return err
}

func (v *InstanceView) readRemoved(in read.Records, i message.InstanceID) error {
	key := record.RemovedKey(i)
	value, err := in.Get(key)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	default:
		removed, err := record.ReadRemoved(key, value)
		if err != nil {
			return err
		}
		v.Removed = &removed
	}
	return nil
}

// keep leaves of what has ended that of one process, which is the instance's: the one that is meant, or
// else that of the start.
func (v *InstanceView) keep(of processtable.ProcessID) {
	if of == (processtable.ProcessID{}) {
		switch {
		case v.Removed != nil:
			of = v.Removed.Process
		case len(v.Ends) > 0:
			of = v.Ends[max(0, slices.IndexFunc(v.Ends, func(a record.AuditRecord) bool { return a.Event == record.EventStarted }))].Process
		}
	}
	v.Ends = slices.DeleteFunc(v.Ends, func(a record.AuditRecord) bool { return a.Process != of })
	if v.Removed != nil && v.Removed.Process != of {
		v.Removed = nil
	}
	if len(v.Ends) > 0 || v.Removed != nil {
		v.Process = of
	}
}

// readQueue reads what one process's queue has of an instance, and says whether that is anything.
func (v *InstanceView) readQueue(in read.Records, id processtable.ProcessID, i message.InstanceID) (found bool, err error) {
	for _, class := range []byte{record.ClassMessage, record.ClassRecord, record.ClassMarker} {
		o := store.ScanOptions{Prefix: append(record.AppendProcess(nil, class, id), i[:]...)}
		_, err := in.Messages(o, func(_ []byte, msg message.Message) bool {
			if v.Process, found = id, true; class != record.ClassMarker {
				v.Messages = append(v.Messages, msg)
			} else if msg.Kind == message.KindMarker {
				v.Marker = &msg
			} else {
				v.Marks = append(v.Marks, msg)
			}
			return true
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// readEvents reads the newest events of a process that ended nothing; the zero one: of the newest's.
func (v *InstanceView) readEvents(in read.Records, i message.InstanceID, of processtable.ProcessID, limit int) error {
	if limit == 0 {
		return nil
	}
	o := store.ScanOptions{Prefix: append([]byte{record.ClassHistory}, i[:]...), Reverse: true, Few: true}
	err := in.Each(o, func(key, value []byte) error {
		a, err := in.Audit(key, value)
		if err != nil {
			return err
		}
		if of = cmp.Or(of, a.Process); a.Process != of {
			return nil
		}
		v.Events, v.Process = append(v.Events, a), of
		if len(v.Events) == limit {
			return read.ErrEnough
		}
		return nil
	})
	if errors.Is(err, read.ErrEnough) {
		err = nil
	}
	slices.Reverse(v.Events)
	return err
}

// readParkedOf adds what of an instance waits for the table of its process.
func (v *InstanceView) readParkedOf(in read.Records, id processtable.ProcessID, i message.InstanceID) (found bool, err error) {
	o := store.ScanOptions{Prefix: append(record.AppendProcess(nil, record.ClassParked, id), i[:]...)}
	err = in.Each(o, func(key, value []byte) error {
		p, err := in.Parked(key, value)
		if err != nil {
			return err
		}
		if msg, err := message.Decode(p.Message); err == nil {
			v.Process, found = id, true
			v.Messages = append(v.Messages, msg)
		}
		return nil
	})
	return found, err
}
