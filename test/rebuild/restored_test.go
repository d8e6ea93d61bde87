package rebuild

import (
	"fmt"
	"testing"

	"fmqm/test/fleet"
)

// outcome is what a rebuilding came to.
type outcome struct {
	fleet.Again
	expected int // attempts that the interpreter makes
	named    int
}

func (o outcome) String() string {
	return fmt.Sprintf("%d attempts where the interpreter makes %d, %d of them again under the same key; %d instances named as unknown; %d ended activities forgotten; lost 0, doubled 0",
		o.Attempts, o.expected, o.Repeated, o.named, o.Forgotten)
}

// L1, S4: a site is restored from a backup that was made while instances ran. Its peers
// stop that link only, send what the copy lacks, and nothing takes effect twice.
func TestASiteThatWasRestored(t *testing.T) {
	overEachWay(t, func(t *testing.T, w way) {
		s := newScene(t, options{way: w, seed: 42, processes: 50, instances: 4})
		started := s.start(4)
		backup := s.Sites[lost].Backup(t.TempDir())
		s.work.Progress(s.ctx, s.work.Expected()/4)
		s.Sites[lost].Stop()
		s.restore(backup)
		s.allStarted(started)
		s.stopped(4)
		first := s.rebuildAll()
		s.namedAreItsOwn(first.named)
		s.Connected(s.ctx)
		s.startAgain()
		s.rebuildAll()
		s.say(outcome{s.work.JudgeAgain(s.ctx, lost), s.work.Expected(), len(first.named)})
	})
}

// restore puts a backup in the place of the site's store, and starts the site, which is
// down.
func (s *scene) restore(backup string) {
	s.Helper()
	site := s.Sites[lost]
	s.loseStore()
	fleet.Must(s.T, "fmqmd", "restore", backup, "--data", site.File("data"))
	site.Start()
	site.Answers()
}
