package amqp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fmqm/internal/rabbittest"
)

// authority issues certificates for a test.
type authority struct {
	t    *testing.T
	dir  string
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t, dir: t.TempDir(), name: name}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	a.key = key
	a.cert, err = x509.ParseCertificate(der)
	must(t, err)
	a.write("ca.pem", "CERTIFICATE", der)
	return a
}

func (a *authority) write(name, kind string, der []byte) string {
	file := filepath.Join(a.dir, name)
	must(a.t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return file
}

// issue gives the files of a certificate; change may spoil it.
func (a *authority) issue(name string, change func(*x509.Certificate)) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	must(a.t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	must(a.t, err)
	return a.write(name+".pem", "CERTIFICATE", der), a.write(name+".key", "PRIVATE KEY", pkcs8)
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// client is the TLS configuration of one who trusts a, with a certificate of by.
func (a *authority) client(by *authority, name string) *tls.Config {
	cert, key := by.issue(name, nil)
	pair, err := tls.LoadX509KeyPair(cert, key)
	must(a.t, err)
	return &tls.Config{RootCAs: a.pool(), Certificates: []tls.Certificate{pair}}
}

// A daemon reads its certificate at each handshake: the one that was refused is named then
// too.
func TestTheCertificateThatIsReadForEachHandshakeIsNamed(t *testing.T) {
	ca := newAuthority(t, "head-office")
	pair := ca.client(ca, "node-A").Certificates[0]
	read := target{addr: "b:5671", tls: &tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }}}
	if got := read.explain(&tlsError{errEarly}); !strings.Contains(got, "(it was shown that of node-A, issued by head-office)") {
		t.Error(got)
	}
	none := target{addr: "b:5671", tls: &tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &tls.Certificate{}, nil }}}
	if got := none.explain(&tlsError{errEarly}); !strings.Contains(got, "(it was shown none)") {
		t.Error(got)
	}
}

// Certificates say who the broker is, and by SASL EXTERNAL who the node is.
func TestTLS(t *testing.T) {
	rabbittest.Need(t)
	ca, other := newAuthority(t, "head-office"), newAuthority(t, "somebody")
	cert, key := ca.issue("broker", nil)
	rabbit := rabbittest.Start(t, rabbittest.Options{TLS: &rabbittest.TLS{CA: filepath.Join(ca.dir, "ca.pem"), Cert: cert, Key: key, Require: true}})
	must(t, rabbit.AddVHost("v"))
	for _, node := range []string{"A", "B"} {
		must(t, rabbit.AddUser("node-"+node, "unused"))
		must(t, rabbit.Permit("node-"+node, "v", ".*", ".*", ".*"))
	}
	over := func(config *tls.Config, url string) func(*Options) {
		return func(o *Options) {
			o.URL, o.User, o.TLS = url, "", config
			if !strings.Contains(url, "@") {
				o.PasswordFile = ""
			}
		}
	}
	url := "amqps://" + rabbit.TLSAddr() + "/v"
	_, port, _ := net.SplitHostPort(rabbit.TLSAddr())

	t.Run("external", func(t *testing.T) {
		a := newSite(t, "A", rabbit.TLSAddr(), "v", over(ca.client(ca, "node-A"), url))
		b := newSite(t, "B", rabbit.TLSAddr(), "v", over(ca.client(ca, "node-B"), url))
		a.connect("B")
		b.connect("A")
		f := &traffic{a: a, b: b}
		f.put(100)
		f.arrived(t)
	})
	refused := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"a broker of another authority", over(&tls.Config{RootCAs: other.pool()}, url), "TLS: the broker's certificate (of broker, issued by head-office) is signed by an authority that this site does not trust: name the right one (ca)"},
		{"another name", over(ca.client(ca, "node-A"), "amqps://localhost:"+port+"/v"), "TLS: the broker's certificate (of broker, issued by head-office) is not for localhost: x509:"},
		{"no certificate", over(&tls.Config{RootCAs: ca.pool()}, url), "(it was shown none): use one that the broker's authorities signed"},
		{"a certificate of another authority", over(ca.client(other, "node-A"), url), "(it was shown that of node-A, issued by somebody): use one that the broker's authorities signed"},
		{"a certificate of nobody's", over(ca.client(ca, "node-X"), url), "the broker refuses the login of the user of this side's certificate: "},
		{"a password beside the certificate", over(ca.client(ca, "node-A"), "amqps://fmqm@"+rabbit.TLSAddr()+"/v"), ""},
	}
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, "A", rabbit.TLSAddr(), "v", tt.change)
			st := s.untilState("a reason", func(st Status) bool { return st.Reason != "" || st.State == StateConnected })
			if !strings.Contains(st.Reason, tt.want) || tt.want == "" && st.State != StateConnected {
				t.Fatalf("got %s %q\nexpected %q", st.State, st.Reason, tt.want)
			}
		})
	}
}
