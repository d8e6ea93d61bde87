package broker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fmqm/internal/faultnet"
	"fmqm/test/fleet"
)

// Frames repeated, reordered, and replayed from any time before, also from earlier lives
// of the daemons: each takes effect once.
func TestFramesRepeatedReorderedAndReplayed(t *testing.T) {
	t.Parallel()
	var m *meddler
	ctx, cancel := context.WithCancel(context.Background())
	wait := func() {}
	s := newScene(t, options{
		seed: 50,
		vhosts: func(s *scene) map[string]string {
			m = newMeddler(t, s.broker, 50)
			wait = m.start(ctx)
			return m.vhosts
		},
	})
	defer func() { cancel(); wait() }()
	m.setMild(false)
	for i := range 8 {
		s.some(100)
		site := s.fleet.Sites[fleet.Names[i%4]]
		if i%2 == 0 {
			site.Kill()
		} else {
			site.Stop()
		}
		site.Start()
		m.replay(s.ctx, 300)
	}
	m.setMild(true)
	s.judge(fmt.Sprintf("4 kills, 4 stops; %s", m))
	if m.replayed.Load() < 2400 || m.repeated.Load() < 100 || m.swapped.Load() < 100 {
		t.Errorf("the meddler did too little: %s", m)
	}
}

// Connections to the broker that are cut, half-open in either direction, black holes,
// slow: each takes its time, and nothing else.
func TestTheWayToTheBrokerFails(t *testing.T) {
	t.Parallel()
	s := newScene(t, options{seed: 51})
	faults := []faultnet.Faults{
		{Silent: faultnet.ToServer},
		{Silent: faultnet.ToClient},
		{Silent: faultnet.Both},
		{BlackHole: true},
		{Refuse: true},
		{Rate: 4 << 10},
		{Delay: 300 * time.Millisecond},
	}
	for i, f := range faults {
		for k := range 2 {
			p := s.proxies[fleet.Names[(i+k)%4]]
			p.Set(f)
			if f.BlackHole || f.Refuse {
				p.Cut() // so that new connections are made
			}
			s.some(60)
		}
		for _, p := range s.proxies {
			p.Set(faultnet.Faults{})
		}
		for _, p := range s.proxies {
			p.Cut()
		}
	}
	s.judge(fmt.Sprintf("%d kinds of faults, each at two sites; %d cuts", len(faults), 4*len(faults)))
}

// A broker for some peers, direct links for others, and both for some: A and B are
// reached over the broker only, C and D talk directly, and all change while instances
// run. A link that changes goes on where it was (L3).
func TestWaysChangeWhileInstancesRun(t *testing.T) {
	t.Parallel()
	way := map[string]string{"AB": "amqp", "AC": "direct", "AD": "both", "BC": "both", "BD": "direct", "CD": "amqp"}
	next := map[string]string{"amqp": "direct", "direct": "both", "both": "amqp"}
	s := newScene(t, options{
		seed: 52,
		links: func(_ *scene, f *fleet.Fleet, site string) string {
			text := "  peers:\n"
			for _, peer := range fleet.Names {
				if peer != site {
					via := way[min(site, peer)+max(site, peer)]
					if via != "amqp" {
						via += fmt.Sprintf(", address: \"http://%s\"", f.Sites[peer].Listen)
					}
					text += fmt.Sprintf("    %s: {via: %s}\n", peer, via)
				}
			}
			return text
		},
	})
	changes := 0
	for range 6 {
		s.some(60)
		for pair, now := range way {
			way[pair] = next[now]
			changes++
		}
		for _, site := range s.fleet.Sites {
			site.Configure()
			site.Reload(s.ctx)
			s.some(20)
		}
	}
	s.judge(fmt.Sprintf("%d changes of ways between two sites", changes))
}

// Somebody starts a second daemon with the name of one that runs: it is told that the
// name is taken, and what to do; the first goes on, and nothing goes to the second.
func TestASecondDaemonWithOneName(t *testing.T) {
	t.Parallel()
	s := newScene(t, options{seed: 53})
	b := s.fleet.Sites["B"]
	dir := t.TempDir()
	text, err := os.ReadFile(b.File("fmqmd.yaml"))
	s.do(err)
	config := strings.Replace(string(text), "listen: "+b.Listen, "listen: "+fleet.FreePort(t), 1)
	s.do(os.WriteFile(filepath.Join(dir, "fmqmd.yaml"), []byte(config), 0o600))
	log, err := os.Create(filepath.Join(dir, "log"))
	s.do(err)
	defer log.Close()
	second := exec.Command(filepath.Join(fleet.Bin, "fmqmd"), "run", "--config", filepath.Join(dir, "fmqmd.yaml"), "--log-format", "json")
	second.Stdout, second.Stderr = log, log
	s.do(second.Start())
	t.Cleanup(func() { _ = second.Process.Kill() })
	said := func() string {
		text, err := os.ReadFile(log.Name())
		s.do(err)
		return string(text)
	}
	s.fleet.Until(s.ctx, "the second daemon says that its name is taken", func() bool {
		return strings.Contains(said(), "a second daemon runs with this node's name")
	})
	s.some(100)
	s.do(second.Process.Signal(syscall.SIGTERM))
	if err := second.Wait(); err != nil {
		t.Errorf("the second daemon ended with %v:\n%s", err, said())
	}
	s.judge("a second daemon named B, refused")
}
