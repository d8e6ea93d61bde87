package rebuild

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/interpret"
	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// lost is the site that loses its store.
const lost = "B"

// scene is four daemons, linked directly, and random work on them.
type scene struct {
	*testing.T
	*fleet.Fleet
	work *fleet.Work
	ctx  context.Context
}

func newScene(t *testing.T, seed, processes, instances int) *scene {
	t.Helper()
	s := &scene{T: t, work: fleet.NewWork(t, seed)}
	s.Fleet = fleet.New(t, fleet.Options{Links: dialAll, Programs: s.work.Programs})
	ctx, cancel := context.WithTimeout(context.Background(), 2*fleet.Patience)
	t.Cleanup(cancel)
	s.ctx = ctx
	s.Connected(ctx)
	s.work.Define(s.Fleet, processes, instances)
	return s
}

func dialAll(f *fleet.Fleet, site string) string {
	var text strings.Builder
	text.WriteString("links:\n  peers:\n")
	for _, peer := range fleet.Names {
		if peer != site {
			fmt.Fprintf(&text, "    %s: http://%s\n", peer, f.Sites[peer].Listen)
		}
	}
	return text.String()
}

// halfway lets all instances start, and about half of the programs run.
func (s *scene) halfway() {
	s.Helper()
	started := s.work.Start(s.ctx)
	s.work.Progress(s.ctx, s.work.Expected()/2)
	if err := <-started; err != nil {
		s.Fatal(err)
	}
}

// peers are the other sites.
func peers() []string { return []string{"A", "C", "D"} }

// stopped waits until every peer has stopped its link to the site, and says why; and
// checks that no other link is.
func (s *scene) stopped(code int) {
	s.Helper()
	for _, name := range peers() {
		s.Until(s.ctx, name+" stops its link to "+lost, func() bool {
			l := s.link(name, lost)
			return l.State == "stopped" && l.Stopped == code
		})
		for _, other := range peers() {
			if other != name {
				s.Until(s.ctx, name+" is linked with "+other, func() bool { return s.link(name, other).State == "connected" })
			}
		}
	}
}

// link is how a site sees its link to a peer.
func (s *scene) link(site, peer string) api.Link {
	a, err := s.Sites[site].Client.Links(s.ctx)
	if err != nil {
		return api.Link{}
	}
	for _, l := range a.Links {
		if l.Peer == peer {
			return l
		}
	}
	return api.Link{}
}

