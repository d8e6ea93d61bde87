package broker

import (
	"cmp"
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

// The 200 instances of each scene, and the 500 of that with all faults.
const (
	processes = 50
	instances = 4 // of each
	many      = 10
)

// limit is for all of a scene: on a machine that has nothing else to do it takes two
// minutes at most.
const limit = 6 * fleet.Patience

// options change a scene.
type options struct {
	seed     int
	of       int  // how many instances of each process; 0: instances
	own      bool // a broker of its own: it is killed, wiped or starved
	tls      *rabbittest.TLS
	held     bool                                               // the test starts the instances itself
	vhosts   func(s *scene) map[string]string                   // nil: one for all sites
	identity func(site string) string                           // lines of a site's configuration; nil: none
	amqp     func(s *scene, site string) string                 // links.amqp of a site; nil: its user, and a password
	links    func(s *scene, f *fleet.Fleet, site string) string // its peers; nil: all, over the broker
	programs []string                                           // of every site, besides those of the work
}

// newScene starts everything, and begins to start the instances.
func newScene(t *testing.T, o options) *scene {
	t.Helper()
	rabbittest.Need(t)
	s := &scene{t: t, proxies: map[string]*faultnet.Proxy{}, work: fleet.NewWork(t, o.seed)}
	s.work.Nested = true
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	s.ownOrShared(o)
	s.proxy(o)
	s.fleet = fleet.New(t, fleet.Options{
		Links: s.links(o),
		Programs: func(site string) []string {
			return append(s.work.Programs(site), o.programs...)
		},
	})
	for _, site := range s.fleet.Sites {
		site.Answers()
	}
	s.work.Define(s.fleet, processes, cmp.Or(o.of, instances))
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

// ownOrShared has a broker, and a virtual host for each site.
func (s *scene) ownOrShared(o options) {
	s.t.Helper()
	if o.own {
		s.broker = rabbittest.Start(s.t, rabbittest.Options{TLS: o.tls})
	} else {
		s.broker = rabbittest.Shared(s.t)
	}
	if o.vhosts != nil {
		s.vhosts = o.vhosts(s)
		return
	}
	vhost := rabbittest.VHost(s.t, s.broker)
	s.vhosts = map[string]string{"A": vhost, "B": vhost, "C": vhost, "D": vhost}
}

// proxy puts a proxy between each site and the broker.
func (s *scene) proxy(o options) {
	s.t.Helper()
	target := s.broker.Addr()
	if o.tls != nil {
		target = s.broker.TLSAddr()
	}
	for _, site := range fleet.Names {
		s.proxies[site] = fleet.Wire(s.t, target)
	}
}

// links gives what the sites' configurations say of who they are and how they talk.
func (s *scene) links(o options) func(f *fleet.Fleet, site string) string {
	s.t.Helper()
	if o.amqp == nil {
		password := s.password()
		o.amqp = func(s *scene, site string) string {
			return fmt.Sprintf("{url: %q, password: %s}", s.url(site), password)
		}
	}
	return func(f *fleet.Fleet, site string) string {
		text := ""
		if o.identity != nil {
			text = o.identity(site)
		}
		text += "links:\n  amqp: " + o.amqp(s, site) + "\n"
		if o.links == nil {
			return text + f.Peers(site, fleet.OverBroker)
		}
		return text + o.links(s, f, site)
	}
}

// password is a file with that of the broker's user.
func (s *scene) password() string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "password")
	s.do(os.WriteFile(file, []byte(rabbittest.Password+"\n"), 0o600))
	return file
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
