package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/identity"
)

// A key is made where it is used and never leaves that machine: the request goes to the
// authority, the certificate comes back, and they fit.
func TestRequestAndSign(t *testing.T) {
	dir := authority(t, "sites")
	for _, name := range []identity.Name{node("B"), operator("ann@example.org"), server("broker.example.org")} {
		site := filepath.Join(t.TempDir(), "etc")
		asked, err := identity.Request(identity.RequestOptions{Dir: site, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(site); err != nil || len(entries) != 2 {
			t.Errorf("%v, %v", entries, err)
		}
		if info, err := os.Stat(asked.Key); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		if block, rest := pem.Decode([]byte(read(t, asked.Request))); block == nil || block.Type != "CERTIFICATE REQUEST" || len(rest) > 0 {
			t.Errorf("the request has more than itself: %s", read(t, asked.Request))
		}
		out, err := identity.Sign(identity.IssueOptions{Dir: dir, Name: name, Now: noon}, asked.Request)
		if err != nil {
			t.Fatal(err)
		}
		if out.Key != "" || filepath.Dir(out.Certificate) != dir {
			t.Errorf("%+v", out)
		}
		if s := shownOf(t, out.Certificate); s.Name != name {
			t.Errorf("%+v", s)
		}
		if name.Role == identity.RoleServer {
			continue // nobody's identity
		}
		if got := load(t, identity.Files{Certificate: out.Certificate, Key: asked.Key, CA: out.CA}, noon); got.Name() != name {
			t.Errorf("got %v", got.Name())
		}
		var exists *identity.Exists
		if _, err := identity.Sign(identity.IssueOptions{Dir: dir, Name: name, Now: noon}, asked.Request); !errors.As(err, &exists) {
			t.Errorf("a second time: %v", err)
		}
		if _, err := identity.Request(identity.RequestOptions{Dir: site, Name: name}); !errors.As(err, &exists) {
			t.Errorf("requested a second time: %v", err)
		}
	}
}

// The authority says what it signs: for whom, and with which names of machines. A request
// that asks for more is refused.
func TestWhatIsNotSigned(t *testing.T) {
	dir, site := authority(t, ""), t.TempDir()
	asked, err := identity.Request(identity.RequestOptions{Dir: site, Name: node("B"), Hosts: []string{"b.example.org", "192.0.2.7"}})
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, kind string, der []byte) string {
		path := filepath.Join(site, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, curve)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(read(t, asked.Request)))
	block.Bytes[len(block.Bytes)-1] ^= 1 // of its signature
	for _, tc := range []struct {
		name    string
		o       identity.IssueOptions
		request string
		want    string
	}{
		{"another site", identity.IssueOptions{Name: node("A")}, asked.Request, "it is for site B, not for site A: check who sent it"},
		{"an operator", identity.IssueOptions{Name: operator("B")}, asked.Request, "it is for site B, not for operator B"},
		{"hosts", identity.IssueOptions{Name: node("B"), Hosts: []string{"192.0.2.7", "a.example.org"}}, asked.Request, "it asks for more names of machines than you named: if they belong to site B, add --host b.example.org"},
		{"an address", identity.IssueOptions{Name: node("B"), Hosts: []string{"b.example.org"}}, asked.Request, "add --host 192.0.2.7"},
		{"another kind of key", identity.IssueOptions{Name: node("B")}, file("curve", "CERTIFICATE REQUEST", other), "has a key of another kind than Ed25519"},
		{"a signature that is none", identity.IssueOptions{Name: node("B")}, file("forged", "CERTIFICATE REQUEST", block.Bytes), "has a request that cannot be used"},
		{"noise", identity.IssueOptions{Name: node("B")}, file("noise", "CERTIFICATE REQUEST", []byte("noise")), "has a request that cannot be used"},
		{"a key", identity.IssueOptions{Name: node("B")}, asked.Key, "has no request: name a file in PEM, with -----BEGIN CERTIFICATE REQUEST-----"},
		{"no file", identity.IssueOptions{Name: node("B")}, site + "/none", "no such file or directory: make it with `fmqmd pki request`, or name yours"},
		{"no name", identity.IssueOptions{Name: node("b.c")}, asked.Request, `"b.c" cannot name a node`},
	} {
		tc.o.Dir, tc.o.Now = dir, noon
		if _, err := identity.Sign(tc.o, tc.request); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", tc.name, err, tc.want)
		}
	}
	if _, err := identity.Request(identity.RequestOptions{Dir: site, Name: operator("ann"), Hosts: []string{"a.org"}}); err == nil || !strings.Contains(err.Error(), "an operator has no host") {
		t.Errorf("an operator's host: %v", err)
	}
	all := identity.IssueOptions{Dir: dir, Name: node("B"), Now: noon, Hosts: []string{"b.example.org", "192.0.2.7"}}
	out, err := identity.Sign(all, asked.Request)
	if err != nil || strings.Join(shownOf(t, out.Certificate).Hosts, " ") != "b.example.org 192.0.2.7" {
		t.Errorf("all that it asks for: %v", err)
	}
	// A key that is denied gets no certificate any more.
	if err := os.WriteFile(filepath.Join(dir, identity.DenyFile), []byte(shownOf(t, out.Certificate).Key), 0o600); err != nil {
		t.Fatal(err)
	}
	all.Force = true
	if _, err := identity.Sign(all, asked.Request); err == nil || !strings.Contains(err.Error(), "is denied by "+dir+"/deny: make a new one with `fmqmd pki request --force`") {
		t.Errorf("a denied key: %v", err)
	}
}

