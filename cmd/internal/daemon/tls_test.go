package daemon_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/identity"
	"fmqm/link/frame"
	"fmqm/link/https"
	"fmqm/node/config"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/test/fleet"
)

// journal is a daemon's log; a test waits for lines in it.
type journal struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed with the next line
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, string(line))
	close(j.more)
	j.more = make(chan struct{})
	return len(line), nil
}

// count gives how many lines have all of the texts, and what tells of the next line.
func (j *journal) count(texts []string) (int, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, line := range j.lines {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			n++
		}
	}
	return n, j.more
}

// await waits for a line that has all of the texts.
func (j *journal) await(t *testing.T, texts ...string) {
	t.Helper()
	limit := time.After(5 * time.Minute)
	for {
		n, more := j.count(texts)
		if n > 0 {
			return
		}
		select {
		case <-more:
		case <-limit:
			j.mu.Lock()
			defer j.mu.Unlock()
			t.Fatalf("not in the log: %q\n%s", texts, strings.Join(j.lines, ""))
		}
	}
}

// secured are sites with an authority.
type secured struct {
	t       *testing.T
	dir     string
	listens map[string]string // HOST:PORT
}

func newSecured(t *testing.T, nodes ...string) *secured {
	t.Helper()
	s := &secured{t: t, dir: t.TempDir(), listens: map[string]string{}}
	if _, err := identity.Init(identity.InitOptions{Dir: s.dir, Name: "sites", Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		s.issue(identity.Name{Role: identity.RoleNode, Name: n})
		s.listens[n] = fleet.FreePort(t)
	}
	return s
}

// hosts are the addresses at which operators call a site here.
func hosts(name identity.Name) []string {
	if name.Role == identity.RoleNode {
		return []string{"127.0.0.1", "localhost"}
	}
	return nil
}

func (s *secured) issue(name identity.Name) identity.Files {
	s.t.Helper()
	out, err := identity.Issue(identity.IssueOptions{Dir: s.dir, Name: name, Hosts: hosts(name), Now: time.Now(), Force: true})
	if err != nil {
		s.t.Fatal(err)
	}
	return identity.Files{Certificate: out.Certificate, Key: out.Key, CA: out.CA}
}

func (s *secured) load(name identity.Name) *identity.Identity {
	s.t.Helper()
	i, err := identity.Load(identity.Options{Files: s.issue(name)})
	if err != nil {
		s.t.Fatal(err)
	}
	return i
}

// config gives a site with an identity; the rest of the file is text.
func (s *secured) config(site, text string) *config.Config {
	s.t.Helper()
	c, err := s.read(site, fmt.Sprintf("identity: {certificate: node-%s.crt, key: node-%s.key, ca: ca.crt}\n", site, site)+text)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *secured) read(site, text string) (*config.Config, error) {
	file := filepath.Join(s.dir, site+".yaml")
	if !strings.Contains(text, "identity:") {
		text += "insecure: true\n"
	}
	text = fmt.Sprintf("node: %s\ndata: store-%s\nlisten: %s\nsocket: %s.sock\nprograms: {ship: {builtin: echo}}\n", site, site, s.listens[site], site) + text
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return daemontest.Read(file)
}

func (s *secured) start(c *config.Config) (*daemon.Daemon, *journal) {
	s.t.Helper()
	j := &journal{more: make(chan struct{})}
	return daemontest.Start(s.t, c, zerolog.New(j)), j
}

func (s *secured) address(site string) string {
	return "https://" + s.listens[site]
}

func (s *secured) peers(of string, peers ...string) string {
	var b strings.Builder
	b.WriteString("definers: [\"ed25519:" + base64.StdEncoding.EncodeToString(definer(1).Public().(ed25519.PublicKey)) + "\"]\nlinks:\n  peers:\n")
	for _, p := range peers {
		if p != of {
			fmt.Fprintf(&b, "    %s: %s\n", p, s.address(p))
		}
	}
	return b.String()
}

// Two sites over https: one instance goes from one to the other; certificates are
// renewed, and the sites go on.
func TestTwoSitesOverTLS(t *testing.T) {
	s := newSecured(t, "A", "B")
	confA, confB := s.config("A", s.peers("A", "B")), s.config("B", s.peers("B", "A"))
	a, logA := s.start(confA)
	b, logB := s.start(confB)
	logA.await(t, `"peer":"B"`, `"state":"connected"`)
	logB.await(t, `"peer":"A"`, `"state":"connected"`)
	s.order(a)

	// Renewed with another key, and B renews its links too.
	s.issue(identity.Name{Role: identity.RoleNode, Name: "A"})
	s.issue(identity.Name{Role: identity.RoleNode, Name: "B"})
	before := served(t, a)
	for d, c := range map[*daemon.Daemon]*config.Config{a: confA, b: confB} {
		if err := d.Reload(c); err != nil {
			t.Fatal(err)
		}
	}
	if bytes.Equal(before, served(t, a)) {
		t.Error("the old certificate is still shown")
	}
	s.order(a)

	// A file that does not fit changes nothing.
	if err := os.WriteFile(filepath.Join(s.dir, "node-A.key"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	before = served(t, a)
	if err := a.Reload(confA); err == nil || !strings.Contains(err.Error(), "node-A.key has no private key") {
		t.Errorf("a damaged key: %v", err)
	}
	if !bytes.Equal(before, served(t, a)) {
		t.Error("another certificate is shown")
	}
	s.order(a)
}

// served gives the certificate that a daemon shows.
func served(t *testing.T, d *daemon.Daemon) []byte {
	t.Helper()
	c, err := tls.Dial("tcp", d.Address(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Raw
}

// order runs one instance over both sites.
func (s *secured) order(a *daemon.Daemon) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	r := apitest.Upload(s.t, overTwo)
	for i := range r.Tables {
		signed, err := processtable.Sign(r.Tables[i].Table, definer(1))
		if err != nil {
			s.t.Fatal(err)
		}
		r.Tables[i].Table = signed
	}
	if _, err := a.Node.Upload(ctx, r); err != nil {
		s.t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := a.Node.Start(ctx, api.StartRequest{Instance: id, Process: "over-two"}); err != nil {
		s.t.Fatal(err)
	}
	if st, err := a.Node.Wait(ctx, id); err != nil || st.State != api.InstanceFinished {
		s.t.Fatalf("%+v, %v", st, err)
	}
}

// Who may not have a link, with what is logged, and logged once however often they try.
func TestLinksOfOthersAreRefused(t *testing.T) {
	s, others := newSecured(t, "A"), newSecured(t, "B")
	_, log := s.start(s.config("A", "links: {peers: {B: {}, C: {}, E: {}}}\n"))
	operator := identity.Name{Role: identity.RoleOperator, Name: "ann"}
	for _, tc := range []struct {
		name string
		self *identity.Identity
		want string
	}{
		{"another authority's", others.load(identity.Name{Role: identity.RoleNode, Name: "B"}), "the certificate of site B was signed by another authority"},
		{"an operator", s.load(operator), "the certificate is for operator ann, and links are for sites"},
	} {
		for range 3 {
			status, body := request(t, http.MethodPost, s.address("A")+https.Path, certificate(t, tc.self), http.Header{"Connection": {"Upgrade"}, "Upgrade": {https.Protocol}})
			if status != http.StatusForbidden || !strings.Contains(body, tc.want) {
				t.Errorf("%s: %d %s", tc.name, status, body)
			}
		}
		log.await(t, `"reason":"`+tc.want, "connection refused")
		if n, _ := log.count([]string{tc.want}); n != 1 {
			t.Errorf("%s: logged %d times", tc.name, n)
		}
	}
	// Another site's name on a site's own connection.
	asC := https.Peer{Address: s.address("A"), Name: "A", Identity: s.load(identity.Name{Role: identity.RoleNode, Name: "C"})}
	const want = "the caller says that it is site B, and its certificate names site C"
	for range 3 {
		if f := callAs(t, asC, "B"); f.Stop == nil || !strings.Contains(f.Stop.Reason, want) || f.Stop.Final {
			t.Errorf("told %+v, want %s", f, want)
		}
	}
	log.await(t, `"peer":"B"`, want)
	if n, _ := log.count([]string{want}); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

// callAs opens a link as a site would that says it is caller, and gives what it is told.
func callAs(t *testing.T, p https.Peer, caller processtable.NodeID) *frame.Frame {
	t.Helper()
	d, err := https.NewPeerDialer(p)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	hello, err := frame.Encode(&frame.Frame{
		Version: frame.MinVersion, Type: frame.TypeHello, From: 7, Seq: 1, Challenge: 9,
		Hello: &frame.Hello{Node: caller, Expected: "A", Incarnation: record.Incarnation{7}, MinVersion: frame.MinVersion, MaxVersion: frame.MinVersion},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Send(hello); err != nil {
		t.Fatal(err)
	}
	answer, err := conn.Recv()
	if err != nil {
		t.Fatal(err)
	}
	f, err := frame.Decode(answer)
	if err != nil {
		t.Fatal(err)
	}
	return &f
}

// certificate is what a client shows that takes whoever answers; nil: nothing.
func certificate(t *testing.T, i *identity.Identity) *tls.Config {
	t.Helper()
	if i == nil {
		return &tls.Config{InsecureSkipVerify: true}
	}
	c := i.Client("")
	c.VerifyConnection = nil
	return c
}

func request(t *testing.T, method, url string, config *tls.Config, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// The API over TLS is for operators; health is for everybody.
func TestWhoMayAskOverTLS(t *testing.T) {
	s, others := newSecured(t, "A"), newSecured(t)
	conf := s.config("A", "operators: [ann]\n")
	d, _ := s.start(conf)
	ann, ben := identity.Name{Role: identity.RoleOperator, Name: "ann"}, identity.Name{Role: identity.RoleOperator, Name: "ben"}
	site := identity.Name{Role: identity.RoleNode, Name: "B"}
	for _, tc := range []struct {
		name   string
		self   *identity.Identity
		path   string
		status int
		want   string
	}{
		{"an operator", s.load(ann), "/v1/nodes", 200, `"node":"A"`},
		{"an operator, metrics", s.load(ann), "/metrics", 200, "fmqm_certificate_expiry_timestamp_seconds"},
		{"an operator, metrics of renewal", s.load(ann), "/metrics", 200, "fmqm_certificate_renewal_due 0"},
		{"one who is not listed", s.load(ben), "/v1/nodes", 403, "operator ben is not among the operators of site A"},
		{"a site", s.load(site), "/v1/nodes", 403, "the certificate is for site B, and requests are for operators"},
		{"a site, metrics", s.load(site), "/metrics", 403, "requests are for operators"},
		{"of another authority", others.load(ann), "/v1/nodes", 403, "the certificate of operator ann was signed by another authority"},
		{"nobody", nil, "/v1/nodes", 401, "this node answers operators only, and no certificate was shown"},
		{"nobody, metrics", nil, "/metrics", 401, "no certificate was shown"},
		{"nobody, no such path", nil, "/v1/x", 401, "no certificate was shown"},
		{"nobody, backup", nil, api.BackupPath, 401, "no certificate was shown"},
		{"an operator, backup", s.load(ann), api.BackupPath, 404, "a node has no request"},
		{"nobody, health", nil, "/livez", 200, `"state":"ok"`},
		{"nobody, health in detail", nil, "/readyz", 200, `"name":"certificate","state":"ok"`},
	} {
		status, body := request(t, http.MethodGet, s.address("A")+tc.path, certificate(t, tc.self), nil)
		if status != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %d %s\nwant %d %s", tc.name, status, body, tc.status, tc.want)
		}
		if status < 400 {
			continue
		}
		var e struct{ Error *api.Error }
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error == nil || tc.status != 404 && (e.Error.Code != api.CodeRefused || e.Error.Remedy == "") {
			t.Errorf("%s: no error of the API with a remedy: %s", tc.name, body)
		}
	}
	dialer, err := https.NewPeerDialer(https.Peer{Address: "http://" + d.Address()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dialer.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "the peer has an identity and speaks TLS only: write https://"+d.Address()) {
		t.Errorf("a link in plain text: %v", err)
	}
	// Every user of this machine can reach loopback: there is no plain text there either.
	for _, path := range []string{"/v1/nodes", "/livez", "/metrics", https.Path} {
		if status, body := request(t, http.MethodGet, "http://"+d.Address()+path, nil, nil); status != http.StatusBadRequest || !strings.Contains(body, "HTTP request to an HTTPS server") {
			t.Errorf("plain text on loopback, %s: %d %s", path, status, body)
		}
	}
	all := *conf
	all.Operators = nil
	if err := d.Reload(&all); err != nil {
		t.Fatal(err)
	}
	if status, body := request(t, http.MethodGet, s.address("A")+"/v1/nodes", certificate(t, s.load(ben)), nil); status != 200 {
		t.Errorf("everybody may after a reload: %d %s", status, body)
	}
}

// Whether a daemon has an identity is decided at its start.
func TestAFirstIdentityNeedsARestart(t *testing.T) {
	s := newSecured(t, "A")
	none, err := s.read("A", "")
	if err != nil {
		t.Fatal(err)
	}
	d, _ := s.start(none)
	some := s.config("A", "links: {peers: {B: \"https://b.example.org\"}}\n")
	if err := d.Reload(some); err == nil || err.Error() != "identity: this daemon started without one: restart it" {
		t.Errorf("a first one: %v", err)
	}
}

// Without the identity that it was started with a daemon goes on, and says so.
func TestAnIdentityThatIsTakenOutOfTheFile(t *testing.T) {
	s := newSecured(t, "A")
	some := s.config("A", "")
	d, log := s.start(some)
	none, err := s.read("A", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Reload(none); err != nil {
		t.Fatal(err)
	}
	log.await(t, `"key":"identity"`, `"now":"there is one"`, "this change needs a restart")
	if len(served(t, d)) == 0 {
		t.Error("no certificate is shown any more")
	}
}

// Beyond this machine there is no plain text at all where there is an identity.
func TestNoPlainTextBeyondThisMachine(t *testing.T) {
	s := newSecured(t, "A")
	conf := s.config("A", "")
	conf.Listen = strings.Replace(s.listens["A"], "127.0.0.1", "0.0.0.0", 1)
	s.start(conf)
	status, body := request(t, http.MethodGet, strings.Replace(s.address("A"), "https", "http", 1)+"/livez", nil, nil)
	if status != http.StatusBadRequest || !strings.Contains(body, "HTTP request to an HTTPS server") {
		t.Errorf("plain text: %d %s", status, body)
	}
	if status, body = request(t, http.MethodGet, s.address("A")+"/livez", certificate(t, nil), nil); status != 200 {
		t.Errorf("TLS: %d %s", status, body)
	}
}

// An identity that cannot be used is an error of the start, which leaves nothing behind.
func TestIdentitiesThatDoNotStart(t *testing.T) {
	s := newSecured(t, "A")
	s.issue(identity.Name{Role: identity.RoleNode, Name: "B"})
	for text, want := range map[string]string{
		"identity: {certificate: node-B.crt, key: node-B.key, ca: ca.crt}\n": "is for site B, and this is site A: name the right file, or make one with `fmqmd pki issue A`",
		"identity: {certificate: none.crt, key: node-A.key, ca: ca.crt}\n":   "none.crt: no such file or directory: make it with `fmqmd pki issue`, or name yours",
	} {
		c, err := s.read("A", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := daemon.Start(daemon.Options{Config: c, Log: zerolog.Nop()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
		if c, err := net.Dial("tcp", c.Listen); err == nil {
			c.Close()
			t.Error("it listens all the same")
		}
	}
}
