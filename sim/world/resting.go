package world

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
)

// lying is a mark on a site's disk.
type lying struct {
	message.Marked
	since time.Duration
}

// mark notes what suspends and resumes instances at a site (N29).
func (d *shadow) mark(w *World, op *store.Op) error {
	k := record.KeyReader{Rest: op.Key[1:]}
	_ = k.Process()
	e := k.Entry()
	if m := k.MessageKey(&e); k.End() != nil || m.Kind != message.KindMark || op.Value == nil {
		return k.End()
	}
	stored, err := record.ReadMessage(op.Key, op.Value)
	if err != nil {
		return err
	}
	mark, err := message.MarkOf(&stored.Message)
	if err == nil && !slices.ContainsFunc(d.marks[e.Instance], func(l lying) bool { return l.ID == mark.ID }) {
		d.marks[e.Instance] = append(d.marks[e.Instance], lying{mark, w.tasks.Elapsed()})
	}
	return err
}

// restsAt: what is suspended at a site begins no program there, but at the very moment in which that comes to its disk.
func (x *watch) restsAt(at name, call *program.Call) {
	id, err := uuid.Parse(call.Instance)
	d := x.shadows[at]
	if err != nil || d == nil { // nobody sees what a clone has on disk
		return
	}
	var marks []message.Marked
	since := map[message.WordID]time.Duration{}
	for _, l := range d.marks[id] {
		marks, since[l.ID] = append(marks, l.Marked), l.since
	}
	for _, s := range message.InForce(marks) {
		ago := x.world.tasks.Elapsed() - since[s.ID]
		of := s.Activity == "" || s.Scope == "" && s.Activity == processtable.ActivityID(call.Activity)
		if of && ago > 0 && x.began(name(s.Origin), id) {
			x.world.breaks("N29", "%s runs %s of %s, which is suspended there since %v", at, call.Activity, id, ago)
		}
	}
}

// began says whether an instance was started at a site, as that has it on disk.
func (x *watch) began(at name, id uuid.UUID) bool {
	d := x.shadows[at]
	return d != nil && d.started[id]
}
