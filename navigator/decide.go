package navigator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Decide says what should happen to the entry, everything present being folded. now is
// for what people are shown: nothing is decided by it.
func (a *Activity) Decide(of behaviour.State, now time.Time) behaviour.Effects {
	s := of.(*State)
	if e, answers := a.answersRecall(s); answers { // R54
		return e
	}
	e := a.decide(s, now)
	a.complete(s, &e, now)
	a.ranked(s, &e)
	return e
}

// complete adds to what follows for the entry what is the same whatever it is that follows.
func (a *Activity) complete(s *State, e *behaviour.Effects, now time.Time) {
	a.tellRace(s, e)
	a.endNotices(s, e)
	a.tellsEnd(s, e)
	a.tidy(s, e)
	a.withdraw(s, e)
	a.withdrawOffers(s, e)
	a.refuseRecalls(s, e)
	a.tellDeadline(s, e, now)
}

func (a *Activity) decide(s *State, now time.Time) behaviour.Effects {
	if h := a.untold(s); h != nil { // R58
		return a.tells(s, h)
	}
	switch {
	case s.Restart() != nil: // R55, R56
		return a.recalls(s, now)
	case s.Stopped && !s.begins():
		return a.stop(s, now)
	case a.isCancelled(s):
		return a.giveUp(s, time.Time{}, now)
	case s.reached().Hand != nil: // R50
		return a.byHand(s, nil, time.Time{}, now)
	case a.isExpired(s):
		return a.expire(s, time.Time{}, now)
	case s.InError() && a.limits(): // R30
		return a.limit(s, now)
	case s.InError():
		return behaviour.Effects{}
	case s.Waiting(a) > 0 && a.notifiesProcess(s): // R36
		return a.beginProcessNotices(s, now)
	case s.Waiting(a) > 0 && a.limits(): // R30
		return a.limit(s, now)
	case s.Waiting(a) > 0 && s.dead != nil: // R18
		return a.passOn(s)
	case s.Waiting(a) > 0: // R2
		return behaviour.Effects{}
	}
	switch {
	case a.awaitsBegin(s):
		return behaviour.Effects{}
	case a.Kind == processtable.KindSink && a.top():
		return a.end(s)
	case a.Kind == processtable.KindSink:
		return a.giveBack(s)
	case a.Kind == processtable.KindSource:
		return a.release(s, now)
	}
	if !a.starts(s) { // R3
		return a.skip(s)
	}
	if a.First > 0 && len(s.reached().Counted) == 0 { // R35
		return a.decideFirst(s, now)
	}
	if len(a.notices) > 0 && !s.reached().Notices { // R36
		return a.beginNotices(s, false, now)
	}
	if s.pausing() { // R19
		return behaviour.Effects{}
	}
	switch {
	case a.Kind == processtable.KindBlock:
		return a.goInside(s, now)
	case a.Kind == processtable.KindBundle:
		return a.bundle(s, false, now)
	case a.Kind == processtable.KindCall:
		return a.call(s, false, now)
	}
	if a.Kind == processtable.KindProcess && s.reached().Begun {
		return a.comesBack(s, now)
	}
	input, err := a.InputOf(s)
	if err != nil {
		return a.fail(s, s.progress(), message.CauseInput, err.Error(), now)
	}
	switch a.Kind {
	case processtable.KindEmpty:
		return a.echoes(s, input, now)
	case processtable.KindWait:
		return a.wait(s, input, now)
	case processtable.KindReceive:
		return a.receive(s, input, now)
	case processtable.KindSend:
		return a.send(s, input, now)
	case processtable.KindManual:
		return a.manual(s, input, false, now)
	case processtable.KindProgram, processtable.KindProcess, processtable.KindSource, processtable.KindSink, processtable.KindBlock, processtable.KindBundle, processtable.KindCall: // all but the first two were seen to
	}
	if a.undated(s) {
		return a.date(s, input, now)
	}
	return a.invoke(s, input, now)
}

// undated: the activity has a deadline, and it was not reckoned yet.
func (a *Activity) undated(s *State) bool {
	return a.Deadline != nil && s.reached().Deadline.IsZero()
}

// date reckons the deadline, before what may be long in coming (R21).
func (a *Activity) date(s *State, input *container.Struct, now time.Time) behaviour.Effects {
	at := s.progress()
	pause, err := a.decided(s, &at, input, now)
	if err != nil {
		return a.fail(s, at, message.CauseInput, err.Error(), now)
	}
	return a.set(a.keep(s, at, behaviour.Outcome{}), timerDeadline, pause)
}

