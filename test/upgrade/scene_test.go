package upgrade

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m, "failpoint")) }

// before is the commit of the release that sites are upgraded from.
//
//go:embed before
var before string

// scene is four daemons of the release before, directly linked, and random work on them.
type scene struct {
	*testing.T
	*fleet.Fleet
	work    *fleet.Work
	ctx     context.Context
	left    []*fleet.Play // to be started
	started []<-chan error
	began   time.Time
}

// newScene starts the sites, with work of so many instances of each process.
func newScene(t *testing.T, seed, processes, instances int) *scene {
	t.Helper()
	release := fleet.Before(t, strings.TrimSpace(before))
	s := &scene{T: t, work: fleet.NewWork(t, seed), began: time.Now()}
	s.Fleet = fleet.New(t, fleet.Options{
		Links: fleet.DialAll, Programs: s.work.Programs,
		Prepare: func(site *fleet.Site) { site.Release = release },
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*fleet.Patience)
	t.Cleanup(cancel)
	s.ctx = ctx
	s.Connected(ctx)
	for _, name := range fleet.Names {
		s.runs(name, release)
	}
	s.work.Flat = true
	s.work.Define(s.Fleet, processes, instances)
	s.left = s.work.Plays
	return s
}

// starts begins to start one in so many of all instances, in the background, and waits
// until programs have made some attempts more: what comes next finds the rest under way.
func (s *scene) starts(oneIn int) {
	s.Helper()
	n := min(len(s.left), len(s.work.Plays)/oneIn)
	plays, ended := s.left[:n], make(chan error, 1)
	s.left, s.started = s.left[n:], append(s.started, ended)
	go func() {
		for _, p := range plays {
			if err := s.work.StartOne(s.ctx, p); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	s.work.Progress(s.ctx, s.work.Expected()/oneIn/4)
}

// allStarted starts the rest, and waits until every instance is started.
func (s *scene) allStarted() {
	s.Helper()
	s.starts(1)
	for _, ended := range s.started {
		if err := <-ended; err != nil {
			s.Fatal(err)
		}
	}
}

// runs checks of which directory's release a site's daemon is.
func (s *scene) runs(name, dir string) {
	s.Helper()
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.Sites[name].Process()))
	if err != nil || filepath.Dir(file) != dir {
		s.Fatalf("%s runs %s, and not the release in %s (%v)", name, file, dir, err)
	}
}

// upgrade has a site go on with today's release, in place. Others may be down meanwhile,
// for as long as that takes.
func (s *scene) upgrade(name string) {
	s.Helper()
	site := s.Sites[name]
	site.Stop()
	site.Release = ""
	site.Start()
	site.Answers()
	s.runs(name, fleet.Bin)
}

// upgradeKilled is upgrade of a site that was killed before, and is killed again when
// today's release has come so far with the store that it found.
func (s *scene) upgradeKilled(name, point string) {
	s.Helper()
	site := s.Sites[name]
	site.Kill()
	site.Release = ""
	site.StartToDie(point)
	site.Died(s.ctx)
	site.Start()
	site.Answers()
}

// judge waits until all instances are as the interpreter says, with nothing lost and
// nothing doubled.
func (s *scene) judge() {
	s.Helper()
	s.allStarted()
	s.Connected(s.ctx)
	v := s.work.Judge(s.ctx)
	s.Logf("in %s: %s", time.Since(s.began).Round(time.Second), v)
}
