package world

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/definition"
	"fmqm/message"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// prepared is a process of the plan, and what the interpreter says of it.
type prepared struct {
	id       string // name@version
	drawn    *generate.Case
	process  *definition.Process
	places   map[string]oracle.Place // of its activities, by name
	upload   api.UploadRequest
	origin   name // where its instances are started
	uploaded bool
	retired  bool                // its tables go in the end
	races    bool                // how activities end is for a run to say
	expect   *oracle.Expectation // where it is not
}

// prepare draws a process, of which an activity may begin instances of those before it.
func prepare(p *Process, before []*prepared) (*prepared, error) {
	c := p.drawn(before)
	loaded, diagnostics := definition.Load(p.Name+".yaml", []byte(c.Text(p.Name)))
	if len(loaded) != 1 {
		return nil, fmt.Errorf("process %s: %v", p.Name, diagnostics)
	}
	starts := loaded[0].Starts
	made := &prepared{id: p.Name + "@1", drawn: c, process: loaded[0], places: oracle.Places(loaded[0]), origin: name(starts[c.Start%len(starts)])}
	var err error
	made.upload.Now, made.retired = p.Now, p.Retired
	if made.upload.Tables, err = apitest.Tables(made.process); err != nil {
		return nil, fmt.Errorf("process %s: %w", p.Name, err)
	}
	oracle.Locate(made.process, string(made.origin))
	if made.races = hasRaces(made.process); made.races {
		return made, nil
	}
	if made.expect, err = oracle.Expect(made.process, json.RawMessage(c.Input), made.familyOf(before)); err != nil {
		return nil, fmt.Errorf("process %s: %w", p.Name, err)
	}
	made.withoutChildren()
	return made, nil
}

// hasPart: something of the process's instances is done at a site.
func (p *prepared) hasPart(n name) bool {
	for _, a := range p.places {
		if a.Node == string(n) || slices.Contains(a.OfferedAt, string(n)) || a.Call != nil && slices.Contains(a.Call.Of, string(n)) {
			return true
		}
	}
	return p.origin == n
}

// upload is a definer, who tries until every table is at its node or on its way. A site that cannot
// read the process's tables does not take them from anybody.
func (w *World) upload(i int) {
	p := w.cases[i]
	w.play.cases[p.id] = p.drawn // from now on a program may run for it
	w.watch.uploads[processtable.ProcessID{Name: w.plan.Processes[i].Name, Version: 1}] = true
	through, pause := w.site(w.plan.Processes[i].Through), 5*time.Second
	for ; !w.over; pause = min(2*pause, 2*time.Minute) {
		var answer api.UploadAnswer
		err := errUnread
		if !through.before || p.reads() <= oldest {
			err = w.answered(through.name, "upload "+p.id, func(ctx context.Context, n *node.Node) (_ string, err error) {
				answer, err = n.Upload(ctx, p.upload)
				return w.uploadOf(p, answer), err
			})
		}
		done := err == nil
		for _, line := range answer.Nodes {
			done = done && (line.Result == api.ResultStored || line.Result == api.ResultQueued || line.Plan == api.PlanUnchanged)
		}
		if p.retired && slices.ContainsFunc(answer.Nodes, func(l api.UploadNode) bool { return strings.Contains(l.Reason, "was retired") }) {
			done = true // it was uploaded, and its table has gone since
		}
		if done {
			p.uploaded = true
			return
		}
		w.sleep(pause)
	}
}

// client starts an instance, and tries until it is told that it is started.
type client struct {
	world    *World
	instance *Instance
	of       *prepared
	started  bool              // somebody was told so
	void     bool              // and never will be: its version is retired
	ended    bool              // all that comes of it has come
	state    api.InstanceState // by then
	dealing  int               // how many operators are dealing with it: what they have done is not known before they are told
}

func (c *client) id() string { return c.instance.ID.String() }

