package report

import (
	"encoding/json"
	"strings"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// endedActivity is an activity as the record of its end has it.
func (f *Facts) endedActivity(a *processtable.Activity, rec record.AuditRecord) api.Activity {
	out := api.Activity{Scope: string(rec.Scope), Activity: string(a.Name), Kind: kindOf(a), Node: string(f.Self), Run: ShownRun(rec.Run)}
	if rec.Child != nil {
		out.Child, out.Of = childOf(rec.Child)
	}
	if a.Kind == processtable.KindCall {
		out.At = f.begunAt(&rec)
	}
	switch rec.Event {
	case record.EventSkipped:
		out.State, out.Reason, out.By = api.ActivitySkipped, rec.Reason, rec.By
		if rec.By != "" { // by hand, and so it may have run before
			out.Iterations, out.Started, out.Ended = rec.Iteration, rec.Started, rec.Time
			out.Reason = said("skipped", rec.By, rec.Reason)
		}
		return out
	case record.EventCancelled:
		out.State, out.Reason, out.Iterations = api.ActivityCancelled, rec.Reason, rec.Iteration
		out.Attempts = severalAttempts(rec.Attempt)
		out.Started, out.Ended = rec.Started, rec.Time
		return out
	case record.EventStopped:
		out.State, out.Reason, out.By = api.ActivityTerminated, rec.Reason, rec.By
		if a.Kind == processtable.KindBlock {
			out.Iterations = rec.Iteration
		}
		return out
	default:
		out.State = api.ActivityTerminated
	}
	if a.Kind == processtable.KindManual && message.ValidPerson(rec.By) {
		if out.By = rec.By; rec.People != nil {
			out.For = rec.People.For
		}
	} else if rec.By != "" {
		what, why := "finished", rec.Reason
		if given, is := strings.CutPrefix(why, record.GivenByHand); is {
			what, why = record.GivenByHand, strings.TrimPrefix(given, ": ")
		}
		out.Reason, out.By = said(what, rec.By, why), rec.By
	}
	rc := rec.RC
	out.RC, out.Iterations = &rc, rec.Iteration
	out.Attempts = severalAttempts(rec.Attempt)
	out.Started, out.Ended = rec.Started, rec.Time
	out.Timeout, out.Error = rec.TimedOut, rec.Failure
	out.Output = shownOutput(a, rec.Output)
	if a.Kind == processtable.KindBundle { // return codes and iterations are of its elements (N21)
		out.RC, out.Iterations, out.Elements = nil, 0, elementsIn(a, rec.Output)
	}
	return out
}

// said is what somebody has done, and why.
func said(what, by, why string) string {
	if what += " by " + by; why != "" {
		what += ": " + why
	}
	return what
}

// ShownRun: runs are counted for people from 1 on, and told from the second on.
func ShownRun(run int) int {
	if run > 0 {
		return run + 1
	}
	return 0
}

// severalAttempts: attempts are told where there was more than one.
func severalAttempts(n int) int {
	if n > 1 {
		return n
	}
	return 0
}

// shownOutput is an activity's output container for a status; nothing where the
// definition names none.
func shownOutput(a *processtable.Activity, encoded []byte) json.RawMessage {
	if a.NoOutput {
		return nil
	}
	return asJSON(a.Output, encoded)
}

// asJSON shows a container that the audit holds, or nothing if it cannot be read.
func asJSON(t *container.Type, encoded []byte) json.RawMessage {
	if encoded == nil || len(t.Members) == 0 {
		return nil
	}
	v, err := container.DecodeCBOR(t, encoded)
	if err != nil {
		return nil
	}
	out, err := container.EncodeJSON(v)
	if err != nil {
		return nil
	}
	return out
}
