package work

import (
	"fmt"
	"strings"

	"fmqm/behaviour"
	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/node/worklist"
	"fmqm/processtable"
)

// read folds what the store has of an item's entry.
func (d *Desk) read(p behaviour.Process, k worklist.Key) (behaviour.State, behaviour.Offering, error) {
	b := p.Activity(k.Entry.Row())
	offering, is := b.(behaviour.Offering)
	if !is {
		return nil, nil, fmt.Errorf("%s of %s is offered to nobody", k.Entry.Path(), k.Process)
	}
	messages, err := d.Queue.Browse(k.Process, k.Entry)
	if err != nil {
		return nil, nil, err
	}
	state := b.Empty(k.Entry)
	for _, m := range messages {
		if m.Kind != message.KindWord {
			_ = b.Fold(state, m) // what does not fit is refused by the process thread
		}
	}
	return state, offering, nil
}

// WaitsFor says for people what the item of an entry waits for.
func (d *Desk) WaitsFor(of processtable.ProcessID, e message.Entry) string {
	i, found := d.list.Of(worklist.Key{Process: of, Entry: e})
	switch {
	case !found:
		return "its work item is about to be offered"
	case i.By != (message.Doer{}):
		who := fmt.Sprintf("item %s: %s has claimed it", i.ID, i.By.Person)
		if i.By.For != "" {
			who += " for " + i.By.For
		}
		return who
	case i.Away && len(i.Elsewhere) > 0:
		return fmt.Sprintf("item %s is offered%s", i.ID, offeredElsewhere(&i))
	case d.Site.Staff() == nil:
		return fmt.Sprintf("item %s: no staff here, so nobody can claim it: give `staff: {file: FILE}` in the configuration of %s, and reload it", i.ID, d.Self)
	}
	n := 0
	if r, is := i.Rule.(*rule); is {
		if q, err := r.question(); err == nil {
			n, _ = q.Count()
		}
	}
	if n == 0 && len(i.Elsewhere) == 0 {
		return fmt.Sprintf("item %s: nobody of the staff of %s may have it%s: change the staff there, or fmqm finish it by hand", i.ID, d.Self, d.administeredBy(of))
	}
	also := offeredElsewhere(&i)
	if also != "" {
		also = ", and" + also
	}
	return fmt.Sprintf("item %s is offered to %s%s", i.ID, text.Counted(n, "person", "people"), also)
}

// administeredBy says for people on whose worklists an item is that nobody here may have; empty: on nobody's.
func (d *Desk) administeredBy(of processtable.ProcessID) string {
	p := d.Site.Process(of)
	if p == nil {
		return ""
	}
	all := d.administrators(p, couldShown)
	if len(all) == 0 {
		return ""
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one.Name)
	}
	return ", so it is shown to who administers " + of.Name + ", " + strings.Join(names, ", ")
}
