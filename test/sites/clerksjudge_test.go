package sites

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/test/fleet"
)

// judge holds what clerks were told to what has happened, and says how often one was told that an item is his.
func (o *office) judge(ctx context.Context, ends map[uuid.UUID]api.Status) (yours int) {
	o.t.Helper()
	items := map[piece][]saying{} // what was said of each
	for _, s := range o.said {
		items[s.about] = append(items[s.about], s)
		if s.told == yes && (s.verb == api.WorkClaim || s.verb == api.WorkComplete) {
			yours++
		}
	}
	for item, said := range items {
		o.oneAtATime(item, said)
	}
	for n, id := range o.begun {
		var slip map[string]string
		end := ends[id]
		if err := json.Unmarshal(end.Output, &slip); err != nil {
			o.t.Fatalf("%s ends with %s: %v", id, end.Output, err)
		}
		history := o.history(ctx, o.at[n], id)
		for _, a := range end.Activities {
			if a.Kind == api.KindManual {
				o.whoseIs(a, slip[a.Activity], piece{id, a.Activity}, items[piece{id, a.Activity}], history)
			}
		}
	}
	for name, site := range o.network.sites {
		err := fleet.Until(ctx, func() (bool, error) {
			left, err := site.Client.Work(ctx, api.WorkRequest{All: true, Limit: 1})
			return err == nil && len(left.Items) == 0, nil
		})
		if err != nil {
			o.t.Errorf("work is left at %s: %v", name, err)
		}
	}
	return yours
}

// history is that of an instance, whole.
func (o *office) history(ctx context.Context, at string, id uuid.UUID) (all []api.HistoryEvent) {
	o.t.Helper()
	err := fleet.Until(ctx, func() (bool, error) {
		h, err := o.network.sites[at].Client.History(ctx, id)
		all = h.Events
		return err == nil && len(h.Unreachable) == 0, nil
	})
	if err != nil {
		o.t.Fatalf("the history of %s: %v", id, err)
	}
	return all
}

// held is for how long somebody surely had an item: from when he was told so until he said anything by which he could
// lose it.
type held struct {
	person   string
	about    piece
	from, to time.Time
}

// oneAtATime: of those who were told that an item is theirs none had it while another one did.
func (o *office) oneAtATime(item piece, said []saying) {
	var all []held
	open := map[string]int{} // where in all somebody has begun to have it
	for _, s := range said { // of each person in his order
		at, has := open[s.person]
		if has && o.home.forgot(&all[at], &s) {
			all[at].to, has = s.asked, false
		}
		switch {
		case s.verb == api.WorkClaim && s.told == yes && !has:
			open[s.person] = len(all)
			all = append(all, held{person: s.person, about: item, from: s.answered})
		case has && (s.verb == api.WorkRelease || s.verb == api.WorkTransfer || s.verb == api.WorkComplete):
			all[at].to = s.asked
			delete(open, s.person)
		}
	}
	o.home.ends(all, said)
	for i, one := range all {
		for _, other := range all[i+1:] {
			if other.person != one.person && before(one.from, other.to) && before(other.from, one.to) {
				o.t.Errorf("%s and %s were both told that %s is theirs: %s, %s\n%s", one.person, other.person, item, span(one), span(other), lines(said))
			}
		}
	}
	for _, at := range open { // nobody takes from him what he does not give back
		one := all[at]
		for _, s := range said {
			if s.person != one.person && s.told == yes && s.asked.After(one.from) && before(s.asked, one.to) {
				o.t.Errorf("%s was told that %s is his, and %s by %s was done then\n%s", one.person, item, s.verb, s.person, lines(said))
			}
		}
	}
}

// lapse is what a home that was restored has forgotten: what was said of its activity's items after the copy was made, and
// before that went on. Until then at most one had an item, as ever; what was granted in it is lost with it. What was
// granted before stays, unless the item was completed in it and is offered anew (R49).
type lapse struct {
	activity        string
	copied, stopped time.Time
}

// loses says whether what was said of an item may be forgotten.
func (l lapse) loses(s saying) bool {
	return s.about.activity == l.activity && s.answered.After(l.copied) && s.asked.Before(l.stopped)
}

