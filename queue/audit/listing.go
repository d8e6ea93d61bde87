package audit

import (
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// ListOptions say which instances to list.
type ListOptions struct {
	// All lists also those that have ended.
	All bool
	// Process lists only its instances: of all versions if Version is 0, of every process if
	// Name is empty. With All it is not looked at: what is listed then has no order by process.
	Process processtable.ProcessID
	// InError lists only running ones that an activity has told of an error, or of its end, and those whose
	// subprocesses have begun such ones. With Process only those are seen that are of it themselves.
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
	return cmp.Or(cmp.Compare(record.TimerDue(q.Started), record.TimerDue(p.Started)), slices.Compare(q.Instance[:], p.Instance[:]))
}

func (p Place) key() []byte { return record.AppendStartKey(nil, p.Started, p.Instance) }

// InstanceInfo is an instance that was started here.
type InstanceInfo struct {
	Started record.AuditRecord
	Ended   *record.AuditRecord // nil: it runs
}

// Instances lists instances that were started here, the newest first. Without All it goes
// through the keys of running instances, with InError of all their messages, with All it
// costs time only with Limit.
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
		if found && (o.All || ended == nil) {
			infos = append(infos, InstanceInfo{Started: started, Ended: ended})
		}
	}
	return infos, nil
}

// Running counts the instances of a version that were started here and have not ended. It goes through their keys.
func (q *Queue) Running(id processtable.ProcessID) (int, error) {
	those, err := q.having(ListOptions{Process: id}, record.ClassRecord, func(*record.KeyReader) bool { return true })
	if err != nil {
		return 0, fmt.Errorf("count instances of %s: %w", id, q.records.Judge(err))
	}
	return len(those), nil
}

// Places is Instances, of which nothing is read but where they stand: one that has ended a
// moment ago may be among those that run.
func (q *Queue) Places(o ListOptions) ([]Place, error) {
	if o.Limit <= 0 {
		o.Limit = defaultListLimit
	}
	var before []byte
	switch {
	case o.Before != (message.InstanceID{}):
		started, _, found, err := q.Instance(o.Before)
		if err != nil {
			return nil, fmt.Errorf("list instances: %w", err)
		}
		if !found {
			return nil, fmt.Errorf("list instances: instance %s was not started here", o.Before)
		}
		before = Place{started.Time, o.Before}.key()
	case o.Below != (Place{}):
		before = o.Below.key()
	}
	list := q.running
	switch {
	case o.All:
		list = q.started
	case o.InError:
		list = q.noticed
	}
	keys, err := list(o, before)
	if err != nil {
		return nil, fmt.Errorf("list instances: %w", q.records.Judge(err))
	}
	places := make([]Place, len(keys))
	for i, key := range keys {
		k := record.KeyReader{Rest: key[1:]}
		places[i].Started = record.DueTime(k.Uint64())
		places[i].Instance = message.InstanceID(k.Bytes(16))
	}
	return places, nil
}

// started gives the keys of the newest starts before a key.
func (q *Queue) started(o ListOptions, before []byte) ([][]byte, error) {
	return q.startsWith(o, before, func(message.InstanceID) bool { return true })
}

// startsWith is started, of the instances that are wanted.
func (q *Queue) startsWith(o ListOptions, before []byte, wanted func(message.InstanceID) bool) ([][]byte, error) {
	var keys [][]byte
	last := Place{Started: o.Since}.key()
	scan := store.ScanOptions{Prefix: []byte{record.ClassStart}, From: before, Reverse: true, KeysOnly: true}
	err := q.records.Each(scan, func(key, _ []byte) error {
		switch {
		case before != nil && bytes.Compare(key, before) >= 0:
			return nil
		case len(key) != 1+8+16:
			return record.Damaged(key, record.ErrKey.Error())
		case !o.Since.IsZero() && bytes.Compare(key, last) < 0:
			return read.ErrEnough
		case !wanted(message.InstanceID(key[9:])):
			return nil
		}
		keys = append(keys, bytes.Clone(key))
		if len(keys) == o.Limit {
			return read.ErrEnough
		}
		return nil
	})
	if errors.Is(err, read.ErrEnough) {
		err = nil
	}
	return keys, err
}

// fewPlaces is of how many instances the start is read, rather than looking for them among
// all starts.
var fewPlaces = 4096 // tests have their own

// running gives what started gives, of running instances only: those that have a record.
func (q *Queue) running(o ListOptions, before []byte) ([][]byte, error) {
	those, err := q.having(o, record.ClassRecord, func(*record.KeyReader) bool { return true })
	if err != nil {
		return nil, err
	}
	return q.startsOf(o, before, those)
}

// noticed gives what running gives, of those alone whose activities have told of an error, or whose children's have.
func (q *Queue) noticed(o ListOptions, before []byte) ([][]byte, error) {
	those, err := q.having(o, record.ClassMessage, func(k *record.KeyReader) bool {
		return k.Name() == "" && k.Name() == string(processtable.Sink) && message.Kind(k.Bytes(1)[0]) == message.KindNotice
	})
	if err == nil {
		err = q.addParents(those)
	}
	if err != nil {
		return nil, err
	}
	return q.startsOf(o, before, those)
}

// addParents adds those that have begun one of them here, and so on (N19). Their identifiers say which were begun so, and
// nothing is read of the others.
func (q *Queue) addParents(those map[message.InstanceID]bool) error {
	for _, i := range slices.Collect(maps.Keys(those)) {
		for message.DepthOf(i) > 0 {
			started, found, err := q.auditAt(record.AppendInstanceKey(nil, i, record.InstanceStarted))
			if err != nil {
				return err
			}
			if !found || started.Parent == nil || those[started.Parent.Instance] {
				break
			}
			i = started.Parent.Instance
			those[i] = true
		}
	}
	return nil
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

// having gives the instances that have a message of a class whose key, behind the instance, is as is says. It goes
// through keys alone.
func (q *Queue) having(o ListOptions, class byte, is func(*record.KeyReader) bool) (map[message.InstanceID]bool, error) {
	those := map[message.InstanceID]bool{}
	err := q.records.Each(store.ScanOptions{Prefix: o.prefix(class), KeysOnly: true}, func(key, _ []byte) error {
		k := record.KeyReader{Rest: key[1:]}
		k.Process()
		if i := message.InstanceID(k.Bytes(16)); is(&k) && !k.Bad {
			those[i] = true
		}
		return nil
	})
	return those, err
}

// startsOf gives the keys of the newest starts before a key, of some instances. It reads the start of a few at most.
func (q *Queue) startsOf(o ListOptions, before []byte, those map[message.InstanceID]bool) ([][]byte, error) {
	if len(those) > fewPlaces {
		return q.startsWith(o, before, func(i message.InstanceID) bool { return those[i] })
	}
	newest := newestStarts{o: o, before: before}
	for i := range those {
		started, found, err := q.auditAt(record.AppendInstanceKey(nil, i, record.InstanceStarted))
		if err != nil {
			return nil, err
		}
		if found {
			newest.add(Place{started.Time, i})
		}
	}
	return newest.keys(), nil
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
