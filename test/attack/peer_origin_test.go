package attack

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// originLog may be started at M as well: what it has at the origin is at M then, and at A where A has started it.
var originLog = `process: log
` + strings.Replace(note, "[A, B]", "[A, B, M]", 1) + `activities:
  begin:  {node: _ORIGIN, program: hold, input: Note, output: Note}
  theirs: {node: M, program: mark, output: Note}
  entry:  {node: _ORIGIN, program: mark, input: Note, output: Note}
  fixed:  {node: A, program: mark, input: Note}
control: [begin -> theirs, theirs -> entry, begin -> fixed]
data: [source -> begin, theirs -> entry, entry -> sink, begin -> fixed]
`

// R40: a hostile site that may start the process makes itself the home of what is at the origin of instances that A has
// started, makes A that of its own, and of some that nobody has started. Nothing of it runs.
func TestWhatASiteTriesAboutTheOrigin(t *testing.T) {
	t.Parallel()
	i := newIntruder(t)
	i.define("A", originLog)
	id := i.start("log")
	i.eventually("begin runs", func() (string, bool) {
		s, err := i.Sites["A"].Client.Status(i.ctx, id)
		return fmt.Sprintf("%+v %v", s, err), err == nil && slices.ContainsFunc(s.Activities, func(a api.Activity) bool {
			return a.Activity == "begin" && a.State == api.ActivityRunning && a.Node == "A"
		})
	})
	says := func(source, target processtable.ActivityID, instance message.InstanceID, origin processtable.NodeID, refused string) {
		t.Helper()
		m := i.connector("log", source, target)
		if instance != (message.InstanceID{}) {
			m.Instance = instance
		}
		m.Origin = origin
		i.sends(m, refused)
	}
	says("begin", "fixed", id, "A", "activity begin of log@1 is hosted at A, and the message came from M")
	says("begin", "fixed", id, "B", "activity begin of log@1 is hosted at B, and the message came from M")
	says("theirs", "entry", id, "M", "activity entry of log@1 is hosted where the instance was started, and it says that this was at M")
	says("theirs", "entry", id, "B", "activity entry of log@1 is hosted where the instance was started, and it says that this was at B")
	says("entry", processtable.Sink, id, "A", "activity entry of log@1 is hosted at A, and the message came from M")
	says(processtable.Source, "begin", message.InstanceID{}, "M", "activity begin of log@1 is hosted where the instance was started, and it says that this was at M")
	invented := i.connector("log", "theirs", "entry") // A is to know that it has not started it
	invented.Origin = "A"
	i.sends(invented, "")
	for _, d := range i.aside() {
		if _, err := i.Sites["A"].Client.RetryRefused(i.ctx, d.Number); err == nil {
			t.Errorf("an operator can deliver %s", d.Reason)
		}
		if _, err := i.Sites["A"].Client.DropRefused(i.ctx, d.Number, api.DropRequest{}); err != nil {
			t.Error(err)
		}
	}
	i.eventually("what M has invented waits", func() (string, bool) {
		w, err := i.Sites["A"].Client.Why(i.ctx, invented.Instance, "log@1")
		return fmt.Sprintf("%+v %v", w, err), err == nil && strings.Contains(fmt.Sprint(w.Waits), "waiting for its instance to be started: M (theirs) says that it was started at A")
	})
	if err := i.Sites["A"].Client.Terminate(i.ctx, invented.Instance, "log@1"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(i.gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	honest := i.connector("log", "theirs", "entry")
	honest.Instance, honest.Origin, honest.Body = id, "A", i.note("honest")
	i.sends(honest, "")
	i.finished(id, "honest")
	if got, want := i.ran(), []string{id.String() + " entry", id.String() + " fixed"}; !slices.Equal(got, want) {
		t.Errorf("programs have run: %q, want %q", got, want)
	}
	i.Empty(i.ctx)
	i.Whole()
}
