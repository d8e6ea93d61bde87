package command

import (
	"context"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// WorkOrder is what a person says about a work item that this node offers, or an operator does in his name (N27).
type WorkOrder struct {
	Process  processtable.ProcessID
	Entry    message.Entry
	At       message.Execution // that the item is; zero: whatever it is, of a notice
	Wish     message.Wish
	Person   string // as "ann@ward"; empty: an operator's, in nobody's name
	Operator string // who acts for the person; empty: the person himself
	To       string // of a transfer
	// Of what is said to another node, the home of an item that is offered here: whom Person and To stand in for.
	For, ToFor string
	Over       bool           // of the same: Person may take the item from others of this node
	Why        string         // for the history
	Claim      uint64         // that was seen; 0: none in particular
	Output     []byte         // JSON
	Word       message.WordID // zero: one is made
}

// SayWork puts what somebody says about a work item here, and waits until it is answered: it is never queued for
// another node.
func (c *Commands) SayWork(ctx context.Context, o WorkOrder) (api.Word, error) {
	if len(o.Why) > message.MaxWhy {
		return api.Word{}, api.Errorf(api.CodeUsage, "write a shorter one", "the reason has %d bytes, and at most %d are kept", len(o.Why), message.MaxWhy)
	}
	var saw *message.Execution
	if o.At != (message.Execution{}) {
		saw = &o.At
	}
	return c.ask(ctx, &wish{
		process: o.Process, entry: o.Entry, home: c.Self,
		word: message.Word{
			ID: o.Word, Wish: o.Wish, Saw: saw, Operator: o.Operator, Site: c.Self, Why: o.Why, Asked: c.Scheduler.Now(), Output: o.Output,
			Person: o.Person, To: o.To, Claim: o.Claim,
		},
	})
}
