package identity_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fmqm/identity"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock(t time.Time) func() time.Time { return func() time.Time { return t } }

// authority makes one in a directory of its own.
func authority(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := identity.Init(identity.InitOptions{Dir: dir, Name: name, Now: noon}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func issue(t *testing.T, dir string, name identity.Name, at time.Time, hosts ...string) identity.Files {
	t.Helper()
	out, err := identity.Issue(identity.IssueOptions{Dir: dir, Name: name, Now: at, Hosts: hosts, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	return identity.Files{Certificate: out.Certificate, Key: out.Key, CA: out.CA}
}

func node(name string) identity.Name { return identity.Name{Role: identity.RoleNode, Name: name} }

func operator(name string) identity.Name {
	return identity.Name{Role: identity.RoleOperator, Name: name}
}

func load(t *testing.T, f identity.Files, now time.Time) *identity.Identity {
	t.Helper()
	i, err := identity.Load(identity.Options{Files: f, Now: clock(now)})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// shake connects two ends over TLS and gives what each thinks of it. The server says
// who it was called by.
func shake(t *testing.T, server, client *tls.Config, heard func(*tls.ConnectionState) error) (clientSays, serverSays error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a pipe has no room for the alert of who gives up
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		conn := tls.Server(b, server)
		err := conn.HandshakeContext(ctx)
		if err == nil && heard != nil {
			state := conn.ConnectionState()
			err = heard(&state)
		}
		b.Close()
		done <- err
	}()
	clientSays = tls.Client(a, client).HandshakeContext(ctx)
	if clientSays != nil {
		a.Close()
	}
	return clientSays, <-done
}

func TestNodesKnowEachOther(t *testing.T) {
	dir := authority(t, "")
	a, b := load(t, issue(t, dir, node("A"), noon), noon), load(t, issue(t, dir, node("B-2_x"), noon), noon)
	var caller identity.Name
	toB, atB := shake(t, b.Server(), a.Client("B-2_x"), func(s *tls.ConnectionState) (err error) {
		if s.Version != tls.VersionTLS13 {
			t.Errorf("TLS version %x", s.Version)
		}
		caller, err = b.Caller(s, identity.RoleNode)
		return err
	})
	if toB != nil || atB != nil || caller != node("A") {
		t.Errorf("A calls B: %v; B is called by %v: %v", toB, caller, atB)
	}
}

// Who proves who it is with a signature is known by the same certificate.
func TestSignatures(t *testing.T) {
	dir := authority(t, "")
	a, b := load(t, issue(t, dir, node("A"), noon), noon), load(t, issue(t, dir, node("B"), noon), noon)
	signature, err := a.Sign([]byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	name, key, err := b.Verify(a.Chain())
	if err != nil || name != "A" || !ed25519.Verify(key, []byte("hello"), signature) {
		t.Errorf("name %q, %v", name, err)
	}
	size := 0
	for _, c := range a.Chain() {
		size += len(c)
	}
	if size > 1024 {
		t.Errorf("a certificate of %d bytes in each hello", size)
	}
	for _, tc := range []struct {
		name  string
		chain [][]byte
		is    error
	}{
		{"none", nil, identity.ErrNoCertificate},
		{"damaged", [][]byte{{1, 2, 3}}, identity.ErrUnfit},
		{"too many", make([][]byte, 100), identity.ErrUnfit},
		{"an operator's", load(t, issue(t, dir, operator("ann"), noon), noon).Chain(), identity.ErrWrongName},
		{"of another authority", load(t, issue(t, authority(t, ""), node("A"), noon), noon).Chain(), identity.ErrAuthority},
	} {
		if _, _, err := b.Verify(tc.chain); !errors.Is(err, tc.is) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.is)
		}
	}
}

// Each way not to be believed, from both ends, with what is said.
func TestWhoIsNotBelieved(t *testing.T) {
	dir, other, again := authority(t, "sites"), authority(t, "elsewhere"), authority(t, "sites")
	a := load(t, issue(t, dir, node("A"), noon), noon)
	late := noon.AddDate(3, 0, 0)
	old := load(t, issue(t, dir, node("B"), noon), noon)
	young := load(t, issue(t, dir, node("B"), late), late)
	foreign := load(t, issue(t, other, node("B"), noon), noon)
	renewed := load(t, issue(t, again, node("B"), noon), noon)
	ann := load(t, issue(t, dir, operator("ann"), noon), noon)
	c := load(t, issue(t, dir, node("C"), noon), noon)
	files := issue(t, dir, node("A"), late)
	aLate, err := identity.Load(identity.Options{Files: files, Now: clock(late), Name: node("A")})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		self  *identity.Identity
		other *identity.Identity
		is    error
		want  string
	}{
		{"another authority", a, foreign, identity.ErrAuthority, `the certificate of site B was signed by another authority ("elsewhere", and not "sites")`},
		{"an authority made anew", a, renewed, identity.ErrAuthority, `the certificate of site B was signed by another authority with the same name, "sites": if the authority was replaced, all sites need`},
		{"expired", aLate, old, identity.ErrExpired, "the certificate of site B expired on 2027-11-21 12:00 UTC (the clock here says 2029-11-21 12:00 UTC): renew it"},
		{"not valid yet", a, young, identity.ErrTooEarly, "the certificate of site B is valid from 2029-11-20 12:00 UTC, and the clock here says 2026-11-21 12:00 UTC: set the clock that is wrong"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calling, _ := shake(t, tc.other.Server(), tc.self.Client("B"), nil)
			_, called := shake(t, tc.self.Server(), believing(tc.other), func(s *tls.ConnectionState) error {
				_, err := tc.self.Caller(s, identity.RoleNode)
				return err
			})
			for end, err := range map[string]error{"calling": identity.ExplainDial(calling), "called": called} {
				if !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: %v\nwant %s", end, err, tc.want)
				}
			}
		})
	}
	calling, _ := shake(t, c.Server(), a.Client("B"), nil)
	if want := "the certificate names site C and not B: correct the address of B in links.peers"; !errors.Is(calling, identity.ErrWrongName) || !strings.Contains(calling.Error(), want) {
		t.Errorf("another site: %v", calling)
	}
	for _, tc := range []struct {
		name   string
		client *tls.Config
		role   identity.Role
		is     error
		want   string
	}{
		{"an operator on a link", believing(ann), identity.RoleNode, identity.ErrWrongName, "the certificate is for operator ann, and links are for sites"},
		{"a site asking", believing(c), identity.RoleOperator, identity.ErrWrongName, "the certificate is for site C, and requests are for operators"},
		{"nobody", believing(nil), identity.RoleOperator, identity.ErrNoCertificate, "no certificate was shown"},
	} {
		_, err := shake(t, a.Server(), tc.client, func(s *tls.ConnectionState) error {
			_, err := a.Caller(s, tc.role)
			return err
		})
		if !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
	if _, err := a.Caller(nil, identity.RoleOperator); !errors.Is(err, identity.ErrNoCertificate) || !strings.Contains(err.Error(), "not encrypted: use https://") {
		t.Errorf("a plain connection: %v", err)
	}
}

// believing is a client that takes whoever answers, and shows the certificate of i.
func believing(i *identity.Identity) *tls.Config {
	if i == nil {
		return &tls.Config{InsecureSkipVerify: true}
	}
	c := i.Client("")
	c.VerifyConnection = nil
	return c
}

// What an operator calls has to be a site, at an address that its certificate names.
func TestOperatorsCallAddresses(t *testing.T) {
	dir := authority(t, "")
	b := load(t, issue(t, dir, node("B"), noon, "b.example.org", "192.0.2.7"), noon)
	ann := load(t, issue(t, dir, operator("ann@example.org"), noon), noon)
	for _, host := range []string{"b.example.org", "192.0.2.7"} {
		var caller identity.Name
		calling, called := shake(t, b.Server(), ann.Operator(host), func(s *tls.ConnectionState) (err error) {
			caller, err = b.Caller(s, identity.RoleOperator)
			return err
		})
		if calling != nil || called != nil || caller.Name != "ann@example.org" {
			t.Errorf("%s: %v; %v, %v", host, calling, caller, called)
		}
	}
	for _, host := range []string{"c.example.org", "localhost", "127.0.0.1", "::1"} { // every site could be localhost
		calling, _ := shake(t, b.Server(), ann.Operator(host), nil)
		if want := fmt.Sprintf("the certificate of site B is not for the address %s: use another address of it, or make one with `fmqmd pki issue B --host %[1]s`", host); calling == nil || identity.ExplainDial(calling).Error() != want {
			t.Errorf("another address: %v", calling)
		}
	}
	calling, _ := shake(t, load(t, issue(t, dir, operator("ben"), noon), noon).Server(), ann.Operator("b.example.org"), nil)
	if !errors.Is(calling, identity.ErrUnfit) && !errors.Is(calling, identity.ErrWrongName) {
		t.Errorf("an operator answers: %v", calling)
	}
}

// A daemon takes up a renewed certificate without a restart; what is wrong is refused
// and changes nothing.
func TestReload(t *testing.T) {
	dir, late := authority(t, ""), noon.AddDate(1, 0, 0)
	now := noon
	files := issue(t, dir, node("A"), noon)
	a, err := identity.Load(identity.Options{Files: files, Name: node("A"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if want := noon.AddDate(0, 0, identity.NodeDays); !a.Expires().Equal(want) {
		t.Errorf("expires %v, want %v", a.Expires(), want)
	}
	before := a.Chain()[0]
	now = late
	issue(t, dir, node("A"), late)
	if err := a.Reload(files); err != nil {
		t.Fatal(err)
	}
	if want := late.AddDate(0, 0, identity.NodeDays); !a.Expires().Equal(want) || string(a.Chain()[0]) == string(before) {
		t.Errorf("expires %v, want %v", a.Expires(), want)
	}
	after := a.Chain()[0]
	wrong := files
	wrong.Certificate = issue(t, dir, node("B"), late).Certificate
	for name, tc := range map[string]struct {
		files identity.Files
		want  string
	}{
		"another site":       {issue(t, dir, node("B"), late), "is for site B, and this is site A"},
		"of different pairs": {wrong, "does not belong to the certificate in"},
		"no file":            {identity.Files{Certificate: "/none"}, "cannot read /none: no such file or directory: make it with `fmqmd pki issue`"},
	} {
		if err := a.Reload(tc.files); err == nil || !strings.Contains(err.Error(), tc.want) || string(a.Chain()[0]) != string(after) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// What cannot be loaded, with what is said.
func TestFilesThatDoNotFit(t *testing.T) {
	dir := authority(t, "sites")
	good := issue(t, dir, node("A"), noon)
	path := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	with := func(change func(f *identity.Files)) identity.Files {
		f := good
		change(&f)
		return f
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		files identity.Files
		now   time.Time
		want  string
	}{
		{"key in place of the certificate", with(func(f *identity.Files) { f.Certificate = f.Key }), noon, "has no certificate: name a file in PEM"},
		{"certificate in place of the key", with(func(f *identity.Files) { f.Key = f.Certificate }), noon, "has no private key: name a file in PEM"},
		{"another authority's", with(func(f *identity.Files) { f.CA = filepath.Join(authority(t, "other"), identity.CACertificate) }), noon, `A was signed by another authority ("sites", and not "other")`},
		{"no authority", with(func(f *identity.Files) { f.CA = f.Certificate }), noon, "has a certificate that is not an authority's"},
		{"another key", with(func(f *identity.Files) { f.Key = issue(t, dir, node("B"), noon).Key }), noon, "does not belong to the certificate in"},
		{"another kind of key", with(func(f *identity.Files) {
			f.Key = path("curve", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
		}), noon, "has a key of another kind than Ed25519: make one with `fmqmd pki issue`"},
		{"damaged", with(func(f *identity.Files) {
			f.Certificate = path("damaged", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
		}), noon, "a certificate in it cannot be read"},
		{"too large", with(func(f *identity.Files) { f.CA = path("large", strings.Repeat("x", 2<<20)) }), noon, "has over 1048576 bytes"},
		{"a directory", with(func(f *identity.Files) { f.CA = dir }), noon, "is a directory"},
		{"expired", good, noon.AddDate(3, 0, 0), "the certificate of site A expired on 2027-11-21 12:00 UTC (the clock here says 2029-11-21 12:00 UTC)"},
		{"authority expired", good, noon.AddDate(11, 0, 0), "expired on"},
		{"of another node", issue(t, dir, node("Z"), noon), noon, "is for site Z, and this is site A: name the right file, or make one with `fmqmd pki issue A`"},
		{"a key that others read", exposed(t, dir), noon, "the private key in " + dir + "/node-A.key.exposed can be read or changed by every user of this machine (mode 0644): chmod 600 it"},
		{"no deny list", with(func(f *identity.Files) { f.Deny = dir + "/none" }), noon, "cannot read the deny list " + dir + "/none: no such file or directory: make it (it may be empty), or name yours"},
		{"another deny list", with(func(f *identity.Files) { f.Deny = path("deny", "# stolen\nAB:CD # what of it?\n") }), noon, "deny list " + dir + "/deny, line 2: this is not a SHA-256 fingerprint: write 64 hexadecimal digits"},
		{"a server's", issue(t, dir, server("broker.example.org"), noon), noon, "the certificate of server broker.example.org is for the other end of a connection"},
		{"an operator's", issue(t, dir, operator("ann"), noon), noon, "is for operator ann, and this is site A"},
	} {
		_, err := identity.Load(identity.Options{Files: tc.files, Name: node("A"), Now: clock(tc.now)})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", tc.name, err, tc.want)
		}
	}
}

// maker signs certificates as an authority that is not of this project might.
type maker struct {
	ca  *x509.Certificate
	key ed25519.PrivateKey
	dir string
}

func newMaker(t *testing.T) *maker {
	t.Helper()
	dir := authority(t, "corporate")
	text, err := os.ReadFile(filepath.Join(dir, identity.CAKey))
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(pemBytes(text))
	if err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(filepath.Join(dir, identity.CACertificate))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := x509.ParseCertificate(pemBytes(text))
	if err != nil {
		t.Fatal(err)
	}
	return &maker{ca: ca, key: key.(ed25519.PrivateKey), dir: dir}
}

func pemBytes(text []byte) []byte {
	block, _ := pem.Decode(text)
	return block.Bytes
}

func (m *maker) sign(t *testing.T, template *x509.Certificate) []byte {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = noon, noon.AddDate(1, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, template, m.ca, public, m.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// Certificates that other tools made: named by the common name if they are for both
// ends, and never an operator's without a URI.
func TestCertificatesOfOtherMakers(t *testing.T) {
	m := newMaker(t)
	self := load(t, issue(t, m.dir, node("A"), noon), noon)
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	uri := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, tc := range []struct {
		name     string
		template x509.Certificate
		want     string // the node, or what is said
	}{
		{"common name", x509.Certificate{Subject: pkix.Name{CommonName: "B"}, ExtKeyUsage: both}, "B"},
		{"URI above common name", x509.Certificate{Subject: pkix.Name{CommonName: "X"}, URIs: []*url.URL{uri("fmqm://node/B")}, ExtKeyUsage: both}, "B"},
		{"another URI beside it", x509.Certificate{URIs: []*url.URL{uri("https://b.org/x"), uri("fmqm://node/B")}, ExtKeyUsage: both}, "B"},
		{"a person's", x509.Certificate{Subject: pkix.Name{CommonName: "B"}, ExtKeyUsage: both[:1]}, `it names neither a site, an operator nor a person (its subject is "CN=B")`},
		{"a machine's", x509.Certificate{Subject: pkix.Name{CommonName: "b.example.org"}, ExtKeyUsage: both}, "it names neither a site, an operator nor a person"},
		{"a server's", x509.Certificate{Subject: pkix.Name{CommonName: "B"}, ExtKeyUsage: both[1:]}, "is for the other end of a connection"},
		{"two names", x509.Certificate{URIs: []*url.URL{uri("fmqm://node/B"), uri("fmqm://node/C")}, ExtKeyUsage: both}, "it names both site B and site C"},
		{"unknown role", x509.Certificate{URIs: []*url.URL{uri("fmqm://admin/B")}, ExtKeyUsage: both}, `it names "fmqm://admin/B", which is neither a site, an operator nor a person`},
		{"no name", x509.Certificate{URIs: []*url.URL{uri("fmqm://node/b.c")}, ExtKeyUsage: both}, "which is neither a site, an operator nor a person"},
	} {
		name, _, err := self.Verify([][]byte{m.sign(t, &tc.template)})
		if string(name) != tc.want && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %q, %v\nwant %s", tc.name, name, err, tc.want)
		}
	}
}
