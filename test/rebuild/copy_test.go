package rebuild

import (
	"os"
	"strings"
	"testing"

	"fmqm/api"
)

// L1, S4: an older copy of a site's data directory goes on in the place of the newest: a
// snapshot was put back, or a machine that was moved was started again. It has the
// identity of the store that it is a copy of, and is not a new one to its peers: they see
// that it lacks what they have confirmed, and stop that link only. If the newest store is
// still there, it is put back, and nothing was lost. If the copy is all there is, a backup
// of it is restored, which makes it a new store, and the site is rebuilt.
func TestACopyThatWentOn(t *testing.T) {
	overEachWay(t, func(t *testing.T, w way) {
		s := newScene(t, options{way: w, seed: 45, processes: 18, instances: 5})
		site := s.Sites[lost]
		s.moveOn(0)
		site.Stop()
		older := s.loseStore()
		s.goOnWith(older)
		s.Connected(s.ctx)
		s.moveOn(1)

		site.Stop()
		newest := s.loseStore()
		s.goOnWith(older)
		s.olderCopySeen()
		site.Stop()
		s.loseStore()
		s.goOnWith(newest)
		s.retry()
		s.Connected(s.ctx)
		s.moveOn(2)

		site.Stop()
		s.loseStore()
		s.goOnWith(older)
		s.olderCopySeen()
		backup := site.Backup(t.TempDir())
		site.Stop()
		s.restore(backup)
		s.retry()
		s.stopped(4)
		first := s.rebuildAll()
		s.namedAreItsOwn(first.named)
		s.Connected(s.ctx)
		s.startAgain()
		s.rebuildAll()
		s.say(outcome{s.work.JudgeAgain(s.ctx, lost), s.work.Expected(), len(first.named)})
	})
}

// moveOn starts a third of the instances, and waits until every peer has sent the site
// something that it confirmed: something new, and not what it had accepted before, and could
// confirm only now.
func (s *scene) moveOn(third int) {
	s.Helper()
	accepted := map[string]uint64{}
	for _, name := range peers() {
		accepted[name] = s.accepted(name)
	}
	share := len(s.work.Plays) / 3
	for _, p := range s.work.Plays[third*share : (third+1)*share] {
		if err := s.work.StartOne(s.ctx, p); err != nil {
			s.Fatal(err)
		}
	}
	for _, name := range peers() {
		s.Until(s.ctx, lost+" confirms something to "+name, func() bool { return s.confirmed(name) > accepted[name] })
	}
}

// accepted counts the messages that the site has accepted from a peer, or is about to.
func (s *scene) accepted(peer string) (count uint64) {
	s.Helper()
	for _, lane := range s.link(lost, peer).Lanes {
		count += lane.Expected - 1
	}
	return count
}

// confirmed counts the messages that the site has confirmed to a peer.
func (s *scene) confirmed(peer string) (count uint64) {
	s.Helper()
	for _, lane := range s.link(peer, lost).Lanes {
		count += lane.Acknowledged
	}
	return count
}

// goOnWith starts the site, which is down and has no store, on a copy of a store.
func (s *scene) goOnWith(store string) {
	s.Helper()
	site := s.Sites[lost]
	if err := os.CopyFS(site.File("data"), os.DirFS(store)); err != nil {
		s.Fatal(err)
	}
	site.Start()
	site.Answers()
}

// olderCopySeen waits until no peer goes on with the site, and checks what is said, on
// the side that saw it; and that no other link is stopped.
func (s *scene) olderCopySeen() {
	s.Helper()
	for _, name := range peers() {
		var there, here api.Link
		s.Until(s.ctx, name+" and "+lost+" stop their link", func() bool {
			there, here = s.link(name, lost), s.link(lost, name)
			return there.State == "stopped" && here.State == "stopped"
		})
		seen := there
		if there.Stopped == stoppedByPeer {
			seen = here
		}
		if seen.Stopped < 1 || seen.Stopped > 3 || !strings.Contains(seen.Reason, "older copy") || !strings.Contains(seen.Reason, "newest store") {
			s.Errorf("%s says %+v, and %s says %+v", name, there, lost, here)
		}
		s.Logf("%s and %s: %d, %d: %s", name, lost, there.Stopped, here.Stopped, seen.Reason)
	}
	s.othersLinked()
}
