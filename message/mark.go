package message

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// MaxLifts is how many suspends one resume lifts, and so how many may be in force for one instance.
const MaxLifts = 100

// Mark is the body of a KindMark message: an operator suspends an instance, or an activity of it,
// lifts what was suspended (N29), or gives an instance another priority (N31). The marks of an instance lie at a
// node as a set: suspended is what a suspend names that no resume has lifted, and the latest priority counts,
// in whatever order they came.
type Mark struct {
	ID WordID
	// Scope and Activity say what is suspended, with all that is inside of it: without a scope each execution of
	// the activity, without either the instance.
	Scope    Scope
	Activity processtable.ActivityID
	Lifts    []WordID // of a resume: the suspends that it lifts; nil: it is a suspend
	By       string   // who, as "alice at B"; at most MaxBy bytes
	Reason   string   // the operator's; at most MaxWhy bytes
	Time     time.Time
	Until    time.Time // of a suspend: it is lifted then; zero: it is not
	// New: the node is to act on it. It does that in one transaction, which puts the mark once more without this: its
	// timer is set, and who else is to know of it is told. Between nodes it is always new; where there is nothing of
	// that (Settled), it is put without it.
	New bool
	// Spread: with New, the other nodes of the process are to be told.
	Spread bool
	// Noted: with New, the line of the instance's history is written where that was started.
	Noted bool
	Rank  Rank // of an expedite: the priority that the instance has from now on; 0: it is none
}

// Suspends says whether it suspends something.
func (m *Mark) Suspends() bool { return !m.Resumes() && !m.Expedites() }

// Expedites says whether it gives the instance a priority.
func (m *Mark) Expedites() bool { return m.Rank != 0 }

// Text says for people who has suspended something, since when and until when.
func (m *Mark) Text() string {
	out := "suspended by " + cmp.Or(m.By, "an operator") + " since " + m.Time.UTC().Format(time.RFC3339)
	if !m.Until.IsZero() {
		out += " until " + m.Until.UTC().Format(time.RFC3339)
	}
	if m.Reason != "" {
		out += ": " + m.Reason
	}
	return out
}

// Settled says whether there is nothing to do about it at a node that has a table but to tell what is in memory.
func (m *Mark) Settled(t *processtable.Table) bool { return m.Until.IsZero() && !t.BeginsOthers() }

// Done is the mark as one that was acted on.
func (m *Mark) Done() Mark {
	done := *m
	done.New, done.Spread, done.Noted = false, false, false
	return done
}

// ForOthers is what tells the other nodes of a process of a mark that was put at the origin, which has a table.
func (m *Mark) ForOthers(t *processtable.Table, origin processtable.NodeID, i InstanceID, clock uint64) (all []Message) {
	told := m.Done()
	told.New = true
	for _, node := range t.Nodes() {
		if node != "" && node != origin && t.Hosting(node) {
			all = append(all, told.Message(Queue{Process: t.Process, Node: node}, i, origin, clock))
		}
	}
	return all
}

// Resumes says whether it lifts suspends.
func (m *Mark) Resumes() bool { return len(m.Lifts) > 0 }

// Holds says whether a suspend is of an entry: of its instance, of its activity, or of a composite
// around it.
func (m *Mark) Holds(e *Entry) bool {
	is := func(scope Scope, activity processtable.ActivityID) bool {
		return activity == m.Activity && (m.Scope == "" || m.Scope == scope)
	}
	if m.Activity == "" || is(e.Scope, e.Activity) {
		return true
	}
	for scope := e.Scope; scope != ""; scope = scope.Leave() {
		if is(scope.Leave(), scope.Inside()) {
			return true
		}
	}
	return false
}

// Expired is the resume that lifts a suspend once its time has come. Each node makes the same one.
func (m *Mark) Expired() Mark {
	id := m.ID
	id[len(id)-1] ^= 1
	return Mark{
		ID: id, Scope: m.Scope, Activity: m.Activity, Lifts: []WordID{m.ID}, By: m.By,
		Reason: "its time has come", Time: m.Until, New: true, Noted: true,
	}
}

// Expires says whether it is what Expired gives.
func (m *Mark) Expires() bool {
	if len(m.Lifts) != 1 {
		return false
	}
	s := Mark{ID: m.Lifts[0]}
	return s.Expired().ID == m.ID
}

// Marked is a mark, with where its instance was started as it says.
type Marked struct {
	Origin processtable.NodeID
	Clock  uint64
	Mark
}

// InForce gives the suspends among marks that are not lifted, the oldest first.
func InForce(marks []Marked) (in []Marked) {
	for i := range marks {
		s := &marks[i]
		lifted := func(m Marked) bool { return m.Origin == s.Origin && slices.Contains(m.Lifts, s.ID) }
		if s.Suspends() && !slices.ContainsFunc(marks, lifted) {
			in = append(in, *s)
		}
	}
	slices.SortFunc(in, func(a, b Marked) int {
		return cmp.Or(a.Time.Compare(b.Time), slices.Compare(a.ID[:], b.ID[:]))
	})
	return in
}

