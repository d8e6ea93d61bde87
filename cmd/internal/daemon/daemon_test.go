package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/node/config"
	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var sites = []string{"A", "B", "C", "D"}

// network is four daemons that know one another, on loopback.
type network struct {
	t       *testing.T
	dir     string
	listens map[string]string // HOST:PORT
	broker  string            // what stands in the configurations about one
	daemons map[string]*daemon.Daemon
}

func newNetwork(t *testing.T) *network {
	n := &network{t: t, dir: t.TempDir(), listens: map[string]string{}, daemons: map[string]*daemon.Daemon{}}
	for _, s := range sites {
		n.listens[s] = fleet.FreePort(t)
	}
	return n
}

func (n *network) start(site string) {
	n.t.Helper()
	n.daemons[site] = daemontest.Start(n.t, n.config(site, sites...), daemontest.Log(n.t))
}

// config writes and reads a site's configuration, with a link to each peer.
func (n *network) config(site string, peers ...string) *config.Config {
	n.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "node: %s\ndata: store-%s\nlisten: %s\ninsecure: true\nsocket: %s.sock\nlinks:\n%s  peers:\n", site, site, n.listens[site], site, n.broker)
	for _, peer := range peers {
		if peer != site {
			fmt.Fprintf(&b, "    %s: http://%s\n", peer, n.listens[peer])
		}
	}
	b.WriteString("programs:\n")
	for _, p := range []string{"receive-order", "check-credit", "check-stock", "ship", "reject"} {
		fmt.Fprintf(&b, "  %s: {builtin: echo}\n", p)
	}
	b.WriteString("  refuse: {builtin: fail}\n")
	return daemontest.Config(n.t, n.dir, site, b.String())
}

// The order goes over four sites although one of them comes up only after the upload
// and the start: its table and its messages wait.
func TestOrderOverFourSitesOneOfThemLate(t *testing.T) {
	text, err := os.ReadFile("../../../definition/testdata/purchase-order.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t)
	for _, s := range []string{"A", "C", "D"} {
		n.start(s)
	}
	a := n.daemons["A"].Node
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	r := apitest.Upload(t, string(text))
	answer, err := a.Upload(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range answer.Nodes {
		if line.Node == "B" && line.Result != api.ResultQueued {
			t.Errorf("upload: %+v: B is down, its table waits", line)
		}
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := a.Start(ctx, api.StartRequest{
		Instance: id, Process: "purchase-order", Input: json.RawMessage(`{"customer":"carol","item":"anchor","quantity":3,"amount":4800}`),
	}); err != nil {
		t.Fatal(err)
	}
	n.start("B")
	s, err := a.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if s.State != api.InstanceFinished {
		t.Fatalf("%s: %s %+v", s.State, s.Reason, s.Activities)
	}
	want := map[string]api.ActivityState{"receive": "terminated", "credit": "terminated", "stock": "terminated", "ship": "skipped", "reject": "terminated"}
	for _, activity := range s.Activities {
		if activity.State != want[activity.Activity] {
			t.Errorf("%s is %s", activity.Activity, activity.State)
		}
	}
}
