package admission

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
)

// suspend is a mark of an instance that was started at a site, as that sends it.
func (w *world) suspend(i message.InstanceID, origin processtable.NodeID, change func(*message.Mark)) message.Message {
	mark := message.Mark{ID: message.WordID(uuid.Must(uuid.NewV7())), By: "ann at " + string(origin), Time: time.Unix(1, 0), New: true}
	if change != nil {
		change(&mark)
	}
	return mark.Message(message.Queue{Process: w.table.Process, Node: "A"}, i, origin, 5)
}

// marks are those that lie here of an instance.
func (w *world) marks(i message.InstanceID) (all []message.Marked) {
	w.t.Helper()
	found, err := w.Queue.Marks(w.table.Process, i)
	if err != nil {
		w.t.Fatal(err)
	}
	for at := range found {
		mark, err := message.MarkOf(&found[at])
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, mark)
	}
	return all
}

// N29, invariant 11: only the site where an instance was started suspends it, and it says no more than that; whatever else comes
// is set aside, also when an operator delivers it again, and changes nothing.
func TestN29WhoSuspends(t *testing.T) {
	w := newWorld(t, true)
	known := w.connector() // of an instance that was started at B
	w.sends("B", known)
	fresh := uuid.Must(uuid.NewV7())
	for _, c := range []struct {
		name   string
		peer   processtable.NodeID
		m      message.Message
		reason string // empty: it is taken
	}{
		{"its origin", "B", w.suspend(known.Instance, "B", nil), ""},
		{"its origin, before anything else of it has come", "C", w.suspend(fresh, "C", nil), ""},
		{"another, in the origin's name", "C", w.suspend(known.Instance, "B", nil), "C suspends or resumes an instance that was started at B"},
		{"another, as the origin", "C", w.suspend(known.Instance, "C", nil), "it says that its instance was started at C, but it was started at B"},
		{"another, in this site's name", "B", w.suspend(known.Instance, "A", nil), "B suspends or resumes an instance that was started at A"},
		{"as one that was acted on here", "B", w.suspend(known.Instance, "B", func(m *message.Mark) { m.New = false }), "it says that it was acted on here, or is for others"},
		{"as one that is to be passed on", "B", w.suspend(known.Instance, "B", func(m *message.Mark) { m.Spread = true }), "it says that it was acted on here, or is for others"},
		{"what cannot be read", "B", func() message.Message {
			m := w.suspend(known.Instance, "B", nil)
			m.Body = m.Body[:len(m.Body)-1]
			return m
		}(), "it suspends or resumes, and cannot be read"},
	} {
		before, aside := len(w.marks(c.m.Instance)), len(w.reasons())
		w.sends(c.peer, c.m)
		want := before
		if c.reason == "" {
			want++
		} else if again, err := w.Misplaced(c.peer, &c.m); err != nil || again == "" {
			t.Errorf("%s: an operator delivers it again: %q, %v", c.name, again, err)
		}
		if got := len(w.marks(c.m.Instance)); got != want {
			t.Errorf("%s: %d marks lie here, want %d", c.name, got, want)
		}
		if reasons := w.reasons()[aside:]; c.reason == "" && len(reasons) > 0 || c.reason != "" && (len(reasons) != 1 || !strings.HasPrefix(reasons[0], string(c.peer)+": "+c.reason)) {
			t.Errorf("%s: set aside for %q, want %q", c.name, reasons, c.reason)
		}
	}
}

// N29: of marks with one identifier the first counts, in one batch and in two; and of one instance only so many are taken.
func TestN29MarksRepeat(t *testing.T) {
	w := newWorld(t, true)
	i := uuid.Must(uuid.NewV7())
	first := w.suspend(i, "B", nil)
	other := first
	mark, err := message.MarkOf(&first)
	if err != nil {
		t.Fatal(err)
	}
	mark.Reason = "another word"
	other.Body = message.EncodeMark(mark.Mark)
	w.sends("B", first, other)
	w.sends("B", other)
	if marks := w.marks(i); len(marks) != 1 || marks[0].Reason != "" {
		t.Errorf("there are %+v", marks)
	}
	var many []message.Message
	for range marksLimit - 1 {
		many = append(many, w.suspend(i, "B", nil))
	}
	w.sends("B", many...)
	w.wantAside()
	beyond := w.suspend(i, "B", nil)
	w.sends("B", beyond)
	w.wantAside(fmt.Sprintf("B: its instance was suspended and resumed %d times", marksLimit/2))
	if again, err := w.Misplaced("B", &beyond); err != nil || again == "" {
		t.Errorf("an operator delivers it again: %q, %v", again, err)
	}
	if marks := w.marks(i); len(marks) != marksLimit {
		t.Errorf("there are %d", len(marks))
	}
}