// Expedited gives the last expedite among marks of an instance that was started at origin, by their clocks; nil: there is
// none. Without an origin that is not known yet, and each counts.
func Expedited(marks []Marked, origin processtable.NodeID) (last *Marked) {
	for i := range marks {
		m := &marks[i]
		if m.Expedites() && (origin == "" || m.Origin == origin) && (last == nil || m.after(last)) {
			last = m
		}
	}
	return last
}

// after says whether a mark is a later word than another: by the clock, and of equals by the identifier.
func (m *Marked) after(o *Marked) bool {
	return cmp.Or(cmp.Compare(m.Clock, o.Clock), slices.Compare(m.ID[:], o.ID[:])) > 0
}

// Message is the mark on its way to a node's queue of a process, for an instance that was started at
// origin.
func (m *Mark) Message(to Queue, instance InstanceID, origin processtable.NodeID, clock uint64) Message {
	return Message{Header: Header{
		Queue: to, Instance: instance, Origin: origin, Kind: KindMark, Lane: LaneControl,
		Number: WordNumber(m.ID), Clock: clock,
	}, Body: EncodeMark(*m)}
}

// EncodeMark gives the body of a KindMark message.
func EncodeMark(m Mark) []byte {
	w := beginBody(1, len(m.By)+len(m.Reason)+len(m.Scope)+len(m.Activity)+20*len(m.Lifts))
	w.Bytes(0, m.ID[:])
	w.Text(1, string(m.Scope))
	w.Text(2, string(m.Activity))
	if m.Resumes() {
		w.Array(3, len(m.Lifts))
		for _, id := range m.Lifts {
			w.B = cbor.AppendBytes(w.B, id[:])
		}
	}
	w.Text(4, m.By)
	w.Text(5, m.Reason)
	w.Time(6, m.Time)
	w.Time(7, m.Until)
	w.Bool(8, m.New)
	w.Bool(9, m.Spread)
	w.Bool(10, m.Noted)
	w.Uint(11, uint64(m.Rank))
	return w.B
}

// DecodeMark reads the body of a KindMark message.
func DecodeMark(data []byte) (m Mark, err error) {
	_, err = decodeBody("mark", 1, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			f.Fixed(m.ID[:])
		case 1:
			m.Scope = Scope(f.Text(MaxScope))
		case 2:
			m.Activity = processtable.ActivityID(f.Text(processtable.MaxName))
		case 3:
			m.Lifts = make([]WordID, f.Array(MaxLifts))
			for i := range m.Lifts {
				f.Reader.Fixed(m.Lifts[i][:])
			}
		case 4:
			m.By = f.Text(MaxBy)
		case 5:
			m.Reason = f.Text(MaxWhy)
		case 6:
			m.Time = f.Time()
		case 7:
			m.Until = f.Time()
		case 8:
			m.New = f.Bool()
		case 9:
			m.Spread = f.Bool()
		case 10:
			m.Noted = f.Bool()
		case 11:
			m.Rank = Rank(f.Uint(uint64(MaxRank)))
		default:
			f.Unknown()
		}
	})
	if err != nil {
		return m, err
	}
	return m, m.validate()
}

func (m *Mark) validate() error {
	switch {
	case !validWord(m.ID):
		return fmt.Errorf("%w: mark: its identifier %s is no UUIDv7", ErrFormat, m.ID)
	case m.Activity != "" && !processtable.ValidActivity(string(m.Activity)):
		return fmt.Errorf("%w: mark: activity %.80q is not a name", ErrFormat, m.Activity)
	case m.Scope != "" && (m.Activity == "" || !validScope(m.Scope)):
		return fmt.Errorf("%w: mark: scope %.80q is not one of an activity", ErrFormat, m.Scope)
	case m.Resumes() && !m.Until.IsZero():
		return fmt.Errorf("%w: mark: what resumes has no end", ErrFormat)
	case m.Expedites() && (m.Resumes() || !m.Until.IsZero() || m.Activity != ""):
		return fmt.Errorf("%w: mark: a priority is of a whole instance, and neither suspends nor resumes", ErrFormat)
	case (m.Spread || m.Noted) && !m.New:
		return fmt.Errorf("%w: mark: it says what is to be done of it, and is not new", ErrFormat)
	}
	return nil
}

// MarkOf reads a message's mark.
func MarkOf(m *Message) (Marked, error) {
	mark, err := DecodeMark(m.Body)
	if err == nil && WordNumber(mark.ID) != m.Number {
		err = fmt.Errorf("%w: mark: its number is not of its identifier %s", ErrFormat, mark.ID)
	}
	return Marked{Origin: m.Origin, Clock: m.Clock, Mark: mark}, err
}
