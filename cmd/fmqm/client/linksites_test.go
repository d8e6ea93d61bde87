package client_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
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
