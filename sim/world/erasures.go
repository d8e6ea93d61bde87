package world

import (
	"context"
	"slices"

	"fmqm/api"
	"fmqm/node"
)

// erase is an administrator who has data of an instance overwritten, at every site of it. One that has not ended is refused,
// and nothing of it changes.
func (w *World) erase(e Event) {
	c := w.clients[e.Instance]
	defer c.deals()()
	c.commanded(func() error {
		_, err := c.eraseAt(e.Site)
		return err
	})
}

func (c *client) eraseAt(at name) (answer api.EraseAnswer, err error) {
	w := c.world
	w.erased[c.instance.ID] = true // it may be done before that is told
	err = w.answered(at, "erase "+c.id(), func(ctx context.Context, n *node.Node) (_ string, err error) {
		answer, err = n.Erase(ctx, c.instance.ID, api.EraseRequest{AllData: true, Reason: "it is drawn"})
		return otherThan(c.id(), answer.Instance.String()), err
	})
	return answer, err
}

// allErased says which instance whose data are to be overwritten, and which has ended, a site still has data of.
func (w *World) allErased() string {
	for i := range w.plan.Events {
		if e := &w.plan.Events[i]; e.Do == Erase {
			if why := w.clients[e.Instance].leftOf(); why != "" {
				return why
			}
		}
	}
	return ""
}

// leftOf says which site still has data of the instance, after somebody has asked once more.
func (c *client) leftOf() string {
	if c.void {
		return ""
	}
	if c.world.weakly(c.instance.ID) && c.world.site(c.of.origin).lost { // who started it may not know it any more
		return ""
	}
	c.world.touched[c.instance.ID]++
	answer, err := c.eraseAt(c.of.origin)
	if err != nil {
		return err.Error()
	}
	done := []api.Result{api.ResultErased, api.ResultNone, api.ResultRemoved}
	for _, n := range answer.Nodes {
		if !slices.Contains(done, n.Result) {
			return n.Node + " is " + string(n.Result) + " of " + c.id() + ": " + n.Reason
		}
	}
	return ""
}
