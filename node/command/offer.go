package command

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
)

// What people say about an item that is offered here, and is another node's (N27): a question to that, its home, which answers once
// what follows is on disk there. Nothing of it is queued: where home is not heard nothing has been asked. Where home does not answer
// nobody here knows whether it was done, and who has asked is told that.

// AskWork is what somebody of the asking node says about an item that it offers, and the node asked is the home of.
const AskWork = "work"

// WorkQuestion is asked with AskWork. Whom a person stands in for the asking node has found out by its staff, as that he may have
// the item.
type WorkQuestion struct {
	Process   string                  `json:"process"`
	Instance  message.InstanceID      `json:"instance"`
	Scope     message.Scope           `json:"scope,omitempty"`
	Activity  processtable.ActivityID `json:"activity"`
	Iteration int                     `json:"iteration"`
	Run       int                     `json:"run,omitempty"`
	Word      message.WordID          `json:"word"`
	Wish      message.Wish            `json:"wish"`
	Person    string                  `json:"person,omitempty"`
	For       string                  `json:"for,omitempty"`
	Operator  string                  `json:"operator,omitempty"` // who acts for the person, as the asking node has proved it
	To        string                  `json:"to,omitempty"`
	ToFor     string                  `json:"to_for,omitempty"`
	Over      bool                    `json:"over,omitempty"` // the person may take the item from others of the asking node, as that has found out
	Why       string                  `json:"why,omitempty"`
	Claim     uint64                  `json:"claim,omitempty"`
	Output    json.RawMessage         `json:"output,omitempty"`
}

// WorkReport carries the error, if there was one; else it was done.
type WorkReport struct {
	Error *api.Error `json:"error,omitempty"`
}

// NewWordID makes the identifier of a word that is asked of another node.
func (c *Commands) NewWordID() message.WordID { return c.newWordID() }

// SayWorkAt asks home what somebody here says about an item that is offered here. unknown: it may have been done, since home was
// asked and has not answered.
func (c *Commands) SayWorkAt(ctx context.Context, home processtable.NodeID, o WorkOrder) (unknown bool, err error) {
	if len(o.Why) > message.MaxWhy {
		return false, api.Errorf(api.CodeUsage, "write a shorter one", "the reason has %d bytes, and at most %d are kept", len(o.Why), message.MaxWhy)
	}
	status, _ := c.Site.LinkTo(home)
	if heard := status.Reads != nil || c.ReadsWords != nil && c.ReadsWords(home); !heard {
		return false, api.Errorf(api.CodeUnreachable, "ask again when it is heard: fmqm links", "%s decides who gets it, and %s: not %s",
			home, lastHeard(home, status.LastHeard, c.Scheduler.Now()), doneWords[o.Wish])
	}
	ctx, cancel := c.Scheduler.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a, err := question.Ask[WorkReport](ctx, c.Site, home, AskWork, WorkQuestion{
		Process: o.Process.String(), Instance: o.Entry.Instance, Scope: o.Entry.Scope, Activity: o.Entry.Activity, Iteration: o.At.Iteration, Run: o.At.Run,
		Word: o.Word, Wish: o.Wish, Person: o.Person, For: o.For, Operator: o.Operator, To: o.To, ToFor: o.ToFor, Over: o.Over, Why: o.Why, Claim: o.Claim, Output: o.Output,
	})
	switch {
	case err != nil:
		again := "see fmqm work list, and ask again"
		if o.Wish != message.WishClaim { // a claim is given up
			again = "say it again with --word " + o.Word.String() + ", which does it once"
		}
		return true, api.Errorf(api.CodeUnreachable, again, "%s decides who gets it, and has not answered (%v): %s", home, unanswered(err), unknownWords[o.Wish])
	case a.Error != nil:
		return false, refusal(a.Error)
	}
	return false, nil
}

// doneWords are what was not done, by the word that asked for it.
var doneWords = map[message.Wish]string{
	message.WishClaim: "claimed", message.WishRelease: "released", message.WishTransfer: "transferred", message.WishSave: "saved", message.WishComplete: "completed",
}

// unknownWords say what is to be thought of it where home has not answered.
var unknownWords = map[message.Wish]string{
	message.WishClaim:    "not claimed; if it gives the item all the same, that is given back",
	message.WishRelease:  "it may be released or not",
	message.WishTransfer: "it may be transferred or not",
	message.WishSave:     "it may be saved or not",
	message.WishComplete: "it may be completed or not",
}

// lastHeard says since when a node is not heard.
func lastHeard(node processtable.NodeID, last, now time.Time) string {
	if last.IsZero() {
		return fmt.Sprintf("%s was not heard yet", node)
	}
	return fmt.Sprintf("was last heard %s ago", now.Sub(last).Round(time.Second))
}

// WorkFor is what a person of a peer says about an item of this node that the peer offers.
func (c *Commands) WorkFor(ctx context.Context, peer processtable.NodeID, q WorkQuestion) error {
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil || !c.concerns(peer, id) {
		return c.noTable(q.Process)
	}
	if _, err := q.Scope.Frames(); err != nil {
		return api.Errorf(api.CodeNotFound, "", "the scope of %s is none: %v", q.Activity, err)
	}
	p, refused := c.hosted(id, q.Scope, q.Activity)
	if refused != nil {
		return refused
	}
	row := p.Table().Activity(q.Scope.Row(q.Activity))
	if row == nil || row.Manual == nil || !slices.Contains(row.Manual.Elsewhere(c.Self), peer) {
		return api.Errorf(api.CodeRefused, "ask at "+string(c.Self)+" itself", "%s is not offered at %s", q.Scope.Path(q.Activity), peer)
	}
	if err := q.of(peer); err != nil {
		return err
	}
	_, err = c.ask(ctx, &wish{
		process: id, entry: message.Entry{Instance: q.Instance, Scope: q.Scope, Activity: q.Activity}, home: c.Self,
		word: message.Word{
			ID: q.Word, Wish: q.Wish, Saw: &message.Execution{Iteration: q.Iteration, Run: q.Run}, Operator: q.Operator, Site: peer, Why: q.Why,
			Asked: c.Scheduler.Now(), Output: q.Output, Person: q.Person, For: q.For, To: q.To, ToFor: q.ToFor, Over: q.Over, Claim: q.Claim,
		},
	})
	return err
}

// of says why a peer cannot ask a question; nil: all whom it speaks for are its own.
func (q *WorkQuestion) of(peer processtable.NodeID) error {
	cannot := func(format string, args ...any) error {
		return api.Errorf(api.CodeRefused, "upgrade "+string(peer), format, args...)
	}
	for _, person := range []string{q.Person, q.For, q.To, q.ToFor} {
		if person != "" && (!message.ValidPerson(person) || !strings.HasSuffix(person, "@"+string(peer))) {
			return cannot("%s cannot speak for %.100q", peer, person)
		}
	}
	switch {
	case !slices.Contains(message.OfWork, q.Wish):
		return cannot("%.100q is nothing that is done to a work item", q.Wish)
	case q.Person == "" && q.Operator == "", q.Operator != "" && !api.ValidOperator(strings.TrimPrefix(q.Operator, message.LocalPerson)):
		return cannot("%s did not say who asks", peer)
	case q.Iteration < 1 || q.Run < 0 || q.Word.Version() != 7:
		return cannot("what %s asks about is no execution, or the word has no identifier", peer)
	case len(q.Why) > message.MaxWhy || len(q.Output) > message.MaxWordOutput:
		return cannot("what %s asks is too long", peer)
	}
	return nil
}
