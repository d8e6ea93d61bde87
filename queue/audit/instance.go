package audit

import (
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
	Events   []record.AuditRecord   // the others, by the logical clock; the newest, as many as were asked for
	Messages []message.Message      // see BrowseInstance
	Marker   *message.Message       // an operator ended the instance
	Removed  *record.Removed        // retention has removed, or is removing, the audit
}

// AllEvents asks ViewInstance for every event.
const AllEvents = -1

// ViewInstance gives what the store has of an instance, all of it as of the same commit,
// with so many of its other events, or AllEvents. It is looked for in the queue of its
// process, which is where the audit says, or of, and in all of them if that is the zero one.
func (q *Queue) ViewInstance(i message.InstanceID, of processtable.ProcessID, events int) (v InstanceView, err error) {
	err = q.engine.View(func(r store.Reader) error {
		v = InstanceView{}
		in := q.records.In(r)
		if err := v.readEnds(in, i); err != nil {
			return err
		}
		among := []processtable.ProcessID{of}
		switch {
		case len(v.Ends) > 0:
			among[0] = v.Ends[0].Process
		case v.Removed != nil:
			among[0] = v.Removed.Process
		case of == (processtable.ProcessID{}):
			among = q.processes.All()
		}
		for _, id := range among {
			found, err := v.readQueue(in, id, i)
			if !found && err == nil && !q.processes.Tabled(id) {
				found, err = v.readParkedOf(in, id, i)
			}
			if found || err != nil {
				return errors.Join(err, v.readEvents(in, i, events))
			}
		}
		return v.readEvents(in, i, events)
	})
	if err != nil {
		return InstanceView{}, fmt.Errorf("read instance %s: %w", i, q.records.Judge(err))
	}
	return v, nil
}

// readEnds reads what has ended; sink's end says more than all others.
func (v *InstanceView) readEnds(in read.Records, i message.InstanceID) error {
	for _, class := range []byte{record.ClassInstance, record.ClassEnd} {
		err := in.Each(store.ScanOptions{Prefix: append([]byte{class}, i[:]...)}, func(key, value []byte) error {
			a, err := in.Audit(key, value)
			v.Ends = append(v.Ends, a)
			v.Process = a.Process
			return err
		})
		if err != nil {
			return err
		}
	}
	key := record.RemovedKey(i)
	value, err := in.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	removed, err := record.ReadRemoved(key, value)
	v.Removed, v.Process = &removed, removed.Process
	return err
}

// readQueue reads what one process's queue has of an instance, and says whether that is anything.
func (v *InstanceView) readQueue(in read.Records, id processtable.ProcessID, i message.InstanceID) (found bool, err error) {
	for _, class := range []byte{record.ClassMessage, record.ClassRecord, record.ClassMarker} {
		o := store.ScanOptions{Prefix: append(record.AppendProcess(nil, class, id), i[:]...)}
		_, err := in.Messages(o, func(_ []byte, msg message.Message) bool {
			if v.Process, found = id, true; class == record.ClassMarker {
				v.Marker = &msg
			} else {
				v.Messages = append(v.Messages, msg)
			}
			return true
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// readEvents reads the newest events that ended nothing.
func (v *InstanceView) readEvents(in read.Records, i message.InstanceID, limit int) error {
	if limit == 0 {
		return nil
	}
	o := store.ScanOptions{Prefix: append([]byte{record.ClassHistory}, i[:]...), Reverse: true}
	err := in.Each(o, func(key, value []byte) error {
		a, err := in.Audit(key, value)
		if err != nil {
			return err
		}
		if v.Events = append(v.Events, a); v.Process == (processtable.ProcessID{}) {
			v.Process = a.Process
		}
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
