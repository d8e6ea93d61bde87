package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fmqm/definition"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Heard is what an activity has told sink, on the disk of the site where the instance was started.
type Heard struct {
	Path    string // of the activity
	On      processtable.Occasions
	Cleared bool // with OnError: it is not in error any more
}

// Begun is a notice of what has happened that has come to the queue of its site (R58).
type Begun struct {
	Number int // of the notice of the process, from 0
	Nth    int // which of the things that have happened it tells of, from 1
}

// Course is what else is known of an instance's way.
type Course struct {
	Weaker bool // a site of it has lost something: others may hear once more, or never, of what was there
	Erased bool // somebody has had data of it overwritten, and with them notices that nobody had seen
}

// Tellings says what is wrong in what the notices of a process have told of an instance that has ended: the end, each error and
// each deadline that sink has heard of are told once by each line that is about them, and nothing is told that was not so before. The
// facts are in the order in which they came to disk; nothing of what the origin had on disk was lost.
func Tellings(p *definition.Process, origin string, facts []Fact, course Course) []string {
	t := &tellings{process: p, places: Places(p), origin: origin, course: course, end: none, limit: none, things: map[int]*thing{}, happened: map[about][]int{}, heard: map[about][]int{}, stands: map[string]bool{}, activities: map[string]string{}}
	for i := range facts {
		t.take(i, &facts[i])
	}
	for _, nth := range slices.Sorted(maps.Keys(t.things)) {
		t.thing(nth, t.things[nth])
	}
	t.missed()
	return t.all
}

// none is the place of what is not there.
const none = -1

// about is something that can happen to an instance.
type about struct {
	on   processtable.Occasions
	path string // empty: the instance
}

func (a about) String() string { return a.on.String() + " of " + cmp.Or(a.path, "the instance") }

// tellings judges what is told of an instance. Places are indexes of facts.
type tellings struct {
	process    *definition.Process
	places     map[string]Place
	origin     string
	course     Course
	end        int               // of the sink's
	ended      record.Event      // how
	byDeadline bool              // its process's deadline has ended it
	limit      int               // when that had come
	things     map[int]*thing    // by which it is, from 1
	happened   map[about][]int   // errors and ends by a deadline, as they are recorded
	heard      map[about][]int   // what sink has heard of these before its end
	late       []about           // and after it
	stands     map[string]bool   // by path: it is in error, as far as sink has heard before its end
	activities map[string]string // of what is recorded, by path
	all        []string
}

// thing is one that has happened, and what its notices have told.
type thing struct {
	at    int         // when the first of these began
	begun map[int]int // how often, by number
	shown map[int]int // people were shown it
	ran   map[string]int
	about about // as they say; on is 0: none has said
}

func (t *tellings) add(format string, args ...any) {
	t.all = append(t.all, fmt.Sprintf(format, args...))
}

func (t *tellings) take(at int, f *Fact) {
	switch {
	case f.Came != nil:
		if e := f.Came.Entry; e.Activity == processtable.Sink && e.Scope == "" && f.Came.Key.Source == deadline && t.limit == none {
			t.limit = at
		}
	case f.Heard != nil:
		t.hears(at, f.Heard)
	case f.Begun != nil:
		t.thingOf(f.Begun.Nth, at).begun[f.Begun.Number]++
	case f.Record != nil:
		t.recorded(at, f.Record)
	}
}

func (t *tellings) hears(at int, h *Heard) {
	what := about{h.On, h.Path}
	switch {
	case t.end != none:
		t.late = append(t.late, what)
	case h.Cleared:
		delete(t.stands, h.Path)
	default:
		t.heard[what] = append(t.heard[what], at)
		if h.On == processtable.OnError {
			t.stands[h.Path] = true
		}
	}
}

func (t *tellings) thingOf(nth, at int) *thing {
	if t.things[nth] == nil {
		t.things[nth] = &thing{at: at, begun: map[int]int{}, shown: map[int]int{}, ran: map[string]int{}}
	}
	return t.things[nth]
}

func (t *tellings) recorded(at int, r *record.AuditRecord) {
	path := r.Scope.Path(r.Activity)
	switch {
	case r.Told != nil:
		t.tells(at, r)
	case r.Event == record.EventInError:
		for scope, inside := r.Scope, path; ; scope, inside = scope.Leave(), scope.Leave().Path(scope.Inside()) { // a bundle tells of what is inside of it (N21)
			t.happened[about{processtable.OnError, inside}] = append(t.happened[about{processtable.OnError, inside}], at)
			if scope == "" {
				break
			}
		}
	case r.Scope == "" && r.Activity == processtable.Sink && isEnd(r):
		t.end, t.ended, t.byDeadline = at, r.Event, r.By == "its deadline"
	case r.TimedOut && isEnd(r):
		what := about{processtable.OnDeadline, path}
		t.happened[what] = append(t.happened[what], at)
		t.activities[path] = string(r.Activity)
	}
}

