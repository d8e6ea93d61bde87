package attack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fmqm/test/fleet"
)

// world is the sites that are attacked.
type world struct {
	*fleet.Fleet
	t   *testing.T
	ctx context.Context
	pki string // the directory of the sites' authority

	guests int // see options
}

// options make a world.
type options struct {
	sites  []string                 // nil: A and B
	guests []string                 // parties that every site has in links.peers, as those that call
	amqp   func(site string) string // links.amqp of a site; nil: the sites call each other directly
	more   func(site string) string // further lines of a site's configuration; nil: none
	// programs of each site, a line of YAML each, beside `pass`, which is an echo.
	programs []string
}

// newWorld starts the sites. All have a certificate of one authority, TLS on loopback, and
// take tables that were signed by the key that fmqm-define has here.
func newWorld(t *testing.T, o options) *world {
	t.Helper()
	if o.sites == nil {
		o.sites = []string{"A", "B"}
	}
	w := &world{t: t, pki: t.TempDir(), guests: len(o.guests)}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(context.Background(), fleet.Patience)
	t.Cleanup(cancel)
	fleet.Must(t, "fmqmd", "pki", "init", "--dir", w.pki)
	for _, site := range o.sites {
		fleet.Must(t, "fmqmd", "pki", "issue", site, "--host", "127.0.0.1", "--dir", w.pki)
	}
	w.deny()
	definer := definerKey(t)
	w.Fleet = fleet.New(t, fleet.Options{
		Sites:    o.sites,
		Programs: func(string) []string { return append([]string{"pass: {builtin: echo}"}, o.programs...) },
		Links: func(f *fleet.Fleet, site string) string {
			text := fmt.Sprintf("identity: {certificate: %[1]s/node-%[2]s.crt, key: %[1]s/node-%[2]s.key, ca: %[1]s/ca.crt, deny: %[1]s/deny}\ndefiners: [%[3]q]\n", w.pki, site, definer)
			if o.more != nil {
				text += o.more(site)
			}
			return text + o.links(f, site)
		},
	})
	w.Connected(w.ctx)
	return w
}

// deny has all sites' deny list be these certificates, and their keys. They read it when
// they are told to.
func (w *world) deny(certificates ...string) {
	w.t.Helper()
	list := ""
	for _, c := range certificates {
		list += fleet.Must(w.t, "fmqmd", "pki", "deny", c)
	}
	if err := os.WriteFile(filepath.Join(w.pki, "deny"), []byte(list), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// links is that section of a site's configuration.
func (o options) links(f *fleet.Fleet, site string) string {
	text := "links:\n"
	if o.amqp != nil {
		text += "  amqp: " + o.amqp(site) + "\n"
	}
	how := fleet.OverTLS
	if o.amqp != nil {
		how = fleet.OverBroker
	}
	text += f.Peers(site, how)
	for _, guest := range o.guests {
		way := "{}"
		if o.amqp != nil {
			way = "{via: amqp}"
		}
		text += fmt.Sprintf("    %s: %s\n", guest, way)
	}
	return text
}

// definerKey is that of whoever uploads here.
func definerKey(t *testing.T) string {
	t.Helper()
	fleet.Run(t, "fmqm-define", "keygen") // refused where there is one
	return strings.TrimSpace(fleet.Must(t, "fmqm-define", "keygen", "--public"))
}

// define uploads a process through a site.
func (w *world) define(site, text string) {
	w.t.Helper()
	w.Sites[site].Upload(text)
}

// knows says whether a site shows anybody under a name: as a node, or with a link.
func (w *world) knows(site, name string) bool {
	w.t.Helper()
	nodes, err := w.Sites[site].Client.Nodes(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	links, err := w.Sites[site].Client.Links(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, n := range nodes.Nodes {
		if n.Node == name {
			return true
		}
	}
	for _, l := range links.Links {
		if l.Peer == name {
			return true
		}
	}
	return false
}

// dump is all records of a site's store that hold a text, as `fmqmd dump` shows them. It
// stops the daemon.
func (w *world) dump(site, text string) []string {
	w.t.Helper()
	s := w.Sites[site]
	s.Stop()
	out := fleet.Must(w.t, "fmqmd", "dump", "--data", s.File("data"))
	return slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return !strings.Contains(line, text) })
}
