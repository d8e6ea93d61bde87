package audit

import (
	"bytes"
	"slices"
	"sync"

	"github.com/tidwall/btree"

	"fmqm/internal/store"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// runs are the places of the instances of one process that run, in the order of their keys.
type runs = btree.BTreeG[[placeSize]byte]

func newRuns() *runs {
	return btree.NewBTreeGOptions(func(x, y [placeSize]byte) bool { return bytes.Compare(x[:], y[:]) < 0 }, btree.Options{NoLocks: true})
}

// running has the part of the index with what runs in memory, 24 bytes and a little more for each instance. Its keys go
// when an instance ends, and the engine keeps a removed key until a compaction has come to the bottom: whoever looks for
// the first of those that run would go over all that have ended since. It is safe for concurrent use.
type running struct {
	mu sync.Mutex
	of map[processtable.ProcessID]*runs
	// known: the index was read. What is written before is in since, and counts once it is.
	known bool
	since []store.Op
}

// processRuns is what runs of one process.
type processRuns struct {
	of   processtable.ProcessID
	runs *runs
}

// underRunning says whether a key is of that part of the index.
func underRunning(key []byte) bool {
	return len(key) > 2 && key[0] == record.ClassListed && record.Listed(key[1]) == record.ListedRunning
}

// Written takes what is on disk now, before anybody is told of it, in the order of the commits.
func (q *Queue) Written(ops []store.Op) {
	if slices.ContainsFunc(ops, func(o store.Op) bool { return underRunning(o.Key) }) {
		q.running.mu.Lock()
		defer q.running.mu.Unlock()
		for i := range ops {
			if o := &ops[i]; underRunning(o.Key) {
				q.running.take(o)
			}
		}
	}
}

// take is Written of one change, for who holds the lock.
func (r *running) take(o *store.Op) {
	if !r.known {
		change := store.Op{Key: bytes.Clone(o.Key)}
		if o.Value != nil {
			change.Value = []byte{}
		}
		r.since = append(r.since, change)
		return
	}
	r.change(o.Key, o.Value != nil)
}

// change adds or removes a key. One that is no key of the index stands in no list: who reads the store says so.
func (r *running) change(key []byte, stands bool) {
	k := record.KeyReader{Rest: key[2:]}
	id := k.Process()
	at := k.Bytes(placeSize)
	if k.Bad {
		return
	}
	all := r.of[id]
	switch {
	case stands && all == nil:
		all = newRuns()
		r.of[id] = all
		fallthrough
	case stands:
		all.Set([placeSize]byte(at))
	case all != nil:
		all.Delete([placeSize]byte(at))
		if all.Len() == 0 {
			delete(r.of, id)
		}
	}
}

// LoadRunning reads what runs, beside the first commits: until it has, lists read the store. It ends early once stop says so.
func (q *Queue) LoadRunning(stop func() bool) error {
	found := running{of: map[processtable.ProcessID]*runs{}}
	err := q.records.Each(store.ScanOptions{Prefix: []byte{record.ClassListed, byte(record.ListedRunning)}, KeysOnly: true}, func(key, _ []byte) error {
		if len(key) < 2+placeSize {
			return record.Damaged(key, record.ErrKey.Error())
		}
		found.change(key, true)
		if stop() {
			return read.ErrEnough
		}
		return nil
	})
	if err != nil {
		return err
	}
	r := &q.running
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.since { // whether it was read with them or not
		found.change(r.since[i].Key, r.since[i].Value != nil)
	}
	r.of, r.known, r.since = found.of, true, nil
	return nil
}

// asked gives what runs now, of those processes that are asked for; not known: it is to be read from the store.
func (r *running) asked(o *ListOptions) (all []processRuns, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, runs := range r.of {
		if (o.Process.Name == "" || o.Process.Name == id.Name && (o.Process.Version == 0 || o.Process.Version == id.Version)) && (o.Of == nil || o.Of(id)) {
			all = append(all, processRuns{id, runs.Copy()})
		}
	}
	slices.SortFunc(all, func(x, y processRuns) int { return x.of.Compare(y.of) })
	return all, r.known
}

// eachRun visits the places of a range that is in memory, from where it was read to.
func (l *listing) eachRun(r *keyRange, visit func(at, cause []byte) error) (err error) {
	one := func(at [placeSize]byte) bool {
		err = visit(at[:], nil)
		return err == nil
	}
	from := r.from
	switch {
	case from != nil:
	case l.o.Oldest:
		from = l.lo
	default:
		from = l.hi
	}
	var first [placeSize]byte
	copy(first[:], from) // a bound may be shorter: what stands behind it stands behind it with zeros, too
	switch {
	case from == nil && l.o.Oldest:
		r.runs.Scan(one)
	case from == nil:
		r.runs.Reverse(one)
	case l.o.Oldest:
		r.runs.Ascend(first, one)
	default:
		r.runs.Descend(first, one)
	}
	return err
}
