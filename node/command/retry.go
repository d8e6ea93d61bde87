package command

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
)

// Retry lets an activity in error go on, at the node that hosts it.
func (c *Commands) Retry(ctx context.Context, id message.InstanceID, r api.RetryRequest) (api.Word, error) {
	return c.order(ctx, id, message.WishRetry, &r)
}

// Finish ends an activity by hand as one that has run, at the node that hosts it (N30).
func (c *Commands) Finish(ctx context.Context, id message.InstanceID, r api.HandRequest) (api.Word, error) {
	return c.order(ctx, id, message.WishFinish, &api.RetryRequest{Scope: r.Scope, Activity: r.Activity, Output: r.Output, Reason: r.Reason, Word: r.Word, Asked: r.Asked})
}

// Skip ends an activity by hand as one on a dead path, at the node that hosts it (N30).
func (c *Commands) Skip(ctx context.Context, id message.InstanceID, r api.HandRequest) (api.Word, error) {
	return c.order(ctx, id, message.WishSkip, &api.RetryRequest{Scope: r.Scope, Activity: r.Activity, Reason: r.Reason, Word: r.Word, Asked: r.Asked})
}

// Restart has an activity that has terminated run once more, at the node that hosts it, or gives that up (N30).
func (c *Commands) Restart(ctx context.Context, id message.InstanceID, r api.RestartRequest) (api.Word, error) {
	what := message.WishRestart
	if r.Withdraw {
		what = message.WishWithdraw
	}
	return c.order(ctx, id, what, &api.RetryRequest{Scope: r.Scope, Activity: r.Activity, Input: r.Input, Reason: r.Reason, Word: r.Word, Asked: r.Asked})
}

// order has an operator's wish of an activity carried out.
func (c *Commands) order(ctx context.Context, id message.InstanceID, what message.Wish, r *api.RetryRequest) (api.Word, error) {
	g, err := c.Site.Gather(ctx, id, "")
	if err != nil {
		return api.Word{}, err
	}
	o, err := c.ordered(g, id, what, r)
	if err != nil {
		return api.Word{}, err
	}
	o.word.Operator, o.word.Site, o.word.Asked = api.OperatorOf(ctx), c.Self, c.Scheduler.Now()
	asked, err := c.askedBefore(o)
	_, linked := c.Site.LinkTo(o.home)
	switch {
	case err != nil:
		return api.Word{}, err
	case r.Asked && !asked:
		return api.Word{}, api.Errorf(api.CodeNotFound, fmt.Sprintf("ask at the site where it was asked (--to), or %s anew, without --word", what),
			"%s knows no %s %s of %s in instance %s", c.Self, what, r.Word, api.InScope(r.Scope, r.Activity), id)
	case asked: // who repeats it wants to know what has come of it, however things stand by now
		return c.ask(ctx, o)
	case o.home == c.Self:
		return c.orderHere(ctx, o)
	case g.Status().State == api.InstanceTerminated: // the activity's node may not have heard of it yet
		return api.Word{}, api.Errorf(api.CodeRefused, "there is nothing to "+string(what), "instance %s is %s", id, api.InstanceTerminated)
	case !linked:
		return api.Word{}, api.Errorf(api.CodeUnreachable, string(what)+" it at that node", "%s hosts %s, and %s has no link to it", o.home, o.entry.Path(), c.Self)
	case !c.readsWords(o.home) && what != message.WishRetry:
		return api.Word{}, api.Errorf(api.CodeRefused, "upgrade it, or end the activity there in another way", "%s, where %s is, is of a version that cannot %s", o.home, o.entry.Path(), what)
	case !c.readsWords(o.home):
		return c.retryByQuestion(ctx, o)
	}
	return c.ask(ctx, o)
}

// ordered makes a word of a request, by what the nodes of its instance tell. The word does not say
// who asks.
func (c *Commands) ordered(g *report.Gathered, id message.InstanceID, what message.Wish, r *api.RetryRequest) (*wish, error) {
	process, known := c.known(g)
	if !known {
		return nil, c.notKnown(g, "the table of "+g.Process, string(what)+" it at the node of the activity")
	}
	scope, activity, err := execution(g, what, r)
	if err != nil {
		return nil, err
	}
	home, there := g.Host(scope, activity)
	if work, at, found := g.Work(scope, activity); found && what == message.WishRetry { // what does the work of a call is at its node
		scope, home, there = work, at, true
	}
	if !there {
		return nil, api.Errorf(api.CodeNotFound, seeScopes, "%s has no %s", g.Process, api.InScope(scope, activity))
	}
	return &wish{
		process: process, origin: processtable.NodeID(g.Origin), clock: g.Clock(),
		entry: message.Entry{Instance: id, Scope: message.Scope(scope), Activity: processtable.ActivityID(activity)},
		home:  processtable.NodeID(home),
		word:  message.Word{ID: r.Word, Wish: what, Saw: g.Saw(api.Place{Activity: activity, Node: home}, scope), Why: r.Reason, Output: r.Output, Input: r.Input},
	}, nil
}

