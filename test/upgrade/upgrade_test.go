package upgrade

import (
	"testing"

	"fmqm/test/fleet"
)

// N17: sites are upgraded one by one, each in place, while instances run over all four.
// In these orders each site is once the first, the second, the third and the last, and
// follows each other once.
func TestOneByOne(t *testing.T) {
	t.Parallel()
	for i, order := range []string{"ABDC", "BCAD", "CDBA", "DACB"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 60+i, 12, 5)
			for _, name := range order {
				s.starts(5)
				s.upgrade(string(name))
			}
			s.judge()
		})
	}
}

// N17: a site is killed with kill -9 instead of stopped, and today's release is killed
// when it first opens the store: before the engine, behind it, and while it finds what
// waits in the queues. The next start goes on.
func TestKilledWhileUpgraded(t *testing.T) {
	t.Parallel()
	s := newScene(t, 70, 16, 5)
	for i, point := range []string{"store.copied", "store.renewed", "store.opened", "thread.browsed"} {
		s.starts(5)
		s.upgradeKilled(fleet.Names[i], point)
	}
	s.judge()
}

// N17: one site stays as it is to the end, beside three that are upgraded; also once it
// was started again.
func TestOneStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := newScene(t, 80, 12, 5)
	for _, name := range []string{"A", "C", "D"} {
		s.starts(4)
		s.upgrade(name)
	}
	s.Sites["B"].Kill()
	s.Sites["B"].Start()
	s.judge()
}

// There is no way back: a store of today has another format than that of the release before,
// which refuses it and changes nothing (docs/operations.md). The site goes on with today's.
func TestNoWayBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, 100, 12, 5)
	b := s.Sites["B"]
	older := b.Release
	s.starts(4)
	s.upgrade("B")
	s.starts(4)
	b.Stop()
	today := b.Release
	b.Release = older
	b.Start()
	if code := b.Ends(); code != 1 {
		t.Errorf("the release before ends with %d on today's store, expected 1", code)
	}
	b.Says("the store has format [4], and this program writes format 1")
	b.Release = today
	b.Start()
	b.Answers()
	s.starts(4)
	s.judge()
}
