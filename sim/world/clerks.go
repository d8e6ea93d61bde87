package world

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
	"fmqm/staff"
)

// People do manual activities (N27), at the sites that offer them, while all else goes wrong: whoever comes first gets an
// item, and what he then gives is what anybody would. That one at most has an item, that he may have it, and that nobody is told that it
// is his before that is on disk, is judged at each commit and each answer.

// peopleOf is the staff of a site.
func peopleOf(at name) *staff.Staff {
	words := func(texts []string) (all []staff.Word) {
		for _, text := range texts {
			all = append(all, staff.Word{Text: text})
		}
		return all
	}
	draft := staff.Draft{Roles: words(generate.StaffRoles)}
	for _, p := range generate.Staff(string(at)) {
		draft.People = append(draft.People, staff.DraftPerson{Name: staff.Word{Text: p.Name}, Roles: words(p.Roles)})
	}
	people, problems := draft.Check(staff.Site{Node: at})
	if len(problems) > 0 {
		panic(fmt.Sprintf("the staff of %s: %v", at, problems))
	}
	return people
}

// item is a work item, as records of its home say how it is.
type item struct {
	turn
	process string
	has     string          // who has it; empty: nobody
	had     map[string]bool // who ever had it
	done    string          // who has completed it; empty: nobody
	open    bool            // it is offered, or somebody has it
	kept    string          // who was told that it is his, and has not said anything since by which he would lose it
	saying  int             // how much is being said of it, of which nobody knows what has become
}

// turn is one iteration of a manual activity, at its home.
type turn struct {
	entry     message.Entry
	iteration int
}

// itemOf gives the item that a record is of, and whether it is a record of its home. What another site offers lies there
// in a scope of its own, which names the iteration, and has a name of its own.
func (x *watch) itemOf(r *record.AuditRecord) (i *item, home bool) {
	e := entryOf(r)
	at := turn{e, r.Iteration}
	if home = !oracle.IsWork(r.Scope, r.Activity); !home {
		frames, _ := r.Scope.Frames()
		at.iteration = frames[len(frames)-1].Iteration
		at.entry.Scope = r.Scope.Leave()
	}
	if x.turns[at] == nil {
		x.turns[at] = &item{turn: at, process: r.Process.String(), had: map[string]bool{}}
	}
	x.items[message.ItemID(&e, message.Execution{Iteration: r.Iteration, Run: r.Run})] = x.turns[at]
	return x.turns[at], home
}

// work holds what is recorded of an item to N27: nobody is given what another one has, or what he may not have.
func (x *watch) work(s *site, r *record.AuditRecord) {
	switch r.Event {
	case record.EventTerminated, record.EventCancelled:
		x.workEnds(s, r)
		return
	case record.EventEscalated:
		x.tells(r)
		return
	case record.EventOffered, record.EventClaimed, record.EventReleased, record.EventTransferred, record.EventSaved, record.EventCompleted, record.EventWithdrawn:
	default:
		return
	}
	i, home := x.itemOf(r)
	if !home {
		return
	}
	wrong := func(format string, args ...any) { x.wrongly(s, i.entry, format, args...) }
	gets := func(who string) {
		x.world.journal.met("claimed")
		if i.has, i.had[who] = who, true; !x.may(i, who) {
			wrong("%s is given it, and may not have it", who)
		}
	}
	switch r.Event {
	case record.EventClaimed:
		if i.has != "" && i.has != r.By { // who has it may say so once more
			wrong("%s is given it, and %s has it", r.By, i.has)
		}
		gets(r.By)
	case record.EventTransferred:
		if i.has != r.By && r.People.Operator == "" {
			wrong("%s passes it on, and %q has it", r.By, i.has)
		}
		gets(r.People.To)
	case record.EventReleased:
		if i.has == "" {
			wrong("%s releases it, and nobody has it", r.By)
		} else if i.has == i.kept {
			wrong("it is taken from %s, who was told that it is his", i.has)
		}
		i.has = ""
	case record.EventSaved, record.EventCompleted:
		if i.has != r.By {
			wrong("%s works at it, and %q has it", r.By, i.has)
		}
		if r.Event == record.EventCompleted {
			i.has, i.done, i.open, x.did[i.entry] = "", r.By, false, r.By
		}
	case record.EventOffered, record.EventWithdrawn:
		i.has, i.open = "", r.Event == record.EventOffered
	default:
	}
}

// tells takes down that people are shown a notice, or that somebody has taken it off.
func (x *watch) tells(r *record.AuditRecord) {
	e := entryOf(r)
	number := r.Attempt - 1
	if e.Scope = e.Scope.Notice(number); r.Told != nil {
		e.Scope = entryOf(r).Scope.Told(number, r.Iteration)
	}
	id := message.ItemID(&e, message.NoticeExecution)
	if x.told[id] == nil {
		x.told[id] = &shownNotice{entryOf(r), number, r.Told != nil, map[string]bool{}}
	}
	switch {
	case r.By != "":
		x.told[id].off[r.By] = true
	case r.Told != nil:
		x.world.journal.met("told")
	default:
		x.world.journal.met("escalated")
	}
}

