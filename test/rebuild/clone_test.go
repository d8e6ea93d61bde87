package rebuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/test/fleet"
)

// clone runs a second daemon on a copy of the site's store, on an address of its own, and
// gives what ends it.
func (s *scene) clone() (end func()) {
	s.Helper()
	site := s.Sites[lost]
	dir := filepath.Join(s.TempDir(), "clone")
	site.Stop()
	if err := os.CopyFS(dir, os.DirFS(site.Dir)); err != nil && !strings.Contains(err.Error(), "sock") {
		s.Fatal(err)
	}
	site.Start()
	site.Answers()
	s.Connected(s.ctx)
	text, err := os.ReadFile(site.File("fmqmd.yaml"))
	if err != nil {
		s.Fatal(err)
	}
	config := filepath.Join(dir, "fmqmd.yaml")
	if err := os.WriteFile(config, []byte(strings.Replace(string(text), site.Listen, fleet.FreePort(s.T), 1)), 0o600); err != nil {
		s.Fatal(err)
	}
	c := exec.Command(filepath.Join(fleet.Bin, "fmqmd"), "run", "--config", config)
	if err := c.Start(); err != nil {
		s.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	s.Cleanup(end)
	return end
}

// L1: two daemons run on copies of one store, at two addresses. The session numbers show
// it: the peers stop their links to both, and no other. Once one of them is gone and the
// daemons were started again, everything goes on.
func TestAClonedStore(t *testing.T) {
	t.Parallel()
	s := newScene(t, 44, 6, 3)
	end := s.clone()
	s.stopped(6)
	if l := s.link("A", lost); !strings.Contains(l.Reason, "two daemons run under the name B") ||
		!strings.Contains(l.Reason, "stop one of them, and see that no copy of its data directory is in use, then restart the daemons") {
		t.Errorf("A says %q", l.Reason)
	}
	end()
	for _, name := range peers() {
		s.Sites[name].Stop()
		s.Sites[name].Start()
	}
	s.Connected(s.ctx)
	s.halfway()
	t.Log(s.work.Judge(s.ctx))
}
