package rebuild

import (
	"encoding/json"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/interpret"
	"fmqm/test/fleet"
)

// upload brings the tables of all processes to the lost site, as their definers do.
func (s *scene) upload() {
	s.Helper()
	for _, file := range s.work.Files() {
		fleet.Must(s.T, "fmqm-define", "upload", file, "--to", s.Sites[lost].To())
	}
}

// stoppedByPeer is why a link is stopped whose other side has stopped it.
const stoppedByPeer = 10

// retry lets the links go on that the peers themselves have stopped; those that the site
// had stopped go on by themselves.
func (s *scene) retry() {
	s.Helper()
	for _, name := range peers() {
		if l := s.link(name, lost); l.State != "stopped" || l.Stopped == stoppedByPeer {
			continue
		}
		out, talk, code := fleet.Run(s.T, "fmqm", "links", "retry", lost, "--to", s.Sites[name].To())
		if newStore := code == 4 && strings.Contains(talk, "has another store than the one known here"); code != 0 && !newStore {
			s.Errorf("links retry at %s: exit %d: %s%s", name, code, out, talk)
		}
	}
}

// rebuild is the documented command at one site; it gives what that says.
func (s *scene) rebuild(site string, args ...string) api.Rebuild {
	s.Helper()
	args = append([]string{"rebuild", lost, "-o", "json", "--to", s.Sites[site].To()}, args...)
	var a api.RebuildAnswer
	out := fleet.Must(s.T, "fmqm", args...)
	if err := json.Unmarshal([]byte(out), &a); err != nil || len(a.Rebuilds) != 1 {
		s.Fatalf("%v: %s", err, out)
	}
	return a.Rebuilds[0]
}

// look asks a site how far it has come, and does not wait for more, as the command does.
func (s *scene) look(site string) api.Rebuild {
	s.Helper()
	a, err := s.Sites[site].Client.Rebuild(s.ctx, api.RebuildRequest{Peer: lost})
	if err != nil || len(a.Rebuilds) != 1 {
		s.Fatalf("%s: %v: %+v", site, err, a)
	}
	return a.Rebuilds[0]
}

// rebuilt waits until a site has sent all again.
func (s *scene) rebuilt(site string) api.Rebuild {
	s.Helper()
	var r api.Rebuild
	s.Until(s.ctx, site+" has rebuilt "+lost, func() bool {
		r = s.look(site)
		return r.Stage == api.RebuildDone
	})
	return r
}

// told is what the peers sent again, and whom they named.
type told struct {
	messages, instances uint64
	named               map[api.InstanceID]bool
}

// rebuildAll rebuilds the site at every peer.
func (s *scene) rebuildAll() (all told) {
	s.Helper()
	all.named = map[api.InstanceID]bool{}
	for _, name := range peers() {
		r := s.rebuild(name, "--yes")
		s.Logf("%s has sent again %d messages of %d instances (restored: %t), and names %d", name, r.Messages, r.Instances, r.Restored, len(r.Unknown))
		if r.Stage != api.RebuildDone || r.More > 0 {
			s.Fatalf("%s: %+v", name, r)
		}
		all.messages += r.Messages
		all.instances += r.Instances
		for _, u := range r.Unknown {
			all.named[u.Instance] = true
		}
	}
	return all
}

// rebuildByOne asks one peer, which asks the others; nothing is unknown any more.
func (s *scene) rebuildByOne() {
	s.Helper()
	var a api.RebuildAnswer
	out := fleet.Must(s.T, "fmqm", "rebuild", lost, "--all", "--yes", "-o", "json", "--to", s.Sites["A"].To())
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	var nodes []string
	for _, r := range a.Rebuilds {
		nodes = append(nodes, r.Node)
		if r.Stage != api.RebuildDone || len(r.Unknown) > 0 {
			s.Errorf("%+v", r)
		}
	}
	if !slices.Equal(nodes, peers()) {
		s.Errorf("rebuilt by %v", nodes)
	}
}

// namedAreItsOwn checks who is named: instances that were started at the site, no others.
func (s *scene) namedAreItsOwn(named map[api.InstanceID]bool) {
	s.Helper()
	own := map[api.InstanceID]bool{}
	for _, p := range s.work.Plays {
		own[p.ID] = s.work.Home(p).Name == lost
	}
	for id := range named {
		if !own[id] {
			s.Errorf("instance %s is named, which was not started at %s", id, lost)
		}
	}
}

// startAgain repeats the starts of the site's own, as their clients do (N2): of those that
// are named, and of those of which nothing had left the site.
func (s *scene) startAgain() {
	s.Helper()
	for _, p := range s.work.Plays {
		if s.work.Home(p).Name == lost {
			if err := s.work.StartOne(s.ctx, p); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// startByHand starts an instance again that was named, as somebody does it who has nothing
// but its identifier, and its input: none of them had a key.
func (s *scene) startByHand(named map[api.InstanceID]bool) {
	s.Helper()
	for _, p := range s.work.Plays {
		if !named[p.ID] {
			continue
		}
		line := []string{"start", p.Process.Name + "@1", "--instance", p.ID.String(), "--to", s.Sites[lost].To(), "-o", "jsonl"}
		if p.Drawn.Input != "" {
			line = append(line, "--input", p.Drawn.Input)
		}
		out, talk, code := fleet.Run(s.T, "fmqm", line...)
		if code != 0 || !strings.Contains(out, `"state":"unknown"`) || !strings.Contains(talk, "plan: start "+p.Process.Name+"@1 at "+lost+" again as "+p.ID.String()) {
			s.Fatalf("the plan: exit code %d, %s%s", code, out, talk)
		}
		if out := fleet.Must(s.T, "fmqm", append(line, "--yes")...); strings.Contains(out, `"state":"unknown"`) {
			s.Fatalf("started again: %s", out)
		}
		return
	}
	s.Fatal("no instance was named")
}

// others waits until every instance that was started elsewhere has ended as it should.
func (s *scene) others() (count int) {
	s.Helper()
	for _, p := range s.work.Plays {
		if s.work.Home(p).Name == lost || p.Expect.Result.State != interpret.Finished {
			continue
		}
		s.Until(s.ctx, "instance "+p.ID.String()+" ends", func() bool {
			status, err := s.work.Home(p).Client.Status(s.ctx, p.ID)
			return err == nil && status.State == api.InstanceFinished
		})
		count++
	}
	return count
}
