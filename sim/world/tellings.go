package world

import (
	"fmt"
	"strings"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// Whoever has started an instance, or others, are told of what happens to it (R58): package oracle judges by what sink hears and
// begins what was told of each instance, once all have ended and all notices were taken off.

// tells notes what comes to sink about errors and deadlines, and notices of these that begin.
func (d *shadow) tells(t *transaction, e message.Entry, k message.Key, op *store.Op) error {
	if e.Activity != processtable.Sink {
		return nil
	}
	var fact oracle.Fact
	number, is := e.Scope.OfNotice()
	switch {
	case is && k.Kind == message.KindSnapshot && e.Scope != message.Scope("").Notice(number) && !d.messages[e][k]:
		frames, err := e.Scope.Frames()
		if err != nil {
			return err
		}
		fact.Begun = &oracle.Begun{Number: number, Nth: frames[len(frames)-1].Iteration}
	case k.Kind == message.KindNotice && e.Scope == "":
		s, err := record.ReadMessage(op.Key, op.Value)
		if err != nil {
			return err
		}
		n, err := message.DecodeNotice(s.Message.Body)
		if err != nil {
			return fmt.Errorf("a notice of %s to sink: %w", k.Source, err)
		}
		fact.Heard = &oracle.Heard{Path: k.Scope.Path(k.Source), On: processtable.OnError, Cleared: n.Cleared}
		if n.TimedOut {
			fact.Heard.On, fact.Heard.Cleared = processtable.OnDeadline, false
		}
	default:
		return nil
	}
	t.told[e.Instance] = append(t.told[e.Instance], fact)
	return nil
}

// judgeTellings holds what was told of all instances to what has happened to them.
func (w *World) judgeTellings() {
	for _, c := range w.clients {
		at, id := c.of.origin, c.instance.ID
		if x := w.watch; x.lost[at] || x.cloned[at] || x.shadows[at].filled {
			continue
		}
		course := oracle.Course{Weaker: w.weaker[id], Erased: w.erased[id]}
		if wrong := oracle.Tellings(c.of.process, string(at), w.watch.facts[id], course); len(wrong) > 0 {
			w.breaks("told", "%s: %s", c.id(), strings.Join(wrong, "\n"))
		}
	}
}

// starter is who starts the instance: one of the people of its site, where people have a part in its process.
func (c *client) starter() api.Caller {
	if c.world.plan.Processes[c.instance.Process].Kind != People {
		return api.Caller{}
	}
	people := generate.Staff(string(c.of.origin))
	who := people[int(c.instance.ID[len(c.instance.ID)-1])%len(people)].Name
	return api.Caller{Name: who + "@" + string(c.of.origin), Person: who}
}

// shown is a notice as people are shown it.
type shownNotice struct {
	entry  message.Entry
	number int             // from 0
	told   bool            // it tells of what has happened
	off    map[string]bool // who has taken it off
}

// sees says whether somebody is to see a notice of what has happened. Others are asked about by who has their activity.
func (x *watch) sees(n *shownNotice, who string) bool {
	c := x.world.client(n.entry.Instance)
	if !n.told || c == nil {
		return true
	}
	if line := c.of.process.Notify[n.number]; line.Staff != nil {
		return x.holds(line.Staff.Staff, &item{turn: turn{entry: n.entry}}, who, false)
	}
	return c.starter().Name == who
}
