package navigator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fmqm/message"
	"fmqm/processtable"
)

// gathering is what the entry of a bundle has of its elements. Each message that comes costs the same,
// however many elements there are.
type gathering struct {
	returns map[execution]*element
	notices map[message.Key]toldOf // of what was in error inside of elements
	chunks  map[uint64]chunk
	bytes   int
}

// execution is one of an element.
type execution struct{ number, run int }

// element is one that has come back.
type element struct {
	execution
	arrival message.Arrival
	key     message.Key
	output  []byte
	err     string // why there is no output
	rc      int64
	ending  message.Ending
	counted bool // failed, as its own conditions say
}

// failed says whether the element counts as failed (R31).
func (o *element) failed() bool { return o.counted || o.err != "" || o.ending != message.Ending{} }

// reason is the element's error; empty: there is none.
func (o *element) reason() string {
	if o.ending.TimedOut {
		return deadlineElement
	}
	return cmp.Or(o.err, o.ending.Failure)
}

// toldOf is what an activity inside of an element has told last.
type toldOf struct {
	execution
	clock   uint64
	cleared bool
	reason  string
}

// chunk has outcomes that were put together.
type chunk struct {
	level int
	body  []byte
}

// gathering gives what the entry has, to be added to.
func (s *State) gathering() *gathering {
	if s.elements == nil {
		s.elements = &gathering{returns: map[execution]*element{}, notices: map[message.Key]toldOf{}, chunks: map[uint64]chunk{}}
	}
	return s.elements
}

func (g *gathering) clone() *gathering {
	if g == nil {
		return nil
	}
	return &gathering{returns: maps.Clone(g.returns), notices: maps.Clone(g.notices), chunks: maps.Clone(g.chunks), bytes: g.bytes}
}

// executionOf is the element of a bundle that something inside of it is of.
func (a *Activity) executionOf(s message.Scope, bundle message.Scope) (execution, bool) {
	within, found := inside(s, bundle)
	if !found || within.Inside() != a.Name {
		return execution{}, false
	}
	frames, err := within.Frames()
	if err != nil || len(frames) == 0 {
		return execution{}, false
	}
	f := frames[len(frames)-1]
	return execution{f.Element, f.Run}, f.Element >= 0 && f.Iteration == 0
}

// foldElement takes what an element has come to (R31). A repeat says the same.
func (a *Activity) foldElement(s *State, m message.Message) error {
	of, found := a.executionOf(m.SourceScope, m.Scope)
	if !found || m.Source != a.Name || m.SourceScope.Leave() != m.Scope || m.Number != 0 {
		return refuse("%s has begun nothing of which %s in %q could return", a.Name, m.Source, m.SourceScope)
	}
	r, err := message.DecodeReturn(m.Body)
	if err != nil {
		return refuse("return of %s: %v", m.SourceScope, err)
	}
	s.seen(m)
	if s.Snapshot != nil && of.over(s.Snapshot) {
		return nil
	}
	g := s.gathering()
	if before := g.returns[of]; before != nil && before.arrival.Compare(m.Arrival) <= 0 {
		return nil
	}
	g.returns[of] = &element{
		execution: of, arrival: m.Arrival, key: m.Key(), output: r.Output, err: r.Error, rc: r.RC, ending: r.Ending, counted: r.Failed,
	}
	g.bytes += elementBytes + len(m.SourceScope) + len(m.Body)
	return nil
}

// foldNotice takes that something inside of an element is in error, or is not any more (R32): what was said
// last counts.
func (a *Activity) foldNotice(s *State, m message.Message) error {
	of, found := a.executionOf(m.SourceScope, m.Scope)
	if !found {
		return refuse("%s in %q is not inside of an element of %s", m.Source, m.SourceScope, a.Name)
	}
	n, err := message.DecodeNotice(m.Body)
	if err != nil {
		return refuse("notice of %s: %v", m.SourceScope.Path(m.Source), err)
	}
	s.seen(m)
	if s.Snapshot != nil && of.over(s.Snapshot) {
		return nil
	}
	g := s.gathering()
	if before, known := g.notices[m.Key()]; known && before.clock > m.Clock {
		return nil
	}
	said := toldOf{execution: of, clock: m.Clock, cleared: n.Cleared}
	if !n.Cleared {
		said.reason = fmt.Sprintf("%s: %s", m.SourceScope.Path(m.Source), n.Error)
	}
	g.notices[m.Key()] = said
	g.bytes += elementBytes + len(m.SourceScope) + len(said.reason)
	return nil
}