// ends ends what somebody had, as he was told in a lapse, with the lapse: of an item that was completed in it also what he was
// told before.
func (l lapse) ends(all []held, said []saying) {
	completed := slices.ContainsFunc(said, l.completes)
	for i := range all {
		if h := &all[i]; h.about.activity == l.activity && h.from.Before(l.stopped) && (completed || h.from.After(l.copied)) && before(l.stopped, h.to) {
			h.to = l.stopped
		}
	}
}

// lost is how many words a home had done that it has forgotten.
func (o *office) lost() (n int) {
	for _, s := range o.said {
		if s.told == yes && o.home.loses(s) {
			n++
		}
	}
	return n
}

// forgot says whether home gives somebody now what it had given him before it was restored.
func (l lapse) forgot(h *held, s *saying) bool {
	return h.about.activity == l.activity && h.from.Before(l.stopped) && s.asked.After(l.stopped) && s.verb == api.WorkClaim && s.told == yes
}

// completes says whether an item may have been completed by what was said in a lapse.
func (l lapse) completes(s saying) bool {
	return s.verb == api.WorkComplete && s.told != no && l.loses(s)
}

// before says whether a time is before another one; zero: that never came.
func before(a, b time.Time) bool { return b.IsZero() || a.Before(b) }

func span(h held) string {
	return h.from.Format("05.000") + " to " + h.to.Format("05.000")
}

// lines is what was said of an item, a line each.
func lines(said []saying) string {
	var b strings.Builder
	for _, s := range said {
		fmt.Fprintf(&b, "%s to %s: %s %s: %s\n", s.asked.Format("05.000"), s.answered.Format("05.000"), s.person, s.verb, [...]string{"unknown", "done", "refused"}[s.told])
	}
	return b.String()
}

// whoseIs: who completed an item had it, he alone was told that he has, and what he gave is what there is.
func (o *office) whoseIs(a api.Activity, text string, about piece, said []saying, history []api.HistoryEvent) {
	wrong := func(format string, args ...any) {
		o.t.Errorf("%s: %s\n%s", about, fmt.Sprintf(format, args...), lines(said))
	}
	holder, completed := "", ""
	for _, e := range history {
		if e.Activity != a.Activity || e.Node != a.Node {
			continue
		}
		switch e.Event {
		case api.EventClaimed:
			if holder != "" && holder != e.By {
				wrong("%s is given it, and %s has it", e.By, holder)
			}
			holder = e.By
		case api.EventReleased, api.EventWithdrawn:
			holder = ""
		case api.EventTransferred:
			_, holder, _ = strings.Cut(e.About, " ") // behind the item
		case api.EventCompleted:
			if completed != "" || holder != e.By {
				wrong("%s completes it, %q has it, and %q had completed it", e.By, holder, completed)
			}
			completed = e.By
		default:
		}
	}
	person, _, _ := strings.Cut(text, " ")
	if slices.ContainsFunc(said, o.home.completes) {
		o.oneOfThose(text, said, wrong)
		return
	}
	if completed == "" || a.By != completed || !strings.HasPrefix(completed, person+"@") {
		wrong("it was completed by %q, status says %q, and it is the text of %q", completed, a.By, person)
	}
	for _, s := range said {
		if s.verb == api.WorkComplete && s.told == yes && s.text != text {
			wrong("%s was told that it is completed with %q, and it has %q", s.person, s.text, text)
		}
		if s.verb == api.WorkComplete && s.told == no && s.text == text {
			wrong("%s was told that it is not completed, and it is", s.person)
		}
	}
}

// oneOfThose: of an item that was completed in a lapse, and may have been completed once more, there is what one gave who was
// not told that it is too late.
func (o *office) oneOfThose(text string, said []saying, wrong func(string, ...any)) {
	o.t.Helper()
	if !slices.ContainsFunc(said, func(s saying) bool { return s.verb == api.WorkComplete && s.told != no && s.text == text }) {
		wrong("it has %q, which nobody was told that he has given", text)
	}
}
