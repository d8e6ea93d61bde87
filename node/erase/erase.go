package erase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// Eraser is a node's. Its methods are safe for concurrent use.
type Eraser struct {
	options Options
	Bounds  Bounds // tests have smaller ones
	wake    *task.Bell
	turn    *task.Places // one: who has it notes what is to be erased

	mu       sync.Mutex
	gates    map[message.InstanceID]*task.Gate // opened when an instance is done, or cannot be for now
	stuck    map[message.InstanceID]string     // why it cannot
	children map[message.InstanceID][]api.EraseChild
}

// Bounds of what one transaction rewrites.
type Bounds struct {
	Records int
	Bytes   int
}

// Options make an Eraser. All are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Queue     *queue.Manager
	Scheduler task.Scheduler
	Log       zerolog.Logger
}

// Site is the node whose records they are.
type Site interface {
	question.Carrier
	// Process is what the table of a process says; nil: it is not here.
	Process(processtable.ProcessID) behaviour.Process
	// Gather asks the nodes of an instance how it stands.
	Gather(_ context.Context, _ message.InstanceID, process string) (*report.Gathered, error)
	// LinkTo says how the link to a peer is; false: there is none.
	LinkTo(peer processtable.NodeID) (link.Status, bool)
	// Commit submits a transaction, and waits for it, or for ctx.
	Commit(ctx context.Context, tx *record.Tx) error
	// Order says whether a command of a peer's operator is carried out here; nil: it is.
	Order(o *command.Order) *api.Error
	// HoldAudit keeps retention from removing audit records until release is called.
	HoldAudit(ctx context.Context) (release func(), err error)
	// ForgetLogs takes out what programs of an instance have written.
	ForgetLogs(message.InstanceID) error
	// By says who commands at this node, for the history.
	By(context.Context) string
}

const (
	// again is how long is waited before what could not be done is tried again.
	again = time.Minute
	// patience is how long who asks waits for it to be done.
	patience = 1200 * time.Millisecond
	// yieldShare is how long is waited between two steps, in times of how long one took.
	yieldShare = 3
	// mostChildren is of how many instances it is known in memory which children they have.
	mostChildren = 1024
)

// New makes an Eraser. It does nothing until Run.
func New(o Options) *Eraser {
	return &Eraser{
		options: o, wake: o.Scheduler.Bell(), turn: task.NewPlaces(o.Scheduler, 1), Bounds: Bounds{Records: 256, Bytes: 1 << 20},
		gates: map[message.InstanceID]*task.Gate{}, stuck: map[message.InstanceID]string{}, children: map[message.InstanceID][]api.EraseChild{},
	}
}

// Run works off what is noted, also before the node stopped, until ctx ends, or the store. An error is one after which nothing
// here can be trusted.
func (e *Eraser) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		all, err := e.options.Queue.Erasings()
		for i := 0; err == nil && i < len(all) && ctx.Err() == nil; i++ {
			err = e.work(ctx, &all[i])
		}
		switch {
		case ctx.Err() != nil, errors.Is(err, queue.ErrStopped):
			return nil
		case err != nil:
			return err
		}
		wait, cancel := ctx, context.CancelFunc(func() {})
		if len(all) > 0 { // some may be stuck
			wait, cancel = e.options.Scheduler.WithTimeout(ctx, again)
		}
		_, _ = e.options.Scheduler.Wait(wait, e.wake)
		cancel()
	}
	return nil
}

// work does what is left to do of one.
func (e *Eraser) work(ctx context.Context, s *record.Erasing) error {
	if !s.Over {
		if err := e.overwrite(ctx, s); err != nil || !s.Over {
			return err
		}
	}
	reason := ""
	if err := e.options.Site.ForgetLogs(s.Instance); err != nil {
		reason = fmt.Sprintf("what its programs have written: %v", err)
	}
	done, err := e.options.Queue.Scrub(ctx)
	switch {
	case errors.Is(err, queue.ErrNoRoom):
		reason = err.Error()
	case err != nil:
		return err
	case !done && reason == "":
		reason = "the files of the store are still being written anew"
	}
	if reason != "" {
		e.tell(s.Instance, reason)
		return nil
	}
	return e.finish(ctx, s.Instance)
}

// finish takes the note away, unless more was asked meanwhile: then the next look goes on with that.
func (e *Eraser) finish(ctx context.Context, i message.InstanceID) error {
	if err := e.turn.Acquire(ctx); err != nil {
		return err
	}
	defer e.turn.Release()
	s, under, err := e.options.Queue.Erasing(i)
	switch {
	case err != nil || !under:
		return err
	case !s.Over:
		e.wake.Ring()
		return nil
	}
	s.Gone = true
	if err := e.options.Site.Commit(ctx, &record.Tx{Erasing: &s}); err != nil {
		return err
	}
	e.tell(i, "")
	e.options.Log.Info().Stringer("instance", s.Instance).Str("by", s.By).Uint64("records", s.Records).Msg("data of an instance erased")
	return nil
}

// tell lets those go on who wait; reason is why it is not done.
func (e *Eraser) tell(i message.InstanceID, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if reason != "" {
		e.stuck[i] = reason
	} else {
		delete(e.stuck, i)
	}
	if g := e.gates[i]; g != nil {
		delete(e.gates, i)
		g.Open()
	}
}

// gate is opened when there is something to tell of an instance.
func (e *Eraser) gate(i message.InstanceID) *task.Gate {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gates[i] == nil {
		e.gates[i] = e.options.Scheduler.Gate()
	}
	return e.gates[i]
}

