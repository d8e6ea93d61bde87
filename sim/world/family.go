package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
	"fmqm/message"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// A family are processes of which some begin instances of others (N19), which stand before them in the plan.

// parentOf draws a process that begins instances of the one before it; where these do not finish, or how they end is for
// a run to say, it is one like others.
func (p *Process) parentOf(before []*prepared) *generate.Case {
	if len(before) > 0 {
		child := before[len(before)-1]
		if child.expect != nil && child.expect.Result.State == interpret.Finished {
			return child.drawn.ParentOf(child.process.Name, child.process.Starts, names(p.Sites), p.Number)
		}
	}
	return generate.SteadyAt(names(p.Sites)).Example(p.Number)
}

// familyOf gives what the programs of a process do, where an instance that an activity begins is run in one
// place as well.
func (p *prepared) familyOf(before []*prepared) interpret.Programs {
	own := generate.Interpreted(p.drawn)
	if !p.begins() {
		return own
	}
	return interpret.ProgramFunc(func(a *definition.Activity, call interpret.Call) interpret.Outcome {
		if a.Child == nil {
			return own.Run(a, call)
		}
		for _, child := range before {
			if child.process.Name == a.Child.Name {
				return child.instead(a, call, before)
			}
		}
		return interpret.Outcome{Err: fmt.Sprintf("there is no process %s before it", a.Child.Name)}
	})
}

// begins says whether an activity of the process begins instances of others.
func (p *prepared) begins() bool {
	for _, a := range p.process.All() {
		if a.Child != nil {
			return true
		}
	}
	return false
}

// instead runs an instance of the process in the place of an activity. An instance that ends in error is
// none that the activity could end with.
func (p *prepared) instead(a *definition.Activity, call interpret.Call, before []*prepared) interpret.Outcome {
	fail := func(err error) interpret.Outcome { return interpret.Outcome{Err: err.Error()} }
	input, err := as(p.process.Input, call.Input)
	if err != nil {
		return fail(err)
	}
	r, err := interpret.Run(p.process, input, p.familyOf(before), interpret.Options{})
	if err != nil {
		return fail(err)
	}
	if r.State != interpret.Finished {
		return fail(fmt.Errorf("an instance of %s is %s", p.id, r.State))
	}
	output, err := as(a.Output, r.Output)
	if err != nil {
		return fail(err)
	}
	return interpret.Outcome{Output: output}
}

// as is a container of a type of the same shape.
func as(t *container.Type, c *container.Struct) (*container.Struct, error) {
	encoded, err := container.EncodeCBOR(c)
	if err != nil {
		return nil, err
	}
	v, err := container.DecodeCBOR(t, encoded)
	if err != nil {
		return nil, err
	}
	return v.(*container.Struct), nil
}

// withoutChildren takes out of what the interpreter has made the attempts that no program makes.
func (p *prepared) withoutChildren() {
	begins := map[string]bool{}
	for _, a := range p.process.All() {
		begins[a.Name] = a.Child != nil
	}
	p.expect.Attempts = slices.DeleteFunc(p.expect.Attempts, func(a oracle.Attempt) bool { return begins[a.Activity] })
}

// underWay is how long the end of an instance may be under way to the disk when it is to be ended.
const underWay = time.Minute

// family notes what activities begin, and end before its time: that is as if an operator had done it, and
// ends what was begun as well, unless that is independent (N19).
func (x *watch) family(s *site, r *record.AuditRecord) {
	if at, left := x.left[r.Instance]; left && r.Event == record.EventEnded && x.world.tasks.Elapsed()-at > underWay && !x.lost[s.name] && !x.cloned[s.name] {
		x.world.breaks("ends", "%s goes on to its end at %s, and the activity that has begun it was ended before", r.Instance, s.name)
	}
	if r.Child == nil {
		return
	}
	switch id := r.Child.Instance; {
	case r.Event == record.EventBegun:
		x.starts[id], x.children[id] = true, true
		x.world.touched[id] += x.world.touched[r.Instance]
		x.world.weaker[id] = x.world.weaker[r.Instance]
		x.resent[id] = len(x.lost) > 0 // a rebuild that is under way may send it again to a site of its own process
	case r.Event == record.EventCancelled, r.Event == record.EventStopped, r.TimedOut, byHand(r):
		x.world.touched[id]++
		if !x.world.independent(r) && !x.shadows[s.name].ended[message.Entry{Instance: id, Activity: processtable.Sink}] {
			x.left[id] = x.world.tasks.Elapsed()
		}
	}
}

// byHand: an operator has ended the activity, with an output or without.
func byHand(r *record.AuditRecord) bool {
	return r.By != "" && (r.Event == record.EventSkipped || r.Event == record.EventTerminated)
}

// endOrphans is an operator of a site that has lost its store: what activities had begun there, and nothing begins once
// more since their own instances have ended, is listed as unknown there, and ended.
func (w *World) endOrphans() {
	for _, s := range w.sites {
		if !s.lost {
			continue
		}
		var orphans []api.Instance
		_ = w.ask(s.name, "list of unknown instances", func(ctx context.Context, n *node.Node) error {
			a, err := n.List(ctx, api.ListRequest{State: api.InstanceUnknown, Limit: api.MaxPage})
			orphans = a.Instances
			return err
		})
		for _, o := range orphans {
			if !w.watch.children[o.Instance] {
				continue
			}
			w.touched[o.Instance]++
			_ = w.ask(s.name, "terminate what is unknown", func(ctx context.Context, n *node.Node) error {
				return n.Terminate(ctx, o.Instance, o.Process)
			})
		}
	}
}

// independent says whether what an activity begins goes on where that is ended.
func (w *World) independent(r *record.AuditRecord) bool {
	for _, p := range w.cases {
		for _, a := range p.process.All() {
			if p.id == r.Process.String() && a.Name == string(r.Activity) {
				return a.Independent
			}
		}
	}
	return true
}
