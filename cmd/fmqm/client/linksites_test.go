package client_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
	"fmqm/internal/faultnet"
)

// L1: a site that comes with another store than before is stopped by its peer. Once its
// own is back, the peer's operator has the link go on, and no daemon of his is restarted.
func TestL1AStoppedLinkGoesOnByAnOperatorsWord(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	link := func() api.Link {
		var out []api.Link
		if err := json.Unmarshal([]byte(s.must("A", "links", "-o", "json")), &out); err != nil || len(out) != 1 {
			t.Fatalf("links: %v, %+v", err, out)
		}
		return out[0]
	}
	s.wait("a link", func() bool { return link().State == "connected" })
	if r := s.fmqm("A", "links", "retry", "B"); r.code != cli.ExitRefused || r.err != "fmqm: the link to B is not stopped, it is connected: a link that is not stopped goes on by itself\n" {
		t.Errorf("retry of a link that goes: %+v", r)
	}
	if r := s.fmqm("A", "links", "retry", "C"); r.code != cli.ExitNotFound || !strings.Contains(r.err, "A has no peer C") {
		t.Errorf("retry of no link: %+v", r)
	}
	s.stop("B")
	store, own := filepath.Join(s.dir, "store-B"), filepath.Join(s.dir, "own")
	if err := os.Rename(store, own); err != nil {
		t.Fatal(err)
	}
	s.start("B")
	s.wait("a stopped link", func() bool { return link().State == "stopped" })
	s.wait("the reason still holds", func() bool {
		r := s.fmqm("A", "links", "retry", "B")
		return r.code == cli.ExitRefused && strings.HasPrefix(r.err, "fmqm: the link to B is stopped again: site B has another store than the one known here")
	})
	s.wait("a stopped link", func() bool { return link().State == "stopped" })
	s.stop("B")
	if err := os.RemoveAll(store); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(own, store); err != nil {
		t.Fatal(err)
	}
	s.start("B")
	if out := s.must("A", "links", "retry", "B"); !strings.HasPrefix(out, "B: conn") { // a busy machine may take its time
		t.Errorf("retry once it is mended: %q, %+v", out, link())
	}
	s.wait("a link", func() bool { return link().State == "connected" })
}

// N7: an operator asks at B to terminate what was started at A. A does it, and the connection
// ends before its answer comes: the operator hears that nothing answered, and where to ask
// again. Asked again, B says what has come of it. It was done once, in his name.
func TestTheAnswerOfATerminationIsLost(t *testing.T) {
	s := newSites(t)
	wire, err := faultnet.Listen(s.address("A"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wire.Close() })
	s.peers = map[string]string{"A": "{}", "B": "http://" + wire.Addr()}
	s.start("A", "B")
	s.upload(overTwo)
	id := s.begin("two", `{"sleep_ms": 60000}`)
	s.until("B", id, "slow", "running")

	wire.Set(faultnet.Faults{Silent: faultnet.ToClient})
	asked := make(chan result)
	go func() { asked <- s.fmqm("B", "terminate", id) }()
	s.until("A", id, "", "terminated")
	wire.Cut()
	r := <-asked
	says := "fmqm: only A, where instance " + id + " was started, can terminate it, and it does not answer: "
	remedy := ": when A is reachable again, see fmqm status in case it was done, and terminate it; or terminate it at A itself (--to)\n"
	// On a machine that stalls the time can be over before the connection is cut.
	if r.code != cli.ExitUnreachable || r.err != says+"not connected"+remedy && r.err != says+"no answer in time"+remedy {
		t.Errorf("the answer is lost: exit %d, %q\nwant %q%q, not connected or no answer in time", r.code, r.err, says, remedy)
	}
	if st := s.status("B", id).State; st != api.InstanceUnknown {
		t.Errorf("B, which heard nothing, says %s", st)
	}
	wire.Set(faultnet.Faults{})
	s.until("B", id, "", "terminated")
	s.refused("asked again", "B", "instance "+id+" is terminated", "terminate", id)
	s.quiet() // long before slow would have ended by itself
	for _, site := range []string{"A", "B"} {
		history := s.must(site, "history", id) // of sink, slow and after
		if n := strings.Count(history, " stopped "); n != 3 || strings.Count(history, "instance terminated by an unnamed operator at B") != n {
			t.Errorf("%s says what was ended, and by whom:\n%s", site, history)
		}
	}
}
