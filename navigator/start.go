package navigator

import (
	"crypto/sha256"
	"fmt"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Start gives the effects of starting an instance at this node (R15): the onward
// messages of source, and the instance's record into sink's queue.
func (p *Process) Start(o behaviour.Start) (behaviour.Effects, error) {
	source := p.activities.Get(processtable.RowID{Name: processtable.Source})
	if source == nil {
		return behaviour.Effects{}, fmt.Errorf("start %s: it may not be started at %s, only at %v", p.table.Process, p.table.Node, p.table.Starts)
	}
	input, err := container.EncodeCBOR(o.Input)
	if err != nil {
		return behaviour.Effects{}, fmt.Errorf("start %s: encode the input: %w", p.table.Process, err)
	}
	s := &State{Basis: behaviour.Basis{
		Entry:  message.Entry{Instance: o.Instance, Activity: processtable.Source},
		Origin: p.table.Node,
		Trace:  o.Trace,
	}}
	r := behaviour.Result{Output: o.Input, Instance: o.Instance.String(), By: o.By, Started: o.Now, Ended: o.Now}
	r.Judged = o.Judged
	judged := source.judgement(&r)
	if judged.reason != "" { // R24
		return behaviour.Effects{}, fmt.Errorf("start %s: %s", p.table.Process, judged.reason)
	}
	if s.Rank, err = p.rankOf(o.Rank, o.Instance, o.Input); err != nil {
		return behaviour.Effects{}, fmt.Errorf("start %s: %w", p.table.Process, err)
	}
	if err := p.checkLimit(s, o.Input, o.Now); err != nil {
		return behaviour.Effects{}, fmt.Errorf("start %s: %w", p.table.Process, err)
	}
	e := source.terminate(s, &r, judged, behaviour.Outcome{What: behaviour.Terminated, Iteration: 1, Started: o.Now, By: o.Told})
	if e.Outcome.Rank = s.Rank; !e.Ends {
		return behaviour.Effects{}, fmt.Errorf("start %s: %s", p.table.Process, e.Outcome.Reason)
	}
	e.Put = append(e.Put, source.record(s, message.Record{Started: o.Now, Key: o.Key, Input: input, By: o.By}))
	return e, nil
}

// record is the message with the instance's record, to sink (N1).
func (a *Activity) record(s *State, r message.Record) message.Message {
	r.Process, r.InputHash = a.process.table.Process, sha256.Sum256(r.Input)
	m := a.onward(s, target{activity: processtable.Sink, node: processtable.Origin})
	m.Kind, m.Body = message.KindRecord, message.EncodeRecord(r)
	return m
}
