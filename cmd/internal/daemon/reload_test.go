package daemon_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/identity"
	"fmqm/node/config"
	"fmqm/processtable"
)

// A configuration that is read again makes and ends only those links that it adds and
// removes, and dials anew where a peer has moved; the others do not even lose their
// connection.
func TestReloadLeavesUnchangedLinksAlone(t *testing.T) {
	n := newNetwork(t)
	n.start("A")
	a := n.daemons["A"]
	b, c, d := a.Node.Link("B"), a.Node.Link("C"), a.Node.Link("D")

	after := n.config("A", "B", "C") // D is gone, C has moved, E will call
	after.Peers["C"] = config.Peer{Address: "http://127.0.0.1:1"}
	after.Peers["E"] = config.Peer{}
	if err := a.Reload(after); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		peer      processtable.NodeID
		unchanged bool
		there     bool
	}{{"B", true, true}, {"C", true, true}, {"D", false, false}, {"E", false, true}} {
		now := a.Node.Link(tc.peer)
		before := map[processtable.NodeID]any{"B": b, "C": c, "D": d}[tc.peer]
		if (now != nil) != tc.there || now != nil && (any(now) == before) != tc.unchanged {
			t.Errorf("link to %s: there %t, the same %t", tc.peer, now != nil, any(now) == before)
		}
	}
	until(t, "C has moved, and is dialed there", func() bool { // the link takes it up by itself
		moved := c.Status().Transports
		return len(moved) == 1 && moved[0].Address == "http://127.0.0.1:1"
	})
	e := a.Node.Link("E")
	if err := a.Reload(after); err != nil {
		t.Fatal(err)
	}
	if a.Node.Link("E") != e || a.Node.Link("B") != b {
		t.Error("a reload that changes nothing has renewed a link")
	}
}

// What needs a restart stays as it is in all that is derived from it. The daemon speaks
// TLS on, so a file without an identity does not let anybody define, nor every operator ask.
func TestAnIdentityThatIsTakenOutOfTheFileOpensNothing(t *testing.T) {
	s := newSecured(t, "A")
	d, log := s.start(s.config("A", "operators: [ann]\n"))
	ben := s.load(identity.Name{Role: identity.RoleOperator, Name: "ben"})
	closed := func(when string) {
		t.Helper()
		unsigned := apitest.Upload(t, strings.ReplaceAll(overTwo, "node: B", "node: A"))
		if a, err := d.Node.Upload(t.Context(), unsigned); err != nil || len(a.Nodes) != 1 || a.Nodes[0].Result != api.ResultRefused {
			t.Errorf("%s, an unsigned table: %+v, %v", when, a, err)
		}
		if status, body := request(t, http.MethodGet, s.address("A")+"/v1/nodes", certificate(t, ben), nil); status != http.StatusForbidden {
			t.Errorf("%s, an operator who is not named: %d %s", when, status, body)
		}
	}
	closed("at the start")
	none, err := s.read("A", "") // with insecure: true
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Reload(none); err != nil {
			t.Fatal(err)
		}
		closed("without the identity in the file")
	}
	log.await(t, "this change needs a restart", `"key":"identity"`)
}

// A key that needs a restart is named at each reload with what the daemon has, not with
// what the file had at the reload before; and not any more once the file says that again.
func TestAChangeThatNeedsARestartIsNamedAtEachReload(t *testing.T) {
	s := newSecured(t, "A")
	before, err := s.read("A", "")
	if err != nil {
		t.Fatal(err)
	}
	d, log := s.start(before)
	after := *before
	after.Data, after.Limits.Free = filepath.Join(s.dir, "elsewhere"), before.Limits.Free+1
	after.Node, after.Peers = "B", map[processtable.NodeID]config.Peer{"A": {}} // B has A for a peer
	for n := 1; n <= 3; n++ {
		c, want := &after, n
		if n == 3 {
			c, want = before, n-1
		}
		if err := d.Reload(c); err != nil {
			t.Fatal(err)
		}
		for _, texts := range [][]string{
			{`"key":"data","now":"` + before.Data + `","file":"` + after.Data + `"`},
			{`"key":"node","now":"A","file":"B"`},
			{`"key":"limits.free, stop or reserve"`},
		} {
			if got, _ := log.count(append(texts, "this change needs a restart")); got != want {
				t.Errorf("reload %d: %q was logged %d times, want %d", n, texts, got, want)
			}
		}
		if d.Node.Link("A") != nil {
			t.Errorf("reload %d: the node has a link to itself", n)
		}
	}
}

// A reload that is refused changes nothing, also where the error is not in the
// certificates; the next one takes them up.
func TestAReloadThatIsRefusedLeavesTheIdentityAlone(t *testing.T) {
	s := newSecured(t, "A")
	c := s.config("A", "")
	d, _ := s.start(c)
	before := served(t, d)
	ann := s.load(identity.Name{Role: identity.RoleOperator, Name: "ann"})
	s.issue(identity.Name{Role: identity.RoleNode, Name: "A"})
	shown, err := identity.Show(filepath.Join(s.dir, "operator-ann.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "deny"), []byte(shown[0].Fingerprint+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "password"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	denying := *c.Identity
	denying.Deny = filepath.Join(s.dir, "deny")
	good, bad := *c, *c
	good.Identity, bad.Identity = &denying, &denying
	bad.AMQP = &config.AMQP{URL: "amqps://127.0.0.1:1", User: "a", Password: filepath.Join(s.dir, "password"), CA: filepath.Join(s.dir, "none.crt")}
	ask := func() int {
		status, _ := request(t, http.MethodGet, s.address("A")+"/v1/nodes", certificate(t, ann), nil)
		return status
	}
	if err := d.Reload(&bad); err == nil || !strings.Contains(err.Error(), "none.crt") {
		t.Fatalf("a broker whose authorities are not there: %v", err)
	}
	if !bytes.Equal(before, served(t, d)) {
		t.Error("the renewed certificate is shown after a reload that was refused")
	}
	if status := ask(); status != http.StatusOK {
		t.Errorf("the deny list is in force after a reload that was refused: %d", status)
	}
	if err := d.Reload(&good); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(before, served(t, d)) {
		t.Error("the renewed certificate is not shown")
	}
	if status := ask(); status != http.StatusForbidden {
		t.Errorf("the deny list is not in force: %d", status)
	}
}