// upload brings the tables of all processes to the site, as their definers do.
func (s *scene) upload() {
	s.Helper()
	for _, file := range s.work.Files() {
		fleet.Must(s.T, "fmqm-define", "upload", file, "--to", s.Sites[lost].To())
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

// rebuildAll rebuilds the site at every peer, and gives the instances that are named.
func (s *scene) rebuildAll() map[api.InstanceID]bool {
	s.Helper()
	named := map[api.InstanceID]bool{}
	for _, name := range peers() {
		r := s.rebuild(name, "--yes")
		s.Logf("%s has sent again %d messages of %d instances (restored: %t), and names %d", name, r.Messages, r.Instances, r.Restored, len(r.Unknown))
		if r.Stage != api.RebuildDone {
			s.Fatalf("%s: %+v", name, r)
		}
		for _, u := range r.Unknown {
			named[u.Instance] = true
		}
	}
	return named
}

// rebuildByOne asks one peer, which asks the others.
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
	for _, p := range s.work.Plays {
		if named[p.ID] && s.work.Home(p).Name != lost {
			s.Errorf("instance %s is named, which was started at %s", p.ID, s.work.Home(p).Name)
		}
		delete(named, p.ID)
	}
	if len(named) > 0 {
		s.Errorf("instances are named that nobody started: %v", named)
	}
}

// startAgain repeats the starts of those that are named, as their clients do (N2).
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

// killedWhileItRebuilds lets a site begin, and kills it twice: while it begins, and while
// it waits for the tables that the lost site has not. The command says what is missing.
func (s *scene) killedWhileItRebuilds(name string) {
	s.Helper()
	site := s.Sites[name]
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = site.Client.Rebuild(s.ctx, api.RebuildRequest{Peer: lost, Do: true})
	}()
	site.Says("operator decided that the peer is rebuilt")
	site.Kill()
	<-ended
	site.Start()
	site.Answers()
	s.Until(s.ctx, name+" finds that tables are missing", func() bool { return s.rebuild(name).Stage == api.RebuildWaiting })
	out, talk, code := fleet.Run(s.T, "fmqm", "rebuild", lost, "--yes", "--to", site.To())
	if code != 5 || !strings.Contains(out, "B lacks the process tables of drawn-") || !strings.Contains(talk, "A has not done it yet, and goes on by itself") {
		s.Errorf("exit %d: %s%s", code, out, talk)
	}
	site.Kill()
	site.Start()
	site.Answers()
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

// L1, S4: a site loses its disk. Its peers stop that link only; the rebuilt site goes on
// with every instance that was started elsewhere; those that were started there are named,
// and go on as well once their starts are repeated.
func TestASiteThatLostItsDisk(t *testing.T) {
	t.Parallel()
	s := newScene(t, 41, 12, 5)
	s.halfway()
	site := s.Sites[lost]
	site.Stop()
	if err := os.RemoveAll(site.File("data")); err != nil {
		t.Fatal(err)
	}
	site.Start()
	site.Answers()
	s.stopped(4)
	s.killedWhileItRebuilds("A")
	s.upload()
	s.Until(s.ctx, "A goes on with what it had begun", func() bool { return s.rebuild("A").Stage == api.RebuildDone })
	for _, name := range []string{"C", "D"} {
		if plan := s.rebuild(name); plan.Stage != api.RebuildPlanned || plan.Messages == 0 {
			t.Errorf("%s plans %+v", name, plan)
		}
		if l := s.link(name, lost); l.State != "stopped" {
			t.Errorf("a plan lets the link of %s go on: %+v", name, l)
		}
	}
	s.namedAreItsOwn(s.rebuildAll())
	s.Connected(s.ctx)
	t.Logf("%d instances of other sites have ended", s.others())
	s.startAgain()
	s.rebuildByOne()
	t.Logf("%+v of %d expected", s.work.JudgeAgain(s.ctx, lost), s.work.Expected())
}

// L1, S4: a site is restored from a backup that was made while instances ran. Its peers
// send what the copy lacks, and nothing takes effect twice.
func TestASiteThatWasRestored(t *testing.T) {
	t.Parallel()
	s := newScene(t, 42, 12, 5)
	started := s.work.Start(s.ctx)
	s.work.Progress(s.ctx, s.work.Expected()/4)
	site := s.Sites[lost]
	backup := site.Backup(t.TempDir())
	s.work.Progress(s.ctx, s.work.Expected()/3)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	site.Stop()
	if err := os.RemoveAll(site.File("data")); err != nil {
		t.Fatal(err)
	}
	fleet.Must(t, "fmqmd", "restore", backup, "--data", site.File("data"))
	site.Start()
	site.Answers()
	s.stopped(4)
	s.namedAreItsOwn(s.rebuildAll())
	s.Connected(s.ctx)
	s.startAgain()
	s.rebuildAll()
	t.Logf("%+v of %d expected", s.work.JudgeAgain(s.ctx, lost), s.work.Expected())
}

// A peer that has lost nothing is not rebuilt, nor one that nobody knows.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newScene(t, 43, 1, 1)
	for _, tc := range []struct {
		peer string
		code int
		want string
	}{
		{"B", 4, "the link to B is not stopped: B has the store that is known here, or was not heard"},
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
	s.halfway()
	t.Log(s.work.Judge(s.ctx))
}
