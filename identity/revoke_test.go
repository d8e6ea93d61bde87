package identity_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fmqm/identity"
)

func server(host string) identity.Name { return identity.Name{Role: identity.RoleServer, Name: host} }

// exposed gives the files of a site whose key every user of the machine can read.
func exposed(t *testing.T, dir string) identity.Files {
	t.Helper()
	f := issue(t, dir, node("A"), noon)
	key := f.Key + ".exposed"
	if err := os.WriteFile(key, []byte(read(t, f.Key)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	f.Key = key
	return f
}

// chainOf gives the certificates of a file.
func chainOf(t *testing.T, f identity.Files) [][]byte {
	t.Helper()
	return load(t, f, noon).Chain()
}

func certificate(t *testing.T, der []byte) *x509.Certificate {
	t.Helper()
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// deny writes a deny list, and gives the files of an identity with it.
func deny(t *testing.T, f identity.Files, lines ...string) identity.Files {
	t.Helper()
	f.Deny = filepath.Join(t.TempDir(), "deny")
	if err := os.WriteFile(f.Deny, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func shownOf(t *testing.T, file string) identity.Shown {
	t.Helper()
	s, err := identity.Show(file)
	if err != nil {
		t.Fatal(err)
	}
	return s[0]
}

// colons writes a fingerprint as other tools do.
func colons(s string) string {
	var out []string
	for i := 0; i < len(s); i += 2 {
		out = append(out, strings.ToUpper(s[i:i+2]))
	}
	return strings.Join(out, ":")
}

// Who is on the deny list is not believed at either end of TLS, nor with signatures: by
// the fingerprint of the certificate, of its key (then also with a certificate that was
// renewed), or of the authority above it. A new key is believed again.
func TestDenyList(t *testing.T) {
	dir := authority(t, "")
	a, bFiles, ann := issue(t, dir, node("A"), noon), issue(t, dir, node("B"), noon), issue(t, dir, operator("ann"), noon)
	b := shownOf(t, bFiles.Certificate)
	chainB, chainAnn := chainOf(t, bFiles), chainOf(t, ann)
	loaded := load(t, bFiles, noon)
	renewed := filepath.Join(t.TempDir(), "renewed.crt")
	if err := os.WriteFile(renewed, []byte(read(t, bFiles.Certificate)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Renew(identity.RenewOptions{Dir: dir, File: renewed, Now: noon, All: true}); err != nil {
		t.Fatal(err)
	}
	withRenewed := bFiles
	withRenewed.Certificate = renewed
	chainRenewed := chainOf(t, withRenewed)
	for _, tc := range []struct {
		name            string
		lines           []string
		denied, renewed bool
	}{
		{"nobody", []string{"# nobody yet", ""}, false, false},
		{"another", []string{shownOf(t, ann.Certificate).Fingerprint}, false, false},
		{"the certificate", []string{"# stolen in May", b.Fingerprint + "   # the laptop of B"}, true, false},
		{"the certificate, with colons", []string{"  " + colons(b.Fingerprint)}, true, false},
		{"its key", []string{b.Key}, true, true},
		{"the authority", []string{shownOf(t, a.CA).Fingerprint}, true, true},
	} {
		self := load(t, deny(t, a, tc.lines...), noon)
		is := func(what string, want bool, err error) {
			t.Helper()
			if errors.Is(err, identity.ErrDenied) != want || want && !strings.Contains(err.Error(), "was revoked: it is on the deny list of the site that says this") {
				t.Errorf("%s, %s: %v", tc.name, what, err)
			}
		}
		_, _, err := self.Verify(chainB)
		is("signs", tc.denied, err)
		_, _, err = self.Verify(chainRenewed)
		is("signs with a renewed certificate", tc.renewed, err)
		_, called := shake(t, self.Server(), loaded.Client("A"), func(s *tls.ConnectionState) error {
			_, err := self.Caller(s, identity.RoleNode)
			return err
		})
		is("calls", tc.denied, called)
		calling, _ := shake(t, loaded.Server(), self.Client("B"), nil)
		is("answers", tc.denied, calling)
		_, err = self.Caller(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate(t, chainAnn[0])}}, identity.RoleOperator)
		is("asks", tc.name == "another" || tc.name == "the authority", err)
	}
	// What is denied here says nothing against who holds it: it goes on by itself.
	load(t, deny(t, a, shownOf(t, a.Certificate).Fingerprint), noon)
}

// The certificate of a server that is no site is a site's at no end of a connection, and
// an operator's neither; its common name cannot be a site's.
func TestAServerIsNobody(t *testing.T) {
	dir := authority(t, "")
	self := load(t, issue(t, dir, node("A"), noon), noon)
	for _, host := range []string{"broker", "broker.example.org", "192.0.2.7"} {
		files := issue(t, dir, server(host), noon, "other.example.org")
		pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
		if err != nil {
			t.Fatal(err)
		}
		s := shownOf(t, files.Certificate)
		if s.Subject != "server "+host || s.Name != server(host) || strings.Join(s.Hosts, " ") != map[bool]string{true: "other.example.org 192.0.2.7", false: host + " other.example.org"}[host == "192.0.2.7"] {
			t.Errorf("%+v", s)
		}
		if _, _, err := self.Verify(pair.Certificate); !errors.Is(err, identity.ErrUnfit) || !strings.Contains(err.Error(), "is for the other end of a connection") {
			t.Errorf("%s signs: %v", host, err)
		}
		for _, role := range []identity.Role{identity.RoleNode, identity.RoleOperator} {
			if _, err := self.Caller(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate(t, pair.Certificate[0])}}, role); !errors.Is(err, identity.ErrUnfit) {
				t.Errorf("%s calls as %s: %v", host, role, err)
			}
		}
		answers := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}}
		if calling, _ := shake(t, answers, self.Client("broker"), nil); !errors.Is(calling, identity.ErrWrongName) || !strings.Contains(calling.Error(), "the certificate is for server "+host+", and links are for sites") {
			t.Errorf("%s answers a site: %v", host, calling)
		}
		if calling, _ := shake(t, answers, self.Operator(host), nil); calling == nil {
			t.Errorf("%s answers an operator as a site", host)
		}
		// What the broker is for: clients that check its name.
		authorities := x509.NewCertPool()
		authorities.AppendCertsFromPEM([]byte(read(t, files.CA)))
		client := &tls.Config{RootCAs: authorities, ServerName: host, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, Time: clock(noon)}
		if calling, _ := shake(t, answers, client, nil); calling != nil {
			t.Errorf("%s answers a client: %v", host, calling)
		}
	}
	for _, host := range []string{"", "broker:5671", "-x", "a/b"} {
		if _, err := identity.Issue(identity.IssueOptions{Dir: dir, Name: server(host), Now: noon}); err == nil || !strings.Contains(err.Error(), "is neither the name nor the address of a machine") {
			t.Errorf("a server %q: %v", host, err)
		}
	}
}

// A broker whose certificate is that of a site, as older pages had it made: once it has
// answered with it, that key is no site's here.
func TestABrokerWithTheCertificateOfASite(t *testing.T) {
	dir := authority(t, "")
	self := load(t, issue(t, dir, node("A"), noon), noon)
	broker := chainOf(t, issue(t, dir, node("broker"), noon, "broker.example.org"))
	if name, _, err := self.Verify(broker); err != nil || name != "broker" {
		t.Fatal(name, err)
	}
	broken := make(chan error, 1)
	self.WatchChain(broker, func(err error) { broken <- err })
	for _, want := range []bool{true, false} {
		if name, news := self.NoSite(certificate(t, broker[0])); name != node("broker") || news != want {
			t.Errorf("told of %v: %v, want it once", name, news)
		}
	}
	const want = "the certificate of site broker is that of the broker, and a broker is not a site"
	if _, _, err := self.Verify(broker); !errors.Is(err, identity.ErrDenied) || !strings.Contains(err.Error(), want) {
		t.Errorf("verified: %v", err)
	}
	if err := <-broken; !strings.Contains(err.Error(), want) {
		t.Errorf("who was there: %v", err)
	}
	files := issue(t, dir, server("broker.example.org"), noon)
	pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	if _, news := self.NoSite(certificate(t, pair.Certificate[0])); news {
		t.Error("a server's own certificate is no news")
	}
}

// Who was believed is told of once it is not any more: at a reload that denies it, or
// leaves out its authority, or when its certificate ends; and not of anything else.
func TestWatch(t *testing.T) {
	dir := authority(t, "")
	files := issue(t, dir, node("A"), noon)
	b, c := issue(t, dir, node("B"), noon), issue(t, dir, node("C"), noon)
	self := load(t, files, noon)
	type end struct {
		who string
		err error
	}
	ended := make(chan end, 10)
	watch := func(who string, f identity.Files) func() {
		return self.WatchChain(chainOf(t, f), func(err error) { ended <- end{who, err} })
	}
	watch("B", b)
	watch("C", c)
	stop := watch("C, given up", c)
	self.Watch(identity.Watched{Chain: []*x509.Certificate{certificate(t, chainOf(t, b)[0])}, Role: identity.RoleNode, Answers: true}, func(err error) { ended <- end{"B, called", err} })
	stop()
	if err := self.Reload(files); err != nil {
		t.Fatal(err)
	}
	if err := self.Reload(deny(t, files, shownOf(t, b.Certificate).Fingerprint)); err != nil {
		t.Fatal(err)
	}
	got := map[string]error{}
	for range 2 {
		e := <-ended
		got[e.who] = e.err
	}
	if !errors.Is(got["B"], identity.ErrDenied) || !errors.Is(got["B, called"], identity.ErrDenied) {
		t.Errorf("denied: %v", got)
	}
	other := authority(t, "other")
	moved := issue(t, other, node("A"), noon)
	if err := self.Reload(moved); err != nil {
		t.Fatal(err)
	}
	if e := <-ended; e.who != "C" || !errors.Is(e.err, identity.ErrAuthority) {
		t.Errorf("the authority is gone: %+v", e)
	}
	watch("too late", b)
	if e := <-ended; e.who != "too late" || !errors.Is(e.err, identity.ErrAuthority) {
		t.Errorf("who is not believed to begin with: %+v", e)
	}
	self.WatchChain([][]byte{[]byte("no certificate")}, func(err error) { ended <- end{"noise", err} })
	if e := <-ended; !errors.Is(e.err, identity.ErrUnfit) {
		t.Errorf("noise: %+v", e)
	}
}

// At the end of a certificate who showed it is told of by itself.
func TestWatchAtTheEndOfACertificate(t *testing.T) {
	dir, began := authority(t, ""), time.Now()
	short := issue(t, dir, node("B"), noon) // its last second passes now
	last := shownOf(t, short.Certificate).NotAfter.Add(-time.Second)
	moving := func() time.Time { return last.Add(time.Since(began)) }
	self, err := identity.Load(identity.Options{Files: issue(t, dir, node("A"), noon.AddDate(0, 6, 0)), Now: moving})
	if err != nil {
		t.Fatal(err)
	}
	broken := make(chan error, 1)
	self.WatchChain(chainOf(t, short), func(err error) { broken <- err })
	if err := <-broken; !errors.Is(err, identity.ErrExpired) {
		t.Errorf("told: %v", err)
	}
	if took := time.Since(began); took < time.Second/2 {
		t.Errorf("it was told after %s", took)
	}
}