func (c *client) request() api.StartRequest {
	return api.StartRequest{Instance: c.instance.ID, Process: c.of.id, Input: json.RawMessage(c.of.drawn.Input)}
}

// ask starts the instance once.
func (c *client) ask() error {
	w := c.world
	w.watch.starts[c.instance.ID] = true
	return w.ask(c.of.origin, "start "+c.id(), func(ctx context.Context, n *node.Node) error {
		err := n.Begin(api.WithCaller(ctx, c.starter()), c.request())
		if err == nil { // in the moment in which it is told
			c.started = true
			w.watch.acknowledged(w.site(c.of.origin), c)
		}
		return err
	})
}

func (c *client) start() {
	for pause := 3 * time.Second; !c.started && !c.world.over; pause = min(2*pause, time.Minute) {
		err := c.ask()
		if c.void = isRetired(err) && c.world.clear; c.void {
			return
		}
		if err != nil {
			c.world.sleep(pause)
		}
	}
}

// again starts it once more: that is the same instance (N2).
func (c *client) again() {
	if !c.started {
		return
	}
	switch err := c.ask(); api.CodeOf(err) {
	case api.CodeRefused, api.CodeNotFound, api.CodeUsage:
		if err != nil {
			c.world.breaks("5", "%s was started, and a repeat of the start is refused: %v", c.id(), err)
		}
	case api.CodeFailed, api.CodeUnreachable:
	}
}

// questions is how many of them there are: each way of asking for a list is one more.
const questions = 6 + lists - 1

// question asks what people ask; the answer must fit together, and be about what was asked.
func (w *World) question(e Event) {
	c := w.clients[e.Instance]
	switch e.Number {
	case 0:
		_, _ = c.statusAt(e.Site, api.StatusRequest{Tree: true})
	case 1: // everybody at once
		for _, c := range w.clients {
			w.control.Go(func() { _, _ = c.statusAt(e.Site, api.StatusRequest{Tree: true}) })
			w.control.Go(func() { w.history(e.Site, c) })
		}
	case 2:
		_ = w.answered(e.Site, "why "+c.id(), func(ctx context.Context, n *node.Node) (string, error) {
			answer, err := n.Why(ctx, c.instance.ID, "")
			return w.whyOf(c, answer), err
		})
	case 3:
		w.list(e.Site, listOf(c, 0))
	case 4:
		w.history(e.Site, c)
	case 5:
		_ = w.links(e.Site)
	default:
		w.list(e.Site, listOf(c, e.Number-5))
	}
}

// fits holds an answer to what can be.
func (w *World) fits(c *client, at name, s api.Status) {
	w.journal.note(string(at), "says", "%s is %s", c.id(), s.State)
	if wrong := oracle.Misfits(s, c.of.process); len(wrong) > 0 && w.touched[c.instance.ID] == 0 && !w.weaker[c.instance.ID] {
		w.breaks("7", "%s says of %s what cannot be: %v", at, c.id(), wrong)
	}
}

// terminate is an operator who ends an instance.
func (w *World) terminate(e Event) {
	c := w.clients[e.Instance]
	defer c.deals()()
	c.commanded(func() error { return c.terminate(e.Site) })
}

// deals: an operator deals with the instance, until it is over.
func (c *client) deals() (over func()) {
	c.dealing++
	return func() { c.dealing-- }
}

// commanded: an operator deals with the instance. It counts at once, since it may be done long before that is
// told; if it is refused, all is as it was.
func (c *client) commanded(command func() error) {
	c.world.touched[c.instance.ID]++
	if isRefusal(command()) {
		c.world.touched[c.instance.ID]--
	}
}

// isRefusal: nothing was done, for certain.
func isRefusal(err error) bool {
	switch api.CodeOf(err) {
	case api.CodeRefused, api.CodeNotFound, api.CodeUsage:
		return err != nil
	case api.CodeFailed, api.CodeUnreachable:
	}
	return false
}

