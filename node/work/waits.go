package work

import (
	"fmt"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/node/worklist"
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

// WaitsFor says for people what an item that was offered waits for.
func (d *Desk) WaitsFor(p behaviour.Process, e message.Entry, i *behaviour.Item) string {
	id := message.ItemID(&e, i.At)
	if i.By != (message.Doer{}) {
		text := fmt.Sprintf("item %s: %s has claimed it", id, i.By.Person)
		if i.By.For != "" {
			text += ", for " + i.By.For
		}
		return text
	}
	if d.Site.Staff() == nil {
		return fmt.Sprintf("item %s: no staff here: nobody can claim it; give `staff: {file: FILE}` in the configuration of %s", id, d.Self)
	}
	n, _ := d.count(p, e, i)
	switch n {
	case 0:
		return fmt.Sprintf("item %s: nobody of the staff of %s may have it: change the staff, or fmqm finish it by hand", id, d.Self)
	case 1:
		return fmt.Sprintf("item %s is offered to 1 person", id)
	}
	return fmt.Sprintf("item %s is offered to %d people", id, n)
}
