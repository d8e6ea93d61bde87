package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/interpret"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/sim/oracle"
)

// finish is what comes once the weather has cleared: operators do what the documents say, and
// every instance ends; then all must be as the interpreter says, and nothing may be left.
func (w *World) finish() {
	w.clearUp()
	w.upgradeWho()
	if !w.await("not every schedule is suspended", w.allSuspended) {
		return
	}
	w.noneMissed()
	if !w.await("not every instance ends", w.allEnded) || !w.await("not every process is uploaded", w.allUploaded) {
		return
	}
	if !w.await("not every site is told what is in error", w.allTold) {
		return
	}
	w.judgeRaces()
	for _, c := range w.clients {
		w.conclude(c)
	}
	w.upgradeAll()
	w.rebuildOnceMore()
	if w.await("all instances have ended, and a site still has data of one that are to be overwritten", w.allErased) &&
		w.await("all instances have ended, and something is left", func() string { w.endOrphans(); return w.left() }) && w.await("all is confirmed, and positions differ", func() string { return w.watch.agree() }) &&
		w.await("all sites have it, and a version is not current", w.allCurrent) {
		w.judgeTellings()
		w.refuses()
		if !w.tablesGo() {
			return
		}
		w.journal.note("world", "ends", "")
		w.over = true
	}
}

// await asks again and again, less and less often, until there is no reason to wait any more.
// It gives up where nothing has been committed for too long.
func (w *World) await(what string, reason func() string) bool {
	pause, commits, since := 2*time.Second, w.watch.commits, w.tasks.Elapsed()
	for round := 0; w.broken == nil; round++ {
		why := reason()
		if why == "" {
			return true
		}
		if now := w.watch.commits; now != commits {
			commits, since = now, w.tasks.Elapsed()
		}
		if w.tasks.Elapsed()-since > patience && !w.forgets || w.tasks.Elapsed()-since > 4*patience {
			w.breaks("ends", "%s: %s", what, why)
			return false
		}
		w.tend()
		w.sleep(pause)
		pause = min(2*pause, 2*time.Minute)
	}
	return false
}

// tend is what operators do at every site: they let links go on that are stopped, deal with
// refused messages, and rebuild who has lost its disk; and people do their work.
func (w *World) tend() {
	w.allWork()
	for _, s := range w.sites {
		switch {
		case s.copy:
			w.renew(s)
		case s.lost && s.rebuilt < w.rebuilds():
			w.rebuild(s)
		}
	}
	for _, s := range w.sites {
		w.refused(s)
		w.decide(s)
	}
}

// decide is an operator who lets a site's links go on that are stopped.
func (w *World) decide(s *site) {
	for _, l := range w.links(s.name) {
		if l.State != "stopped" {
			continue
		}
		w.journal.met(string(Decide))
		_ = w.answered(s.name, "links retry "+l.Peer, func(ctx context.Context, n *node.Node) (string, error) {
			now, err := n.RetryLink(ctx, l.Peer)
			return otherThan(l.Peer, now.Peer), err
		})
	}
}

// links is how a site sees its links; nothing if it does not answer.
func (w *World) links(at name) []api.Link {
	var answer api.LinksAnswer
	_ = w.answered(at, "links", func(ctx context.Context, n *node.Node) (_ string, err error) {
		answer, err = n.Links(ctx)
		return w.watch.linksOf(at, answer.Links), err
	})
	return answer.Links
}

// connected: a site sees its link to a peer so.
func (w *World) connected(at, peer name) bool {
	for _, l := range w.links(at) {
		if l.Peer == string(peer) {
			return l.State == "connected"
		}
	}
	return false
}

// allEnded says what has not ended.
func (w *World) allEnded() string {
	for _, c := range w.clients {
		if c.ended {
			continue
		}
		if why := c.waitsFor(); why != "" {
			return fmt.Sprintf("%s: %s", c.id(), why)
		}
		c.ended = true
	}
	return ""
}

// allUploaded says what is not uploaded.
func (w *World) allUploaded() string {
	for _, p := range w.cases {
		if !p.uploaded {
			return p.id
		}
	}
	return ""
}

// waitsFor says what the instance is not yet, that it is to be.
func (c *client) waitsFor() string {
	switch {
	case c.void:
		return ""
	case !c.started:
		return "it is not started"
	}
	status, err := c.status()
	if err != nil {
		return err.Error()
	}
	c.state = status.State
	if len(status.Suspends)+len(status.Pending) > 0 && c.dealing == 0 { // in the end somebody lets it go on
		switch {
		case len(status.Suspends) > 0:
			_ = c.goOn(c.of.origin, false)
		case slices.ContainsFunc(status.Pending, func(p api.Pending) bool { return p.Word == "expedite" }): // one has lost its store: it is said again
			_ = c.expedite(c.of.origin, 5)
		}
		return "it is suspended, or not every site knows that it is not"
	}
	if c.dealing > 0 { // what is still refused neither excuses anything, nor gives reason to end it
		return "an operator is dealing with it"
	}
	if c.world.touched[c.instance.ID] > 0 || c.world.weaker[c.instance.ID] && c.of.races {
		if status.State == api.InstanceRunning && c.world.touched[c.instance.ID] > 0 && c.world.weaker[c.instance.ID] {
			c.commanded(func() error { return c.terminate(c.of.origin) }) // that it was terminated may be lost: an operator does it once more
		}
		if status.State == api.InstanceRunning || len(status.Unreachable) > 0 {
			return string(status.State)
		}
		return c.outlives(status)
	}
	if c.world.weaker[c.instance.ID] {
		return c.differsInTheEnd(status)
	}
	expected, err := c.expected()
	if err != nil {
		return err.Error()
	}
	if expected.Result.State == interpret.Running { // its deadline is still to come
		return "something in it waits for an event"
	}
	if differ := oracle.Differences(status, expected.Result); len(differ) > 0 {
		return strings.Join(differ, "; ")
	}
	c.compare(expected) // in the moment in which it is so: a deadline may end what is in error
	return ""
}

