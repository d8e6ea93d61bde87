package processtable

import (
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/cbor"
)

// MaxNotices is how many an activity may have.
const MaxNotices = 16

// Notice is a program that runs beside the work of an activity, or of an instance (N23): at a time, counted from
// when the activity was decided, and then every so often until that has ended.
type Notice struct {
	Program ProgramID
	First   Moment
	Every   *Moment // a duration; nil: it is run once
}

// Keys of a notice.
const (
	keyNoticeProgram = 1
	keyNoticeFirst   = 2
	keyNoticeEvery   = 3
)

// Noticing is the composite that notices are inside of: no activity can be inside of a source (N1), so the frame of
// a notice, whose element is its number, is none of anything else's.
const Noticing = Source

// Programs are those that the row runs, and each once.
func (a *Activity) Programs() (all []ProgramID) {
	if a.Program != "" {
		all = append(all, a.Program)
	}
	for _, n := range a.Notify {
		if !slices.Contains(all, n.Program) {
			all = append(all, n.Program)
		}
	}
	return all
}

func (e *encoder) notice(b []byte, n Notice) []byte {
	m := cbor.BeginMap(b)
	m.Text(keyNoticeProgram, string(n.Program))
	e.moment(&m, keyNoticeFirst, &n.First)
	e.moment(&m, keyNoticeEvery, n.Every)
	return m.B
}

var noticeFields = []string{keyNoticeProgram: "program", keyNoticeFirst: "first", keyNoticeEvery: "every"}

func (d *decoder) notice() (n Notice) {
	for key := range d.Named(noticeFields) {
		switch key {
		case keyNoticeProgram:
			n.Program = ProgramID(d.Text(MaxName))
		case keyNoticeFirst:
			n.First = *d.moment()
		case keyNoticeEvery:
			n.Every = d.moment()
		}
	}
	return n
}

// checkNotices checks what an activity, or as sink the process, has run beside its work.
func (v *validator) checkNotices(a *Activity) error {
	if len(a.Notify) == 0 {
		return nil
	}
	process := a.Kind == KindSink && len(a.Path) == 0
	if a.Added() && !process || a.Kind == KindEmpty || a.Kind == KindWait {
		return fmt.Errorf("kind %d has no notices: it does no work that takes time", a.Kind)
	}
	if ScopeSize(noticePath(a)) > MaxScope || len(a.Path) == MaxPath {
		return errors.New("notices: they would be too deep inside of composites")
	}
	for i, n := range a.Notify {
		if !ValidProgram(string(n.Program)) {
			return fmt.Errorf("notice %d: program %q is not a name", i, n.Program)
		}
		if !n.First.valid() || n.Every != nil && (!n.Every.valid() || n.Every.At || n.Every.Expr == nil && n.Every.Fixed == 0) {
			return fmt.Errorf("notice %d: its times are fixed, or expressions, not counted backwards, and repeated after some time", i)
		}
	}
	return nil
}

// noticePath is the static path of an activity's notices.
func noticePath(a *Activity) []Composite {
	return slices.Concat(a.Path, []Composite{{Activity: Noticing, Elements: true}})
}

// valid: it is fixed, or an expression, and not counted backwards.
func (m *Moment) valid() bool {
	return (m.Expr == nil || m.Fixed == 0) && (m.At || m.Fixed >= 0)
}

// NoticePath is the static path of the notices of an activity here; false: it has none.
func (t *Table) NoticePath(name ActivityID) (path []Composite, n int, has bool) {
	row, known := t.Of(name)
	if !known && name == Sink {
		row = RowID{Name: Sink}
	}
	a := t.Activity(row)
	if a == nil || len(a.Notify) == 0 {
		return nil, 0, false
	}
	return noticePath(a), len(a.Notify), true
}
