package navigator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// View gives what others may see of an entry. now is for what it would be decided at.
func (a *Activity) View(of behaviour.State, now time.Time) behaviour.View {
	s := of.(*State)
	v := behaviour.View{Waits: s.Unresolved(a), Own: s.Own, Run: s.reached().Run}
	for _, c := range s.Consumed {
		v.Has = append(v.Has, c.Key.Source)
	}
	if at := s.Snapshot; at != nil {
		v.Iterations, v.Attempts, v.Started, v.Error = at.Iteration, at.Attempt, at.Started, at.LastFailure
		if s.pausing() {
			v.Due = at.Due
		} else if a.Kind == processtable.KindWait {
			v.Due = at.Until
		}
		v.Deadline, v.Child, v.At, v.Elements = at.Deadline, at.Child, at.At, a.counts(s)
	}
	if r := s.Restart(); r != nil {
		v.Restart, v.GivenUp = a.restartText(s), r.Refused != ""
	}
	switch {
	case s.InError(): // the last attempt is one more than those that failed, where the program had ended
		at := s.Snapshot
		v.Progress, v.Error = behaviour.Erring, at.Error
		if at.HasOutput {
			v.Attempts++
			v.Output = at.Output
		}
		if at.HasOutput || at.RC != 0 {
			v.RC = &at.RC
		}
	case s.passed:
		v.Progress, v.Waits = behaviour.Absorbing, nil
	case len(v.Waits) > 0 || a.Kind == processtable.KindSink && a.top():
	case a.item(s) != nil:
		v.Item, v.Progress = a.item(s), behaviour.OnList
		if v.Started = v.Item.Offered; v.Item.By != (message.Doer{}) {
			v.Progress, v.Started = behaviour.Begun, v.Item.Claimed
		}
	case (s.reached().Begun || a.Kind == processtable.KindWait) && a.starts(s):
		v.Progress = behaviour.Begun
		if a.Kind == processtable.KindBundle {
			if e := a.Decide(s, now); e.Invoke != nil && e.Invoke.Program == behaviour.Begin {
				v.Begins, v.To = true, e.Invoke.To
			}
		}
	default:
		v.Progress = behaviour.Ready
		if e := a.Decide(s, now); e.Ends {
			v.Progress = behaviour.Deciding
		} else if e.Invoke != nil {
			v.To = e.Invoke.To
		}
	}
	v.Events, v.Key = a.awaits(s)
	if v.Progress == behaviour.Erring && len(v.Waits) == 0 || v.Progress == behaviour.Ready {
		v.Input, _ = a.InputOf(s) // where it cannot be made the reason says so
	}
	if v.Progress == behaviour.Ready || v.Progress == behaviour.Begun || v.Progress == behaviour.OnList {
		v.Rank = a.shownRank(s, v.Input)
	}
	return v
}

// sendsTo names the nodes into whose queues an activity sends when it ends. What does the work of a call
// returns to the node of that.
func (a *Activity) sendsTo(s *State) []processtable.NodeID {
	if !slices.Contains(a.sending, processtable.Origin) {
		return a.sending // of all instances
	}
	out := slices.Clone(a.sending)
	for i, node := range out {
		out[i] = node.At(s.Origin)
	}
	return out
}

func (a *Activity) sendingOf() []processtable.NodeID {
	var out []processtable.NodeID
	for _, t := range a.targets {
		out = append(out, t.node)
	}
	if a.Begun() {
		out = append(out, a.around().node)
	}
	return slices.Clip(out)
}

// Values gives what a connector message brings to the activity; nil: the table has no data
// connector from its source.
func (a *Activity) Values(m message.Message) ([]behaviour.Value, error) {
	i, ok := a.inData[m.Source]
	if !ok {
		return nil, nil
	}
	values, err := a.values(i, m)
	if err != nil {
		return nil, err
	}
	out := make([]behaviour.Value, len(values))
	for j, to := range sent(a.InData[i].Mappings, m.Data) {
		out[j] = behaviour.Value{Target: to.Target, Value: values[j]}
	}
	return out, nil
}

// Compute is the result of an empty activity (R14), or of an iteration of a block or of its source,
// or of a subprocess, whose output the call has (R20, R29).
func (a *Activity) Compute(call behaviour.Invoke, started time.Time) behaviour.Result {
	switch {
	case a.Kind == processtable.KindBlock, a.Kind == processtable.KindSource, a.Kind == processtable.KindProcess, a.Kind == processtable.KindBundle, a.Kind == processtable.KindCall, a.Kind == processtable.KindReceive:
		return behaviour.Result{Output: call.Input, RC: call.RC, Ending: call.Ending, Instance: call.Instance, Event: call.Event, Started: started, Ended: started}
	}
	return a.Echo(call.Input, started)
}

// Without gives the message that resolves what a refused one would have resolved.
func (a *Activity) Without(of behaviour.State, refused message.Message) (message.Message, string) {
	s := of.(*State)
	out := message.Message{Header: message.Header{
		Queue: message.Queue{Process: a.process.table.Process, Node: a.process.table.Node}, Definition: a.process.Definition(),
		Instance: refused.Instance, Origin: cmp.Or(s.Origin, refused.Origin), Scope: refused.Scope, Activity: refused.Activity,
		SourceScope: refused.SourceScope, Source: refused.Source, Number: refused.Number,
		Kind: message.KindConnector, Lane: refused.Lane, Clock: refused.Clock, Trace: refused.Trace,
	}}
	var what []string
	if _, control := a.inControl[refused.Source]; control {
		out.Control = dead(a.process.table)
		what = append(what, fmt.Sprintf("the control connector from %s is FALSE", refused.Source))
	}
	if _, data := a.inData[refused.Source]; data {
		out.Data = message.DataAbsent
		what = append(what, fmt.Sprintf("the data connector from %s has no data", refused.Source))
	}
	return out, fmt.Sprintf("to %s, %s", refused.Activity, strings.Join(what, " and "))
}