// Renewing keeps name, hosts and key, so that only the certificate is to be put in place;
// it leaves alone what is good for long, so that it can be run every day.
func TestRenew(t *testing.T) {
	dir := authority(t, "")
	files := issue(t, dir, node("B"), noon, "b.example.org", "192.0.2.7")
	before := shownOf(t, files.Certificate)
	renew := func(o identity.RenewOptions) (identity.Renewed, error) {
		o.Dir = dir
		if o.File == "" {
			o.File = files.Certificate
		}
		return identity.Renew(o)
	}
	third := before.NotAfter.Add(-before.NotAfter.Sub(before.NotBefore) / 3)
	if r, err := renew(identity.RenewOptions{Now: third}); err != nil || r.Done || !r.Expires.Equal(before.NotAfter) || shownOf(t, files.Certificate).Fingerprint != before.Fingerprint {
		t.Errorf("with a third left: %+v, %v", r, err)
	}
	r, err := renew(identity.RenewOptions{Now: third.Add(1)})
	after := shownOf(t, files.Certificate)
	if err != nil || !r.Done || r.Name != node("B") || after.Key != before.Key || after.Fingerprint == before.Fingerprint ||
		strings.Join(after.Hosts, " ") != "b.example.org 192.0.2.7" || !after.NotAfter.Equal(third.Add(1).Truncate(1e9).AddDate(0, 0, identity.NodeDays)) {
		t.Errorf("with less: %+v, %v; %+v", r, err, after)
	}
	load(t, files, third.AddDate(0, 0, 300))
	if r, err := renew(identity.RenewOptions{Now: third.AddDate(0, 0, 1), All: true, Days: 10}); err != nil || !r.Done || !r.Expires.Equal(third.AddDate(0, 0, 11).Truncate(1e9)) {
		t.Errorf("all: %+v, %v", r, err)
	}
	if r, err := renew(identity.RenewOptions{Now: third.AddDate(2, 0, 0)}); err != nil || !r.Done {
		t.Errorf("long after its end: %+v, %v", r, err)
	}

	of := func(f identity.Files) string { return f.Certificate }
	for _, tc := range []struct{ name, file, want string }{
		{"of another authority", of(issue(t, authority(t, ""), node("B"), noon)), "it was signed by another authority than the one in " + dir + ": renew it there"},
		{"the authority itself", files.CA, "it names neither a site, an operator nor a person"},
		{"a key", files.Key, "has no certificate"},
	} {
		if _, err := renew(identity.RenewOptions{File: tc.file, Now: noon, All: true}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", tc.name, err, tc.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, identity.DenyFile), []byte(before.Key+" # stolen"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := renew(identity.RenewOptions{Now: noon, All: true}); err == nil || !strings.Contains(err.Error(), "it is denied by "+dir+"/deny: make a new key with `fmqmd pki request --force` at site B, and sign that") {
		t.Errorf("a key that was stolen: %v", err)
	}
}
