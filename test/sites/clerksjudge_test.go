package sites

import (
	"context"
	"encoding/json"
	"fmt"
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
	from, to time.Time
}

// oneAtATime: of those who were told that an item is theirs none had it while another one did.
func (o *office) oneAtATime(item piece, said []saying) {
	var all []held
	open := map[string]int{} // where in all somebody has begun to have it
	for _, s := range said { // of each person in his order
		at, has := open[s.person]
		switch {
		case s.verb == api.WorkClaim && s.told == yes && !has:
			open[s.person] = len(all)
			all = append(all, held{person: s.person, from: s.answered})
		case has && (s.verb == api.WorkRelease || s.verb == api.WorkTransfer || s.verb == api.WorkComplete):
			all[at].to = s.asked
			delete(open, s.person)
		}
	}
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
			if s.person != one.person && s.told == yes && s.asked.After(one.from) {
				o.t.Errorf("%s was told that %s is his, and %s by %s was done then\n%s", one.person, item, s.verb, s.person, lines(said))
			}
		}
	}
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
		case api.EventReleased:
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