// workEnds: what ends a manual activity otherwise than that somebody completes it has withdrawn its item, and nobody did it.
func (x *watch) workEnds(s *site, r *record.AuditRecord) {
	e := entryOf(r)
	if r.TimedOut || r.Event == record.EventCancelled {
		delete(x.did, e)
	}
	if i := x.turns[turn{e, r.Iteration}]; i != nil && i.open {
		x.wrongly(s, e, "it ends, and people are not told that it is withdrawn")
	}
}

// wrongly breaks N27, unless something else may have done what is wrong.
func (x *watch) wrongly(s *site, e message.Entry, format string, args ...any) {
	if !x.lost[s.name] && !x.cloned[s.name] && !x.shadows[s.name].filled && !x.world.weakly(e.Instance) {
		x.world.breaks("N27", "%s: %s", shown(e), fmt.Sprintf(format, args...))
	}
}

// may says whether a person may have an item, by what the definition says of that and who has done others: as the
// world knows, not as a site does.
func (x *watch) may(i *item, who string) bool {
	a := x.world.activityOf(i)
	_, at, _ := strings.Cut(who, "@")
	return (len(a.OfferedAt) == 0 || slices.Contains(a.OfferedAt, at)) && x.holds(a.Staff.Staff, i, who, false)
}

// activityOf is what the definition says of an item.
func (w *World) activityOf(i *item) oracle.Place {
	for _, p := range w.cases {
		if p.id == i.process {
			return p.places[string(i.entry.Activity)]
		}
	}
	return oracle.Place{}
}

// holds says whether a term does of a person. Under a negation a namesake elsewhere counts as the same one.
func (x *watch) holds(s *condition.Staff, i *item, who string, negated bool) bool {
	text := func() string { return strings.Trim(s.Of.Text, `"`) }
	person, at, _ := strings.Cut(who, "@")
	switch s.Is {
	case condition.StaffAnd:
		return !slices.ContainsFunc(s.Parts, func(p *condition.Staff) bool { return !x.holds(p, i, who, negated) })
	case condition.StaffOr:
		return slices.ContainsFunc(s.Parts, func(p *condition.Staff) bool { return x.holds(p, i, who, negated) })
	case condition.StaffNot:
		return !x.holds(s.Parts[0], i, who, !negated)
	case condition.StaffPerson:
		return person == text()
	case condition.StaffRole:
		return slices.ContainsFunc(generate.Staff(at), func(p generate.Person) bool {
			return p.Name == person && slices.Contains(p.Roles, text())
		})
	case condition.StaffDid:
		other := i.entry
		other.Activity = processtable.ActivityID(s.Activity)
		did := x.did[other]
		short, _, _ := strings.Cut(did, "@")
		return did == who || negated && short == person
	case condition.StaffOrg, condition.StaffManages, condition.StaffData:
	}
	panic(fmt.Sprintf("no world draws staff expressions with %d", s.Is))
}

// ways are how somebody deals with an item.
const ways = 6

// clerk is one of the people of a site, who deals with all that he is offered.
func (w *World) clerk(e Event) {
	people := generate.Staff(string(e.Site))
	w.works(e.Site, people[e.Number%len(people)].Name, e.Number/len(people))
}

// works has somebody deal with all that he is offered.
func (w *World) works(at name, who string, way int) {
	var offered api.WorkAnswer
	_ = w.answered(at, "worklist of "+who, func(ctx context.Context, n *node.Node) (wrong string, err error) {
		offered, err = n.Work(ctx, api.WorkRequest{As: who, Limit: api.MaxPage})
		return w.watch.worklist(at, who, offered), err
	})
	for i := range offered.Items {
		switch item := &offered.Items[i]; {
		case item.Kind != api.ItemNotice:
			w.deals(at, who, item.Item, way)
		case way%2 == 0:
			w.takesOff(at, who, item)
		}
	}
}

// worklist says what of a list somebody may not have.
func (x *watch) worklist(at name, who string, a api.WorkAnswer) string {
	for i := range a.Items {
		of := x.items[a.Items[i].Item]
		switch {
		case a.Items[i].Kind == api.ItemNotice:
			if n := x.told[a.Items[i].Item]; n == nil {
				return a.Items[i].Item + ", a notice that never came"
			} else if !x.world.weakly(n.entry.Instance) && !x.sees(n, who+"@"+string(at)) {
				return "what " + who + " is not to be told: " + a.Items[i].Title
			}
		case of == nil:
			return a.Items[i].Item + ", which was never offered"
		case x.world.weakly(of.entry.Instance):
		case a.Items[i].State == api.ItemOffered && !x.may(of, who+"@"+string(at)):
			return "what " + who + " may not have: " + shown(of.entry)
		}
	}
	return ""
}