// tells takes what a notice records of itself.
func (t *tellings) tells(at int, r *record.AuditRecord) {
	thing := t.thingOf(r.Iteration, at)
	switch {
	case r.Event == record.EventNotified:
		program, _, _ := strings.Cut(r.Reason, " ")
		thing.ran[program]++
	case r.By == "":
		thing.shown[r.Attempt-1]++
	}
	what := about{on: r.Told.On, path: r.Told.Path()}
	if thing.about.on != 0 && thing.about != what {
		t.add("the %d. thing that is told is %s, and %s", r.Iteration, thing.about, what)
	}
	thing.about = what
}

// thing holds what is told of one to the lines of the definition, and to what has happened before it.
func (t *tellings) thing(nth int, of *thing) {
	what := of.about
	if what.on == 0 {
		if !t.course.Erased {
			t.add("what has happened as the %d. thing was never told, and a notice of it had begun", nth)
		}
		return
	}
	ran := map[string]int{}
	for i := range max(len(t.process.Notify), slices.Max(append(slices.Collect(maps.Keys(of.begun)), 0))+1) {
		begun, shown := 0, 0
		if i < len(t.process.Notify) && t.process.Notify[i].On&what.on != 0 {
			n := &t.process.Notify[i]
			if begun = 1; n.Staff != nil || n.Program == "" {
				shown = 1
			}
			ran[n.Program]++
		}
		if of.begun[i] != begun {
			t.add("notice %d of %s has begun %d times, not %d", i+1, what, of.begun[i], begun)
		}
		if of.shown[i] != shown && (!t.course.Erased || of.shown[i] > shown) {
			t.add("notice %d of %s was shown %d times, not %d", i+1, what, of.shown[i], shown)
		}
	}
	delete(ran, "")
	for program := range of.ran {
		ran[program] += 0
	}
	for _, program := range slices.Sorted(maps.Keys(ran)) {
		if of.ran[program] != ran[program] && (!t.course.Erased || of.ran[program] > ran[program]) {
			t.add("program %s was told of %s %d times, not %d", program, what, of.ran[program], ran[program])
		}
	}
	if cause := t.causeOf(what); cause == none || cause >= of.at {
		t.add("%s is told, and has not happened before", what)
	}
}

// causeOf is when the first thing was there because of which something may be told.
func (t *tellings) causeOf(what about) int {
	switch {
	case what == about{on: processtable.OnEnd}:
		return t.end
	case what == about{on: processtable.OnDeadline}:
		return t.limit
	case what.path == string(processtable.Sink):
		return first(t.happened[what])
	case t.course.Weaker || len(t.happened[what]) > 0 && len(t.heard[what]) > 0:
		return first(t.heard[what])
	}
	return none
}

func first(places []int) int {
	if len(places) == 0 {
		return none
	}
	return places[0]
}

// told is how often something is told, and when the last time began.
func (t *tellings) told(what about) (times, last int) {
	last = none
	for _, of := range t.things {
		if of.about == what {
			times, last = times+1, max(last, of.at)
		}
	}
	return times, last
}

// isTold says whether a line of the process is about something.
func (t *tellings) isTold(on processtable.Occasions) bool {
	return slices.ContainsFunc(t.process.Notify, func(n definition.Notice) bool { return n.On&on != 0 })
}

// missed holds what has happened to what is told of it.
func (t *tellings) missed() {
	t.counted(about{on: processtable.OnEnd}, t.ended == record.EventEnded || t.ended == record.EventStopped, 1)
	t.counted(about{on: processtable.OnDeadline}, t.byDeadline, 1)
	t.counted(about{processtable.OnError, string(processtable.Sink)}, false, len(t.happened[about{processtable.OnError, string(processtable.Sink)}]))
	for _, what := range inOrder(t.heard) {
		places := t.heard[what]
		t.counted(what, what.on == processtable.OnDeadline, len(places))
		if _, last := t.told(what); t.stands[what.path] && what.on == processtable.OnError && t.isTold(what.on) && last < places[len(places)-1] && !t.course.Erased {
			t.add("%s was heard of, and is not told", what)
		}
	}
	if t.course.Weaker || !t.isTold(processtable.OnDeadline) {
		return
	}
	for _, what := range inOrder(t.happened) {
		if what.on != processtable.OnDeadline || len(t.heard[what]) > 0 {
			continue
		}
		if place := t.places[t.activities[what.path]]; !slices.Contains(t.late, what) || place.Activity != nil && place.Node == t.origin {
			t.add("sink was not told of %s before it ended", what)
		}
	}
}

func inOrder(of map[about][]int) []about {
	return slices.SortedFunc(maps.Keys(of), func(a, b about) int { return cmp.Compare(a.String(), b.String()) })
}

// counted: something that has happened is told at least once where it has to be, and as often as it has happened at most.
func (t *tellings) counted(what about, must bool, most int) {
	if !t.isTold(what.on) {
		most, must = 0, false
	}
	switch times, _ := t.told(what); {
	case must && times == 0 && !t.course.Erased:
		t.add("%s is not told", what)
	case times > most:
		t.add("%s is told %d times, and has happened %d times", what, times, most)
	}
}
