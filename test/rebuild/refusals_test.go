package rebuild

import (
	"strings"
	"testing"

	"fmqm/test/fleet"
)

// A peer that has lost nothing is not rebuilt, nor one that nobody knows.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newScene(t, options{way: direct, seed: 43, processes: 1, instances: 1})
	for _, tc := range []struct {
		peer string
		code int
		want string
	}{
		{"B", 4, "the link to B is not stopped: B has the same store as before, or is unreachable"},
		{"X", 3, "A has no peer X"},
		{"A", 4, "A cannot rebuild itself: its peers send it again what it lost"},
	} {
		for _, args := range [][]string{nil, {"--yes"}, {"--all", "--yes"}} {
			out, talk, code := fleet.Run(t, "fmqm", append([]string{"rebuild", tc.peer, "--to", s.Sites["A"].To()}, args...)...)
			if out != "" || code != tc.code || !strings.Contains(talk, tc.want) {
				t.Errorf("rebuild %s %v: exit %d: %s%s", tc.peer, args, code, out, talk)
			}
		}
	}
	s.allStarted(s.start(1))
	t.Log(s.work.Judge(s.ctx))
}
