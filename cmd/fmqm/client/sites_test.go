package client_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/daemon"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/test/fleet"
)

// sites are the daemons A and B, asked with the commands that an operator types.
type sites struct {
	*testing.T
	dir   string
	up    map[string]*daemon.Daemon
	more  map[string]string // of a site's configuration
	peers map[string]string // what a site's configuration says of its peer; without: its address
	obeys map[string]string // whom of other sites a site obeys; without: everybody
}

// patience bounds what a test waits for.
const patience = 3 * time.Minute

func newSites(t *testing.T) *sites {
	return &sites{T: t, dir: t.TempDir(), up: map[string]*daemon.Daemon{}}
}

// address of a site: a loopback address of this test's own, so that a site which comes
// back finds its port free.
func (s *sites) address(site string) string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d:7411", 1+pid%250, 1+pid/250%250, site[0])
}

func (s *sites) start(names ...string) {
	s.Helper()
	for _, name := range names {
		peer := map[string]string{"A": "B", "B": "A"}[name]
		how, other := s.peers[name]
		if !other {
			how = "http://" + s.address(peer)
		}
		text := fmt.Sprintf("node: %s\ndata: store-%s\nlisten: %s\ninsecure: true\nremote_operators: %s\nsocket: %s.sock\nlinks: {peers: {%s: %s}}\nprograms: {echo: {builtin: echo}, fail: {builtin: fail}, sleep: {builtin: sleep}, loud: {exec: [/bin/sh, -c, 'cat >/dev/null; echo first >&2; printf \"bad \\\\033[31mword\\n\" >&2; exit 3']}}\nlimits: {container: 4KiB}\n",
			name, name, s.address(name), cmp.Or(s.obeys[name], `[{site: "*"}]`), name, peer, how) + s.more[name]
		s.up[name] = daemontest.Start(s, daemontest.Config(s, s.dir, name, text), zerolog.Nop())
	}
}

func (s *sites) stop(names ...string) {
	s.Helper()
	for _, name := range names {
		daemontest.Stop(s, s.up[name])
		delete(s.up, name)
	}
}

// fmqm runs a command line against a site.
func (s *sites) fmqm(site string, args ...string) result {
	s.Helper()
	return fmqm("http://"+s.address(site), "", args...)
}

// must runs a command line that has to succeed. Why and history are asked again as long as
// a site that is up has not answered in time: on a busy machine it may have been slow.
func (s *sites) must(site string, args ...string) string {
	s.Helper()
	r := s.fmqm(site, args...)
	if slices.Contains([]string{"why", "history"}, args[0]) {
		s.wait("an answer of all sites", func() bool {
			for name := range s.up {
				if regexp.MustCompile(`unreachable:.*\b` + name + `\b`).MatchString(r.err) {
					r = s.fmqm(site, args...)
					return false
				}
			}
			return true
		})
	}
	if r.code != 0 {
		s.Fatalf("fmqm %s: exit %d: %s", strings.Join(args, " "), r.code, r.err)
	}
	return r.out
}

// refused runs a command line that has to be refused, with a reason.
func (s *sites) refused(what, site, want string, args ...string) {
	s.Helper()
	if r := s.fmqm(site, args...); r.code != cli.ExitRefused || r.out != "" || !strings.Contains(r.err, want) {
		s.Errorf("%s: exit %d, said %q\nwant 4 and %q", what, r.code, r.err, want)
	}
}

// upload gives a definition to both sites and waits until they have it.
func (s *sites) upload(text string) {
	s.Helper()
	r := apitest.Upload(s, text)
	s.wait("upload", func() bool {
		answer, err := s.up["A"].Node.Upload(context.Background(), r)
		if err != nil {
			s.Fatal(err)
		}
		return !slices.ContainsFunc(answer.Nodes, func(n api.UploadNode) bool {
			return n.Result != api.ResultStored && n.Result != api.ResultUnchanged
		})
	})
}

func (s *sites) wait(what string, until func() bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := fleet.Until(ctx, func() (bool, error) { return until(), nil }); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// status is an instance's, as a site tells it.
func (s *sites) status(site, id string) (st api.Status) {
	s.Helper()
	if err := json.Unmarshal([]byte(s.must(site, "status", id, "-o", "json")), &st); err != nil {
		s.Fatal(err)
	}
	return st
}

// until waits until an activity, or with "" the instance, is in a state, and gives the
// status that said so.
func (s *sites) until(site, id, activity, state string) (st api.Status) {
	s.Helper()
	s.wait(activity+" "+state, func() bool {
		st = s.status(site, id)
		if activity == "" {
			return string(st.State) == state
		}
		return slices.ContainsFunc(st.Activities, func(a api.Activity) bool { return a.Activity == activity && string(a.State) == state })
	})
	return st
}

// begin starts an instance at A and gives its identifier.
func (s *sites) begin(process, input string) string {
	s.Helper()
	var st api.Status
	if err := json.Unmarshal([]byte(s.must("A", "start", process, "--input", input, "-o", "json")), &st); err != nil {
		s.Fatal(err)
	}
	return st.Instance.String()
}

// delivered waits until what sites had for one another is in the other's store.
func (s *sites) delivered(names ...string) {
	s.Helper()
	for _, name := range names {
		s.wait("nothing that waits at "+name, func() bool {
			var links []api.Link
			if err := json.Unmarshal([]byte(s.must(name, "links", "-o", "json")), &links); err != nil {
				s.Fatal(err)
			}
			return !slices.ContainsFunc(links, func(l api.Link) bool { return l.Waiting > 0 })
		})
	}
}

// quiet: no queue has anything, and nothing was set aside.
func (s *sites) quiet() {
	s.Helper()
	for name, d := range s.up {
		what := ""
		s.wait("a quiet "+name, func() (empty bool) {
			empty, what = d.Node.Quiet()
			return empty
		})
		if what != "" {
			s.Errorf("%s: %s", name, what)
		}
		if r := s.fmqm(name, "dead", "list"); r.out != "" {
			s.Errorf("%s has set aside:\n%s", name, r.out)
		}
	}
}

// ran says whether a site's history has an event of an activity.
func (s *sites) ran(site, id, activity string, event api.Event) bool {
	s.Helper()
	var events []api.HistoryEvent
	if err := json.Unmarshal([]byte(s.must(site, "history", id, "-o", "json")), &events); err != nil {
		s.Fatal(err)
	}
	return slices.ContainsFunc(events, func(e api.HistoryEvent) bool { return e.Activity == activity && e.Event == event })
}
