package queue

import (
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"time"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
)

// ListOptions say which instances to list.
type ListOptions struct {
	// All lists also those that have ended.
	All bool
	// Process lists only its instances: of all versions if Version is 0, of every process if
	// Name is empty. With All it is not looked at: what is listed then has no order by process.
	Process processtable.ProcessID
	// InError lists only running ones that an activity has told of an error, or of its end.
	InError bool
	// Since leaves out what was started before.
	Since time.Time
	// Limit is how many; 100 if 0.
	Limit int
	// Before continues a list: only what was started before this instance.
	Before message.InstanceID
	// Below continues a list as well: only what stands below it, which may be of another node.
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
	return cmp.Or(cmp.Compare(timerDue(q.Started), timerDue(p.Started)), slices.Compare(q.Instance[:], p.Instance[:]))
}

func (p Place) key() []byte { return appendStartKey(nil, p.Started, p.Instance) }

// InstanceInfo is an instance that was started here.
type InstanceInfo struct {
	Started AuditRecord
	Ended   *AuditRecord // nil: it runs
}

// Instances lists instances that were started here, the newest first. Without All it
// costs time with the number of running instances, with All only with Limit.
func (m *Manager) Instances(o ListOptions) ([]InstanceInfo, error) {
	places, err := m.Places(o)
	if err != nil {
		return nil, err
	}
	infos := make([]InstanceInfo, 0, len(places))
	for _, p := range places {
		started, ended, found, err := m.Instance(p.Instance)
		if err != nil {
			return nil, fmt.Errorf("list instances: %w", err)
		}
		if found && (o.All || ended == nil) {
			infos = append(infos, InstanceInfo{Started: started, Ended: ended})
		}
	}
	return infos, nil
}

// Places is Instances, of which nothing is read but where they stand: one that has ended a
// moment ago may be among those that run.
func (m *Manager) Places(o ListOptions) ([]Place, error) {
	if o.Limit <= 0 {
		o.Limit = defaultListLimit
	}
	var before []byte
	switch {
	case o.Before != (message.InstanceID{}):
		started, _, found, err := m.Instance(o.Before)
		if err != nil {
			return nil, fmt.Errorf("list instances: %w", err)
		}
		if !found {
			return nil, fmt.Errorf("list instances: %s was not started here", o.Before)
		}
		before = Place{started.Time, o.Before}.key()
	case o.Below != (Place{}):
		before = o.Below.key()
	}
	list := m.running
	switch {
	case o.All:
		list = m.started
	case o.InError:
		list = m.noticed
	}
	keys, err := list(o, before)
	if err != nil {
		return nil, fmt.Errorf("list instances: %w", err)
	}
	places := make([]Place, len(keys))
	for i, key := range keys {
		k := keyReader{rest: key[1:]}
		places[i].Started = dueTime(k.uint64())
		places[i].Instance = message.InstanceID(k.bytes(16))
	}
	return places, nil
}

// started gives the keys of the newest starts before a key.
func (m *Manager) started(o ListOptions, before []byte) ([][]byte, error) {
	var keys [][]byte
	last := Place{Started: o.Since}.key()
	scan := store.ScanOptions{Prefix: []byte{classStart}, From: before, Reverse: true, KeysOnly: true}
	err := m.scan(scan, func(key, _ []byte) error {
		switch {
		case before != nil && bytes.Compare(key, before) >= 0:
			return nil
		case len(key) != 1+8+16:
			return damaged(key, errKey.Error())
		case !o.Since.IsZero() && bytes.Compare(key, last) < 0:
			return errEnough
		}
		keys = append(keys, bytes.Clone(key))
		if len(keys) == o.Limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return keys, err
}

// running gives what started gives, of running instances only: it reads their records
// and keeps the newest.
func (m *Manager) running(o ListOptions, before []byte) ([][]byte, error) {
	newest := newestStarts{o: o, before: before}
	_, err := m.walk(store.ScanOptions{Prefix: o.prefix(classRecord)}, func(_ []byte, msg message.Message) bool {
		if record, err := message.DecodeRecord(msg.Body); err == nil { // else whoever folds it says so
			newest.add(Place{record.Started, msg.Instance})
		}
		return true
	})
	return newest.keys(), err
}

// noticed gives what running gives, of those alone whose activities have told of an error:
// it goes through the keys of the queue, and reads only what began those.
func (m *Manager) noticed(o ListOptions, before []byte) ([][]byte, error) {
	told := map[message.InstanceID]bool{}
	err := m.scan(store.ScanOptions{Prefix: o.prefix(classMessage), KeysOnly: true}, func(key, _ []byte) error {
		k := keyReader{rest: key[1:]}
		k.process()
		if e := k.entry(); e.Scope == "" && e.Activity == processtable.Sink && message.Kind(k.bytes(1)[0]) == message.KindNotice && !k.bad {
			told[e.Instance] = true
		}
		return nil
	})
	newest := newestStarts{o: o, before: before}
	for i := range told {
		if err != nil {
			break
		}
		var started AuditRecord
		var found bool
		if started, found, err = m.auditAt(appendInstanceKey(nil, i, instanceStarted)); found {
			newest.add(Place{started.Time, i})
		}
	}
	return newest.keys(), err
}

// prefix is what the keys of a class begin with where they are of the process.
func (o *ListOptions) prefix(class byte) []byte {
	switch {
	case o.Process.Name == "":
		return []byte{class}
	case o.Process.Version == 0:
		return appendName([]byte{class}, o.Process.Name)
	}
	return appendProcess(nil, class, o.Process)
}

// newestStarts keeps the newest of those that a list wants.
type newestStarts struct {
	o      ListOptions
	before []byte
	heap   startHeap
}

func (n *newestStarts) add(p Place) {
	key := p.key()
	if n.before != nil && bytes.Compare(key, n.before) >= 0 || p.Started.Before(n.o.Since) {
		return
	}
	heap.Push(&n.heap, key)
	if len(n.heap) > n.o.Limit {
		heap.Pop(&n.heap)
	}
}

func (n *newestStarts) keys() [][]byte {
	slices.SortFunc(n.heap, func(a, b []byte) int { return bytes.Compare(b, a) })
	return n.heap
}

// startHeap has the oldest start on top.
type startHeap [][]byte

func (h startHeap) Len() int           { return len(h) }
func (h startHeap) Less(i, j int) bool { return bytes.Compare(h[i], h[j]) < 0 }
func (h startHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *startHeap) Push(x any)        { *h = append(*h, x.([]byte)) }
func (h *startHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
