package sites

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"fmqm/internal/faultnet"
	"fmqm/test/fleet"
)

// network is four daemons, and wires between them.
type network struct {
	*fleet.Fleet
	sites map[string]*site
	wires map[[2]string]*faultnet.Proxy // from one that dials to one that listens
	setup setup
}

// setup is what four daemons are to be like.
type setup struct {
	programs map[string][]string // of each site, a line of YAML each
	small    string              // the site whose data is on a small disk of its own, if one can be mounted; empty: none
	staff    map[string]string   // of each site, a file; without one nobody works there
}

// site is one daemon.
type site struct {
	*fleet.Site
	t    *testing.T
	disk *disk // nil: that of the test's directory
}

// newNetwork starts four daemons with the given programs (a line of YAML for each).
func newNetwork(t *testing.T, programs map[string][]string) *network {
	t.Helper()
	return newNetworkOf(t, setup{programs: programs})
}

func newNetworkOf(t *testing.T, o setup) *network {
	t.Helper()
	n := &network{sites: map[string]*site{}, wires: map[[2]string]*faultnet.Proxy{}, setup: o}
	n.Fleet = fleet.New(t, fleet.Options{
		Prepare: func(s *fleet.Site) {
			n.sites[s.Name] = &site{Site: s, t: t}
			if s.Name == o.small {
				n.sites[s.Name].disk = mountDisk(t, s.File("data"))
			}
		},
		Links:    n.links,
		Programs: func(site string) []string { return o.programs[site] },
	})
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	defer cancel()
	n.Connected(ctx)
	return n
}

// links is what a site's configuration says of its peers, each at the end of a wire of
// its own, of its people, and of its disk.
func (n *network) links(f *fleet.Fleet, site string) string {
	text := fleet.EverybodyOperates + "links:\n" + f.Peers(site, func(peer *fleet.Site) string {
		w := fleet.Wire(f.T, peer.Listen)
		n.wires[[2]string{site, peer.Name}] = w
		return "http://" + w.Addr()
	})
	if file := n.setup.staff[site]; file != "" {
		text += fmt.Sprintf("staff: {file: %s}\n", file)
	}
	if n.sites[site].disk.mounted() {
		text += diskLimits
	}
	return text
}

// timeless is a status as JSON without the instance and times, indented: to compare
// line by line what a network and the interpreter print.
func timeless(t *testing.T, status string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(status), &object); err != nil {
		t.Fatalf("%v:\n%s", err, status)
	}
	delete(object, "instance")
	delete(object, "started_by") // the interpreter knows nobody
	activities, _ := object["activities"].([]any)
	for _, part := range append(activities, object) {
		if part, ok := part.(map[string]any); ok {
			delete(part, "started")
			delete(part, "ended")
		}
	}
	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