// overwrite rewrites all records of an instance, step by step.
func (e *Eraser) overwrite(ctx context.Context, s *record.Erasing) error {
	o := &overwriting{members: s.Members, now: e.options.Scheduler.Now(), apart: e.waitsApart(), children: map[message.InstanceID]processtable.ProcessID{}}
	if p := e.options.Site.Process(s.Process); p != nil {
		o.table, o.definition = p.Table(), p.Definition()
	}
	if err := e.takeOff(ctx, s); err != nil {
		return err
	}
	var from []byte
	for more := true; more; {
		began := e.options.Scheduler.Now()
		var next []byte
		err := commit.InLots(e.Bounds.Records, func(most int) (err error) {
			next, err = e.step(ctx, s, o, from, most)
			return err
		})
		if err != nil {
			return err
		}
		from, more = next, next != nil
		if took := e.options.Scheduler.Now().Sub(began); more && took > 0 {
			if err := task.Sleep(ctx, e.options.Scheduler, yieldShare*took); err != nil {
				return err
			}
		}
	}
	return e.note(ctx, s, o)
}

// step is one transaction, of at most so many records, and gives where the next begins; nil: there is none.
func (e *Eraser) step(ctx context.Context, s *record.Erasing, o *overwriting, from []byte, most int) (next []byte, err error) {
	release, err := e.options.Site.HoldAudit(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	all, next, err := e.options.Queue.Erase(audit.Erase{
		Instance: s.Instance, From: from, Limit: most, Bytes: e.Bounds.Bytes, Rewrite: o.change,
	})
	if err != nil || len(all) == 0 {
		return next, err
	}
	if err := e.turn.Acquire(ctx); err != nil {
		return nil, err
	}
	defer e.turn.Release()
	now, under, err := e.options.Queue.Erasing(s.Instance) // it may name more by now: see note
	if err != nil || !under {
		return nil, err
	}
	now.Records = s.Records + uint64(len(all))
	if err := e.options.Site.Commit(ctx, &record.Tx{Rewrite: all, Erasing: &now}); err != nil {
		return nil, err
	}
	s.Records = now.Records
	return next, nil
}

// note records that all is overwritten, with a line of history, unless one says the same already.
func (e *Eraser) note(ctx context.Context, s *record.Erasing, o *overwriting) error {
	if err := e.turn.Acquire(ctx); err != nil {
		return err
	}
	defer e.turn.Release()
	if now, under, err := e.options.Queue.Erasing(s.Instance); err != nil || under && !covers(&s.Members, &now.Members) {
		e.wake.Ring() // more was asked meanwhile: the next look begins anew
		return err
	}
	last, clock, err := e.options.Queue.Erased(s.Instance)
	if err != nil {
		return err
	}
	children := make([]api.EraseChild, 0, len(o.children))
	for id, of := range o.children {
		children = append(children, api.EraseChild{Instance: id, Process: of.String()})
	}
	slices.SortFunc(children, func(a, b api.EraseChild) int { return slices.Compare(a.Instance[:], b.Instance[:]) })
	e.mu.Lock()
	if len(e.children) >= mostChildren {
		clear(e.children) // who asks again is told again
	}
	e.children[s.Instance] = children
	e.mu.Unlock()
	s.Over = true
	now := *s
	tx := &record.Tx{Erasing: &now}
	_, has, err := e.options.Queue.AuditSizeOf(s.Instance)
	if err != nil {
		return err
	}
	if has && (s.Records > 0 || last == nil || !covers(&last.Erased.Members, &s.Members)) {
		if last != nil {
			s.Records += last.Erased.Records
		}
		tx.Audit = append(tx.Audit, record.AuditRecord{
			Time: e.options.Scheduler.Now(), Clock: message.Next(clock), Process: s.Process, Definition: o.definition, Instance: s.Instance, Origin: s.Origin,
			Activity: processtable.Source, Event: record.EventErased, By: s.By, Reason: s.Reason,
			Erased: &record.Erased{Time: s.Asked, Members: s.Members, Records: s.Records},
		})
	}
	return e.options.Site.Commit(ctx, tx)
}

// covers says whether what m names is all that other names.
func covers(m, other *container.Members) bool {
	if m.All || other.All {
		return m.All
	}
	return !slices.ContainsFunc(other.Paths, func(path string) bool { return !slices.Contains(m.Paths, path) })
}

// together is what either names.
func together(m, other container.Members) container.Members {
	if m.All || other.All {
		return container.Members{All: true}
	}
	all := slices.Concat(m.Paths, other.Paths)
	slices.Sort(all)
	return container.Members{Paths: slices.Compact(all)}
}

// want notes that data of an instance are to be overwritten here: with what is noted already, if that is not done.
func (e *Eraser) want(ctx context.Context, s record.Erasing) error {
	if err := e.turn.Acquire(ctx); err != nil {
		return err
	}
	defer e.turn.Release()
	before, under, err := e.options.Queue.Erasing(s.Instance)
	if err != nil {
		return err
	}
	if under {
		if s.Members = together(before.Members, s.Members); !before.Over {
			s.Records = before.Records
		}
		if len(s.Members.Paths) > container.MaxMembers {
			return api.Errorf(api.CodeRefused, "wait until the one before is done, and repeat it", "more than %d members of instance %s are to be erased at once", container.MaxMembers, s.Instance)
		}
	}
	if err := e.options.Site.Commit(ctx, &record.Tx{Erasing: &s}); err != nil {
		return err
	}
	e.wake.Ring()
	return nil
}
