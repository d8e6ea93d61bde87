package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/internal/faultnet"
)

// Patience is how long anything may take on a busy machine.
const Patience = 5 * time.Minute

// Names are the sites of a fleet, unless its options say otherwise.
var Names = []string{"A", "B", "C", "D"}

// Options make a fleet.
type Options struct {
	// Sites are the names of its sites; nil: Names. Work needs all of Names.
	Sites []string
	// Listen gives a site's address; nil: a free port on loopback.
	Listen func(site string) string
	// Links gives what a site's configuration says below its first lines, such as `links:`,
	// once every site has its address; nil: nothing.
	Links func(f *Fleet, site string) string
	// Programs gives the programs of a site, a line of YAML each; nil: none.
	Programs func(site string) []string
	// Prepare is called for each site, in the order of Names, before one is configured; nil:
	// nothing is prepared.
	Prepare func(s *Site)
	// Within gives what a site's daemon is run by (ip netns exec NAME); nil: nothing.
	Within func(site string) []string
	// Env is added to the environment of every daemon.
	Env []string
	// Down has New start no daemon.
	Down bool
}

// Fleet is daemons, each with its directory. All are killed when the test ends.
type Fleet struct {
	T     *testing.T
	Sites map[string]*Site
	o     Options
}

// New writes the configurations, and starts the daemons unless Options.Down is set. They may
// not listen yet when it returns.
func New(t *testing.T, o Options) *Fleet {
	t.Helper()
	if o.Sites == nil {
		o.Sites = Names
	}
	f := &Fleet{T: t, Sites: map[string]*Site{}, o: o}
	for _, name := range o.Sites {
		s := &Site{t: t, fleet: f, Name: name, Dir: filepath.Join(t.TempDir(), name)}
		if o.Listen == nil {
			s.Listen = FreePort(t)
		} else {
			s.Listen = o.Listen(name)
		}
		f.Sites[name] = s
	}
	if o.Prepare != nil {
		for _, name := range o.Sites {
			o.Prepare(f.Sites[name])
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			f.tell()
		}
		for _, s := range f.Sites {
			s.Kill()
		}
	})
	for _, name := range o.Sites {
		s := f.Sites[name]
		s.connect()
		s.Configure()
		if !o.Down {
			s.Start()
		}
	}
	return f
}

// tell shows the last of each daemon's log. With FMQM_KEEP=DIR the whole of it goes
// there, with what every goroutine was doing.
func (f *Fleet) tell() {
	for _, s := range f.Sites {
		f.T.Logf("%s: the last of its log:\n%s", s.Name, s.LastLog(15))
		if keep := os.Getenv("FMQM_KEEP"); keep != "" {
			_ = s.end(syscall.SIGQUIT)
			if err := os.WriteFile(filepath.Join(keep, s.Name+".log"), []byte(s.Log()), 0o600); err != nil {
				f.T.Log(err)
			}
		}
	}
}

// FreePort gives an address that is this test's alone until it ends; see [faultnet.Port].
func FreePort(t *testing.T) string {
	t.Helper()
	port, hold, err := faultnet.Port()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hold.Close() })
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// Connected waits until every site is up and linked with all others.
func (f *Fleet) Connected(ctx context.Context) {
	f.T.Helper()
	seen := ""
	err := Until(ctx, func() (bool, error) {
		seen = f.unlinked(ctx)
		return seen == "", nil
	})
	if err != nil {
		f.T.Fatalf("all sites linked: %v: %s", err, seen)
	}
}

// unlinked says who is not linked with whom.
func (f *Fleet) unlinked(ctx context.Context) string {
	var all []string
	for _, s := range f.Sites {
		a, err := s.Client.Nodes(ctx)
		if err != nil {
			all = append(all, s.Name+": "+err.Error())
			continue
		}
		heard := map[string]bool{}
		for _, node := range a.Nodes {
			heard[node.Node] = node.State == api.NodeSelf || node.State == "connected"
		}
		for _, peer := range f.o.Sites {
			if !heard[peer] {
				all = append(all, s.Name+" is not linked with "+peer)
			}
		}
	}
	return strings.Join(all, "; ")
}

// Until waits for a condition; what says which, when it does not come true in time.
func (f *Fleet) Until(ctx context.Context, what string, holds func() bool) {
	f.T.Helper()
	if err := Until(ctx, func() (bool, error) { return holds(), nil }); err != nil {
		f.T.Fatalf("%s: %v", what, err)
	}
}

// Waiting counts the messages that sites hold for others; -1: one did not answer.
func (f *Fleet) Waiting(ctx context.Context) int {
	count := 0
	for _, site := range f.Sites {
		a, err := site.Client.Nodes(ctx)
		if err != nil {
			return -1
		}
		for _, node := range a.Nodes {
			count += int(node.Waiting)
		}
	}
	return count
}

// Run runs a command, one of Bin's unless its path is given, and gives its standard output,
// what it says beside that, and its exit code.
func Run(t *testing.T, name string, args ...string) (out, talk string, code int) {
	t.Helper()
	return Feed(t, "", name, args...)
}

// Feed is Run, of a command that reads its standard input.
func Feed(t *testing.T, stdin, name string, args ...string) (out, talk string, code int) {
	t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(Bin, name)
	}
	c := exec.Command(name, args...)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return stdout.String(), strings.TrimSpace(stderr.String()), c.ProcessState.ExitCode()
}

// Must is Run, of a command that must end with 0.
func Must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, talk, code := Run(t, name, args...)
	if code != 0 {
		t.Fatalf("%s %v ended with %d:\n%s%s", name, args, code, out, talk)
	}
	return out
}