// differsInTheEnd compares what came of an instance of which a site may have lost something:
// its state, and its output unless that was lost.
func (c *client) differsInTheEnd(got api.Status) string {
	want := c.of.expect.Result
	if got.State != api.InstanceState(want.State) {
		return fmt.Sprintf("it is %s, the interpreter says %s", got.State, want.State)
	}
	if differ := oracle.Differences(got, want); !c.world.site(c.of.origin).lost && len(differ) > 0 && strings.HasPrefix(differ[0], "instance: output") {
		return differ[0]
	}
	return ""
}

// status is the instance's with all that is in it: what is too large for one answer, or too much for one page, in pages.
func (c *client) status() (api.Status, error) {
	whole, err := c.statusAt(c.of.origin, api.StatusRequest{Tree: true})
	limit := 200
	switch {
	case err != nil, len(whole.More) == 0 && whole.Next == "":
		return whole, err
	case len(whole.More) > 0:
		limit = 2
	}
	whole.Activities, whole.Next = nil, ""
	for next := ""; ; {
		page, err := c.statusAt(c.of.origin, api.StatusRequest{Tree: true, Limit: limit, After: next})
		if err != nil {
			return page, err
		}
		whole.Activities = append(whole.Activities, page.Activities...)
		if next = page.Next; next == "" {
			return whole, nil
		}
	}
}

// statusAt is the instance's as a site tells it.
func (c *client) statusAt(at name, r api.StatusRequest) (status api.Status, err error) {
	err = c.world.answered(at, "status "+c.id(), func(ctx context.Context, n *node.Node) (_ string, err error) {
		status, err = n.StatusOf(ctx, c.instance.ID, r)
		return c.world.statusOf(c, status), err
	})
	if err == nil {
		c.world.fits(c, at, status)
	}
	return status, err
}

// compare holds the attempts that were made against those that the interpreter made. Where
// nothing has gone wrong, none came again.
func (c *client) compare(expected *oracle.Expectation) {
	w := c.world
	if wrong := expected.AttemptDifferences(w.play.attempts[c.id()], len(w.plan.Events) > 0); len(wrong) > 0 {
		w.breaks("7", "%s: %s", c.id(), strings.Join(wrong, "\n"))
	}
}

// conclude ends an instance that stands in error, as an operator does.
func (w *World) conclude(c *client) {
	if c.void || w.touched[c.instance.ID] == 0 && c.state != api.InstanceInError {
		return
	}
	w.touched[c.instance.ID]++
	w.anew(c)
	for w.broken == nil {
		err := c.terminate(c.of.origin)
		if err == nil || api.CodeOf(err) == api.CodeRefused { // it has ended
			return
		}
		w.sleep(5 * time.Second)
	}
}

// anew is an operator who has begun once more what others do for an activity in error, before its instance is ended: what
// had come back of it does not count any more (N12).
func (w *World) anew(c *client) {
	status, err := c.status()
	if err != nil || status.State != api.InstanceInError {
		return
	}
	begun := false
	for _, a := range status.Activities {
		if of := c.of.places[a.Activity]; a.State == api.ActivityInError && of.Activity != nil && (of.Block != nil || of.Bundle != nil || of.Call != nil) {
			begun = c.retry(c.of.origin, a.Scope, a.Activity) == nil || begun
		}
	}
	if begun {
		w.journal.met("anew")
		w.sleep(time.Minute)
	}
}

// allTold says of which instance in error the site where it was started does not know that: a list there would not
// find it (N4, R32).
func (w *World) allTold() string {
	for _, s := range w.sites {
		running := map[uuid.UUID]bool{} // and nothing was told of an error
		r := api.ListRequest{All: true, Limit: 100}
		for more := true; more; {
			more = false
			err := w.answered(s.name, listText(r), func(ctx context.Context, n *node.Node) (string, error) {
				a, err := n.List(ctx, r)
				for i := range a.Instances {
					running[a.Instances[i].Instance] = a.Instances[i].State == api.InstanceRunning && a.Instances[i].InError == 0
				}
				more, r.Next = a.More, a.Next
				return "", err
			})
			if err != nil {
				return err.Error()
			}
		}
		for _, c := range w.clients {
			if c.of.origin == s.name && c.state == api.InstanceInError && running[c.instance.ID] && w.touched[c.instance.ID] == 0 && !w.weaker[c.instance.ID] {
				return fmt.Sprintf("%s is in error, and was never told so of %s", s.name, c.id())
			}
		}
	}
	return ""
}

// left says what is left in any store that should be empty.
func (w *World) left() string {
	for _, s := range w.sites {
		e, err := s.disk.Peek()
		if err != nil {
			return err.Error()
		}
		what, err := oracle.Left(e)
		if err != nil {
			return err.Error()
		}
		if what == "" {
			what = s.remembers()
		}
		if what != "" {
			return fmt.Sprintf("at %s: %s", s.name, what)
		}
	}
	return ""
}

// remembers says what a site that is up has in memory.
func (s *site) remembers() string {
	if s.life == nil || s.life.node == nil {
		return "it is down"
	}
	stats, err := s.life.node.Stats()
	if err != nil {
		return err.Error()
	}
	for i := range stats.Processes {
		if p := &stats.Processes[i]; p.Entries > 0 && p.Process != processtable.EventQueue {
			return fmt.Sprintf("%d entries of %s in memory (%d ready, %d running, %d waiting)", p.Entries, p.Process, p.Ready, p.Running, p.Waiting)
		}
	}
	return ""
}
