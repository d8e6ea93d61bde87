package https

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fmqm/identity"
	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/processtable"
)

// sites is an authority with a clock.
type sites struct {
	t   *testing.T
	dir string
	now time.Time
}

func newSites(t *testing.T) *sites {
	t.Helper()
	s := &sites{t: t, dir: t.TempDir(), now: time.Now()}
	if _, err := identity.Init(identity.InitOptions{Dir: s.dir, Name: "sites", Now: s.now}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sites) identity(name identity.Name, clock func() time.Time) *identity.Identity {
	s.t.Helper()
	out, err := identity.Issue(identity.IssueOptions{Dir: s.dir, Name: name, Now: s.now, Force: true})
	if err != nil {
		s.t.Fatal(err)
	}
	i, err := identity.Load(identity.Options{Files: identity.Files{Certificate: out.Certificate, Key: out.Key, CA: out.CA}, Now: clock})
	if err != nil {
		s.t.Fatal(err)
	}
	return i
}

func (s *sites) node(name string) *identity.Identity {
	return s.identity(identity.Name{Role: identity.RoleNode, Name: name}, nil)
}

// secure is a server that hands over the connections of nodes, and collects why others
// get none.
type secure struct {
	*httptest.Server
	conns   chan link.Conn
	mu      sync.Mutex
	refused []string
}

func listenTLS(t *testing.T, self *identity.Identity) *secure {
	t.Helper()
	s := &secure{conns: make(chan link.Conn, 10)}
	s.Server = httptest.NewUnstartedServer(&Server{
		Identity: self, Accept: func(c link.Conn, _ string) { s.conns <- c },
		Refused: func(_ string, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.refused = append(s.refused, err.Error())
		},
	})
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Listener = tls.NewListener(s.Listener, self.Server())
	s.Start()
	s.URL = "https" + strings.TrimPrefix(s.URL, "http")
	t.Cleanup(s.Close)
	return s
}

func dialerTo(t *testing.T, address, name string, self *identity.Identity) *Dialer {
	t.Helper()
	d, err := NewPeerDialer(Peer{Address: address, Name: processtable.NodeID(name), Identity: self})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestBothEndsKnowWhoTheOtherIs(t *testing.T) {
	all := newSites(t)
	s := listenTLS(t, all.node("B"))
	a, b := connect(t, dialerTo(t, s.URL, "B", all.node("A")), s.conns)
	if got := a.(*Conn).Peer() + " " + b.(*Conn).Peer(); got != "B A" {
		t.Errorf("the ends are known as %q", got)
	}
	exchange(t, a, b, []byte("hello"))
	exchange(t, b, a, []byte("hello yourself"))
	large := make([]byte, frame.MaxFrame)
	large[0], large[len(large)-1] = 1, 2
	exchange(t, a, b, large)
	if err := a.(*Conn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the other side closed: %v", err)
	}
	exchange(t, b, a, []byte("bye"))
}

// A connection ends once the certificate of the other end is revoked, at the end that
// calls as at the one that is called, and says why; another one is refused. One whose end
// is known by another certificate stays.
func TestACertificateThatIsCalledBack(t *testing.T) {
	all := newSites(t)
	files := func(name string) identity.Files {
		out, err := identity.Issue(identity.IssueOptions{Dir: all.dir, Name: identity.Name{Role: identity.RoleNode, Name: name}, Now: all.now, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		return identity.Files{Certificate: out.Certificate, Key: out.Key, CA: out.CA}
	}
	load := func(f identity.Files) *identity.Identity {
		i, err := identity.Load(identity.Options{Files: f})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	for _, calls := range []bool{true, false} {
		own, theirs := files("A"), files("B")
		self, other := load(own), load(theirs)
		shown, err := identity.Show(theirs.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		own.Deny = filepath.Join(t.TempDir(), "deny")
		if err := os.WriteFile(own.Deny, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		server, client, name := other, self, "B"
		if !calls {
			server, client, name = self, other, "A"
		}
		s := listenTLS(t, server)
		dialed, accepted := connect(t, dialerTo(t, s.URL, name, client), s.conns)
		mine, peers := dialed, accepted
		if !calls {
			mine, peers = accepted, dialed
		}
		if err := self.Reload(own); err != nil {
			t.Fatal(err)
		}
		exchange(t, mine, peers, []byte("nobody is denied yet"))
		if err := os.WriteFile(own.Deny, []byte(shown[0].Fingerprint), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := self.Reload(own); err != nil {
			t.Fatal(err)
		}
		if _, err := mine.Recv(); !errors.Is(err, identity.ErrDenied) || !strings.Contains(err.Error(), "site B is no longer accepted: the certificate of site B was revoked") {
			t.Errorf("calls %v: %v", calls, err)
		}
		if _, err := peers.Recv(); err == nil {
			t.Errorf("calls %v: the other end goes on", calls)
		}
		if _, err := dialerTo(t, s.URL, name, client).Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "was revoked") {
			t.Errorf("calls %v: dialed again: %v", calls, err)
		}
	}
}

func TestNobodyIsKnownInPlainText(t *testing.T) {
	s, conns := listen(t, (*httptest.Server).Start)
	a, b := connect(t, newDialer(t, s.URL), conns)
	if a.(*Conn).Peer() != "" || b.(*Conn).Peer() != "" {
		t.Errorf("%q, %q", a.(*Conn).Peer(), b.(*Conn).Peer())
	}
}

// Each way not to get a link, with what who calls is told; a probe is told the same.
func TestLinksThatAreRefused(t *testing.T) {
	all, others := newSites(t), newSites(t)
	a, b := all.node("A"), all.node("B")
	then := all.now.AddDate(2, 1, 0)
	late := func() time.Time { return then }
	old := all.identity(identity.Name{Role: identity.RoleNode, Name: "B"}, nil)
	all.now = then
	aLate := all.identity(identity.Name{Role: identity.RoleNode, Name: "A"}, late)
	ann := all.identity(identity.Name{Role: identity.RoleOperator, Name: "ann"}, late)
	nobody := func(d *Dialer) { d.tls.GetClientCertificate = nil }
	anybody := func(d *Dialer) { d.tls.VerifyConnection = nil }
	for _, tc := range []struct {
		name         string
		self, server *identity.Identity
		peer         string
		change       func(*Dialer)
		want         string
		told         string // what the server says for itself
	}{
		{"another site answers", a, b, "C", nil, "the certificate names site B and not C: correct the address of C in links.peers", ""},
		{"of another authority", a, others.node("B"), "B", nil, "the certificate of site B was signed by another authority", ""},
		{"expired", aLate, old, "B", nil, "the certificate of site B expired on", ""},
		{"the caller is of another authority", others.node("A"), b, "B", anybody, "refused there: the certificate of site A was signed by another authority", "the certificate of site A"},
		{"the caller's has expired", old, aLate, "B", anybody, "refused there: the certificate of site B expired on", "the certificate of site B expired"},
		{"the caller shows none", a, b, "B", nobody, "refused there: no certificate was shown: set `identity` there", "no certificate was shown"},
		{"the caller is an operator", ann, aLate, "B", anybody, "refused there: the certificate is for operator ann, and links are for sites", "operator ann"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := listenTLS(t, tc.server)
			d := dialerTo(t, s.URL, tc.peer, tc.self)
			if tc.change != nil {
				tc.change(d)
			}
			_, err := d.Dial(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
			if len(s.conns) > 0 {
				t.Error("handed over all the same")
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if told := strings.Join(s.refused, "\n"); !strings.Contains(told, tc.told) || tc.told == "" && told != "" {
				t.Errorf("the server says %q, want %q", told, tc.told)
			}
		})
	}
}

// One end encrypts and the other does not: both say so.
func TestPlainTextAgainstTLS(t *testing.T) {
	all := newSites(t)
	encrypted := listenTLS(t, all.node("B"))
	_, err := newDialer(t, strings.Replace(encrypted.URL, "https", "http", 1)).Dial(t.Context())
	if want := "the peer has an identity and speaks TLS only: write https://"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("plain to TLS: %v", err)
	}
	plain, _ := listen(t, (*httptest.Server).Start)
	_, err = dialerTo(t, strings.Replace(plain.URL, "http", "https", 1), "B", all.node("A")).Dial(t.Context())
	if want := "the other side does not speak TLS: give the daemon there an `identity`, or write http:// where that is allowed"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("TLS to plain: %v", err)
	}
}

func TestTLSIsNotOlderThan13(t *testing.T) {
	all := newSites(t)
	s := listenTLS(t, all.node("B"))
	d := dialerTo(t, s.URL, "B", all.node("A"))
	d.tls.MinVersion, d.tls.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if _, err := d.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "the other side ended the connection") {
		t.Errorf("TLS 1.2: %v", err)
	}
}

// A probe finds what a link would, and gives the server no connection.
func TestProbe(t *testing.T) {
	all := newSites(t)
	a, b := all.node("A"), all.node("B")
	s := listenTLS(t, b)
	found, err := Probe(t.Context(), Peer{Address: s.URL, Name: "B", Identity: a})
	if err != nil || !found.Encrypted || !found.Expires.Equal(b.Expires()) {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := Probe(t.Context(), Peer{Address: s.URL, Name: "C", Identity: a}); err == nil || !strings.Contains(err.Error(), "names site B and not C") {
		t.Errorf("another name: %v", err)
	}
	plain, conns := listen(t, (*httptest.Server).Start)
	if found, err = Probe(t.Context(), Peer{Address: plain.URL, Name: "B"}); err != nil || found.Encrypted {
		t.Errorf("%+v, %v", found, err)
	}
	if len(s.conns)+len(conns) > 0 {
		t.Error("a probe was handed over as a link")
	}
	if _, err := Probe(t.Context(), Peer{Address: "http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "nothing listens there: start the daemon, or correct the address") {
		t.Errorf("nobody there: %v", err)
	}
	err = explain(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "b.example.org", IsNotFound: true}})
	if !strings.HasPrefix(err.Error(), "the name b.example.org does not resolve: correct the address, or the DNS") {
		t.Errorf("a name that is none: %v", err)
	}
}