// invoke has one attempt made (R4).
func (a *Activity) invoke(s *State, input *container.Struct, now time.Time) behaviour.Effects {
	at := s.reached()
	rank, err := a.ranks(s, input)
	if err != nil {
		return a.fail(s, *at, message.CauseInput, err.Error(), now)
	}
	call := behaviour.Invoke{
		Program: a.Program, Iteration: at.Iteration, Attempt: at.Attempt + 1, Run: at.Run, Input: input, To: a.sendsTo(s),
		Output: a.Output, NoOutput: a.NoOutput, RCIsData: a.RCIsData, RCContinue: a.RCContinue, Deadline: at.Deadline, Rank: rank,
	}
	if a.Kind == processtable.KindProcess { // R29
		call.Program, call.Child = behaviour.Subprocess, a.Child
	}
	return behaviour.Effects{Invoke: &call}
}

// echoes terminates an activity that runs no program, at once unless its conditions are slow (R14).
func (a *Activity) echoes(s *State, input *container.Struct, now time.Time) behaviour.Effects {
	if r := a.Echo(input, now); !a.Slow(&r) {
		return a.conclude(s, &r, now)
	}
	return a.apart(s, input, now)
}

// apart is echoes beside what decides. Its connectors wait for no quota; an event that it sends does.
func (a *Activity) apart(s *State, input *container.Struct, now time.Time, to ...processtable.NodeID) behaviour.Effects {
	e := a.invoke(s, input, now)
	if e.Invoke != nil {
		e.Invoke.To = to
	}
	return e
}

// askRoom asks for room to begin work in scopes of its own, some of it at other nodes (S3).
func (a *Activity) askRoom(s *State, at message.Snapshot, nodes ...processtable.NodeID) behaviour.Effects {
	return behaviour.Effects{Invoke: &behaviour.Invoke{
		Program: behaviour.Begin, Iteration: at.Iteration, Attempt: 1, Run: at.Run, Output: a.Output, To: slices.Concat(a.sendsTo(s), nodes),
	}}
}

// beginsAhead begins what has room, with its notices.
func (a *Activity) beginsAhead(s *State, now time.Time) behaviour.Effects {
	switch {
	case len(a.notices) > 0 && !s.reached().Notices:
		return a.beginNotices(s, true, now)
	case a.Kind == processtable.KindBundle:
		return a.bundle(s, true, now)
	case a.Kind == processtable.KindManual:
		return a.offersAhead(s, now)
	}
	return a.call(s, true, now)
}

// InError reports that the entry waits for an operator.
func (s *State) InError() bool { return s.Snapshot != nil && s.Snapshot.Failed }

// progress is the snapshot, or what it would say before there is one.
func (s *State) progress() message.Snapshot { return *s.reached() }

// reached is where progress lies: only to be read.
func (s *State) reached() *message.Snapshot {
	if s.Snapshot == nil {
		return &atFirst
	}
	return s.Snapshot
}

var atFirst = message.Snapshot{Iteration: 1}

// Conclude says what follows from the end of an attempt (R6 to R13).
func (a *Activity) Conclude(of behaviour.State, r behaviour.Result, now time.Time) behaviour.Effects {
	s := of.(*State)
	if a.Kind == processtable.KindSource && a.top() && r.Err == "" { // R29, R60
		rank, err := a.process.rankOf(s.Rank, s.Entry.Instance, r.Output)
		if err != nil {
			return a.fail(s, s.progress(), message.CauseInput, err.Error(), now)
		}
		s = s.clone()
		s.Rank = rank
	}
	e := a.conclude(s, &r, now)
	a.complete(s, &e, now)
	a.ranked(s, &e)
	if a.Kind == processtable.KindSource && a.top() {
		e.Outcome.Rank = s.Rank
	}
	return e
}

func (a *Activity) conclude(s *State, r *behaviour.Result, now time.Time) behaviour.Effects {
	switch {
	case s.Stopped && !s.begins():
		return a.stop(s, now)
	case a.isCancelled(s):
		return a.giveUp(s, r.Started, now)
	case s.reached().Hand != nil: // R50
		return a.byHand(s, nil, r.Started, now)
	case a.isExpired(s):
		return a.expire(s, r.Started, now)
	case r.Err == "" && r.Child != message.Child{}:
		return a.beginChild(s, r, now)
	case r.Err == "" && r.Begins:
		return a.beginsAhead(s, now)
	}
	if r.Err == "" && !a.hasEnded(r) { // R10
		if r.Err = fmt.Sprintf("return code %d", r.RC); !a.Continues {
			r.Err += fmt.Sprintf(", and no condition or mapping of %s reads %s", a.Name, condition.RC)
		}
	}
	if r.Err != "" {
		return a.failedAttempt(s, r, now)
	}
	return a.evaluate(s, r, now)
}

// hasEnded: a return code is 0, or data (R10).
func (a *Activity) hasEnded(r *behaviour.Result) bool {
	return r.RC == 0 || a.RCIsData || a.Kind == processtable.KindCall // whose work has ended so
}

