package audit

import (
	"bytes"
	"errors"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

const (
	// leastRead and mostRead are how many keys of a range are read at once, at first and at most.
	leastRead, mostRead = 16, 1024
	// placeSize is what a key has of the start of an instance: its time, and its identifier.
	placeSize = 8 + 16
)

// listing merges the ranges of keys that a list is made of: one for each state and process. Each is in the order of
// starts, so that a page costs what it has, and one seek for each range.
type listing struct {
	in     read.Records
	o      ListOptions
	lo, hi []byte // only tails of keys with lo <= tail < hi; nil: no bound
	// counted: the state of each is wanted, which the index by time alone does not say.
	counted bool
	chunk   int // keys of a range that are read at once, if it is the only one
	ranges  []*keyRange
	seeks   *seeking // what is looked at of each; nil: nothing
	bounds  searchBounds
	// running is what runs, if that is known; else it is read from the store.
	running []processRuns
	known   bool
}

// keyRange is one of them, as far as it was read.
type keyRange struct {
	prefix []byte
	runs   *runs // it is in memory, and has no prefix
	of     record.Listed
	tails  []tail // read, and not given yet
	next   int    // of tails
	from   []byte // where reading goes on; nil: at the beginning
	size   int    // keys that are read next
	end    bool   // all are read
}

// tail is what a key has of a place.
type tail struct {
	at [placeSize]byte
	// by: it is in error by what another instance was told, which may go on when it has ended.
	by bool
}

// bound sets what of the ranges is read. below is exclusive.
func (l *listing) bound(below Place) {
	if !l.o.Since.IsZero() {
		l.lo = Place{Started: l.o.Since}.tail()
	}
	if !l.o.Until.IsZero() {
		l.hi = Place{Started: l.o.Until}.tail()
	}
	if below == (Place{}) {
		return
	}
	at := below.tail()
	switch {
	case l.o.Oldest:
		if at = store.After(at); at == nil { // nothing stands behind it
			l.hi = []byte{}
		} else if bytes.Compare(at, l.lo) > 0 {
			l.lo = at
		}
	case l.hi == nil || bytes.Compare(at, l.hi) < 0:
		l.hi = at
	}
}

// begin finds the ranges, of the index of instances or of values.
func (l *listing) begin() error {
	if len(l.o.Search) == 0 {
		return l.open()
	}
	l.seeks = &seeking{l: l, bounds: l.bounds}
	return l.seeks.open()
}

// open finds the ranges of the index of instances.
func (l *listing) open() error {
	states := l.o.States
	if states == 0 {
		states = Running
	}
	listed := states.listedAs()
	switch {
	case l.o.InError:
		listed = []record.Listed{record.ListedInError}
	case states == AllStates && l.o.Process.Name == "" && l.o.Of == nil && !l.counted:
		l.ranges = append(l.ranges, &keyRange{prefix: []byte{record.ClassStart}})
		listed = nil
	}
	for _, of := range listed {
		if err := l.addRanges(of); err != nil {
			return err
		}
	}
	if err := l.fillAll(); err != nil {
		return err
	}
	if l.o.InError {
		return l.addUnplaced()
	}
	return nil
}

// fillAll reads the first keys of the ranges.
func (l *listing) fillAll() error {
	for _, r := range l.ranges {
		if r.size = l.chunk; len(l.ranges) > 1 {
			r.size = max(leastRead, l.chunk/len(l.ranges))
		}
		if err := l.fill(r); err != nil {
			return err
		}
	}
	return nil
}

// addRanges adds those of one state: of each process that has any and is asked for.
func (l *listing) addRanges(of record.Listed) error {
	prefix := []byte{record.ClassListed, byte(of)}
	switch {
	case of == record.ListedRunning && l.known:
		for _, r := range l.running {
			l.ranges = append(l.ranges, &keyRange{runs: r.runs, of: of})
		}
		return nil
	case l.o.Process.Version != 0:
		l.addRange(of, l.o.Process)
		return nil
	case l.o.Process.Name != "":
		prefix = record.AppendName(prefix, l.o.Process.Name)
	}
	for from := prefix; from != nil; {
		key, err := l.in.FirstUnder(prefix, from)
		if err != nil || key == nil {
			return err
		}
		k := record.KeyReader{Rest: key[2:]}
		id := k.Process()
		if k.Bad {
			return record.Damaged(key, record.ErrKey.Error())
		}
		l.addRange(of, id)
		from = store.After(record.AppendListedPrefix(nil, of, id))
	}
	return nil
}

func (l *listing) addRange(of record.Listed, id processtable.ProcessID) {
	if l.o.Of == nil || l.o.Of(id) {
		l.ranges = append(l.ranges, &keyRange{prefix: record.AppendListedPrefix(nil, of, id), of: of})
	}
}

// addUnplaced adds those that are in error by what was told before their start was known, which it is now, and who
// has begun them.
func (l *listing) addUnplaced() error {
	tails, err := l.unplaced()
	if err == nil && len(tails) > 0 {
		l.ranges = append(l.ranges, &keyRange{of: record.ListedUnplaced, end: true, tails: tails})
	}
	return err
}

// unplaced gives the places of these, in the order of the list.
func (l *listing) unplaced() (tails []tail, err error) {
	add := func(i message.InstanceID, p record.Standing) {
		t := tail{by: true}
		copy(t.at[:], Place{p.Started, i}.tail())
		of := l.o.Process
		if (of.Name == "" || of.Name == p.Process.Name && (of.Version == 0 || of.Version == p.Process.Version)) && (l.o.Of == nil || l.o.Of(p.Process)) && l.within(t.at[:]) {
			tails = append(tails, t)
		}
	}
	prefix := []byte{record.ClassListed, byte(record.ListedUnplaced)}
	err = l.in.Each(store.ScanOptions{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) error {
		if len(key) < len(prefix)+16 {
			return record.Damaged(key, record.ErrKey.Error())
		}
		i := message.InstanceID(key[len(prefix):][:16])
		for range message.MaxDepth + 1 {
			p, known, err := l.in.Standing(i)
			if err != nil || !known {
				return err
			}
			add(i, p)
			if p.Parent == nil {
				break
			}
			i = p.Parent.Instance
		}
		return nil
	})
	slices.SortFunc(tails, func(x, y tail) int { return l.compare(x.at[:], y.at[:]) })
	return tails, err
}

func (l *listing) within(tail []byte) bool {
	return bytes.Compare(tail, l.lo) >= 0 && (l.hi == nil || bytes.Compare(tail, l.hi) < 0)
}

// behind: nothing that is read later can be wanted.
func (l *listing) behind(tail []byte) bool {
	if l.o.Oldest {
		return l.hi != nil && bytes.Compare(tail, l.hi) >= 0
	}
	return bytes.Compare(tail, l.lo) < 0
}

// compare is negative where x stands above y.
func (l *listing) compare(x, y []byte) int {
	if l.o.Oldest {
		return bytes.Compare(x, y)
	}
	return bytes.Compare(y, x)
}

// fill reads the next keys of a range. Several keys of one instance are one.
func (l *listing) fill(r *keyRange) error {
	r.tails, r.next = r.tails[:0], 0
	if r.end {
		return nil
	}
	var last []byte // of those that were given before
	if len(r.from) > 0 {
		last = r.from[len(r.prefix):][:placeSize]
	}
	r.end = true
	each := l.eachKey
	if r.runs != nil {
		each = l.eachRun
	}
	err := each(r, func(at, cause []byte) error {
		switch {
		case last != nil && bytes.Equal(at, last):
			return nil
		case l.within(at):
		case l.behind(at):
			return read.ErrEnough
		default: // before the first that is wanted
			return nil
		}
		if len(r.tails) == r.size {
			r.end = false
			return read.ErrEnough
		}
		r.tails = append(r.tails, tail{[placeSize]byte(at), len(cause) > 0 && !bytes.HasPrefix(cause, at[8:])})
		last = r.tails[len(r.tails)-1].at[:]
		return nil
	})
	if !r.end {
		r.from = append(bytes.Clone(r.prefix), last...)
		r.size = min(2*r.size, mostRead)
	}
	if errors.Is(err, read.ErrEnough) {
		err = nil
	}
	return err
}

// eachKey visits the places of a range of keys, from where it was read to, with the causes behind them.
func (l *listing) eachKey(r *keyRange, visit func(at, cause []byte) error) error {
	scan := store.ScanOptions{Prefix: r.prefix, From: r.from, Reverse: !l.o.Oldest, KeysOnly: true}
	if r.from == nil {
		switch {
		case l.o.Oldest && l.lo != nil:
			scan.From = append(bytes.Clone(r.prefix), l.lo...)
		case !l.o.Oldest && l.hi != nil:
			scan.From = append(bytes.Clone(r.prefix), l.hi...)
		}
	}
	return l.in.Each(scan, func(key, _ []byte) error {
		if len(key) < len(r.prefix)+placeSize {
			return record.Damaged(key, record.ErrKey.Error())
		}
		return visit(key[len(r.prefix):][:placeSize], key[len(r.prefix)+placeSize:])
	})
}

// run visits what the ranges have, merged.
func (l *listing) run(visit func(Place, record.Listed) bool) error {
	var last *[placeSize]byte
	for {
		var first *keyRange
		for _, r := range l.ranges {
			if r.next < len(r.tails) && (first == nil || l.compare(r.tails[r.next].at[:], first.tails[first.next].at[:]) < 0) {
				first = r
			}
		}
		if first == nil {
			return nil
		}
		t := first.tails[first.next]
		if first.next++; first.next == len(first.tails) {
			if err := l.fill(first); err != nil {
				return err
			}
		}
		if last != nil && *last == t.at {
			continue
		}
		last = &t.at
		k := record.KeyReader{Rest: t.at[:]}
		at := Place{Started: record.DueTime(k.Uint64()), Instance: message.InstanceID(k.Bytes(16))}
		ended, err := l.endedInError(t.by, at.Instance)
		if err != nil {
			return err
		}
		if !ended && !visit(at, first.of) {
			return nil
		}
	}
}

// endedInError: an instance has ended, and stands among those in error by what it has begun, which goes on by itself.
func (l *listing) endedInError(by bool, i message.InstanceID) (bool, error) {
	if !by {
		return false, nil
	}
	_, err := l.in.Get(record.AppendInstanceKey(nil, i, record.InstanceEnded))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
