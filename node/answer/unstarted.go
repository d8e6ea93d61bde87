package answer

import (
	"context"
	"slices"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

const unstartedPage = 10 // entries of an instance that are read at once

// listUnstarted lists of which instances something waits for a start here, as other sites say, that is not
// known here, the highest identifier first: this site has lost its store, or another one has made them up,
// perhaps under the identifier of an instance of another process.
func (a *Answers) listUnstarted(ctx context.Context, q ListQuestion, of processtable.ProcessID, shows func(processtable.ProcessID) bool) (ListReport, error) {
	all, err := a.Queue.Waiting(of)
	if err != nil {
		return ListReport{}, err
	}
	r := ListReport{Instances: []api.Instance{}}
	for n, looks := 0, 0; n < len(all); n++ {
		i := api.Instance{Instance: all[n].Instance, Process: all[n].Process.String(), State: api.InstanceUnknown, Origin: string(a.Self)}
		if !q.below(placeOf(i)) || !shows(all[n].Process) {
			continue
		}
		another := n == 0 || all[n-1].Instance != i.Instance // a page ends between two instances
		if another && (len(r.Instances) >= q.Limit || looks >= listLooks || looks > 0 && ctx.Err() != nil) {
			r.More = true
			return r, nil
		}
		looks++
		r.Next = placeOf(i)
		waits, err := a.waitsForStart(all[n])
		if err != nil {
			return ListReport{}, err
		}
		if waits {
			r.Instances = append(r.Instances, i)
		}
	}
	r.Next = audit.Place{}
	return r, nil
}

// waitsForStart says whether an instance is said to have been started here, and was not, and nobody has
// ended it.
func (a *Answers) waitsForStart(w audit.Waiting) (bool, error) {
	started, found, err := a.Queue.Ended(message.Entry{Instance: w.Instance, Activity: processtable.Source})
	if err != nil || found && started.Process == w.Process {
		return false, err
	}
	marker, err := a.Queue.Marker(w.Process, w.Instance)
	if err != nil || marker != nil && marker.Origin == a.Self { // another's ends nothing that was started here, as they say (N7)
		return false, err
	}
	for after, more := (message.Entry{Instance: w.Instance}), true; more; {
		var page []record.EntryMessages
		if page, more, err = a.Queue.BrowseFrom(w.Process, after, unstartedPage); err != nil {
			return false, err
		}
		for i := range page {
			if after = page[i].Entry; after.Instance != w.Instance {
				return false, nil
			}
			said := func(m message.Message) bool { return m.Kind != message.KindWord && m.Origin == a.Self }
			if slices.ContainsFunc(page[i].Messages, said) {
				return true, nil
			}
		}
	}
	return false, nil
}