// Bounds of what is evaluated where it is decided.
const (
	quickTexts = 16 << 10 // bytes of an activity's conditions
	quickData  = 16 << 10 // of a container that they read
)

// Slow says whether the conditions of a result may take so long that they are to be
// evaluated apart from what decides: by Judge, beforehand. All others together take some
// milliseconds at most.
func (a *Activity) Slow(r *behaviour.Result) bool {
	return a.asks > 0 && (a.long || a.asks > quickTexts || container.Above(r.Output, quickData))
}

// Judge evaluates the conditions of a result, or gives nil where none are asked for it.
// It may run beside everything else.
func (a *Activity) Judge(r *behaviour.Result) behaviour.Judgement {
	if r.Err != "" || !a.hasEnded(r) {
		return nil
	}
	return a.judge(r)
}

// judgement is a's of r, made beforehand or now.
func (a *Activity) judgement(r *behaviour.Result) *judged {
	if j, ok := r.Judged.(*judged); ok && j != nil {
		return j
	}
	return a.judge(r)
}

// judged is a Judgement of this behaviour's.
type judged struct {
	done    bool                // the exit condition is TRUE
	truths  []message.Truth     // of the outgoing control connectors, where done
	data    [][]container.Value // of the outgoing data connectors, where done
	reason  string              // one of these, or the exit condition, failed (R12)
	next    []container.Value   // of the feedback, where not done
	nextErr error               // why there is none
	failed  bool                // of an element of a bundle: it counts as failed (R31)
}

func (a *Activity) judge(r *behaviour.Result) *judged {
	j := &judged{done: true}
	var spent condition.Spent
	var err error
	if a.exit != nil && byItself(r) && !r.Forced {
		if j.done, err = a.exit.EvalWithin(&spent, r.Output, values(r)); err != nil { // R12
			j.reason = fmt.Sprintf("exit condition %q: %v", a.Exit.Text, err)
			return j
		}
	}
	if !j.done {
		j.next, j.nextErr = a.fed.values(r, message.DataPresent, &spent, a.Name)
		return j
	}
	if j.truths, err = a.transitions(r, &spent); err == nil {
		j.data, err = a.sends(r, &spent)
	}
	if err == nil && a.failed != nil && byItself(r) {
		if j.failed, err = a.failed.EvalWithin(&spent, r.Output, values(r)); err != nil {
			err = fmt.Errorf("failed: %w", err)
		}
	}
	if err != nil {
		j.reason = err.Error()
	}
	return j
}

