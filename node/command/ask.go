package command

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

const (
	// answerTimeout is how long an operator waits for another node to do what he wants.
	answerTimeout = 10 * time.Second
	// unheardTimeout is how long he waits for one that is not heard: it may be back in a moment.
	unheardTimeout = 2 * time.Second
)

// wish is what an operator wants of an activity, as a word.
type wish struct {
	process processtable.ProcessID
	origin  processtable.NodeID // of the instance, as far as that is known; for retention
	entry   message.Entry
	home    processtable.NodeID // of the activity
	clock   uint64              // of what the operator was shown
	word    message.Word
}

func (o *wish) name() wordName { return wordName{o.entry, o.word.ID} }

// message is the word on its way.
func (o *wish) message() message.Message {
	h := message.Header{
		Queue:    message.Queue{Process: o.process, Node: o.home},
		Instance: o.entry.Instance, Scope: o.entry.Scope, SourceScope: o.entry.Scope, Activity: o.entry.Activity,
		Number: message.WordNumber(o.word.ID), Kind: message.KindWord, Lane: o.word.Lane(), Clock: message.Next(o.clock),
	}
	return message.Message{Header: h, Body: message.EncodeWord(o.word)}
}

// shown is what the operator is told of it.
func (o *wish) shown(r api.WordResult) api.Word {
	return api.Word{
		Instance: o.entry.Instance, Scope: report.ShownScope(o.entry.Scope, string(o.entry.Activity)), Activity: string(o.entry.Activity), Word: string(o.word.Wish),
		ID: o.word.ID, Result: r, Node: string(o.home),
	}
}

// ask puts a word, unless that was done before, and waits for its answer: of another node as
// long as somebody who looks at it would.
func (c *Commands) ask(ctx context.Context, o *wish) (api.Word, error) {
	repeat := o.word.ID != (message.WordID{})
	if !repeat {
		o.word.ID = c.newWordID()
	}
	answer, end := c.waiting.await(c.Scheduler, o.name())
	defer end()
	o.word.Reply = o.home != c.Self
	before, err := c.put(ctx, o, repeat)
	switch {
	case err != nil:
		return api.Word{}, err
	case before != nil:
		return told(o, *before)
	}
	return c.awaitAnswer(ctx, o, answer)
}

// put puts a word, unless a repeat finds that it was put before; then it gives the answer that the
// word has got, if it has. Of those who ask with one identifier at once, one puts it: the others
// wait until it is on disk, or is not put, and look then.
func (c *Commands) put(ctx context.Context, o *wish, repeat bool) (*message.Answer, error) {
	end, err := c.putting.begin(ctx, c.Scheduler, o.name())
	if err != nil {
		return nil, err
	}
	if repeat {
		asked, answered, err := c.before(o)
		if err != nil || asked {
			end()
			return answered, err
		}
	}
	tx := c.putBy(o)
	if len(tx.Put[0].Body) > message.MaxBody {
		end()
		what := "output"
		if len(o.word.Input) > 0 { // of a retry, which has one of both
			what = "input"
		}
		return nil, api.Errorf(api.CodeRefused, "pass a reference (a file name, a URL) instead of the data", "%s %s: %s: its JSON has %d bytes, which is more than a message carries", o.word.Wish, o.entry.Path(), what, len(o.word.Output)+len(o.word.Input))
	}
	done := task.NewAnswer[error](c.Scheduler)
	tx.Done = func(err error) { // also where the one who asked has gone
		end()
		if err == nil && len(tx.Audit) > 0 {
			c.Site.Stored(tx, o.entry.Instance)
		}
		done.Give(err)
	}
	c.Queue.Submit(tx)
	err, _, gone := done.Wait(ctx)
	return nil, cmp.Or(gone, err)
}

// before says whether a word was asked here before, and how it was answered; nil: it was not yet. The identifier of another word
// is refused: who repeats that would be told that his own is done.
func (c *Commands) before(o *wish) (asked bool, answer *message.Answer, err error) {
	home := o.home
	if home == c.Self { // there is no line about it until it is answered: it lies in its entry
		m := o.message()
		lies, err := c.Queue.Message(o.process, o.entry, m.Key())
		if err != nil {
			return false, nil, err
		}
		asked, home = lies != nil, ""
		if asked {
			if w, err := message.DecodeWord(lies.Body); err == nil && !o.repeats(&w) {
				return false, nil, o.another(w.Wish, w.By())
			}
		}
	}
	line, answered, err := c.Queue.Word(o.entry, home, o.word.ID)
	if err != nil {
		return false, nil, err
	}
	for _, said := range []*record.AuditRecord{line, answered} {
		if said != nil && !o.repeats(&message.Word{Wish: said.Word.Wish, Person: said.Doer().Person, Output: o.word.Output, To: o.word.To}) {
			return false, nil, o.another(said.Word.Wish, said.By)
		}
	}
	if answered != nil {
		said := answered.Answer()
		answer = &said
	}
	return asked || line != nil || answer != nil, answer, nil
}

// repeats says whether a word is one that was said before, as far as that tells: any operator may ask what has come of another's, but
// what a person says about work is his own.
func (o *wish) repeats(before *message.Word) bool {
	switch {
	case o.word.Wish != before.Wish:
		return false
	case o.word.Person == "":
		return true
	}
	return o.word.Person == before.Person && o.word.To == before.To && bytes.Equal(o.word.Output, before.Output)
}

