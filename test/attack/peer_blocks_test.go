package attack

import (
	"fmt"
	"os"
	"testing"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// M has an activity in a block beside the one that catches errors, and one that may cancel short.
const nest = `process: nest
` + note + `activities:
  safe:
    node: A
    input: Note
    output: Note
    on_error: continue
    activities:
      inside: {node: A, program: hold, input: Note, output: Note}
    data: [source -> inside, inside -> sink]
  theirs:
    node: A
    output: Note
    activities:
      work: {node: M, program: mark, output: Note}
    data: [work -> sink]
  stop:  {node: M, program: mark, cancels: [short]}
  short: {node: A, program: hold}
  long:  {node: A, program: hold}
  alarm: {node: A, program: mark}
control:
  - safe -> alarm: _ERROR != ""
data: [source -> safe, safe -> sink]
`

// A hostile site ends, begins and makes return what is inside of blocks that are not its, and cancels what it
// may not. Nothing comes of it; and what it may say, it says with effect.
func TestWhatASiteTriesInsideOfBlocks(t *testing.T) {
	t.Parallel()
	i := newIntruder(t)
	i.define("A", nest)
	id := i.start("nest")
	states := func(want map[string]api.ActivityState) {
		t.Helper()
		i.eventually("the activities are as they are to be", func() (string, bool) {
			s, err := i.Sites["A"].Client.StatusOf(i.ctx, id, api.StatusRequest{Tree: true})
			left := len(want)
			for _, a := range s.Activities {
				if want[api.InScope(a.Scope, a.Activity)] == a.State {
					left--
				}
			}
			return fmt.Sprintf("%+v %v", s, err), err == nil && left == 0
		})
	}
	running := map[string]api.ActivityState{
		"safe": api.ActivityRunning, "safe#1/inside": api.ActivityRunning, "theirs": api.ActivityRunning, "short": api.ActivityRunning, "long": api.ActivityRunning,
	}
	states(running)

	says := func(kind message.Kind, source processtable.ActivityID, in message.Scope, target processtable.ActivityID, scope message.Scope, refused string) {
		t.Helper()
		m := i.connector("nest", source, target)
		m.Instance, m.Origin, m.Kind, m.SourceScope, m.Scope, m.Control, m.Data = id, "A", kind, in, scope, 0, 0
		switch kind {
		case message.KindReturn:
			m.Body = message.EncodeReturn(message.Return{Error: "all is lost"})
		case message.KindBegin:
			m.Body = message.EncodeBegin(message.Begin{})
		default:
			m.Body, m.Lane = message.EncodeCancel(message.Cancel{Reason: "M says so"}), message.LaneControl
		}
		i.sends(m, refused)
	}
	says(message.KindReturn, "inside", "safe#1", "safe", "", "inside of nest@1 is hosted at A, and the message came from M")
	says(message.KindReturn, "work", "safe#1/theirs#1", "safe", "", `nest@1 has no activity work in the scope "safe#1/theirs#1"`)
	says(message.KindReturn, "work", "theirs#1", "theirs", "", "has theirs catch none there")
	says(message.KindReturn, processtable.Sink, "safe#1", "safe", "", "sink of a block never leaves its node")
	says(message.KindReturn, processtable.Source, "theirs#1", "theirs", "", "source of a block never leaves its node")
	says(message.KindBegin, "safe", "", processtable.Source, "safe#1", "never leaves its node")
	says(message.KindCancel, "stop", "", "long", "", "it says that stop cancels long, which the table of nest@1 here does not allow")
	says(message.KindCancel, "stop", "", "inside", "safe#1", "it says that stop cancels inside, and that is not inside of it")
	says(message.KindCancel, "safe", "", "inside", "safe#1", "safe of nest@1 is hosted at A, and the message came from M")
	says(message.KindCancel, "work", "theirs#1", processtable.Sink, "theirs#1", "it says that work cancels sink")
	found := i.aside()
	states(running)
	for _, d := range found {
		if _, err := i.Sites["A"].Client.RetryRefused(i.ctx, d.Number); err == nil {
			t.Errorf("an operator can deliver %s", d.Reason)
		}
		if done, err := i.Sites["A"].Client.DropRefused(i.ctx, d.Number, api.DropRequest{}); err != nil || done.Done != api.RefusedRemoved {
			t.Errorf("dropped, %s: %+v, %v", d.Reason, done, err)
		}
	}
	states(running)

	says(message.KindCancel, "stop", "", "short", "", "")
	states(map[string]api.ActivityState{"short": api.ActivityCancelled, "long": api.ActivityRunning, "safe#1/inside": api.ActivityRunning})
	for source, scope := range map[processtable.ActivityID]message.Scope{"work": "theirs#1", "stop": ""} {
		m := i.connector("nest", source, processtable.Sink)
		m.Instance, m.Origin, m.Scope, m.SourceScope = id, "A", scope, scope
		if source == "stop" {
			m.Data, m.Body, m.Lane = message.DataNone, nil, message.LaneControl
		}
		i.sends(m, "")
	}
	if err := os.WriteFile(i.gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i.finished(id, "honest")
	states(map[string]api.ActivityState{
		"safe": api.ActivityTerminated, "safe#1/inside": api.ActivityTerminated, "alarm": api.ActivitySkipped, "short": api.ActivityCancelled, "long": api.ActivityTerminated,
	})
	i.Empty(i.ctx)
	i.Whole()
}
