package client_test

import (
	"strings"
	"testing"
	"time"

	"fmqm/cmd/internal/cli"
)

// nodes --wait is for scripts that have just started daemons: it waits for one that does
// not answer yet, then for its links; and it ends with the time that it was given, saying
// who is missing.
func TestNodesWait(t *testing.T) {
	s := newSites(t)
	done := make(chan result, 1)
	go func() { done <- fmqm("http://"+s.address("A"), "", "nodes", "--wait", "--timeout", "1m") }()
	s.start("A", "B")
	if r := <-done; r.code != 0 || strings.Count(r.out, "connected") != 1 {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	s.stop("B")
	within(t, time.Second, func(timeout string) (result, bool) {
		r := s.fmqm("A", "nodes", "--wait", "--timeout", timeout)
		return r, r.code == cli.ExitUnreachable && strings.Contains(r.out, "A     self") && strings.Contains(r.err, "not connected after "+timeout+": B (") && strings.Contains(r.err, "see `fmqm links`")
	})
	s.stop("A")
	within(t, 300*time.Millisecond, func(timeout string) (result, bool) {
		r := s.fmqm("A", "nodes", "--wait", "--timeout", timeout)
		return r, r.code == cli.ExitUnreachable && r.out == "" && strings.Contains(r.err, "no daemon listens at")
	})
}