func (o *wish) another(wish message.Wish, by string) error {
	return api.Errorf(api.CodeRefused, "repeat the whole command, or leave --word out", "%s %s: the word %s is another, %s, that %s has said",
		o.word.Wish, o.entry.Path(), o.word.ID, wish, cmp.Or(by, "somebody"))
}

// newWordID makes the identifier of a word that is asked now.
func (c *Commands) newWordID() message.WordID {
	random := c.Random
	if random == nil {
		random = rand.Reader
	}
	var id message.WordID
	if _, err := io.ReadFull(random, id[6:]); err != nil {
		panic("node: no randomness: " + err.Error()) // crypto/rand never fails
	}
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(c.Scheduler.Now().UnixMilli()))
	copy(id[:6], ms[2:])
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

// putBy is the transaction that puts a word. What goes to another node is noted here: its
// answer is taken by that.
func (c *Commands) putBy(o *wish) *record.Tx {
	m := o.message()
	tx := &record.Tx{Put: []message.Message{m}}
	if o.word.Reply {
		tx.Audit = []record.AuditRecord{{
			Time: c.Scheduler.Now(), Clock: m.Clock, Process: o.process, Instance: o.entry.Instance, Origin: o.origin, Scope: o.entry.Scope,
			Activity: o.entry.Activity, Event: record.EventAsked, Reason: o.word.Why, By: o.word.By(),
			Word: &record.Word{ID: o.word.ID, Wish: o.word.Wish, Home: o.home},
		}}
	}
	return tx
}

// awaitAnswer waits for the answer to a word that was put.
func (c *Commands) awaitAnswer(ctx context.Context, o *wish, answer *task.Answer[message.Answer]) (api.Word, error) {
	if o.word.Reply || o.word.Wish == message.WishRestart { // for which other nodes are asked (N30)
		patience := answerTimeout
		if o.home != c.Self && (c.reads(o.home) == nil || c.lacks(o) != "") {
			patience = unheardTimeout
		}
		waiting, cancel := c.Scheduler.WithTimeout(ctx, patience)
		defer cancel()
		a, _, err := answer.Wait(waiting)
		if err == nil {
			return told(o, a)
		}
		return c.queued(o), nil
	}
	a, ended, err := answer.Wait(ctx, c.Failed)
	switch {
	case err != nil:
		return api.Word{}, err
	case ended >= 0:
		return api.Word{}, errors.New("the node has failed")
	}
	return told(o, a)
}

// Answered tells those who wait for the answer to a word about the activity of an entry. It is on
// disk. Answered waits for nobody: the committer may call it.
func (c *Commands) Answered(e message.Entry, a message.Answer) {
	name := wordName{e, a.Word}
	c.owed.answered(name)
	c.waiting.answered(name, a)
}

// told is what the operator is told of an answer.
func told(o *wish, a message.Answer) (api.Word, error) {
	if a.Result == message.WordDone {
		return o.shown(api.WordDone), nil
	}
	look := "see fmqm status " + o.entry.Instance.String()
	if slices.Contains(message.OfWork, o.word.Wish) { // people see their work, and may see nothing else
		look = "see fmqm work list"
	}
	err := api.Errorf(api.CodeRefused, cmp.Or(a.Remedy, look), "%s", a.Text)
	for _, p := range a.Problems {
		err.Problems = append(err.Problems, api.Problem{Path: p.Path, Message: p.What, Remedy: p.Remedy, Token: p.Token})
	}
	return api.Word{}, err
}

// queued says that a word is on its way.
func (c *Commands) queued(o *wish) api.Word {
	w := o.shown(api.WordQueued)
	if o.home == c.Self {
		w.Reason = "not all sites to which it had sent something have answered yet; fmqm status says of which, and --withdraw gives it up"
		return w
	}
	status, _ := c.Site.LinkTo(o.home)
	w.LastHeard = status.LastHeard
	w.Reason = fmt.Sprintf("%s is not heard since %s was started", o.home, c.Self)
	if !w.LastHeard.IsZero() {
		w.Reason = fmt.Sprintf("%s is not heard since %s (%s)", o.home, w.LastHeard.UTC().Format(time.RFC3339), c.Scheduler.Now().Sub(w.LastHeard).Round(time.Second))
	}
	heard, lacks := c.reads(o.home) != nil, c.lacks(o)
	switch {
	case heard && lacks != "":
		w.Reason = fmt.Sprintf("%s cannot read it until it is upgraded (it lacks %s); a new %s is asked of it at once", o.home, lacks, o.word.Wish)
	case heard:
		w.Reason = fmt.Sprintf("%s has not answered yet", o.home)
	case lacks != "":
		w.Reason += fmt.Sprintf(", and was then of a version that cannot read it (it lacks %s): it may have to wait until %s is upgraded", lacks, o.home)
	}
	return w
}

// lacks says what the node of a word lacks to read it, as far as that was ever heard.
func (c *Commands) lacks(o *wish) string {
	if _, met := c.Queue.KnownIncarnation(o.home); !met {
		return ""
	}
	m := o.message()
	return c.Queue.Transmission(o.home).Lacks(message.NeedsOf(&m))
}

// reads is what a peer reads, while it is heard; nil: it is not. A reload may take a link
// away at any moment.
func (c *Commands) reads(peer processtable.NodeID) *message.Reads {
	status, _ := c.Site.LinkTo(peer)
	return status.Reads
}
