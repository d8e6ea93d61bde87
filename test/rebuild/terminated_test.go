package rebuild

import (
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/test/fleet"
)

// A, where it is started, sends nothing to B but a marker.
const ordered = `process: ordered
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

// N7, S4: an instance is terminated after the backup was made that a site is restored from,
// where it runs again. Its origin ends it there, as it had, and says who it was.
func TestTerminatedAfterTheBackup(t *testing.T) {
	t.Parallel()
	s := newScene(t, options{way: direct, seed: 47, programs: func(string) []string {
		return []string{"pass: {builtin: echo}", "wait: {builtin: sleep}"}
	}})
	file := filepath.Join(t.TempDir(), "ordered.yaml")
	if err := os.WriteFile(file, []byte(ordered), 0o600); err != nil {
		t.Fatal(err)
	}
	a, b := s.Sites["A"], s.Sites[lost]
	fleet.Must(t, "fmqm-define", "upload", file, "--to", a.To())
	id := uuid.Must(uuid.NewV7())
	if _, err := a.Client.Start(s.ctx, api.StartRequest{Instance: id, Process: "ordered", Input: []byte(`{"sleep_ms": 3600000}`)}); err != nil {
		t.Fatal(err)
	}
	s.activities(id, api.ActivityRunning)
	backup := b.Backup(t.TempDir())
	if err := a.Client.Terminate(s.ctx, id); err != nil {
		t.Fatal(err)
	}
	s.activities(id, api.ActivityTerminated)

	b.Stop()
	s.restore(backup)
	s.stopped(4)
	s.atB(id, api.ActivityRunning)
	s.rebuild("C", "--yes")
	s.rebuild("A", "--yes")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if by := s.atB(id, api.ActivityTerminated).By; by != "user:"+me.Username+" at A" {
		t.Errorf("B says that it was ended by %q", by)
	}
	if r := s.rebuilt("A"); r.Instances != 1 || r.Messages != 1 || r.By != "user:"+me.Username+" at A" {
		t.Errorf("A has sent again %+v", r)
	}
	s.rebuild("D", "--yes")
}

// atB waits until the restored site itself says that its activity is as it is to be.
func (s *scene) atB(id uuid.UUID, state api.ActivityState) (found api.Activity) {
	s.Helper()
	s.Until(s.ctx, "at "+lost+" the activity is "+string(state), func() bool {
		status, err := s.Sites[lost].Client.Status(s.ctx, id)
		if err != nil {
			return false
		}
		for _, a := range status.Activities {
			if a.Node == lost {
				found = a
			}
		}
		return found.State == state
	})
	return found
}
