package rebuild

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/internal/rabbittest"
	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(rabbittest.Main(m), "failpoint")) }

// lost is the site that loses its store.
const lost = "B"

// peers are the other sites.
func peers() []string { return []string{"A", "C", "D"} }

// way is how the sites reach each other.
type way string

const (
	direct way = "direct"
	broker way = "broker" // a RabbitMQ
)

// overEachWay runs a test over direct links, and over a broker.
func overEachWay(t *testing.T, test func(t *testing.T, w way)) {
	t.Helper()
	t.Parallel()
	for _, w := range []way{direct, broker} {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// options make a scene.
type options struct {
	way                        way
	seed, processes, instances int                        // so many instances of each process
	programs                   func(site string) []string // nil: those of random processes
}

// scene is four daemons, linked one way, and random work on them.
type scene struct {
	*testing.T
	*fleet.Fleet
	way   way
	work  *fleet.Work
	ctx   context.Context
	began time.Time
}

func newScene(t *testing.T, o options) *scene {
	t.Helper()
	s := &scene{T: t, way: o.way, work: fleet.NewWork(t, o.seed), began: time.Now()}
	links := fleet.DialAll
	if o.way == broker {
		links = throughBroker(t)
	}
	if o.programs == nil {
		o.programs = s.work.Programs
	}
	s.Fleet = fleet.New(t, fleet.Options{Links: links, Programs: o.programs})
	ctx, cancel := context.WithTimeout(context.Background(), 6*fleet.Patience)
	t.Cleanup(cancel)
	s.ctx = ctx
	s.Connected(ctx)
	s.work.Define(s.Fleet, o.processes, o.instances)
	return s
}

// throughBroker links all sites through a virtual host of the broker that all tests share.
func throughBroker(t *testing.T) func(*fleet.Fleet, string) string {
	t.Helper()
	b := rabbittest.Shared(t)
	url := strings.Replace(rabbittest.URL(b.Addr(), rabbittest.VHost(t, b)), "amqp://", "amqp://"+rabbittest.User+"@", 1)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte(rabbittest.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(f *fleet.Fleet, site string) string {
		return fmt.Sprintf(fleet.EverybodyOperates+"links:\n  amqp: {url: %q, password: %s}\n", url, password) +
			f.Peers(site, fleet.OverBroker)
	}
}

// start begins to start all instances, and waits until programs have made one in so many
// of the attempts that the interpreter makes. The instances that are left start meanwhile.
func (s *scene) start(oneIn int) (started <-chan error) {
	s.Helper()
	started = s.work.Start(s.ctx)
	s.work.Progress(s.ctx, s.work.Expected()/oneIn)
	return started
}

// allStarted waits until every instance is.
func (s *scene) allStarted(started <-chan error) {
	s.Helper()
	if err := <-started; err != nil {
		s.Fatal(err)
	}
}

// loseStore takes the site's store away, and gives where it is. The site is down.
func (s *scene) loseStore() (was string) {
	s.Helper()
	was = filepath.Join(s.TempDir(), "data")
	if err := os.Rename(s.Sites[lost].File("data"), was); err != nil {
		s.Fatal(err)
	}
	return was
}

// stopped waits until every peer has stopped its link to the lost site, and says why;
// and until no other link is.
func (s *scene) stopped(code int) {
	s.Helper()
	for _, name := range peers() {
		s.Until(s.ctx, fmt.Sprintf("%s stops its link to %s with %d", name, lost, code), func() bool {
			l := s.link(name, lost)
			return l.State == "stopped" && l.Stopped == code
		})
	}
	s.othersLinked()
}

// othersLinked waits until the peers are linked with each other.
func (s *scene) othersLinked() {
	s.Helper()
	for _, name := range peers() {
		for _, other := range peers() {
			if other != name {
				s.Until(s.ctx, name+" is linked with "+other, func() bool { return s.link(name, other).State == "connected" })
			}
		}
	}
}

// link is how a site sees its link to a peer.
func (s *scene) link(site, peer string) api.Link { return s.Sites[site].Link(s.ctx, peer) }

// say notes what was counted.
func (s *scene) say(counted any) {
	s.Helper()
	s.Logf("%d instances over four sites, %s, in %s: %+v", len(s.work.Plays), s.way, time.Since(s.began).Round(time.Second), counted)
}
