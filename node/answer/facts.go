package answer

import (
	"encoding/hex"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
)

// AskInstance is the kind of question that ReportTo answers.
const AskInstance = "instance"

// Report says what this node knows of an instance: what the store has of it, as of one
// commit, and which programs run. It holds up no process thread.
func (a *Answers) Report(q report.Question) (report.Report, error) {
	var of processtable.ProcessID
	if q.Process != "" {
		var err error
		if of, err = processtable.ParseProcessID(q.Process); err != nil {
			return report.Report{}, err
		}
	}
	f := report.Facts{Self: a.Self, Now: a.Scheduler.Now(), Anew: a.Site.Anew(), Disk: a.Site.DiskLow(), Held: a.Site.Held}
	f.Offered = func(e message.Entry) string { return a.Site.WaitsFor(of, e) }
	f.Runs = a.Site.Running(q.Instance) // before the store is read: what has ended since is there
	v, err := a.Queue.ViewPart(q.Instance, of, f.Part(q, a.tableOf(of)))
	if err != nil {
		return report.Report{}, err
	}
	f.View, f.Known = &v, v.Process != (processtable.ProcessID{})
	if f.Known {
		of = v.Process
	}
	f.Process = a.Site.Process(of)
	if f.Refused, err = a.RefusedOf(q.Instance); err != nil {
		return report.Report{}, err
	}
	own := a.Queue.Incarnation()
	f.Store = hex.EncodeToString(own[:])
	return f.Report(q), nil
}

// ReportTo is Report for a peer that has a part in the process, as far as a frame has room; to
// others it tells nothing.
func (a *Answers) ReportTo(peer processtable.NodeID, q report.Question) (report.Report, error) {
	r, err := a.Report(q)
	if err != nil {
		return report.Report{}, err
	}
	id, err := processtable.ParseProcessID(r.Process)
	if err != nil || !a.concerns(peer, id) {
		return report.Report{}, nil
	}
	r.Fit(frame.MaxBody, q.Watch)
	return r, nil
}
