package rebuild

import (
	"strconv"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/test/fleet"
)

// L1, S4: a site loses its disk while instances run. Its peers stop that link only; the
// rebuilt site goes on with every instance that was started elsewhere, however often it,
// and a peer that sends again, are killed; those that were started there are named, and
// go on as well once their starts are repeated.
func TestASiteThatLostItsDisk(t *testing.T) {
	overEachWay(t, func(t *testing.T, w way) {
		s := newScene(t, options{way: w, seed: 41, processes: 50, instances: 4})
		s.allStarted(s.start(3))
		site := s.Sites[lost]
		site.Stop()
		s.loseStore()
		site.Start()
		site.Answers()
		s.stopped(4)
		s.plans("A", "C", "D")
		s.killedWhileItBegins("A")
		s.killedBetweenTwoChunks("A")
		s.plans("C", "D")
		first := s.rebuildAll()
		s.namedAreItsOwn(first.named)
		s.Connected(s.ctx)
		t.Logf("%d instances of other sites have ended", s.others())
		s.startByHand(first.named)
		s.startAgain()
		s.rebuildByOne()
		s.say(outcome{s.work.JudgeAgain(s.ctx, lost), s.work.Expected(), len(first.named)})
	})
}

// plans checks what sites would do: nothing is done.
func (s *scene) plans(names ...string) {
	s.Helper()
	for _, name := range names {
		if plan := s.rebuild(name); plan.Stage != api.RebuildPlanned || plan.Messages == 0 {
			s.Errorf("%s plans %+v", name, plan)
		}
		if l := s.link(name, lost); l.State != "stopped" {
			s.Errorf("a plan lets the link of %s go on: %+v", name, l)
		}
	}
}

// killedWhileItBegins lets a site begin, and kills it twice: while it begins, and while
// it waits for the tables that the lost site has not. The command says what is missing.
func (s *scene) killedWhileItBegins(name string) {
	s.Helper()
	site := s.Sites[name]
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = site.Client.Rebuild(s.ctx, api.RebuildRequest{Peer: lost, Do: true})
	}()
	site.Says("operator ordered a rebuild of the peer")
	site.Kill()
	<-ended
	site.Start()
	site.Answers()
	s.Until(s.ctx, name+" finds that tables are missing", func() bool { return s.look(name).Stage == api.RebuildWaiting })
	out, talk, code := fleet.Run(s.T, "fmqm", "rebuild", lost, "--yes", "--to", site.To())
	if code != 5 || !strings.Contains(out, lost+" lacks the process tables of drawn-") || !strings.Contains(talk, name+" has not finished yet; it goes on by itself") {
		s.Errorf("exit %d: %s%s", code, out, talk)
	}
	site.Kill()
}

// chunksBefore is how many chunks a site sends again before it is killed. All of them are
// of the first page of instances that it looks at; before the next page it asks the site
// that is rebuilt, which is dead by then.
const chunksBefore = 5

// killedBetweenTwoChunks kills a site that has begun, and is down, between two chunks of
// what it sends again; and then the site that is rebuilt, as soon as it has taken some of
// the next. It goes on by itself to the end.
func (s *scene) killedBetweenTwoChunks(name string) {
	s.Helper()
	site, other := s.Sites[name], s.Sites[lost]
	site.StartToDie("rebuild.chunk:" + strconv.Itoa(chunksBefore))
	s.upload()
	site.Died(s.ctx)
	other.Kill()
	other.StartToDie("link.accepted")
	site.Start()
	other.Died(s.ctx)
	site.Answers()
	if r := s.look(name); r.Stage != api.RebuildSending || r.Instances < chunksBefore {
		s.Errorf("%s was not killed between two chunks: %+v", lost, r)
	}
	other.Start()
	other.Answers()
	r := s.rebuilt(name)
	s.Logf("%s and %s were killed between two chunks; %s has sent again %d messages of %d instances", name, lost, name, r.Messages, r.Instances)
	if r.Instances <= chunksBefore {
		s.Errorf("there was nothing left to be sent again: %+v", r)
	}
}
