package processtable

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fmqm/internal/cbor"
)

// MaxNotices is how many an activity may have.
const MaxNotices = 16

// Notice is what comes beside the work of an activity, or of an instance (N23, N27): at a time, counted from
// when the activity was decided, and then every so often until that has ended; or, of an instance, when something has happened to
// it. It runs a program, or is shown to people, or both.
type Notice struct {
	Program ProgramID // empty: none is run
	// On is what has to happen; 0: nothing, it comes at a time, First, which one with On has not, nor Every.
	On    Occasions
	First Moment
	Every *Moment // a duration; nil: it comes once
	// Staff is to whom it is shown, and whom the program is told of; nil: a program is run only, or, where there is none, of a manual
	// activity, it is shown to who has that, or may have it. Of its own activity it may ask who has it, by that name.
	Staff *Who
}

// ForPeople says whether it is shown to people.
func (n *Notice) ForPeople() bool { return n.Staff != nil || n.Program == "" }

// Occasions are things that happen to an instance, of which its notices tell (paper, section 4). The numbers are part of the format.
type Occasions uint8

const (
	OnEnd      Occasions = 1 << iota // it has ended: it has finished, or was terminated
	OnError                          // an activity of it is in error, and waits for an operator
	OnDeadline                       // a deadline has ended an activity of it, or the instance
	occasions
)

// occasionNames are those of the language, by bit.
var occasionNames = []string{"end", "error", "deadline"}

// Names are their words in the language, in its order.
func (o Occasions) Names() (all []string) {
	for i, name := range occasionNames {
		if o&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return all
}

// String is that of one of them; of several all, with "or".
func (o Occasions) String() string { return strings.Join(o.Names(), " or ") }

// OccasionOf gives the one that a word of the language names; 0: it names none.
func OccasionOf(name string) Occasions {
	if i := slices.Index(occasionNames, name); i >= 0 {
		return 1 << i
	}
	return 0
}

// MaxTold is of how many errors and deadlines of one instance its notices tell; beside these of its end.
const MaxTold = 1000

// Keys of a notice.
const (
	keyNoticeProgram = 1
	keyNoticeFirst   = 2
	keyNoticeEvery   = 3
	keyNoticeStaff   = 4 // from format 8 on
	keyNoticeOn      = 5 // from format 9 on
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
	if n.On == 0 || n.First != (Moment{}) {
		e.moment(&m, keyNoticeFirst, &n.First)
	}
	e.moment(&m, keyNoticeEvery, n.Every)
	if n.Staff != nil {
		m.Key(keyNoticeStaff)
		m.B = e.who(m.B, n.Staff, 1)
	}
	m.Uint(keyNoticeOn, uint64(n.On))
	return m.B
}

var noticeFields = []string{keyNoticeProgram: "program", keyNoticeFirst: "first", keyNoticeEvery: "every", keyNoticeStaff: "staff", keyNoticeOn: "on"}

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
		case keyNoticeOn:
			d.since(ToldFormat)
			n.On = Occasions(d.number(int(occasions) - 1))
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
		case n.On != 0 && (!process || n.First != Moment{} || n.Every != nil || n.On >= occasions):
			return fmt.Errorf("notice %d: what tells of what happens to an instance is of its process, and has no time", i)
		case n.On != 0 && v.t.Format < ToldFormat:
			return fmt.Errorf("notice %d: format %d has none that tells of what happens to an instance", i, v.t.Format)
		case n.On&OnDeadline != 0 && !v.t.Deadlines:
			return fmt.Errorf("notice %d: it tells of deadlines, and nobody tells of these", i)
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

// noticePath is the static path of an activity's notices that come at a time.
func noticePath(a *Activity) []Composite {
	return slices.Concat(a.Path, []Composite{{Activity: Noticing, Elements: true}})
}

// LongestPath is the static path of the activity, or of its notices if it has some.
func (a *Activity) LongestPath() []Composite {
	if len(a.Notify) > 0 {
		return noticePath(a)
	}
	return a.Path
}

// pathOf is the static path of one of an activity's notices: one that tells of what happens is another entry each time.
func (n *Notice) pathOf(a *Activity) []Composite {
	path := noticePath(a)
	if n.On != 0 {
		path[len(path)-1].Iterations = MaxTold + 1
	}
	return path
}

// Tells are the things of which notices of the row tell.
func (a *Activity) Tells() (on Occasions) {
	for i := range a.Notify {
		on |= a.Notify[i].On
	}
	return on
}

// valid: it is fixed, or an expression, and not counted backwards.
func (m *Moment) valid() bool {
	return (m.Expr == nil || m.Fixed == 0) && (m.At || m.Fixed >= 0)
}

// NoticePath is the static path of a notice of an activity here, by its number; false: it has none of this number.
func (t *Table) NoticePath(name ActivityID, number int) (path []Composite, has bool) {
	row, known := t.Of(name)
	if !known && name == Sink {
		row = RowID{Name: Sink}
	}
	const most = 2                                    // rows of one name that are begun: what a call or an offer has, of one execution of a bundle
	for begun := uint8(1); begun <= most+1; begun++ { // those of a bundle are of each execution, and one that offers is begun
		if a := t.Activity(row); a != nil && len(a.Notify) > 0 {
			if number >= len(a.Notify) {
				return nil, false
			}
			return a.Notify[number].pathOf(a), true
		}
		row = RowID{Name: name, Inside: name, Begun: begun}
	}
	return nil, false
}

// AtOffers are the notices of a manual activity that the nodes have which offer it beside its home: those for people, whose
// programs home runs.
func AtOffers(all []Notice) (at []Notice) {
	for _, n := range all {
		if n.ForPeople() {
			n.Program = ""
			at = append(at, n)
		}
	}
	return at
}
