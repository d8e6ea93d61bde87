package broker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fmqm/internal/faultnet"
	"fmqm/internal/rabbittest"
	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int { return fleet.Main(rabbittest.Main(m)) }

// scene is four daemons, the broker between them, and a proxy of each daemon before it.
type scene struct {
	t       *testing.T
	ctx     context.Context
	broker  *rabbittest.Broker
	vhosts  map[string]string // of each site
	proxies map[string]*faultnet.Proxy
	work    *fleet.Work
	fleet   *fleet.Fleet
	started <-chan error
}

// options change a scene.
type options struct {
	seed       int
	own        bool // a broker of its own: it is killed, wiped or starved
	processes  int
	instances  int // of each process
	limit      time.Duration
	links      func(s *scene, f *fleet.Fleet, site string) string // nil: all over the broker
	held       bool                                               // the test starts the instances itself
	configured []string                                           // lines of the broker's configuration
	vhosts     func(s *scene) map[string]string                   // nil: one for all sites
}

// newScene starts everything, and begins to start the instances.
func newScene(t *testing.T, o options) *scene {
	t.Helper()
	rabbittest.Need(t)
	s := &scene{t: t, proxies: map[string]*faultnet.Proxy{}, work: fleet.NewWork(t, o.seed)}
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithTimeout(context.Background(), max(o.limit, 3*fleet.Patience))
	t.Cleanup(cancel)
	if o.own {
		s.broker = rabbittest.Start(t, rabbittest.Options{Dir: t.TempDir(), Config: o.configured})
	} else {
		s.broker = rabbittest.Shared(t)
	}
	if o.vhosts != nil {
		s.vhosts = o.vhosts(s)
	} else {
		vhost := rabbittest.VHost(t, s.broker)
		s.vhosts = map[string]string{"A": vhost, "B": vhost, "C": vhost, "D": vhost}
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte(rabbittest.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, site := range fleet.Names {
		p, err := faultnet.Listen(s.broker.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		s.proxies[site] = p
	}
	s.fleet = fleet.New(t, fleet.Options{
		Links: func(f *fleet.Fleet, site string) string {
			text := fmt.Sprintf("links:\n  amqp: {url: %q, password: %s}\n", s.url(site), password)
			if o.links != nil {
				text += o.links(s, f, site)
			}
			return text
		},
		Programs: s.work.Programs,
	})
	for _, site := range s.fleet.Sites {
		site.Answers()
	}
	s.work.Define(s.fleet, o.processes, o.instances)
	s.fleet.Connected(s.ctx)
	if o.held {
		started := make(chan error, 1)
		started <- nil
		s.started = started
	} else {
		s.started = s.work.Start(s.ctx)
	}
	return s
}

// url is how a site reaches the broker: through its proxy.
func (s *scene) url(site string) string {
	return strings.Replace(rabbittest.URL(s.proxies[site].Addr(), s.vhosts[site]), "amqp://", "amqp://"+rabbittest.User+"@", 1)
}

// some waits until programs have made so many attempts more, at most for a while: what
// is broken just now may keep all of them waiting.
func (s *scene) some(attempts int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
	defer cancel()
	s.work.Progress(ctx, attempts)
}

// judge waits for the end of everything, and says what was counted.
func (s *scene) judge(what string) {
	s.t.Helper()
	if err := <-s.started; err != nil {
		s.t.Fatal(err)
	}
	s.fleet.Connected(s.ctx)
	s.t.Logf("%s; %s", what, s.work.Judge(s.ctx))
}

// do is for what has to succeed.
func (s *scene) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