// deals has somebody deal with an item.
func (w *World) deals(at name, who, id string, way int) {
	say := func(verb api.WorkVerb, word api.WorkWord) error { return w.says(at, who, id, verb, word) }
	claim := func() bool { return say(api.WorkClaim, api.WorkWord{}) == nil }
	switch way % ways {
	case 0:
		w.completes(at, who, id, false)
	case 1:
		if claim() {
			_ = say(api.WorkSave, api.WorkWord{Output: json.RawMessage("{}")})
			w.completes(at, who, id, true)
		}
	case 2:
		claim()
	case 3:
		if claim() {
			_ = say(api.WorkRelease, api.WorkWord{})
		}
	case 4:
		if claim() {
			people := generate.Staff(string(at))
			_ = say(api.WorkTransfer, api.WorkWord{To: people[(way/ways+1)%len(people)].Name})
		}
	case 5:
		claim()
		w.completes(at, who, id, false)
	}
}

// takesOff has somebody take a notice off the worklists. He is told that it is done once that is on disk.
func (w *World) takesOff(at name, who string, notice *api.WorkItem) {
	_ = w.answered(at, "notice "+notice.Item+" to be taken off by "+who, func(ctx context.Context, n *node.Node) (string, error) {
		done, err := n.SayWork(ctx, notice.Item, api.WorkComplete, api.WorkWord{As: who})
		if err == nil && done.Result == api.WordDone && !w.weakly(notice.Instance) && !w.watch.told[notice.Item].off[who+"@"+string(at)] {
			return "that it is done, and it is not on disk", nil
		}
		return "", err
	})
}

// says has somebody say something about an item. He is told that it is done only when that is on disk at its home.
func (w *World) says(at name, who, id string, verb api.WorkVerb, word api.WorkWord) error {
	word.As = who
	person := who + "@" + string(at)
	of := w.watch.items[id]
	if of != nil && verb != api.WorkSave {
		of.kept = "" // what is said now may cost somebody the item
		of.saying++
	}
	err := w.answered(at, fmt.Sprintf("%s %s of %s", verb, id, who), func(ctx context.Context, n *node.Node) (string, error) {
		done, err := n.SayWork(ctx, id, verb, word)
		if err != nil || done.Result != api.WordDone {
			return "", err
		}
		i := w.watch.items[id]
		switch {
		case i == nil:
			return "what was never offered", nil
		case w.weakly(i.entry.Instance):
		case verb == api.WorkClaim && !i.had[person], verb == api.WorkTransfer && !i.had[word.To+"@"+string(at)], verb == api.WorkComplete && i.done != person:
			return "that it is done, and it is not on disk", nil
		case verb == api.WorkClaim && i.has == person && i.saying == 1:
			i.kept = person
		}
		return otherThan(id+string(verb)+person, done.Item+string(done.Word)+done.By), nil
	})
	if of != nil && verb != api.WorkSave && (err == nil || isRefusal(err)) {
		of.saying--
	}
	return err
}

// weakly: a site may have lost what it had of the instance, or somebody has ended something in it by hand.
func (w *World) weakly(id uuid.UUID) bool { return w.touched[id] > 0 || w.weaker[id] }

// completes has somebody complete an item with what its case says. With again he says so once more, under the same
// identifier: that is done once.
func (w *World) completes(at name, who, id string, again bool) {
	i := w.watch.items[id]
	c := w.play.cases[i.process]
	if c == nil {
		return
	}
	var shown api.WorkShown
	if w.answered(at, "item "+id+" for "+who, func(ctx context.Context, n *node.Node) (_ string, err error) {
		shown, err = n.WorkItem(ctx, id, who)
		return otherThan(id, shown.Item), err
	}) != nil {
		return
	}
	output, err := w.output(i, c, shown.Input)
	if err != nil {
		w.breaks("12", "the input of %s that %s shows: %v", id, at, err)
		return
	}
	word := api.WorkWord{Output: output, Word: w.wordID()}
	if w.says(at, who, id, api.WorkComplete, word) == nil && again {
		_ = w.says(at, who, id, api.WorkComplete, word)
	}
}

// wordID makes the identifier of what somebody says.
func (w *World) wordID() uuid.UUID {
	d := drawing{Rand: w.random}
	return d.id()
}

// output is what somebody gives who does an item.
func (w *World) output(i *item, c *generate.Case, input json.RawMessage) (json.RawMessage, error) {
	a := w.activityOf(i)
	call := generate.Call{Activity: a.Name, Iteration: i.iteration, Attempt: 1, Input: container.New(a.Input), Output: a.Output}
	if len(input) > 0 {
		in, err := container.DecodeJSON(a.Input, input)
		if err != nil {
			return nil, err
		}
		call.Input = in
	}
	if i.entry.Scope != "" {
		call.Scope = i.entry.Path()
	}
	return container.EncodeJSON(c.Done(call))
}

// allWork has the people of every site do whatever they are offered.
func (w *World) allWork() {
	if !w.plan.Has(People) {
		return
	}
	for _, s := range w.sites {
		for _, p := range generate.Staff(string(s.name)) {
			w.works(s.name, p.Name, 0)
		}
	}
}
