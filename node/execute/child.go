package execute

import (
	"context"
	"errors"
	"fmt"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/processtable"
)

// Subprocesses (N19). Before an instance of another process begins it is found whether it can: that is
// an activity thread's, as the run of a program, and a failed attempt where it cannot. What begins it is
// the transaction that follows.

// maxSubprocesses is how many are looked at, or wait for a processor, at once.
const maxSubprocesses = 64

// beginning is the activity thread of a subprocess. If the node stops it never was.
func (t *Thread) beginning(ctx context.Context, run *invocation) {
	r := behaviour.Result{Started: run.started}
	child, err := t.child(ctx, run)
	if r.Child = child; err != nil {
		r.Child, r.Err = message.Child{}, err.Error()
	}
	r.Ended = t.of.Scheduler.Now()
	t.places.Release(run.call.Program)
	if t.of.Running.Err() == nil {
		t.Tell(thread.Ended{Token: run.token, Entry: run.entry, Result: &r})
	}
}

// child is the instance that the activity is to begin; or why it cannot.
func (t *Thread) child(ctx context.Context, run *invocation) (message.Child, error) {
	p, err := t.of.Site.Subprocess(*run.call.Child)
	if err != nil {
		return message.Child{}, err
	}
	parent := t.parentOf(run)
	several := t.process.Table().Children
	child := message.Child{Process: p.Table().Process, Instance: parent.Child(p.Table().Process, several)}
	if message.Deeper(message.DepthOf(run.entry.Instance), several) > message.MaxDepth {
		return child, fmt.Errorf("it would begin an instance of %s too deep inside of others: does a process begin itself, with no condition that ends this? %d are the limit, and fewer where processes have several subprocesses", child.Process, message.MaxDepth)
	}
	if wrong := t.misfit(run, p.Table()); wrong != "" {
		return child, errors.New(wrong)
	}
	if err := t.foreign(child, &parent); err != nil {
		return child, err
	}
	return child, t.startable(ctx, p, child.Instance, run)
}

// parentOf is the execution that a run is an attempt of.
func (t *Thread) parentOf(run *invocation) message.Parent {
	e := run.entry
	return message.Parent{
		Process: t.ID(), Node: t.of.Self, Instance: e.Instance, Scope: e.Scope, Activity: e.Activity,
		Iteration: run.call.Iteration, Run: run.call.Run, Attempt: run.call.Attempt,
	}
}

// misfit says where the containers of an activity have not the shape of the process's that it begins, or
// nothing.
func (t *Thread) misfit(run *invocation, of *processtable.Table) string {
	row := t.process.Table().Activity(run.entry.Row())
	what := "input"
	wrong, _ := container.Unlike(of.Input, row.Input)
	if wrong == "" {
		what = "output"
		wrong, _ = container.Unlike(of.Output, row.Output)
	}
	if wrong == "" {
		return ""
	}
	return fmt.Sprintf("the %s of %s has not the shape of that of %s: %s: give both the same members, and upload a new version, of %s or of %s",
		what, run.entry.Activity, of.Process, wrong, t.ID(), of.Process)
}

// foreign says that the identifier of a child is that of an instance that somebody else has started.
func (t *Thread) foreign(child message.Child, parent *message.Parent) error {
	started, _, found, err := t.of.Queue.Instance(child.Instance)
	switch {
	case err != nil:
		return err
	case found && (started.Process != child.Process || started.Parent == nil || *started.Parent != *parent):
		return fmt.Errorf("instance %s of %s is here already, and another activity or somebody else has started it: retry, which takes another identifier", child.Instance, started.Process)
	}
	return nil
}

// startable finds whether an instance of a process could be started with the input: what its source asks
// of that is asked again when it is, and comes to the same.
func (t *Thread) startable(ctx context.Context, p behaviour.Process, i message.InstanceID, run *invocation) error {
	encoded, err := container.EncodeCBOR(run.call.Input)
	if err != nil {
		return fmt.Errorf("encode the input: %w", err)
	}
	v, err := container.DecodeCBOR(p.Table().Input, encoded)
	if err != nil {
		return fmt.Errorf("read the input as that of %s: %w", p.Table().Process, err)
	}
	input := v.(*container.Struct)
	if err := t.of.Site.CheckSize(input); err != nil {
		return fmt.Errorf("input of %s: %w", p.Table().Process, err)
	}
	start := behaviour.Start{Instance: i, Input: input, Now: run.started}
	source := p.Activity(processtable.RowID{Name: processtable.Source})
	if start.Judged, err = t.of.judge(ctx, source, &behaviour.Result{Output: input, Instance: i.String()}); err != nil {
		return err
	}
	_, err = p.Start(start)
	return err
}

// holdsChild says whether a subprocess must wait before it begins, since a transmission queue that the
// child needs is at its quota (S3).
func (t *Thread) holdsChild(row processtable.RowID) bool {
	a := t.process.Table().Activity(row)
	if a == nil || a.Child == nil {
		return false
	}
	p, err := t.of.Site.Subprocess(*a.Child)
	if err != nil {
		return false // which its attempt tells of
	}
	_, full := t.of.Site.FullFor(p.Table())
	return full
}
