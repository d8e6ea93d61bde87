package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// AskSuspend is an operator's command about an instance that was started at the node asked: to suspend it or
// something of it, to lift suspends (N29), or to give it another priority (N31).
const AskSuspend = "suspend"

// SuspendQuestion is asked with AskSuspend.
type SuspendQuestion struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`
	Scope    string             `json:"scope,omitempty"` // as entries have it
	Activity string             `json:"activity,omitempty"`
	Resume   bool               `json:"resume,omitempty"`
	Rank     message.Rank       `json:"rank,omitempty"` // of an expedite: one more than the priority; 0: it is none
	Only     message.WordID     `json:"only,omitzero"`
	Until    time.Time          `json:"until,omitzero"`
	Reason   string             `json:"reason,omitempty"`
	ID       message.WordID     `json:"id,omitzero"`    // nil: one is made
	Seen     []message.WordID   `json:"seen,omitempty"` // of a resume: suspends that any node has in force, as the asking one was told
	Clock    uint64             `json:"clock,omitempty"`
	By       string             `json:"by,omitempty"` // the operator, as the asking node has proved it
}

// SuspendReport is the answer; with Error nothing has changed.
type SuspendReport struct {
	Word  api.Word   `json:"word"`
	Error *api.Error `json:"error,omitempty"`
}

// Suspend suspends an instance, or an activity of it with all that is inside: where the instance was started,
// by a mark that goes to every node of the process; elsewhere by asking that node. It returns when the mark
// is durable there.
func (c *Commands) Suspend(ctx context.Context, id message.InstanceID, r api.SuspendRequest) (api.Word, error) {
	return c.suspend(ctx, SuspendQuestion{
		Instance: id, Scope: r.Scope, Activity: r.Activity, Until: r.Until, Reason: r.Reason, ID: r.Word,
	}, r.Quick)
}

// Resume lifts suspends: all that are known where the instance was started, those of one activity, or one.
func (c *Commands) Resume(ctx context.Context, id message.InstanceID, r api.ResumeRequest) (api.Word, error) {
	return c.suspend(ctx, SuspendQuestion{
		Instance: id, Scope: r.Scope, Activity: r.Activity, Resume: true, Only: r.Only, Reason: r.Reason, ID: r.Word,
	}, r.Quick)
}

// Expedite gives an instance another priority, at every node of its process, as Suspend does.
func (c *Commands) Expedite(ctx context.Context, id message.InstanceID, r api.ExpediteRequest) (api.Word, error) {
	return c.suspend(ctx, SuspendQuestion{Instance: id, Rank: message.RankOf(int64(r.Priority)), Reason: r.Reason, ID: r.Word}, r.Quick)
}

// suspend asks the nodes of the instance first how far they are, so that the history shows what is said behind what has
// happened, and what any of them holds is resumed. Quick: it does not, if the instance was started here and that is enough.
func (c *Commands) suspend(ctx context.Context, q SuspendQuestion, quick bool) (api.Word, error) {
	if quick && q.Activity == "" {
		if w, done, err := c.suspendAtOnce(ctx, q); done || err != nil {
			return w, err
		}
	}
	g, err := c.Site.Gather(ctx, q.Instance, "")
	if err != nil {
		return api.Word{}, err
	}
	if s := g.Status(); s.State == api.InstanceFinished || s.State == api.InstanceTerminated {
		return api.Word{}, nothingTo(&q, s.State)
	}
	process, known := c.known(g)
	switch {
	case g.Origin == "", g.Contested != "":
		return api.Word{}, c.notKnown(g, fmt.Sprintf("where instance %s was started", q.Instance), q.word()+" it at the node where it was started")
	case !known:
		return api.Word{}, c.notKnown(g, "the table of "+g.Process, q.word()+" it at a node that has one")
	}
	if err := q.locate(g); err != nil {
		return api.Word{}, err
	}
	q.Process, q.Clock, q.By = g.Process, g.Clock(), api.OperatorOf(ctx)
	if q.Resume {
		q.Seen = g.InForce(q.Scope, q.Activity)
	}
	if g.Origin != string(c.Self) {
		return c.askToSuspend(ctx, processtable.NodeID(g.Origin), q)
	}
	return c.suspendHere(ctx, process, &q, c.By(ctx))
}

// suspendAtOnce is suspend of a whole instance by what is known here. Not done: what is refused, which may be done, or refused
// for something else, by what others know; and a resume where the store may have lost suspends that others hold.
func (c *Commands) suspendAtOnce(ctx context.Context, q SuspendQuestion) (w api.Word, done bool, err error) {
	started, _, here, err := c.Queue.Instance(q.Instance)
	process := started.Process.String()
	if err != nil || !here || !api.CallerOf(ctx).Sees(process) || api.Permit(ctx, process) != nil || q.Resume && c.Site.Anew() {
		return w, false, err
	}
	if q.Clock, err = c.Queue.Clock(q.Instance, started.Process); err != nil {
		return w, false, err
	}
	q.Clock = max(q.Clock, started.Clock)
	w, err = c.suspendHere(ctx, started.Process, &q, c.By(ctx))
	var refused *api.Error
	if errors.As(err, &refused) {
		return w, false, nil
	}
	return w, err == nil, err
}

func (q *SuspendQuestion) word() string {
	switch {
	case q.Resume:
		return "resume"
	case q.Rank != 0:
		return "expedite"
	}
	return "suspend"
}

func nothingTo(q *SuspendQuestion, s api.InstanceState) error {
	return api.Errorf(api.CodeRefused, "there is nothing to "+q.word(), "instance %s is %s", q.Instance, s)
}

// locate has scope and activity as entries have them. A name without a scope means each execution.
func (q *SuspendQuestion) locate(g *report.Gathered) error {
	if q.Activity == "" {
		return nil
	}
	if !g.Has(q.Activity) {
		return g.NoActivity(q.Activity)
	}
	if of := message.Scope(q.Activity).Inside(); strings.Contains(q.Activity, "[") { // an element: count[17]
		q.Scope, q.Activity = api.InScope(q.Scope, q.Activity), string(of)
	}
	q.Scope = string(message.Scope(q.Scope).Full())
	if _, err := message.Scope(q.Scope).Frames(); err != nil {
		return api.Errorf(api.CodeUsage, seeScopes, "%s %s: %v", q.word(), q.Activity, err)
	}
	return nil
}

// askToSuspend lets the node where an instance was started do it.
func (c *Commands) askToSuspend(ctx context.Context, origin processtable.NodeID, q SuspendQuestion) (api.Word, error) {
	ctx, cancel := c.Scheduler.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a, err := question.Ask[SuspendReport](ctx, c.Site, origin, AskSuspend, q)
	if err != nil {
		return api.Word{}, api.Errorf(api.CodeUnreachable, fmt.Sprintf("when %s is reachable again, see fmqm status in case it was done, and %s it; or at %s itself (--to)", origin, q.word(), origin),
			"only %s, where instance %s was started, can %s it, and it does not answer: %v", origin, q.Instance, q.word(), unanswered(err))
	}
	if a.Error != nil {
		return api.Word{}, refusal(a.Error)
	}
	return a.Word, nil
}

// SuspendFor is what a peer's operator wants. Of an instance that was not started here nothing is believed.
func (c *Commands) SuspendFor(ctx context.Context, peer processtable.NodeID, q SuspendQuestion) (api.Word, error) {
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil || !c.concerns(peer, id) {
		return api.Word{}, c.noTable(q.Process)
	}
	by := Order{Peer: peer, Operator: q.By, Command: q.word(), What: "instance " + q.Instance.String()}
	if refused := c.Allow(&by); refused != nil {
		return api.Word{}, refused
	}
	if q.Rank > message.MaxRank || q.Rank != 0 && (q.Resume || q.Activity != "" || !q.Until.IsZero()) {
		return api.Word{}, api.Errorf(api.CodeRefused, "ask at "+string(c.Self)+" itself", "%s asks for what cannot be", peer)
	}
	if q.Clock > message.MaxClock || len(q.Seen) > message.MaxLifts || len(q.Reason) > api.MaxReason {
		return api.Word{}, api.Errorf(api.CodeRefused, "ask at "+string(c.Self)+" itself", "%s asks for what cannot be", peer)
	}
	return c.suspendHere(ctx, id, &q, by.By())
}

// suspendHere puts the mark for an instance that was started here.
func (c *Commands) suspendHere(ctx context.Context, id processtable.ProcessID, q *SuspendQuestion, by string) (api.Word, error) {
	p := c.Site.Process(id)
	if p == nil {
		return api.Word{}, c.noTable(id.String())
	}
	if err := c.goesOn(id, q); err != nil {
		return api.Word{}, err
	}
	if reason := behaviour.Misplaced(p.Table(), processtable.ActivityID(q.Activity), message.Scope(q.Scope)); q.Scope != "" && reason != "" {
		return api.Word{}, api.Errorf(api.CodeUsage, seeScopes, "%s %s: %s", q.word(), q.Activity, reason)
	}
	end, err := c.suspending.begin(ctx, c.Scheduler, wordName{entry: message.Entry{Instance: q.Instance}})
	if err != nil {
		return api.Word{}, err
	}
	defer end()
	marks, err := c.marksOf(id, q)
	if err != nil {
		return api.Word{}, err
	}
	mark, done, err := q.mark(message.InForce(marks), marks, by)
	if err != nil {
		return api.Word{}, err
	}
	if done {
		if err := c.spreadAgain(ctx, p.Table(), &mark, q); err != nil {
			return api.Word{}, err
		}
	} else {
		for i := range marks { // the later word is that of the higher clock
			q.Clock = max(q.Clock, marks[i].Clock)
		}
		if err := c.putMark(ctx, p, &mark, q); err != nil {
			return api.Word{}, err
		}
	}
	return api.Word{
		Instance: q.Instance, Scope: report.ShownScope(message.Scope(q.Scope), q.Activity), Activity: q.Activity, Word: q.word(),
		ID: mark.ID, Result: api.WordDone, Node: string(c.Self), Reason: c.notReading(p.Table(), q),
	}, nil
}

// putMark puts a mark with the line about it. Where that is all there is to do about it here, the other nodes are told with it;
// else by the process thread.
func (c *Commands) putMark(ctx context.Context, p behaviour.Process, mark *message.Mark, q *SuspendQuestion) error {
	mark.Time = c.Scheduler.Now()
	if !q.Until.IsZero() && !q.Until.After(mark.Time) {
		return api.Errorf(api.CodeUsage, "give a time to come, or none", "until %s: at %s it is %s", q.Until.Format(time.RFC3339), c.Self, mark.Time.Format(time.RFC3339))
	}
	if mark.ID == (message.WordID{}) {
		mark.ID = c.newWordID()
	}
	t, clock, tx := p.Table(), message.Next(q.Clock), &record.Tx{}
	local := *mark
	if mark.Settled(t) {
		tx.Put = mark.ForOthers(t, c.Self, q.Instance, clock)
		local = mark.Done()
	}
	tx.Put = append(tx.Put, local.Message(message.Queue{Process: t.Process, Node: c.Self}, q.Instance, c.Self, clock))
	line := record.Marked(mark)
	line.Time, line.Clock, line.Origin = mark.Time, clock, c.Self
	line.Process, line.Definition, line.Instance = t.Process, p.Definition(), q.Instance
	tx.Audit = []record.AuditRecord{line}
	return c.Site.Commit(ctx, tx)
}

// spreadAgain tells the other nodes once more of a mark that was said before: one may have lost its store since. What is new
// is told by the process thread yet.
func (c *Commands) spreadAgain(ctx context.Context, t *processtable.Table, mark *message.Mark, q *SuspendQuestion) error {
	if mark.New {
		return nil
	}
	tx := &record.Tx{Put: mark.ForOthers(t, c.Self, q.Instance, message.Next(q.Clock))}
	if len(tx.Put) == 0 {
		return nil
	}
	return c.Site.Commit(ctx, tx)
}

// goesOn refuses what is about an instance that was not started here, or has ended.
func (c *Commands) goesOn(id processtable.ProcessID, q *SuspendQuestion) error {
	started, ended, found, err := c.Queue.Instance(q.Instance)
	switch {
	case err != nil:
		return err
	case !found || started.Process != id:
		return api.Errorf(api.CodeNotFound, "if it has lost its store: start the instance there again (--key), or terminate it there", "%s does not know instance %s of %s as one that was started there", c.Self, q.Instance, id)
	case ended != nil && ended.Event == record.EventStopped:
		return nothingTo(q, api.InstanceTerminated)
	case ended != nil:
		return nothingTo(q, api.InstanceFinished)
	}
	return nil
}

// marksOf are the marks of an instance that was started here, and was not terminated.
func (c *Commands) marksOf(id processtable.ProcessID, q *SuspendQuestion) (marks []message.Marked, err error) {
	marker, found, err := c.Queue.Marked(id, q.Instance)
	if err == nil && marker != nil && marker.Origin == c.Self {
		return nil, nothingTo(q, api.InstanceTerminated)
	}
	for at := range found {
		mark, bad := message.MarkOf(&found[at])
		if bad != nil {
			return nil, bad
		}
		if mark.Origin == c.Self {
			marks = append(marks, mark)
		}
	}
	return marks, err
}

// mark is what is to be put; done: it is there already.
func (q *SuspendQuestion) mark(force, all []message.Marked, by string) (m message.Mark, done bool, err error) {
	m = message.Mark{
		ID: q.ID, Scope: message.Scope(q.Scope), Activity: processtable.ActivityID(q.Activity),
		By: by, Reason: q.Reason, Until: q.Until, New: true, Spread: true, Noted: true, Rank: q.Rank,
	}
	same := func(s message.Marked) bool { return s.Scope == m.Scope && s.Activity == m.Activity }
	if i := slices.IndexFunc(all, func(s message.Marked) bool { return s.ID == q.ID }); i >= 0 {
		return all[i].Mark, true, nil // it is asked again
	}
	if q.Rank != 0 {
		if last := message.Expedited(all, ""); last != nil && last.Rank == q.Rank && last.By == by && last.Reason == q.Reason && q.ID == (message.WordID{}) {
			return last.Mark, true, nil
		}
		if len(all) >= maxMarks {
			return m, false, api.Errorf(api.CodeRefused, "suspend, resume and expedite it less often", "instance %s was suspended, resumed and expedited %d times", q.Instance, len(all))
		}
		return m, false, nil
	}
	if !q.Resume {
		if i := slices.IndexFunc(force, func(s message.Marked) bool {
			return same(s) && s.By == by && s.Reason == q.Reason && s.Until.Equal(q.Until)
		}); i >= 0 && q.ID == (message.WordID{}) {
			return force[i].Mark, true, nil
		}
		if len(force) >= message.MaxLifts || len(all) >= maxMarks {
			return m, false, api.Errorf(api.CodeRefused, "resume it first; and suspend it less often", "instance %s has %d suspends in force, and was suspended and resumed %d times", q.Instance, len(force), len(all))
		}
		return m, false, nil
	}
	for i := range force {
		s := &force[i]
		if wanted := q.Only == s.ID || q.Only == (message.WordID{}) && (q.Activity == "" || same(*s)); wanted {
			m.Lifts = append(m.Lifts, s.ID)
		}
	}
	for _, id := range q.Seen { // who has lost its store here knows nothing of what holds elsewhere
		known := slices.ContainsFunc(all, func(s message.Marked) bool { return s.ID == id || slices.Contains(s.Lifts, id) })
		if !known && (q.Only == id || q.Only == (message.WordID{})) && len(m.Lifts) < message.MaxLifts {
			m.Lifts = append(m.Lifts, id)
		}
	}
	switch {
	case len(m.Lifts) > 0:
		return m, false, nil
	case q.Only != (message.WordID{}) && slices.ContainsFunc(all, func(s message.Marked) bool { return slices.Contains(s.Lifts, q.Only) }):
		return all[slices.IndexFunc(all, func(s message.Marked) bool { return slices.Contains(s.Lifts, q.Only) })].Mark, true, nil
	case q.Only != (message.WordID{}):
		return m, false, api.Errorf(api.CodeNotFound, "fmqm status names those in force", "no suspend %s of instance %s is known", q.Only, q.Instance)
	}
	return m, false, api.Errorf(api.CodeRefused, "fmqm status names what is", "nothing of %s is suspended", q.what())
}

// maxMarks is how many marks an instance has at most: nodes take no more.
const maxMarks = 900

func (q *SuspendQuestion) what() string {
	if q.Activity == "" {
		return "instance " + q.Instance.String()
	}
	return message.Scope(q.Scope).Path(processtable.ActivityID(q.Activity))
}

// notReading names the nodes that cannot read a mark yet, or nothing (N17).
func (c *Commands) notReading(t *processtable.Table, q *SuspendQuestion) string {
	var old []string
	for _, node := range c.nodesOf(t) {
		if reads := c.reads(node); node != c.Self && reads != nil && reads.Bodies[message.KindMark] == 0 {
			old = append(old, string(node))
		}
	}
	if len(old) == 0 {
		return ""
	}
	if q.Rank != 0 {
		return "keeps its priority at " + strings.Join(old, ", ") + " until that is upgraded: its version knows none"
	}
	return "goes on at " + strings.Join(old, ", ") + " until that is upgraded: its version knows no suspends"
}
