package format

import (
	"bytes"
	"errors"
	"fmt"

	"fmqm/internal/failpoint"
	"fmqm/internal/store"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// A store has one format, whose number is a record. A program reads the stores of its own
// format and of all before: Open brings an older one to the next format, and so on, before
// anything else is read. It refuses a newer one.
//
// A step walks over records in the order of their keys, in as many commits as that takes:
//
//	begin    the new format, and how far the step is: nowhere
//	pages    what becomes of some records, and the key that is looked at next
//	end      nothing says any more how far the step is
//
// So it is the same whether it is cut off once, often or never: Open goes on at the key.
// From the first commit on the store has the new format, and a program that does not know
// that refuses it. Until the last one nothing but the step has read it.

// Step is a way from one format of stores to the next. Both are the same to it after
// a crash, so what it does may only come from the records.
type Step struct {
	// Classes are those whose records it is shown, in ascending order.
	Classes []byte
	// Change gives what becomes of a record: what is put and removed, in one commit, of which
	// it may take half. Of the step's classes that is the record under the key that it was shown,
	// and no other: those are shown to it themselves, once. Of other classes it may be any. It
	// may read others, as far as the step does not change them: which changes it would see there
	// depends on where a page ends. Key and value are valid during the call only.
	Change func(r store.Reader, key, value []byte) ([]store.Op, error)
}

// owns refuses changes that a step may not make of the record that it was shown. One under another
// key of its classes would be shown to it or not, as pages end.
func (s *Step) owns(shown []byte, changes []store.Op) error {
	for _, op := range changes {
		if len(op.Key) > 0 && bytes.IndexByte(s.Classes, op.Key[0]) >= 0 && !bytes.Equal(op.Key, shown) {
			return fmt.Errorf("the step changes another record of those that it is shown, %q: this is an error of the program", record.Readable(op.Key))
		}
	}
	return nil
}

// Steps are those of this program: the first is from format 1 to 2.
//
// Format 2 has what waits apart, and what peers read (N17), messages with their arrival number
// (N11), and timers with a name and a pause (N13). No record of format 1 changes. But a program
// that knows only that one would leave what waits apart where it is, and would not say so: the
// number keeps it from opening the store.
//
// Format 3 has the index of instances (record.ClassListed). A program of format 2 would not keep it, and what it
// left would be missing in lists.
//
// Format 4 has the index of values (record.ClassSearch), for the same reason.
var Steps = []Step{{}, index, values}

// Newest is the one that a program with these steps writes.
func Newest(steps []Step) byte { return byte(1 + len(steps)) }

// Of reads the content of the record of a store's format. One that is newer than the
// newest is refused.
func Of(content []byte, newest byte) (format byte, err error) {
	switch {
	case len(content) != 1 || content[0] == 0:
		return 0, record.Damaged(record.KeyFormat, "this program does not know its form")
	case content[0] > newest:
		return 0, fmt.Errorf("the store has format %d, and this program knows up to %d: use the version of fmqmd that it was opened with last, or a newer one", content[0], newest)
	}
	return content[0], nil
}

// Migrate brings a store to the newest format, from where it is. begins is told from which format to which, before
// anything is changed, or where it goes on; nil: nobody is.
func Migrate(engine store.Engine, steps []Step, begins func(from, to byte)) error {
	m := migration{engine, read.Records{Reader: engine}, begins}
	return m.take(steps)
}

// migration is one on its way.
type migration struct {
	engine store.Engine
	read   read.Records
	begins func(from, to byte)
}

// begin tells that a step begins or goes on, once.
func (m *migration) begin(from, to byte) {
	if m.begins != nil {
		m.begins(from, to)
	}
	m.begins = nil
}

func (m *migration) take(steps []Step) error {
	for {
		content, err := m.read.Content(record.KeyFormat)
		if err != nil {
			return err
		}
		format, err := Of(content, Newest(steps))
		if err != nil {
			return err
		}
		next, err := m.read.Content(record.KeyMigrating)
		switch {
		case err == nil && format > 1:
			m.begin(format-1, Newest(steps))
			err = m.takeStep(steps[format-2], next)
		case err == nil:
			err = record.Damaged(record.KeyMigrating, "no step leads to format 1")
		case !errors.Is(err, store.ErrNotFound):
		case format == Newest(steps):
			return nil
		default:
			m.begin(format, Newest(steps))
			format++
			err = m.commitStep("migrate.begun", []store.Op{{Key: record.KeyFormat, Value: record.New(record.KeyFormat, format)}, progress(nil)})
		}
		if err != nil {
			return fmt.Errorf("bring the store to format %d: %w", format, err)
		}
	}
}

// progress is the change that says at which key a step goes on.
func progress(next []byte) store.Op {
	return store.Op{Key: record.KeyMigrating, Value: record.New(record.KeyMigrating, next...)}
}

// commitStep commits changes of a step, and passes a failpoint behind that.
func (m migration) commitStep(point string, ops []store.Op) error {
	err := m.engine.Commit(m.engine.Last()+1, &store.Batch{Ops: ops})
	failpoint.Hit(point)
	return err
}

// takeStep goes on with a step at a key, to its end.
func (m migration) takeStep(step Step, next []byte) error {
	for {
		ops, after, err := m.pageOf(step, next)
		if err != nil {
			return err
		}
		if after == nil {
			return m.commitStep("migrate.end", append(ops, store.Op{Key: record.KeyMigrating}))
		}
		if err := m.commitStep("migrate.page", append(ops, progress(after))); err != nil {
			return err
		}
		next = after
	}
}

// pageShare is what part of the largest commit a page may fill before it ends.
const pageShare = 4

// pageOf gives what becomes of the records from a key on, as many as fit one commit, and the
// key behind them; nil: those were the last.
func (m migration) pageOf(step Step, next []byte) (ops []store.Op, after []byte, err error) {
	size := int64(0)
	for _, class := range step.Classes {
		o := store.ScanOptions{Prefix: []byte{class}}
		if len(next) > 0 {
			if next[0] > class {
				continue
			}
			if next[0] == class {
				o.From = next
			}
		}
		err = m.read.Each(o, func(key, value []byte) error {
			changes, err := step.Change(m.engine, key, value)
			if err != nil {
				return fmt.Errorf("record %q: %w", record.Readable(key), err)
			}
			if err := step.owns(key, changes); err != nil {
				return fmt.Errorf("record %q: %w", record.Readable(key), err)
			}
			ops = append(ops, changes...)
			if size += m.engine.Size(&store.Batch{Ops: changes}); size < m.engine.MaxBatch()/pageShare {
				return nil
			}
			after = append(bytes.Clone(key), 0) // no key is between the two
			return read.ErrEnough
		})
		if err != nil {
			if errors.Is(err, read.ErrEnough) {
				err = nil
			}
			return ops, after, err
		}
	}
	return ops, nil, nil
}
