package queue

import (
	"errors"
	"hash/crc32"
	"slices"
	"sync/atomic"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// marksBits is the size of marks: with 100,000 instances terminated, one in ten of all
// others costs a read.
const marksBits = 1 << 20

// castagnoli is the table of a hash that is the same in every process: what is read must
// not depend on chance (invariant 13).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// marks says, in memory of a fixed size, which instances may have a marker, so that to
// ask for that of any other costs no read: an operator's terminate must cost nothing but
// its own instance. It is safe for concurrent use.
type marks struct {
	known atomic.Bool // those that the store had at open are among them
	bits  [marksBits / 64]atomic.Uint64
}

func (m *marks) slot(i message.InstanceID) (word *atomic.Uint64, bit uint64) {
	n := crc32.Checksum(i[:], castagnoli) % marksBits
	return &m.bits[n/64], 1 << (n % 64)
}

func (m *marks) add(i message.InstanceID) {
	word, bit := m.slot(i)
	word.Or(bit)
}

// maybe says no only for an instance that has no marker.
func (m *marks) maybe(i message.InstanceID) bool {
	word, bit := m.slot(i)
	return !m.known.Load() || word.Load()&bit != 0
}

// loadMarkers finds the markers of the store, beside the first commits: there is one for
// each instance that was ever terminated. Until it has, every instance may have one.
func (m *Manager) loadMarkers() {
	m.background.Go(func() {
		found, suspended, err := m.findMarkers()
		if err == nil {
			m.marks.known.Store(true)
		}
		if found && err == nil {
			err = m.endMarked()
		}
		if err == nil {
			err = m.heedMarks(suspended)
		}
		if err != nil && !errors.Is(err, read.ErrEnough) {
			_ = m.read.Judge(err) // it stops the manager, unless that is closed already
		}
	})
}

// loadRunning finds, beside the first commits, which instances run.
func (m *Manager) loadRunning() {
	m.background.Go(func() {
		if err := m.LoadRunning(m.closing.Load); err != nil && !errors.Is(err, read.ErrEnough) {
			_ = m.read.Judge(err) // it stops the manager, unless that is closed already
		}
	})
}

// findMarkers notes the instances that have a marker or marks, and gives those that have marks.
func (m *Manager) findMarkers() (found bool, suspended []place, err error) {
	err = m.entriesOf(record.ClassMarker, func(id processtable.ProcessID, e message.Entry, k message.Key) {
		found = found || k.Kind == message.KindMarker
		m.marks.add(e.Instance)
		if p := (place{id, e}); k.Kind == message.KindMark && (len(suspended) == 0 || suspended[len(suspended)-1] != p) {
			suspended = append(suspended, p)
		}
	})
	return found, suspended, err
}

// place is an entry of a process queue.
type place struct {
	process processtable.ProcessID
	entry   message.Entry
}

// heedMarks delivers once more the marks that nobody here has acted on: the site died right after they
// were put (N29).
func (m *Manager) heedMarks(of []place) error {
	for i := 0; i < len(of) && !m.closing.Load(); i++ {
		marks, err := m.Queues.Marks(of[i].process, of[i].entry.Instance)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(marks, func(msg message.Message) bool {
			mark, err := message.DecodeMark(msg.Body)
			return err == nil && mark.New
		}) {
			m.process(of[i].process).Again(&of[i].entry)
		}
	}
	return nil
}

// endMarked delivers the record of each instance that has a marker once more: its process thread
// ends it. It has not ended where the site died right after the marker was put; and a browse of
// the queue finds no instance of which nothing but the record is there.
func (m *Manager) endMarked() error {
	var maybe []place
	err := m.entriesOf(record.ClassRecord, func(id processtable.ProcessID, e message.Entry, _ message.Key) {
		if m.marks.maybe(e.Instance) {
			maybe = append(maybe, place{id, e})
		}
	})
	for i := 0; err == nil && i < len(maybe) && !m.closing.Load(); i++ {
		var marker *message.Message
		if marker, err = m.Queues.Marker(maybe[i].process, maybe[i].entry.Instance); marker != nil {
			m.process(maybe[i].process).Again(&maybe[i].entry)
		}
	}
	return err
}

// entriesOf visits the keys of a class of process queues, until the manager is closed.
func (m *Manager) entriesOf(class byte, visit func(processtable.ProcessID, message.Entry, message.Key)) error {
	return m.read.Each(store.ScanOptions{Prefix: []byte{class}, KeysOnly: true}, func(key, _ []byte) error {
		k := record.KeyReader{Rest: key[1:]}
		id, e := k.Process(), k.Entry()
		kind := k.MessageKey(&e)
		if k.Bad {
			return record.Damaged(key, record.ErrKey.Error())
		}
		visit(id, e, kind)
		if m.closing.Load() {
			return read.ErrEnough
		}
		return nil
	})
}

// Marker gives the marker of an instance that an operator ended, nil if there is none.
func (m *Manager) Marker(id processtable.ProcessID, i message.InstanceID) (*message.Message, error) {
	if !m.marks.maybe(i) {
		return nil, nil
	}
	return m.Queues.Marker(id, i)
}

// Marked is Marker and Marks, of one moment.
func (m *Manager) Marked(id processtable.ProcessID, i message.InstanceID) (marker *message.Message, marks []message.Message, err error) {
	if !m.marks.maybe(i) {
		return nil, nil, nil
	}
	return m.Queues.Marked(id, i)
}

// Marks gives what suspends and resumes of an instance lie here (N29).
func (m *Manager) Marks(id processtable.ProcessID, i message.InstanceID) ([]message.Message, error) {
	if !m.marks.maybe(i) {
		return nil, nil
	}
	return m.Queues.Marks(id, i)
}
