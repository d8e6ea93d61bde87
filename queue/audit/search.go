package audit

import (
	"bytes"
	"errors"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Term is what instances are found by: a member that their process declares as searchable, and what its value is to be.
type Term struct {
	Member string
	Any    []Match // one of them fulfils it: of one type each, since versions of a process may have several; none: nothing does
}

// Match is what a value of one type is to be.
type Match struct {
	Is    Is
	Value record.SearchValue
}

// Is says how a value compares with that of a Match.
type Is uint8

// The comparisons. What is of another type fulfils none of them.
const (
	Equal     Is = iota + 1
	Beginning    // of strings: it begins with the other
	Below
	AtMost
	Above
	AtLeast
)

// Holds says whether what an instance is found by fulfils all terms.
func Holds(terms []Term, by []record.Searched) bool {
	for i := range terms {
		t := &terms[i]
		at := slices.IndexFunc(by, func(s record.Searched) bool { return s.Member == t.Member })
		if at < 0 || !slices.ContainsFunc(t.Any, func(m Match) bool { return m.holds(by[at].Value) }) {
			return false
		}
	}
	return true
}

func (m *Match) holds(v record.SearchValue) bool {
	if v.Type() != m.Value.Type() {
		return false
	}
	switch order := bytes.Compare(v, m.Value); m.Is {
	case Equal:
		return order == 0
	case Beginning:
		return bytes.HasPrefix(v, m.Value)
	case Below:
		return order < 0
	case AtMost:
		return order <= 0
	case Above:
		return order > 0
	case AtLeast:
		return order >= 0
	}
	return false
}

// span is where in the index of values those stand that fulfil it, of a member of a process.
func (m *Match) span(process, member string) (prefix, from, to []byte) {
	of := record.AppendSearchMember(nil, process, member)
	value := record.AppendSearchValue(bytes.Clone(of), m.Value, m.Is == Beginning)
	prefix = append(of, byte(m.Value.Type()))
	switch m.Is {
	case Equal, Beginning:
		prefix = value
	case Below:
		to = value
	case AtMost:
		to = store.After(value)
	case Above:
		from = store.After(value)
	case AtLeast:
		from = value
	}
	return prefix, from, to
}

// searchBounds are what a search may cost.
type searchBounds struct {
	looks int // instances that one looks at
	// Of each term so many keys are read first: who has fewer is the one that is followed. If none has, and none asks for
	// equal values, which stand in the order of a list, it is a term that has up to most.
	least, most int
}

var defaultBounds = searchBounds{looks: 100_000, least: 1024, most: 50_000}

// seeking looks for instances by what they are found by. The index of values says which they may be, or, where very many
// may be, that of instances; what they are found by, and how they stand, is said by the records of their start and end.
type seeking struct {
	l        *listing
	bounds   searchBounds
	unplaced map[message.InstanceID]bool // nil: not asked yet
}

// open makes the ranges of a listing those of the fewest that it can find.
func (s *seeking) open() error {
	if followed, err := s.followFewest(s.bounds.least); followed || err != nil {
		return err
	}
	if s.l.o.InError { // few are
		return s.l.open()
	}
	for i := range s.l.o.Search {
		if t := &s.l.o.Search[i]; !slices.ContainsFunc(t.Any, func(m Match) bool { return m.Is != Equal }) {
			for n := range t.Any {
				prefix, _, _ := t.Any[n].span(s.l.o.Process.Name, t.Member)
				s.l.ranges = append(s.l.ranges, &keyRange{prefix: prefix})
			}
			return s.l.fillAll()
		}
	}
	if followed, err := s.followFewest(s.bounds.most); followed || err != nil {
		return err
	}
	return s.l.open()
}

// followFewest makes the places of the term that has the fewest the ones that are looked at; false: each has more than most.
func (s *seeking) followFewest(most int) (followed bool, err error) {
	var fewest []tail
	for i := range s.l.o.Search {
		tails, whole, err := s.gather(&s.l.o.Search[i], most)
		if err != nil {
			return false, err
		}
		if whole && (!followed || len(tails) < len(fewest)) {
			fewest, followed = tails, true
		}
	}
	slices.SortFunc(fewest, func(x, y tail) int { return s.l.compare(x.at[:], y.at[:]) })
	if len(fewest) > 0 {
		s.l.ranges = append(s.l.ranges, &keyRange{tails: fewest, end: true})
	}
	return followed, nil
}

// gather gives the places of what fulfils a term; whole: it has read all, which are at most some number of keys.
func (s *seeking) gather(t *Term, most int) (tails []tail, whole bool, err error) {
	keys := 0
	for i := range t.Any {
		prefix, from, to := t.Any[i].span(s.l.o.Process.Name, t.Member)
		equal := t.Any[i].Is == Equal
		if equal && s.l.lo != nil {
			from = append(bytes.Clone(prefix), s.l.lo...)
		}
		err := s.l.in.Each(store.ScanOptions{Prefix: prefix, From: from, KeysOnly: true}, func(key, _ []byte) error {
			if to != nil && bytes.Compare(key, to) >= 0 {
				return read.ErrEnough
			}
			if len(key) < len(prefix)+placeSize {
				return record.Damaged(key, record.ErrKey.Error())
			}
			at := key[len(key)-placeSize:]
			if equal && s.l.hi != nil && bytes.Compare(at, s.l.hi) >= 0 {
				return read.ErrEnough
			}
			if keys++; keys > most {
				return errTooMany
			}
			if s.l.within(at) {
				tails = append(tails, tail{at: [placeSize]byte(at)})
			}
			return nil
		})
		switch {
		case errors.Is(err, errTooMany):
			return nil, false, nil
		case err != nil && !errors.Is(err, read.ErrEnough):
			return nil, false, err
		}
	}
	return tails, true, nil
}

var errTooMany = errors.New("too many keys")

// look says whether an instance is one that is looked for, and how it stands. of is how it stands where the index of
// instances has said so; 0: it is to be found out. What has no record of its start any more is not.
func (s *seeking) look(p Place, of record.Listed) (_ record.Listed, fits bool, err error) {
	in, o := s.l.in, &s.l.o
	key := record.AppendInstanceKey(nil, p.Instance, record.InstanceStarted)
	value, err := in.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return 0, false, nil
	}
	var started record.AuditRecord
	if err == nil {
		started, _, err = record.ReadAuditHead(key, value)
	}
	switch {
	case err != nil:
		return 0, false, err
	case started.Process.Name != o.Process.Name, o.Process.Version != 0 && o.Process.Version != started.Process.Version,
		o.Of != nil && !o.Of(started.Process), !Holds(o.Search, started.Search):
		return 0, false, nil
	case of != 0:
		return of, true, nil
	}
	if of, err = s.standing(p.Instance); err != nil {
		return 0, false, err
	}
	if !o.InError {
		states := o.States
		if states == 0 {
			states = Running
		}
		return of, slices.Contains(states.listedAs(), of), nil
	}
	if of != record.ListedRunning {
		return of, false, nil
	}
	place := record.StandingOf(&started)
	prefix := record.AppendListedKey(nil, record.ListedInError, place, p.Instance)
	if first, err := in.FirstUnder(prefix, nil); err != nil || first != nil {
		return record.ListedInError, first != nil, err
	}
	return record.ListedUnplaced, s.unplaced[p.Instance], nil
}

// standing says whether an instance runs, or how it has ended.
func (s *seeking) standing(i message.InstanceID) (record.Listed, error) {
	if s.l.o.InError && s.unplaced == nil {
		tails, err := s.l.unplaced()
		if err != nil {
			return 0, err
		}
		s.unplaced = map[message.InstanceID]bool{}
		for _, t := range tails {
			s.unplaced[message.InstanceID(t.at[8:])] = true
		}
	}
	key := record.AppendInstanceKey(nil, i, record.InstanceEnded)
	value, err := s.l.in.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return record.ListedRunning, nil
	}
	if err != nil {
		return 0, err
	}
	ended, _, err := record.ReadAuditHead(key, value)
	return record.ListedEnd(&ended), err
}
