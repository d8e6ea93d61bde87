package world

import (
	"context"
	"fmt"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node"
)

// restart is an operator who restarts one of the activities that have terminated, as far as the site that is asked can say
// (N30). Where not all its successors have answered soon he may give it up. What becomes of the instance is no more for
// the interpreter to say; that it comes to an end, and that its history can be, is judged as ever.
func (w *World) restart(e Event) {
	c := w.clients[e.Instance]
	defer c.deals()()
	status, err := c.statusAt(e.Site, api.StatusRequest{Tree: true})
	if err != nil {
		return
	}
	var run []api.Activity
	for _, a := range status.Activities {
		if a.State == api.ActivityTerminated {
			run = append(run, a)
		}
	}
	if len(run) == 0 {
		return
	}
	a := run[e.Number%len(run)]
	c.commanded(func() error {
		word, err := c.restarted(e.Site, &a, false)
		if err == nil && word.Result == api.WordQueued && e.Kept {
			_, _ = c.restarted(e.Site, &a, true)
		}
		return err
	})
}

// restarted has an operator at a site restart an activity, or give that up. The site may be asked once more under the same
// identifier: that is done once (N15).
func (c *client) restarted(at name, a *api.Activity, withdraws bool) (word api.Word, err error) {
	what := "restart "
	if withdraws {
		what = "give up the restart of "
	}
	scope := string(message.Scope(a.Scope).Full())
	err = c.world.answered(at, fmt.Sprintf("%s%s of %s", what, api.InScope(scope, a.Activity), c.id()), func(ctx context.Context, n *node.Node) (string, error) {
		r := api.RestartRequest{Scope: scope, Activity: a.Activity, Reason: "agreed", Withdraw: withdraws}
		if word, err = n.Restart(ctx, c.instance.ID, r); err == nil {
			c.world.journal.met(fmt.Sprintf("restart %s", word.Result))
		}
		return c.of.otherWord(word, c.id(), scope, a.Activity), err
	})
	return word, err
}
