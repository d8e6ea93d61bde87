package audit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Loop is an activity with iterations at this node, which is its home.
type Loop struct {
	Entry     message.Entry
	Iteration int // the highest that is over
}

// Loops gives those of an instance that have iterated here, in the order of their entries. It reads what the audit
// queue has of the instance.
//
// Of the history it reads what is of a clock from there on; next is where what stays begins: no line before it is
// of an iteration.
func (q *Queue) Loops(i message.InstanceID, clock uint64) (_ []Loop, next uint64, err error) {
	highest := map[message.Entry]int{}
	history := append([]byte{record.ClassHistory}, i[:]...)
	o := store.ScanOptions{Prefix: history, From: binary.BigEndian.AppendUint64(slices.Clone(history), clock)}
	err = q.records.Each(o, func(key, value []byte) error {
		a, _, err := record.ReadAuditHead(key, value)
		if err == nil && next == 0 && (a.Iteration > 0 || a.Scope != "") {
			next = a.Clock
		}
		if err == nil && a.Event == record.EventIterated {
			e := message.Entry{Instance: i, Scope: a.Scope, Activity: a.Activity}
			highest[e] = max(highest[e], a.Iteration)
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("loops of instance %s: %w", i, q.records.Judge(err))
	}
	all := make([]Loop, 0, len(highest))
	for e, n := range highest {
		all = append(all, Loop{e, n})
	}
	slices.SortFunc(all, func(a, b Loop) int {
		return bytes.Compare(record.AppendEndKey(nil, &a.Entry), record.AppendEndKey(nil, &b.Entry))
	})
	return all, next, nil
}

// Thin says which iterations of a loop are to go, while its instance goes on.
type Thin struct {
	Loop  message.Entry
	Below int    // iterations below this one go
	Above int    // iterations up to this one have gone before; 0: it is not known
	Clock uint64 // of the history, what is of a lower clock has been looked at before
	Block bool   // with all that is inside of them
	Time  time.Time
	Limit int // audit records of one transaction, at least 1
}

// Thin gives a transaction that removes what the audit queue has of iterations: of those of a block it leaves one
// record, which says that they are over, so that what comes for one of them makes no entry (N7). More says that
// there is more to remove than one transaction does. Nil: there is nothing.
//
// It is for the home of the loop, and for iterations that are over: an iteration begins after the one before has
// returned (N18), and nothing that was decided in it is asked for any more.
func (q *Queue) Thin(t Thin) (tx *record.Tx, removed int, more bool, err error) {
	tx = &record.Tx{}
	last := record.AuditRecord{}
	for _, where := range t.places() {
		err := q.records.Each(where, func(key, value []byte) error {
			a, ref, err := record.ReadAuditHead(key, value)
			if err != nil || !t.takes(&a) {
				return err
			}
			if removed == t.Limit {
				more = true
				return read.ErrEnough
			}
			if removed++; a.Clock >= last.Clock {
				last = a
			}
			tx.Forget = appendForgotten(tx.Forget, bytes.Clone(key), &a, ref)
			return nil
		})
		if err != nil && !errors.Is(err, read.ErrEnough) {
			return nil, 0, false, fmt.Errorf("thin %s of instance %s: %w", t.Loop.Activity, t.Loop.Instance, q.records.Judge(err))
		}
	}
	if removed == 0 {
		return nil, 0, false, nil
	}
	if t.Block {
		at := overOf(t.Loop.Instance, t.Loop.Scope, t.Loop.Activity)
		tx.Audit = append(tx.Audit, record.AuditRecord{
			Time: t.Time, Clock: last.Clock, Process: last.Process, Definition: last.Definition, Instance: at.Instance, Origin: last.Origin,
			Scope: at.Scope, Activity: at.Activity, Event: record.EventThinned, Iteration: t.Below - 1,
		})
	}
	return tx, removed, more, nil
}

// places are where the records are looked for. What has gone leaves traces in the engine, over which each look
// would go: so it begins behind them where it is known how far the one before came.
func (t *Thin) places() (all []store.ScanOptions) {
	ends := append([]byte{record.ClassEnd}, t.Loop.Instance[:]...)
	switch {
	case t.Block && t.Above == 0:
		all = append(all, store.ScanOptions{Prefix: ends})
	case t.Block:
		for i := t.Above + 1; i < t.Below; i++ {
			within := t.Loop.Scope.Enter(message.Frame{Composite: t.Loop.Activity, Iteration: i, Element: -1})
			all = append(all, store.ScanOptions{Prefix: append(slices.Clone(ends), within...)})
		}
		again := t.Loop.Scope.Enter(message.Frame{Composite: t.Loop.Activity, Element: -1}) + "~" // runs after the first, which are few
		all = append(all, store.ScanOptions{Prefix: append(slices.Clone(ends), again...)})
	}
	history := append([]byte{record.ClassHistory}, t.Loop.Instance[:]...)
	return append(all, store.ScanOptions{Prefix: history, From: binary.BigEndian.AppendUint64(slices.Clone(history), t.Clock)})
}

// overOf is the entry under which stands up to which iteration of a block all is over: that of its source in a
// scope without iteration, which no other entry has.
func overOf(i message.InstanceID, scope message.Scope, block processtable.ActivityID) message.Entry {
	return message.Entry{Instance: i, Scope: scope.Enter(message.Frame{Composite: block, Element: -1}), Activity: processtable.Source}
}

// takes says whether a record is of one of the iterations: of what is inside of a block, or a line of the
// loop's own history.
func (t *Thin) takes(a *record.AuditRecord) bool {
	if a.Scope == t.Loop.Scope && a.Activity == t.Loop.Activity {
		switch a.Event {
		case record.EventIterated, record.EventFailed, record.EventInError, record.EventRetried, record.EventForced, record.EventRecalled, record.EventRestarted, record.EventKept, record.EventBegun, record.EventReturned, record.EventCancelling:
			return 0 < a.Iteration && a.Iteration < t.Below
		default: // its end, and what it was decided with
			return false
		}
	}
	if !t.Block || a.Scope == "" {
		return false
	}
	around, err := t.Loop.Scope.Frames()
	frames, wrong := a.Scope.Frames()
	if err != nil || wrong != nil || len(frames) <= len(around) || !a.Scope.Within(t.Loop.Scope) {
		return false
	}
	f := frames[len(around)]
	return f.Composite == t.Loop.Activity && 0 < f.Iteration && f.Iteration < t.Below
}

// thinnedEnd stands for the record that an entry was ended with, of an iteration that is over and of which
// nothing is left.
func (q *Queue) thinnedEnd(e message.Entry) (record.AuditRecord, bool, error) {
	for scope := e.Scope; scope != ""; scope = scope.Leave() {
		frames, err := scope.Frames()
		if err != nil || frames[len(frames)-1].Iteration == 0 {
			continue
		}
		f := frames[len(frames)-1]
		at := overOf(e.Instance, scope.Leave(), f.Composite)
		a, found, err := q.auditAt(record.AppendEndKey(nil, &at))
		if err != nil {
			return a, false, err
		}
		if found && a.Event == record.EventThinned && f.Iteration <= a.Iteration {
			a.Scope, a.Activity = e.Scope, e.Activity
			return a, true, nil
		}
	}
	return record.AuditRecord{}, false, nil
}