// execution is the activity that a request means, and its scope: one inside of blocks that is named
// alone is its one execution that is in error; of another wish than a retry, that has not ended.
func execution(g *report.Gathered, what message.Wish, r *api.RetryRequest) (scope, activity string, err error) {
	scope, activity = r.Scope, r.Activity
	if of := message.Scope(activity).Inside(); strings.Contains(activity, "[") { // an element: count[17]
		scope, activity = api.InScope(scope, activity), string(of)
	}
	scope = string(message.Scope(scope).Full())
	switch _, err := message.Scope(scope).Frames(); {
	case !g.Has(r.Activity):
		return "", "", g.NoActivity(r.Activity)
	case err != nil:
		return "", "", api.Errorf(api.CodeUsage, seeScopes, "%s %s: %v", what, r.Activity, err)
	}
	if scope != "" || !slices.ContainsFunc(g.Roster, func(p api.Place) bool {
		return p.Activity == r.Activity && (p.Inside != "" || p.Each && what == message.WishRetry)
	}) {
		return scope, activity, nil
	}
	var found []string
	fit, are := g.Errors(), "in error"
	switch what {
	case message.WishRetry:
	case message.WishRestart, message.WishWithdraw:
		fit, are = g.Terminated(), "terminated"
	default:
		fit, are = g.UnderWay(), "under way"
	}
	for _, a := range fit {
		element := string(message.Scope(a.Scope).Inside()) == a.Activity // by its bare name a bundle is meant, unless what is in error is
		if a.Activity == r.Activity && (what == message.WishRetry || !element) {
			found = append(found, api.InScope(a.Scope, a.Activity)) // as entries have it
		}
	}
	switch len(found) {
	case 0:
		return "", "", api.Errorf(api.CodeNotFound, "see fmqm status --tree; or name it with the blocks around it, such as documents#2/"+r.Activity, "no execution of %s is known to be %s", r.Activity, are)
	case 1:
		scope, activity = api.CutScope(found[0])
		return scope, activity, nil
	}
	more := ""
	for i, name := range found {
		scope, activity := api.CutScope(name)
		found[i] = message.Scope(scope).Path(processtable.ActivityID(activity))
	}
	if n := len(found) - severalShown; n > 0 {
		found, more = found[:severalShown], fmt.Sprintf(", and %d more", n)
	}
	return "", "", api.Errorf(api.CodeUsage, "name one, or --all", "%s is %s at %s%s", r.Activity, are, strings.Join(found, ", "), more)
}

// severalShown is how many executions an error names of those that one may have meant.
const severalShown = 10

// seeScopes is for who names an activity where it cannot be.
const seeScopes = "name the activity as fmqm status shows it, with the composites around it"

// askedBefore says whether a word was asked here before.
func (c *Commands) askedBefore(o *wish) (bool, error) {
	if o.word.ID == (message.WordID{}) {
		return false, nil
	}
	asked, _, err := c.before(o)
	return asked, err
}

// readsWords says whether a peer takes operators' words. One that is not heard is taken to
// do so: if it does not, they wait for its upgrade.
func (c *Commands) readsWords(peer processtable.NodeID) bool {
	if c.ReadsWords != nil {
		return c.ReadsWords(peer)
	}
	reads := c.reads(peer)
	return reads == nil || reads.Bodies[message.KindWord] > 0
}

