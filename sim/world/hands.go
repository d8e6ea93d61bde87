package world

import (
	"context"
	"encoding/json"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node"
)

// hand is an operator who ends activities by hand: what is under way of an instance, as far as the site that is asked can
// say, from the outside to the inside, so that some words come when what they are about has ended (N30). What becomes of
// the instance is no more for the interpreter to say; that it comes to an end, and that its history can be, is judged as
// ever.
func (w *World) hand(e Event) {
	c := w.clients[e.Instance]
	defer c.deals()()
	status, err := c.statusAt(e.Site, api.StatusRequest{Tree: true})
	if err != nil {
		return
	}
	for _, a := range status.Activities {
		switch a.State {
		case api.ActivityReady, api.ActivityRunning, api.ActivityInError:
			c.commanded(func() error { return c.byHand(e.Site, a, e.Number == 1) })
		default:
		}
	}
}

// byHand has an operator at a site finish an activity with defaults, or skip it. The site may be asked once more under the
// same identifier: that is done once (N15).
func (c *client) byHand(at name, a api.Activity, finishes bool) error {
	what := "skip "
	if finishes {
		what = "finish "
	}
	scope := string(message.Scope(a.Scope).Full())
	return c.world.answered(at, what+api.InScope(scope, a.Activity)+" of "+c.id(), func(ctx context.Context, n *node.Node) (string, error) {
		r := api.HandRequest{Scope: scope, Activity: a.Activity, Reason: "agreed"}
		ask := n.Skip
		if finishes {
			ask, r.Output = n.Finish, json.RawMessage("{}")
		}
		word, err := ask(ctx, c.instance.ID, r)
		if err == nil && word.Result == api.WordDone {
			c.world.journal.met("by hand")
			r.Word, r.Asked = word.ID, true
			if again, err := ask(ctx, c.instance.ID, r); err == nil && again.Result == api.WordDone && again.ID != word.ID {
				return "another word", nil
			}
		}
		return c.of.otherWord(word, c.id(), scope, a.Activity), err
	})
}
