package rebuild

import (
	"strings"
	"testing"
)

// L1: a second daemon runs on a copy of a site's store, on another machine, while
// instances run. Over direct links the session numbers show it: the peers stop their links
// to both, and no other; once the copy is gone an operator lets them go on. A broker lets
// only one of the two receive: the other is told, and the work goes on. Either way nothing
// of what the copy did reaches anybody.
func TestAClonedStore(t *testing.T) {
	overEachWay(t, func(t *testing.T, w way) {
		s := newScene(t, options{way: w, seed: 44, processes: 50, instances: 4})
		started := s.start(4)
		site := s.Sites[lost]
		site.Stop()
		twin := site.Twin(s.work.TwinPrograms)
		site.Start()
		s.Connected(s.ctx)
		twin.Start()
		twin.Answers()
		if w == direct {
			s.twinStopsLinks()
		} else {
			twin.Says("a second daemon runs with this node's name: stop one of the two, and see that no copy of its data directory is in use")
			s.work.Progress(s.ctx, s.work.Expected()/4)
			s.Connected(s.ctx)
		}
		twin.Stop()
		if w == direct {
			s.retry()
		}
		s.allStarted(started)
		s.Connected(s.ctx)
		s.say(s.work.Judge(s.ctx))
		t.Logf("the copy's programs made %d attempts of their own", s.work.JudgeTwins())
	})
}

// twinStopsLinks checks what the peers and the site say while a copy of it runs.
func (s *scene) twinStopsLinks() {
	s.Helper()
	s.stopped(6)
	for _, name := range peers() {
		if l := s.link(name, lost); !strings.Contains(l.Reason, "two daemons run under the name B") ||
			!strings.Contains(l.Reason, "stop one of them, and see that no copy of its data directory is in use, then here: fmqm links retry B") {
			s.Errorf("%s says %q", name, l.Reason)
		}
		s.Until(s.ctx, lost+" hears it from "+name, func() bool {
			l := s.link(lost, name)
			return l.State == "stopped" && strings.Contains(l.Reason, "two daemons run under the name B")
		})
	}
}