// orderHere is order of an activity that this node hosts. What is wrong with the output is
// said before anything is put.
func (c *Commands) orderHere(ctx context.Context, o *wish) (api.Word, error) {
	p, refused := c.hosted(o.process, o.entry.Scope, o.entry.Activity)
	if refused != nil {
		return api.Word{}, refused
	}
	if reason := behaviour.Misplaced(p.Table(), o.entry.Activity, o.entry.Scope); reason != "" {
		return api.Word{}, api.Errorf(api.CodeNotFound, seeScopes, "%s", reason)
	}
	if len(o.word.Output) > 0 {
		if _, err := container.DecodeJSON(p.Table().Activity(o.entry.Row()).Output, o.word.Output); err != nil {
			return api.Word{}, api.ContainerErrorf(api.CodeRefused, err, "see the activity's `output` structure", "%s %s: output", o.word.Wish, o.entry.Path())
		}
	}
	if len(o.word.Input) > 0 {
		if _, err := container.DecodeJSON(p.Table().Activity(o.entry.Row()).Input, o.word.Input); err != nil {
			return api.Word{}, api.ContainerErrorf(api.CodeRefused, err, "see the activity's `input` structure", "%s %s: input", o.word.Wish, o.entry.Path())
		}
	}
	return c.ask(ctx, o)
}

// hosted finds the process of an activity that this node hosts.
func (c *Commands) hosted(id processtable.ProcessID, scope message.Scope, activity processtable.ActivityID) (behaviour.Process, *api.Error) {
	p := c.Site.Process(id)
	switch {
	case p == nil:
		return nil, c.noTable(id.String())
	case p.Activity(rowOf(p.Table(), scope, activity)) == nil:
		return nil, api.Errorf(api.CodeNotFound, "", "activity %s of %s is not hosted at %s", activity, id, c.Self)
	}
	return p, nil
}

// rowOf is an activity's row, wherever it is inside of; source and sink are those of what the scope is inside of.
func rowOf(t *processtable.Table, scope message.Scope, activity processtable.ActivityID) processtable.RowID {
	row, known := t.Of(activity)
	if begun := scope.Row(activity); known && begun.Begun > 0 {
		return begun
	}
	if known {
		return row
	}
	return scope.Row(activity)
}

// AskRetry is an operator's retry at the node that hosts the activity, where that is of the version
// before, or asked by one that is: it is answered at once, or never.
const AskRetry = "retry"

// RetryQuestion is asked with AskRetry.
type RetryQuestion struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`
	Activity string             `json:"activity"`
	Output   json.RawMessage    `json:"output,omitempty"`
	By       string             `json:"by,omitempty"` // the operator, as the asking node has proved it; empty: nobody, or an older node asks
}

// RetryReport carries the error, if there was one: a query's own error means that the
// peer did not answer.
type RetryReport struct {
	Error *api.Error `json:"error,omitempty"`
}

// retryByQuestion is Retry at a node of the version before, whose activities have no scopes.
func (c *Commands) retryByQuestion(ctx context.Context, o *wish) (api.Word, error) {
	if o.entry.Scope != "" {
		return api.Word{}, api.Errorf(api.CodeRefused, seeScopes, "%s, where %s is, is of a version without composites", o.home, o.entry.Path())
	}
	ctx, cancel := c.Scheduler.WithTimeout(ctx, answerTimeout)
	defer cancel()
	q := RetryQuestion{Instance: o.entry.Instance, Process: o.process.String(), Activity: string(o.entry.Activity), Output: o.word.Output, By: o.word.Operator}
	a, err := question.Ask[RetryReport](ctx, c.Site, o.home, AskRetry, q)
	if err != nil {
		return api.Word{}, api.Errorf(api.CodeUnreachable, "when it is back, see fmqm status in case it was done, and retry; or retry at that node", "%s hosts %s and does not answer: %v", o.home, o.entry.Activity, unanswered(err))
	}
	if a.Error != nil {
		return api.Word{}, refusal(a.Error)
	}
	return o.shown(api.WordDone), nil
}

// RetryFor is a retry that a peer asks for by a question: the peer is of the version before.
func (c *Commands) RetryFor(ctx context.Context, peer processtable.NodeID, q RetryQuestion) error {
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil || !c.concerns(peer, id) {
		return c.noTable(q.Process)
	}
	activity := processtable.ActivityID(q.Activity)
	if _, refused := c.hosted(id, "", activity); refused != nil {
		return refused // before it stands in the log: what it names is whatever the peer has written
	}
	by := Order{Peer: peer, Operator: q.By, Command: "retry", What: fmt.Sprintf("activity %s of instance %s", q.Activity, q.Instance)}
	if refused := c.Allow(&by); refused != nil {
		return refused
	}
	_, err = c.orderHere(ctx, &wish{
		process: id, home: c.Self,
		entry: message.Entry{Instance: q.Instance, Activity: activity},
		word:  message.Word{Wish: message.WishRetry, Operator: q.By, Site: peer, Asked: c.Scheduler.Now(), Output: q.Output},
	})
	return err
}