// N29: a mark is put as one that was acted on where nothing is to be done about it but to tell what is in memory. One with a time, or of
// a process of which an activity here begins instances that are suspended with it, is left to the process thread.
func TestN29AMarkWithNothingToDo(t *testing.T) {
	begins := func(more string) string {
		return "process: two-sites\nversion: 1\nstarts: [B]\nactivities:\n  here: {node: A, process: other" + more + "}\n  there: {node: B, program: p}\ncontrol: [there -> here]\n"
	}
	until := func(m *message.Mark) { m.Until = time.Unix(1_000_000, 0) }
	for _, c := range []struct {
		name, process string
		change        func(*message.Mark)
		left          bool
	}{
		{"nothing", twoSites, nil, false},
		{"a priority", twoSites, func(m *message.Mark) { m.Rank = message.RankOf(7) }, false},
		{"a time", twoSites, until, true},
		{"a subprocess", begins(""), nil, true},
		{"one that is independent", begins(", autonomy: independent"), nil, false},
		{"one that is independent, and a time", begins(", autonomy: independent"), until, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, false)
			table := definitiontest.TablesOf(t, c.process, definition.CompileOptions{})["A"]
			p, err := navigator.Prepare(table, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.Install(p)
			m := w.suspend(uuid.Must(uuid.NewV7()), "B", c.change)
			w.sends("B", m)
			w.wantAside()
			marks := w.marks(m.Instance)
			if len(marks) != 1 || marks[0].New != c.left {
				t.Fatalf("there are %+v", marks)
			}
			sent, _ := message.MarkOf(&m)
			if marks[0].New = true; fmt.Sprintf("%+v", marks[0]) != fmt.Sprintf("%+v", sent) {
				t.Errorf("it says %+v, and %+v was sent", marks[0], sent)
			}
			if u := w.Queue.Usage("B"); u.Marks != 1 {
				t.Errorf("it is charged as %+v", u)
			}
		})
	}
}

// N29: the first marks of an instance that has come here are charged to nobody, and so a link is not paused since an operator has
// suspended many instances often; more of them are, and those of which nothing has come.
func TestN29WhichMarksAreCharged(t *testing.T) {
	w := newWorld(t, true)
	known := w.connector()
	w.sends("B", known)
	for n := 1; n <= marksOfUse+3; n++ {
		w.sends("B", w.suspend(known.Instance, "B", nil))
		if u := w.Queue.Usage("B"); u.Marks != max(0, n-marksOfUse) {
			t.Errorf("after %d marks of an instance that is known it is charged as %+v", n, u)
		}
	}
	w.sends("B", w.suspend(uuid.Must(uuid.NewV7()), "B", nil))
	if u := w.Queue.Usage("B"); u.Marks != 4 {
		t.Errorf("with one of an instance of which nothing has come it is charged as %+v", u)
	}
	w.wantAside()
}

// N29: so it is with what comes in one batch, which is not on disk yet while the rest of it is judged.
func TestN29MarksOfOneBatchAreCounted(t *testing.T) {
	w := newWorld(t, true)
	known := w.connector()
	w.sends("B", known)
	var many []message.Message
	for range marksLimit + 2 {
		many = append(many, w.suspend(known.Instance, "B", nil))
	}
	w.sends("B", many...)
	if got := len(w.marks(known.Instance)); got != marksLimit {
		t.Errorf("%d marks lie here", got)
	}
	if u := w.Queue.Usage("B"); u.Marks != marksLimit-marksOfUse || u.Refused != 2 {
		t.Errorf("charged as %+v", u)
	}
}
