package rebuild

import (
	"fmt"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/test/fleet"
)

// A, where both are started, sends nothing to B but a marker. Of the second process C sends
// something more once the gate is open.
const (
	ordered = `process: ordered
version: 1
structures:
  Pause: {sleep_ms: int}
input: Pause
starts: [A]
activities:
  begin: {node: C, program: pass, input: Pause, output: Pause}
  long:  {node: B, program: wait, input: Pause}
control: [begin -> long]
data: [source -> begin, begin -> long]
`
	gated = `process: gated
version: 1
structures:
  Pause: {sleep_ms: int}
input: Pause
starts: [A]
activities:
  begin: {node: C, program: pass, input: Pause, output: Pause}
  more:  {node: C, program: gate}
  last:  {node: B, program: gate}
  long:  {node: B, program: wait, input: Pause}
control: [begin -> long, begin -> more, more -> last, long -> last]
data: [source -> begin, begin -> long]
`
)

// N7, S4: instances are terminated after the backup was made that a site is restored from,
// where they run again. Their origin ends them there, as it had, and says who it was; also
// where another site asks it to, and asks once more since the first answer was lost.
func TestTerminatedAfterTheBackup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "gate")
	gate := fleet.NewGate(t, file)
	s := newScene(t, options{way: direct, seed: 47, programs: func(string) []string {
		return []string{
			"pass: {builtin: echo}", "wait: {builtin: sleep}",
			fmt.Sprintf("gate: {exec: [/bin/sh, -c, 'cat; : <%s']}", file),
		}
	}})
	a, b := s.Sites["A"], s.Sites[lost]
	byA, byC := s.runs(ordered, "ordered"), s.runs(gated, "gated")
	both := []api.InstanceID{byA, byC}
	backup := b.Backup(t.TempDir())
	gate.Open()
	s.atB(byC, "last", api.ActivityWaiting)
	for _, id := range both {
		if err := a.Client.Terminate(s.ctx, id, ""); err != nil {
			t.Fatal(err)
		}
		s.atB(id, "long", api.ActivityTerminated)
	}

	b.Stop()
	s.restore(backup)
	s.stopped(4)
	for _, id := range both {
		s.atB(id, "long", api.ActivityRunning)
	}
	s.asksOnceMore("C", a)
	s.rebuild("A", "--yes")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range both {
		if by := s.atB(id, "long", api.ActivityTerminated).By; by != "user:"+me.Username+" at A" {
			t.Errorf("B says that it was ended by %q", by)
		}
	}
	if r := s.rebuilt("A"); r.Instances == 0 || r.Messages != r.Instances || r.By != "user:"+me.Username+" at A" {
		t.Errorf("A has sent again %+v", r)
	}
	s.rebuild("D", "--yes")
}

// runs starts an instance of a process at A, and waits until its long activity runs at B.
func (s *scene) runs(text, process string) api.InstanceID {
	s.Helper()
	a, id := s.Sites["A"], uuid.Must(uuid.NewV7())
	a.Upload(text)
	if _, err := a.Client.Start(s.ctx, api.StartRequest{Instance: id, Process: process, Input: []byte(`{"sleep_ms": 3600000}`)}); err != nil {
		s.Fatal(err)
	}
	s.atB(id, "long", api.ActivityRunning)
	return id
}

// asksOnceMore has a site send again what was lost, for which it asks the origin to tell that
// an instance is over. The origin has done so, and is killed before it can answer.
func (s *scene) asksOnceMore(site string, origin *fleet.Site) {
	s.Helper()
	origin.Stop()
	hold := origin.StartHeld("commit.written/terminate")
	s.stopped(4)
	hold.On()
	told := make(chan error, 1)
	go func() {
		_, err := s.Sites[site].Client.Rebuild(s.ctx, api.RebuildRequest{Peer: lost, Do: true})
		told <- err
	}()
	hold.Reached(s.ctx)
	origin.Kill()
	origin.Start()
	if err := <-told; err != nil {
		s.Fatal(err)
	}
	s.rebuilt(site)
	s.Until(s.ctx, origin.Name+" stops its link to "+lost+" again", func() bool { return s.link(origin.Name, lost).State == "stopped" })
}

// atB waits until the restored site itself says that an activity is as it is to be.
func (s *scene) atB(id api.InstanceID, activity string, state api.ActivityState) (found api.Activity) {
	s.Helper()
	s.Until(s.ctx, "at "+lost+" "+activity+" is "+string(state), func() bool {
		status, err := s.Sites[lost].Client.Status(s.ctx, id)
		if err != nil {
			return false
		}
		for _, a := range status.Activities {
			if a.Activity == activity {
				found = a
			}
		}
		return found.State == state
	})
	return found
}
