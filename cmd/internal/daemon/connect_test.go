package daemon_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fmqm/cmd/internal/daemon"
	"fmqm/identity"
	"fmqm/internal/rabbittest"
)

// patient is more than any check needs that gets an answer.
const patient = 60 * time.Second

// findings gives what Connect found, a line each: link, check, result and text.
func findings(t *testing.T, s *secured, site, text string, limit time.Duration) string {
	t.Helper()
	found, err := daemon.Connect(t.Context(), s.config(site, text), limit)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s %s: %s\n", f.Link, f.Check, f.Result, f.Text)
	}
	return b.String()
}

func wantLines(t *testing.T, got string, want ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d findings, want %d:\n%s", len(lines), len(want), got)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("finding %d:\n%s\nwant %s", i, lines[i], w)
		}
	}
}

// Each direct link is called as the daemon would, and what is wrong is said in plain
// words; the daemons that are called are not disturbed.
func TestConnectDirect(t *testing.T) {
	s := newSecured(t, "A", "B", "C", "X")
	_, log := s.start(s.config("B", s.peers("B", "A")))
	s.start(s.config("C", s.peers("C", "A")))
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	got := findings(t, s, "A", fmt.Sprintf(`links:
  peers:
    B: %s
    D: %s
    E: {}
    X: %s
    Y: https://no-such-site.invalid:7411
`, s.address("B"), s.address("C"), s.address("X")), patient)
	year := fmt.Sprint(time.Now().AddDate(0, 0, identity.NodeDays).UTC().Year())
	wantLines(t, got,
		"B connection ok: site B answers at "+s.address("B")+"; its certificate is good until "+year,
		"D connection failed: dial "+strings.TrimPrefix(s.address("C"), "https://")+": ",
		"E connection later: no address is configured: site E will call",
		"X connection failed: dial "+strings.TrimPrefix(s.address("X"), "https://")+": nothing listens there: start the daemon",
		"Y connection failed: dial no-such-site.invalid:7411: ",
	)
	if !strings.Contains(got, "the certificate names site C and not") {
		t.Errorf("it does not say whose certificate D showed:\n%s", got)
	}

	stranger := newSecured(t, "A")
	got = findings(t, stranger, "A", fmt.Sprintf("links: {peers: {B: %s}}\n", s.address("B")), patient)
	wantLines(t, got, "B connection failed: dial ")
	if !strings.Contains(got, "was signed by another authority") {
		t.Errorf("it does not say which certificate is wrong: %s", got)
	}
	got = findings(t, s, "A", fmt.Sprintf("links: {peers: {B: 'https://%s'}}\n", mute.Addr()), 2*time.Second)
	wantLines(t, got, "B connection failed: https://"+mute.Addr().String()+": no answer within 2s: it is frozen or overloaded")
	if n, _ := log.count([]string{`"state":"connected"`}); n > 0 {
		t.Error("a link came about by the check")
	}
}

// permissions are the lines of the page that give a user what he needs.
var permissions = regexp.MustCompile(`(?m)^    rabbitmqctl set_permissions -p (\S+) (site-\S+) '([^']*)' '([^']*)' '([^']*)'$`)

// What docs/links.md tells the broker's administrator to do is enough: two daemons talk
// through a broker that was set up so. And what is missing is said in plain words.
func TestConnectBroker(t *testing.T) {
	rabbit := rabbittest.Start(t, rabbittest.Options{})
	page, err := os.ReadFile("../../../docs/links.md")
	if err != nil {
		t.Fatal(err)
	}
	grants := permissions.FindAllStringSubmatch(string(page), -1)
	if len(grants) != 2 {
		t.Fatalf("docs/links.md has %d lines that set permissions, want one for A and one for B", len(grants))
	}
	s := newSecured(t, "A", "B")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	password := filepath.Join(s.dir, "password")
	must(os.WriteFile(password, []byte("secret\n"), 0o600))
	over := func(user, vhost, more string) string {
		return fmt.Sprintf("links:\n  amqp: {url: 'amqp://%s@%s/%s', password: %s}\n%s", user, rabbit.Addr(), vhost, password, more)
	}
	vhost := grants[0][1]
	must(rabbit.AddVHost(vhost))
	for _, g := range grants {
		must(rabbit.AddUser(g[2], "secret"))
		must(rabbit.Permit(g[2], g[1], g[3], g[4], g[5]))
	}
	must(rabbit.AddUser("weak", "secret"))
	must(rabbit.Permit("weak", vhost, "", "", ""))

	userA, userB := grants[0][2], grants[1][2]
	peers := "  peers: {B: {via: amqp}}\n"
	wantLines(t, findings(t, s, "A", over(userA, vhost, peers), patient),
		"broker password ok: there is one for user "+userA,
		"broker name ok: 127.0.0.1 is",
		"broker connection ok: logged in at "+rabbit.Addr()+" as user "+userA+": RabbitMQ ",
		"broker queue ok: fmqm.A is there (quorum)",
		"broker receive ok: this user may receive from fmqm.A",
		"broker send ok: this user may send, and the broker confirms",
		"broker peer B later: site B has no queue (fmqm.B) at the broker yet",
	)
	for name, tc := range map[string]struct{ user, vhost, want string }{
		"no permission":   {"weak", vhost, "broker send failed: user weak lacks a permission (access to exchange 'amq.default'"},
		"virtual host":    {userA, "none", `broker connection failed: the broker has no virtual host "none": as its administrator run ` + "`rabbitmqctl add_vhost none`"},
		"user":            {"nobody", vhost, "broker connection failed: the broker refuses the login of user nobody: "},
		"another's queue": {userB, vhost, "broker receive failed: user " + userB + " lacks a permission (access to queue 'fmqm.A'"},
	} {
		t.Run(name, func(t *testing.T) {
			got := findings(t, s, "A", over(tc.user, tc.vhost, ""), patient)
			if !strings.Contains("\n"+got, "\n"+tc.want) {
				t.Errorf("got\n%s\nwant %s", got, tc.want)
			}
		})
	}

	configA := s.config("A", over(userA, vhost, peers)+"definers: []\n")
	a, logA := s.start(configA)
	_, _ = s.start(s.config("B", over(userB, vhost, "  peers: {A: {via: amqp}}\n")+"definers: []\n"))
	logA.await(t, `"peer":"B"`, `"state":"connected"`)
	nodes, err := a.Node.Nodes(t.Context())
	must(err)
	if b := nodes.Nodes[0].Broker; b == nil || b.State != "connected" || b.Queue != "fmqm.A" || b.Kind != "quorum" || !strings.HasPrefix(b.Server, "RabbitMQ ") {
		t.Errorf("the broker of A: %+v", b)
	}
	links, err := a.Node.Links(t.Context())
	must(err)
	if links.Broker == nil || links.Broker.Confirmed == 0 || len(links.Links) != 1 || links.Links[0].Transports[0].Route != "amqp" || links.Links[0].State != "connected" {
		t.Errorf("links of A: %+v", links)
	}
	got := findings(t, s, "A", over(userA, vhost, peers), patient)
	if !strings.Contains(got, "broker receive ok: a daemon receives from fmqm.A now: it is this node's, or another daemon has its name") ||
		!strings.Contains(got, "broker peer B ok: fmqm.B is there") {
		t.Errorf("beside a daemon that runs:\n%s", got)
	}
}
