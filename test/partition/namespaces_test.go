package partition

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"fmqm/internal/skip"
	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

var worlds atomic.Int64

// world is a namespace for each site and one for the router between them.
type world struct {
	t      *testing.T
	prefix string
}

// newWorld makes the namespaces, or skips the test with the reason.
func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		skip.Untested(t, "partitions: network namespaces need root")
	}
	w := &world{t: t, prefix: fmt.Sprintf("fmqm-%d-%d-", os.Getpid(), worlds.Add(1))}
	for _, tool := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(tool); err != nil {
			skip.Untested(t, "partitions: %v: install the packages iproute2 and nftables", err)
		}
	}
	if out, err := exec.Command("ip", "netns", "add", w.router()).CombinedOutput(); err != nil {
		skip.Untested(t, "partitions: this kernel gives no network namespaces: %v: %s", err, out)
	}
	t.Cleanup(func() { w.remove(w.router()) })
	w.run("ip", "netns", "exec", w.router(), "sysctl", "-qw", "net.ipv4.ip_forward=1")
	for i, site := range fleet.Names {
		w.add(site, i)
	}
	w.filter("add table inet cut")
	w.filter("add set inet cut pairs { type ipv4_addr . ipv4_addr ; }")
	w.filter("add chain inet cut forward { type filter hook forward priority 0 ; policy accept ; }")
	w.filter("add rule inet cut forward ip saddr . ip daddr @pairs drop")
	return w
}

func (w *world) router() string           { return w.prefix + "router" }
func (w *world) space(site string) string { return w.prefix + site }

// address of a site: of the range that RFC 2544 sets aside for tests of networks.
func (w *world) address(site string) string {
	for i, name := range fleet.Names {
		if name == site {
			return fmt.Sprintf("198.18.%d.2", i+1)
		}
	}
	w.t.Fatalf("no site %s", site)
	return ""
}

func (w *world) add(site string, i int) {
	w.t.Helper()
	space, end := w.space(site), fmt.Sprintf("to%s", site)
	w.run("ip", "netns", "add", space)
	w.t.Cleanup(func() { w.remove(space) })
	w.run("ip", "-n", w.router(), "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", space)
	gateway := fmt.Sprintf("198.18.%d.1", i+1)
	w.run("ip", "-n", w.router(), "addr", "add", gateway+"/24", "dev", end)
	w.run("ip", "-n", w.router(), "link", "set", end, "up")
	w.run("ip", "-n", space, "addr", "add", w.address(site)+"/24", "dev", "eth0")
	w.run("ip", "-n", space, "link", "set", "eth0", "up")
	w.run("ip", "-n", space, "link", "set", "lo", "up")
	w.run("ip", "-n", space, "route", "add", "default", "via", gateway)
}

// within is what a site's daemon is run by.
func (w *world) within(site string) []string { return []string{"ip", "netns", "exec", w.space(site)} }

// cut drops what one site sends to another; the other direction stays as it is.
func (w *world) cut(from, to string) { w.pair("add", from, to) }

// mend lets it through again.
func (w *world) mend(from, to string) { w.pair("delete", from, to) }

func (w *world) pair(verb, from, to string) {
	w.t.Helper()
	w.filter(fmt.Sprintf("%s element inet cut pairs { %s . %s }", verb, w.address(from), w.address(to)))
}

func (w *world) filter(rule string) {
	w.t.Helper()
	w.run("ip", "netns", "exec", w.router(), "nft", rule)
}

func (w *world) run(name string, args ...string) {
	w.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

func (w *world) remove(space string) {
	if out, err := exec.Command("ip", "netns", "delete", space).CombinedOutput(); err != nil {
		w.t.Errorf("delete network namespace %s: %v: %s", space, err, out)
	}
}