// foldChunk takes outcomes that were put together.
func (a *Activity) foldChunk(s *State, m message.Message) error {
	level, err := message.EachOutcome(m.Body, func(message.Outcome) {})
	if err != nil {
		return refuse("chunk %d of %s: %v", m.Number, a.Name, err)
	}
	s.seen(m)
	if s.Snapshot != nil && s.Snapshot.Gathered != nil && m.Number <= s.Snapshot.Gathered.Chunk && !slices.Contains(s.Snapshot.Gathered.Chunks, m.Number) {
		return nil
	}
	g := s.gathering()
	if _, known := g.chunks[m.Number]; !known {
		g.chunks[m.Number] = chunk{level, m.Body}
		g.bytes += len(m.Body)
	}
	return nil
}

// over says whether nothing of an execution means anything any more: it was of a run before, or is among what
// was put together, or was left by until.
func (of execution) over(at *message.Snapshot) bool {
	switch {
	case of.run != at.Run:
		return of.run < at.Run
	case at.Gathered == nil || of.number >= at.Gathered.Next:
		return false
	}
	_, open := slices.BinarySearch(at.Gathered.Open, of.number)
	return !open || at.Gathered.Closed
}

// dropElements lets go of what means nothing any more.
func (s *State) dropElements() {
	g, at := s.elements, s.Snapshot
	if g == nil || at == nil {
		return
	}
	maps.DeleteFunc(g.returns, func(of execution, o *element) bool {
		return of.over(at) && g.less(elementBytes+len(o.output))
	})
	maps.DeleteFunc(g.notices, func(_ message.Key, n toldOf) bool { return n.over(at) && g.less(elementBytes+len(n.reason)) })
	if at.Gathered == nil {
		return
	}
	maps.DeleteFunc(g.chunks, func(number uint64, c chunk) bool {
		return number <= at.Gathered.Chunk && !slices.Contains(at.Gathered.Chunks, number) && g.less(len(c.body))
	})
}

func (g *gathering) less(bytes int) bool {
	g.bytes = max(0, g.bytes-bytes)
	return true
}

// passes are the messages that mean nothing any more under a snapshot.
func (s *State) passes(at *message.Snapshot) (keys []message.Key) {
	g := s.elements
	if g == nil {
		return nil
	}
	for of, o := range g.returns {
		if of.over(at) {
			keys = append(keys, o.key)
		}
	}
	for key, n := range g.notices {
		if n.over(at) {
			keys = append(keys, key)
		}
	}
	for number := range g.chunks {
		if at.Gathered == nil || number <= at.Gathered.Chunk && !slices.Contains(at.Gathered.Chunks, number) {
			keys = append(keys, message.ChunkKey(&s.Entry, number))
		}
	}
	slices.SortFunc(keys, func(a, b message.Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Number, b.Number))
	})
	return keys
}

// cameOf are those that have come back of what is open, in the order in which they came.
func (g *gathering) cameOf(at *message.Snapshot) (all []*element) {
	if g == nil {
		return nil
	}
	for of, o := range g.returns {
		if _, open := slices.BinarySearch(at.Gathered.Open, of.number); open && of.run == at.Run {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *element) int {
		return cmp.Or(a.arrival.Compare(b.arrival), cmp.Compare(a.number, b.number))
	})
	return all
}

// erring counts the elements in error, and says what is wrong with the first.
func (g *gathering) erring(at *message.Snapshot) (count int, reason string) {
	if g == nil {
		return 0, ""
	}
	wrong := map[int]string{}
	for _, n := range g.notices {
		if _, open := slices.BinarySearch(at.Gathered.Open, n.number); !open || n.cleared || n.run != at.Run || g.returns[n.execution] != nil {
			continue
		}
		if before, known := wrong[n.number]; !known || n.reason < before {
			wrong[n.number] = n.reason
		}
	}
	if len(wrong) == 0 {
		return 0, ""
	}
	first := slices.Min(slices.Collect(maps.Keys(wrong)))
	if len(wrong) == 1 {
		return 1, wrong[first]
	}
	return len(wrong), fmt.Sprintf("%d elements are in error, the first of them %s", len(wrong), wrong[first])
}

// ofLevel are the chunks of a level, of those that are there.
func (g *gathering) ofLevel(numbers []uint64, level int) (same []uint64) {
	for _, n := range numbers {
		if c, known := g.chunks[n]; known && c.level == level {
			same = append(same, n)
		}
	}
	return same
}

// isBundle says whether something may be told to the activity of elements of it.
func (a *Activity) isBundle() bool { return a.Kind == processtable.KindBundle }