// sends gives the values that each data connector out of the activity carries (R26).
func (a *Activity) sends(r *behaviour.Result, spent *condition.Spent) ([][]container.Value, error) {
	all := make([][]container.Value, len(a.OutData))
	for i, d := range a.OutData {
		var err error
		if all[i], err = a.out[i].values(r, dataOf(r), spent, d.To); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// evaluate takes an output container through the exit and transition conditions.
func (a *Activity) evaluate(s *State, r *behaviour.Result, now time.Time) behaviour.Effects {
	j := a.judgement(r)
	switch {
	case j.reason != "":
		return a.failEvaluated(s, r, j.reason, now)
	case !j.done:
		return a.again(s, r, j, now)
	}
	at := s.reached()
	return a.terminate(s, r, j, behaviour.Outcome{
		What: behaviour.Terminated, Iteration: at.Iteration, Attempt: at.Attempt + 1, Run: at.Run, RC: r.RC, Started: r.Started, Ending: r.Ending, About: r.Event,
	})
}

// transitions evaluates every outgoing control connector (R7, R8, R24, R25), beside what the exit
// condition took.
func (a *Activity) transitions(r *behaviour.Result, spent *condition.Spent) ([]message.Truth, error) {
	truths := make([]message.Truth, len(a.OutControl))
	otherwise, taken := -1, false
	for i, c := range a.OutControl {
		if c.Otherwise {
			otherwise = i
			continue
		}
		if c.To == processtable.Sink && a.outgoing[i] == nil { // which waits for what nothing else waits for, and is no choice (R35)
			truths[i] = a.truth(true, r)
			continue
		}
		holds, cond := !taken || !a.FirstMatch, a.outgoing[i]
		if holds && cond != nil {
			var err error
			if holds, err = cond.EvalWithin(spent, r.Output, values(r)); err != nil { // R12
				return nil, fmt.Errorf("transition condition %q to %s: %w", c.Condition.Text, c.To, err)
			}
		}
		taken = taken || holds && (cond != nil || a.Kind != processtable.KindSource)
		truths[i] = a.truth(holds, r)
	}
	if otherwise >= 0 {
		truths[otherwise] = a.truth(!taken, r)
	}
	return truths, nil
}

// terminate ends an entry that ran, with one message for each target (R9).
func (a *Activity) terminate(s *State, r *behaviour.Result, j *judged, o behaviour.Outcome) behaviour.Effects {
	encoded, err := container.EncodeCBOR(r.Output)
	if err != nil {
		return a.failEvaluated(s, r, fmt.Sprintf("encode the output container: %v", err), r.Ended)
	}
	o.Clock, o.Output, o.Child = message.Next(s.Clock), encoded, s.reached().Child
	e := behaviour.Effects{Ends: true, Outcome: o, Put: make([]message.Message, 0, len(a.targets))}
	for _, t := range a.targets {
		m := a.connects(s, t)
		if t.control >= 0 {
			m.Control = j.truths[t.control]
		}
		if t.data >= 0 {
			m.Data, m.Lane = dataOf(r), message.LaneData
			m.Body, err = container.EncodeValues(j.data[t.data])
			if n := len(m.Body); err == nil && n > message.MaxBody { // each value is within its limit; together they need not be
				err = fmt.Errorf("its mappings bring %d bytes together, and a message carries at most %d", n, message.MaxBody)
			}
			if err != nil {
				return a.failEvaluated(s, r, fmt.Sprintf("data for %s: %v", t.activity, err), r.Ended)
			}
		}
		e.Put = append(e.Put, m)
	}
	if a.Begun() {
		e.Put = append(e.Put, a.returns(s, message.Return{Output: encoded, RC: r.RC, Ending: r.Ending, Failed: j.failed}))
	}
	e.Put = append(e.Put, a.cancels(s)...)
	events, err := a.sent(s, r)
	if err != nil {
		return a.failEvaluated(s, r, err.Error(), r.Ended)
	}
	e.Put = append(e.Put, events...)
	if s.begins() {
		e.Outcome.Parent = s.inner.parent
		e.Put = append(e.Put, a.record(s, message.Record{Started: r.Started, Input: encoded, Parent: s.inner.parent, By: s.inner.by}))
	}
	return e
}

// skip ends an entry on a dead path (R3, R8); what leads out of it may have been
// resolved before (R18).
func (a *Activity) skip(s *State) behaviour.Effects {
	e := behaviour.Effects{Ends: true, Outcome: behaviour.Outcome{What: behaviour.Skipped, Clock: message.Next(s.Clock)}}
	if !s.passed {
		e.Put = a.dead(s)
	}
	return e
}

// dead gives what an activity on a dead path sends: FALSE and "no data" (R3, R8).
func (a *Activity) dead(s *State) []message.Message {
	out := make([]message.Message, 0, len(a.targets)+1)
	for _, t := range a.targets {
		m := a.connects(s, t)
		if t.control >= 0 {
			m.Control = dead(a.process.table)
		}
		if t.data >= 0 {
			m.Data = message.DataAbsent
		}
		out = append(out, m)
	}
	return out
}

// end terminates sink: its input is the process's output (R15).
func (a *Activity) end(s *State) behaviour.Effects {
	if s.Record == nil {
		return behaviour.Effects{} // messages have overtaken nothing: the start puts record and connectors at once
	}
	encoded, err := a.encodedInput(s)
	if err != nil {
		return a.fail(s, s.progress(), message.CauseInput, fmt.Sprintf("encode the process's output: %v", err), time.Time{})
	}
	return behaviour.Effects{Ends: true, Put: a.toParent(s, message.Return{Output: encoded}), Outcome: behaviour.Outcome{
		What: behaviour.Terminated, Clock: message.Next(s.Clock), Iteration: 1, Started: s.Record.Started, Output: encoded, Parent: s.parent(),
	}}
}

// stop ends an entry of a terminated instance (R16).
func (a *Activity) stop(s *State, now time.Time) behaviour.Effects {
	at := s.reached()
	why := ""
	if s.Marker != nil {
		why = s.Marker.Why()
	}
	reason := "instance " + message.TerminatedBy(cmp.Or(s.StoppedBy, "an operator"), why)
	e := behaviour.Effects{Ends: true, Put: a.abort(s, reason, now), Outcome: behaviour.Outcome{
		What: behaviour.Stopped, Clock: message.Next(s.Clock), Iteration: at.Iteration, Attempt: at.Attempt, Run: at.Run,
		Reason: reason, By: s.StoppedBy, Child: at.Child,
	}}
	if a.Kind == processtable.KindSink && a.top() {
		e.Outcome.Parent = s.parent()
		e.Put = append(a.toParent(s, message.Return{Error: reason}), a.relayed(s)...)
	}
	return e
}

// Echo is the result of an empty activity (R14).
func (a *Activity) Echo(input *container.Struct, now time.Time) behaviour.Result {
	out := container.New(a.Output)
	for _, e := range a.echo {
		out.Assign(container.Path{e.to}, input.Fields[e.from])
	}
	return behaviour.Result{Output: out, Started: now, Ended: now}
}
