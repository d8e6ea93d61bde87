package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How long certificates are valid, unless said otherwise.
const (
	CAYears      = 10
	NodeDays     = 730
	OperatorDays = 365
)

// early is how much before it was made a certificate begins to be valid: sites' clocks differ.
const early = 24 * time.Hour

// Names of files of an authority's directory.
const (
	CACertificate = "ca.crt"
	CAKey         = "ca.key"
)

// InitOptions make an authority.
type InitOptions struct {
	Dir   string // made if it is not there
	Name  string // shown in what it signs; "fmqm sites" if empty
	Now   time.Time
	Force bool // replace an authority that is there: all that it signed is worthless then
}

// IssueOptions make a certificate.
type IssueOptions struct {
	Dir   string // of the authority; the files are written there
	Name  Name
	Hosts []string // more names and addresses that a node has, for operators who call it there
	Days  int      // 0: NodeDays or OperatorDays
	Now   time.Time
	Force bool // replace the files of an earlier one
}

// Issued is what was written.
type Issued struct {
	Name        Name
	Certificate string
	Key         string
	CA          string
	Expires     time.Time
}

// Init makes an authority: its certificate, valid for CAYears, and its key.
func Init(o InitOptions) (Issued, error) {
	if o.Name == "" {
		o.Name = "fmqm sites"
	}
	fail := func(err error) (Issued, error) { return Issued{}, fmt.Errorf("make an authority: %w", err) }
	if len(o.Name) > 64 {
		return fail(fmt.Errorf("its name has %d bytes: at most 64", len(o.Name)))
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fail(err)
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fail(err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: o.Name}, NotBefore: o.Now.Add(-early), NotAfter: o.Now.AddDate(CAYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, // what it signs is for nothing else
	}
	c, err := sign(template, template, public, key)
	if err != nil {
		return fail(err)
	}
	out := Issued{Certificate: filepath.Join(o.Dir, CACertificate), Key: filepath.Join(o.Dir, CAKey), Expires: c.NotAfter}
	out.CA = out.Certificate
	if err := writePair(out, c, key, o.Force); err != nil {
		return fail(err)
	}
	return out, nil
}

// Issue makes a key and a certificate of the authority in a directory.
func Issue(o IssueOptions) (Issued, error) {
	fail := func(err error) (Issued, error) { return Issued{}, fmt.Errorf("issue a certificate: %w", err) }
	if err := o.Name.check(); err != nil {
		return fail(err)
	}
	authority, authorityKey, err := readAuthority(o.Dir)
	if err != nil {
		return fail(err)
	}
	template, err := o.template(authority)
	if err != nil {
		return fail(err)
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fail(err)
	}
	c, err := sign(template, authority, public, authorityKey)
	if err != nil {
		return fail(err)
	}
	base := filepath.Join(o.Dir, string(o.Name.Role)+"-"+o.Name.Name)
	out := Issued{Name: o.Name, Certificate: base + ".crt", Key: base + ".key", CA: filepath.Join(o.Dir, CACertificate), Expires: c.NotAfter}
	if err := writePair(out, c, key, o.Force); err != nil {
		return fail(err)
	}
	return out, nil
}

func (o IssueOptions) template(authority *x509.Certificate) (*x509.Certificate, error) {
	if o.Now.After(authority.NotAfter) {
		return nil, fmt.Errorf("the authority %q expired on %s: make a new one with `fmqmd pki init` in another directory", authority.Subject.CommonName, authority.NotAfter.UTC().Format(dateOnly))
	}
	days := o.Days
	switch {
	case days < 0 || days > CAYears*366:
		return nil, fmt.Errorf("%d days: write from 1 to %d", days, CAYears*366)
	case days == 0 && o.Name.Role == RoleOperator:
		days = OperatorDays
	case days == 0:
		days = NodeDays
	}
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: o.Name.Name}, URIs: []*url.URL{o.Name.uri()},
		NotBefore: o.Now.Add(-early), NotAfter: o.Now.AddDate(0, 0, days), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if t.NotAfter.After(authority.NotAfter) {
		t.NotAfter = authority.NotAfter
	}
	if o.Name.Role == RoleOperator {
		if len(o.Hosts) > 0 {
			return nil, errors.New("an operator has no host: remove --host")
		}
		return t, nil
	}
	t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	t.DNSNames, t.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1).To4(), net.IPv6loopback}
	for _, host := range o.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
			continue
		}
		if !validHost(host) {
			return nil, fmt.Errorf("%q is neither the name nor the address of a machine: write such as b.example.org or 192.0.2.7, without a port", host)
		}
		t.DNSNames = append(t.DNSNames, host)
	}
	return t, nil
}

// validHost says whether s may be a name in the DNS, as certificates have them.
func validHost(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		odd := func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") || strings.ContainsFunc(label, odd) {
			return false
		}
	}
	return true
}

func readAuthority(dir string) (*x509.Certificate, ed25519.PrivateKey, error) {
	certificates, err := readCertificates(filepath.Join(dir, CACertificate))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no authority in %s: make one with `fmqmd pki init`, or name its directory with --dir", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	key, err := readKey(filepath.Join(dir, CAKey))
	if err != nil {
		return nil, nil, fmt.Errorf("the authority's key: %w", err)
	}
	c := certificates[0]
	if public, ok := c.PublicKey.(ed25519.PublicKey); !ok || !c.IsCA || !public.Equal(key.Public()) {
		return nil, nil, fmt.Errorf("%s in %s is not the key of %s", CAKey, dir, CACertificate)
	}
	return c, key, nil
}

func sign(template, parent *x509.Certificate, public ed25519.PublicKey, key ed25519.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key) // with a random serial number
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// writePair writes a certificate and its key, the key first: one without its
// certificate does no harm.
func writePair(out Issued, c *x509.Certificate, key ed25519.PrivateKey, force bool) error {
	if !force {
		for _, path := range []string{out.Certificate, out.Key} {
			if _, err := os.Lstat(path); err == nil {
				return alreadyThere(path)
			}
		}
	}
	text, err := encodeKey(key)
	if err != nil {
		return err
	}
	if err := writeFile(out.Key, text, 0o600, force); err != nil {
		return err
	}
	return writeFile(out.Certificate, encodeCertificates(c), 0o644, force)
}