// terminate has an operator at a site end the instance.
func (c *client) terminate(at name) error {
	return c.world.ask(at, "terminate "+c.id(), func(ctx context.Context, n *node.Node) error {
		return n.Terminate(ctx, c.instance.ID, "")
	})
}

// retry is an operator who retries what is in error: each activity, where it is as far as the site
// that is asked can say, and in the first iteration of the blocks around it.
func (w *World) retry(e Event) {
	c := w.clients[e.Instance]
	defer c.deals()()
	status, _ := c.statusAt(e.Site, api.StatusRequest{Tree: true})
	asked := map[string]bool{}
	retry := func(scope, activity string) {
		if path := api.InScope(scope, activity); !asked[path] {
			asked[path] = true
			c.commanded(func() error { return c.retry(e.Site, scope, activity) })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.of.places)) {
		retry(string(c.of.places[name].Scope(1)), name)
	}
	for _, a := range status.Activities {
		if a.State == api.ActivityInError {
			retry(a.Scope, a.Activity)
		}
	}
}

// retry has an operator at a site retry an activity.
func (c *client) retry(at name, scope, activity string) error {
	return c.world.answered(at, "retry "+api.InScope(scope, activity)+" of "+c.id(), func(ctx context.Context, n *node.Node) (string, error) {
		word, err := n.Retry(ctx, c.instance.ID, api.RetryRequest{Scope: scope, Activity: activity})
		return c.of.otherWord(word, c.id(), scope, activity), err
	})
}

// otherWord says what the answer to a word is about that was said of something else. It says where as people do.
func (p *prepared) otherWord(word api.Word, instance, scope, activity string) string {
	scope = string(message.Scope(scope).Shown())
	if p.does(word, scope, activity) { // the one that is in error, of a bundle's or call's (N20, N21)
		return otherThan(instance, word.Instance.String())
	}
	return otherThan(fmt.Sprint(instance, scope, activity, p.places[activity].Node), fmt.Sprint(word.Instance, word.Scope, word.Activity, word.Node))
}

// does says whether a word that was said of an activity is answered of what does its work: an element of it,
// or what it has done at a node that it may name, which is told as the activity itself.
func (p *prepared) does(word api.Word, scope, activity string) bool {
	work, found := strings.CutPrefix(string(message.Scope(word.Scope).Full()), string(message.Scope(scope).Full()))
	home := p.places[activity]
	at := word.Node == home.Node || home.Call != nil && slices.Contains(home.Call.Of, word.Node)
	work = strings.TrimPrefix(work, "/")
	return found && (work == "" || strings.HasPrefix(work, activity)) && word.Activity == activity && at
}

// refused is an operator who deals with the messages that a site has refused: each is retried
// once, and then dropped. Without a loss, and without operators, there are none.
func (w *World) refused(s *site) {
	var answer api.RefusedAnswer
	err := w.answered(s.name, "dead list", func(ctx context.Context, n *node.Node) (_ string, err error) {
		answer, err = n.Refused(ctx, api.RefusedRequest{Limit: 100})
		return w.refusedOf(answer), err
	})
	if err != nil {
		return
	}
	for _, m := range answer.Messages {
		id := m.Instance.String()
		if w.touched[m.Instance] == 0 && !w.weaker[m.Instance] {
			w.breaks("5", "%s refuses a message of %s from %s for %s: %s", s.name, id, m.From, m.Activity, m.Reason)
			return
		}
		what := m.Reason + id + m.Activity
		again := !s.tried[what]
		s.tried[what] = true
		_ = w.answered(s.name, fmt.Sprint("dead retry or drop ", m.Number), func(ctx context.Context, n *node.Node) (_ string, err error) {
			var done api.RefusedDecision
			if again {
				done, err = n.RetryRefused(ctx, m.Number)
			} else {
				done, err = n.DropRefused(ctx, m.Number, api.DropRequest{Reason: "agreed"})
			}
			return otherThan(fmt.Sprint(m.Number), fmt.Sprint(done.Number)), err
		})
	}
}
