package upgrade

import (
	"encoding/json"
	"os"
	"testing"

	"fmqm/api"
	"fmqm/test/fleet"
)

// N17, S4: a backup that the release before has written is restored by today's. The peers,
// two of them still of the release before, send again what it lacks.
func TestABackupOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	const restored = "B"
	s := newScene(t, 90, 12, 5)
	site := s.Sites[restored]
	s.starts(4)
	backup := site.Backup(t.TempDir())
	s.starts(4)
	s.upgrade("A")
	s.allStarted()
	site.Stop()
	if err := os.RemoveAll(site.File("data")); err != nil {
		t.Fatal(err)
	}
	fleet.Must(t, "fmqmd", "restore", backup, "--data", site.File("data"))
	site.Release = ""
	site.Start()
	site.Answers()
	for _, name := range []string{"A", "C", "D"} {
		s.Until(s.ctx, name+" sees another store at "+restored, func() bool { return s.Sites[name].Link(s.ctx, restored).Stopped == 4 })
		s.rebuild(name, restored)
	}
	s.Connected(s.ctx)
	s.startAgain(restored)
	for _, name := range []string{"A", "C", "D"} {
		s.rebuild(name, restored)
	}
	s.Logf("%+v", s.work.JudgeAgain(s.ctx, restored))
}

// rebuild is the documented command at one site.
func (s *scene) rebuild(name, peer string) {
	s.Helper()
	out := fleet.Must(s.T, "fmqm", "rebuild", peer, "--yes", "-o", "json", "--to", s.Sites[name].To())
	var a api.RebuildAnswer
	if err := json.Unmarshal([]byte(out), &a); err != nil || len(a.Rebuilds) != 1 || a.Rebuilds[0].Stage != api.RebuildDone {
		s.Fatalf("%s: %v: %s", name, err, out)
	}
}

// startAgain repeats the starts of a site's own, as their clients do (N2).
func (s *scene) startAgain(name string) {
	s.Helper()
	for _, p := range s.work.Plays {
		if s.work.Home(p).Name == name {
			if err := s.work.StartOne(s.ctx, p); err != nil {
				s.Fatal(err)
			}
		}
	}
}
