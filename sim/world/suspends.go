package world

import (
	"context"
	"fmt"
	"slices"

	"fmqm/api"
	"fmqm/node"
)

// What is suspended goes on (N29): operators suspend instances and activities while all else goes wrong, and
// in the end somebody resumes all of it. What it comes to then is the same as without.

// suspend is an operator who suspends an instance, or an activity of it.
func (w *World) suspend(e Event) {
	c := w.clients[e.Instance]
	r := api.SuspendRequest{Reason: "it is drawn", Quick: e.Instance%2 == 0}
	if e.For > 0 {
		r.Until = w.control.Now().Add(e.For)
	}
	if names := c.names(); e.Number > 0 && len(names) > 0 {
		r.Activity = names[e.Number%len(names)]
	}
	c.dealing++
	defer func() { c.dealing-- }()
	_ = w.ask(e.Site, "suspend "+c.id()+" "+r.Activity, func(ctx context.Context, n *node.Node) error {
		_, err := n.Suspend(ctx, c.instance.ID, r)
		return err
	})
}

// expedite is an operator who gives an instance a priority.
func (w *World) expedite(e Event) { _ = w.clients[e.Instance].expedite(e.Site, e.Number) }

func (c *client) expedite(at name, priority int) error {
	return c.world.answered(at, fmt.Sprintf("expedite %s to %d", c.id(), priority), func(ctx context.Context, n *node.Node) (string, error) {
		_, err := n.Expedite(ctx, c.instance.ID, api.ExpediteRequest{Priority: priority, Reason: "it is drawn", Quick: priority%2 == 0})
		return "", err
	})
}

// names are those of the activities at the top of the instance's process, in order.
func (c *client) names() (all []string) {
	for name, at := range c.of.places {
		if at.Scope(1) == "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// resume is an operator who lets an instance go on.
func (w *World) resume(e Event) {
	c := w.clients[e.Instance]
	_ = c.goOn(e.Site, e.Instance%2 == 0)
}

// goOn has an operator at a site resume the instance; quick: as one of many.
func (c *client) goOn(at name, quick bool) error {
	return c.world.ask(at, "resume "+c.id(), func(ctx context.Context, n *node.Node) error {
		_, err := n.Resume(ctx, c.instance.ID, api.ResumeRequest{Quick: quick})
		return err
	})
}
