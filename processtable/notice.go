package processtable

import (
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/cbor"
)

// MaxNotices is how many an activity may have.
const MaxNotices = 16

// Notice is what comes beside the work of an activity, or of an instance (N23, N27): at a time, counted from
// when the activity was decided, and then every so often until that has ended. It runs a program, or is shown to people, or both.
type Notice struct {
	Program ProgramID // empty: none is run
	First   Moment
	Every   *Moment // a duration; nil: it comes once
	// Staff is to whom it is shown, and whom the program is told of; nil: a program is run only, or, where there is none, of a manual
	// activity, it is shown to who has that, or may have it. Of its own activity it may ask who has it, by that name.
	Staff *Who
}

// ForPeople says whether it is shown to people.
func (n *Notice) ForPeople() bool { return n.Staff != nil || n.Program == "" }

// Keys of a notice.
const (
	keyNoticeProgram = 1
	keyNoticeFirst   = 2
	keyNoticeEvery   = 3
	keyNoticeStaff   = 4 // from format 8 on
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
		if n.Program != "" && !slices.Contains(all, n.Program) {
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
	if n.Staff != nil {
		m.Key(keyNoticeStaff)
		m.B = e.who(m.B, n.Staff, 1)
	}
	return m.B
}

var noticeFields = []string{keyNoticeProgram: "program", keyNoticeFirst: "first", keyNoticeEvery: "every", keyNoticeStaff: "staff"}

func (d *decoder) notice() (n Notice) {
	for key := range d.Named(noticeFields) {
		switch key {
		case keyNoticeProgram:
			n.Program = ProgramID(d.Text(MaxName))
		case keyNoticeFirst:
			n.First = *d.moment()
		case keyNoticeEvery:
			n.Every = d.moment()
		case keyNoticeStaff:
			n.Staff = d.who(1)
		}
	}
	if n.Program == "" {
		d.since(PeopleFormat)
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
		switch {
		case n.Program != "" && !ValidProgram(string(n.Program)):
			return fmt.Errorf("notice %d: program %q is not a name", i, n.Program)
		case n.Program == "" && n.Staff == nil && a.Kind != KindManual:
			return fmt.Errorf("notice %d: it has no program, and nobody to whom it is shown", i)
		case n.Staff == nil:
		default:
			if err := n.Staff.valid(v.noticed(a)); err != nil {
				return fmt.Errorf("notice %d: %w", i, err)
			}
		}
		if !n.First.valid() || n.Every != nil && (!n.Every.valid() || n.Every.At || n.Every.Expr == nil && n.Every.Fixed == 0) {
			return fmt.Errorf("notice %d: its times are fixed, or expressions, not counted backwards, and repeated after some time", i)
		}
	}
	return nil
}

// noticed says of which activities the notices of a row may ask who did them: of those whose doers come by hidden connectors; of
// its own, where people do it; of who has started the instance, where they are of the process.
func (v *validator) noticed(a *Activity) func(ActivityID) bool {
	if a.Kind == KindSink {
		return func(of ActivityID) bool { return of == Source }
	}
	around := a
	if a.Begun() {
		around = v.t.Activity(RowID{Name: a.Name, Inside: v.index.places[a.Name].Inside})
	}
	return func(of ActivityID) bool {
		return of == a.Name && a.Kind == KindManual || around == nil || slices.Contains(around.Doers(), of) // nil: it is elsewhere
	}
}

// asksInNotice says whether a notice of the row asks who did an activity.
func (a *Activity) asksInNotice(of ActivityID) bool {
	return slices.ContainsFunc(a.Notify, func(n Notice) bool { return slices.Contains(n.Staff.Asks(), of) })
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
	for begun := uint8(1); ; begun++ { // those of a bundle are of each execution
		a := t.Activity(row)
		if a == nil {
			return nil, 0, false
		}
		if len(a.Notify) > 0 {
			return noticePath(a), len(a.Notify), true
		}
		row = RowID{Name: name, Inside: name, Begun: begun}
	}
}
