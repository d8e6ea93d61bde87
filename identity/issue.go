package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// How long certificates are valid, unless said otherwise: what somebody steals is worth
// something that long, at most.
const (
	NodeDays     = 365
	ServerDays   = 365
	OperatorDays = 90
	PersonDays   = 365
)

// early is how much before it was made a certificate begins to be valid: sites' clocks differ.
const early = 24 * time.Hour

// IssueOptions make a certificate.
type IssueOptions struct {
	Dir   string // of the authority; the files are written there
	Name  Name
	Hosts []string // names and addresses under which operators call a node, or clients a server
	Days  int      // 0: those of the role; at most as long as the authority is valid
	Now   time.Time
	Force bool // replace the files of an earlier one
}

// Issued is what was written.
type Issued struct {
	Name        Name
	Certificate string
	Key         string // empty: the key is where the request was made
	CA          string
	Expires     time.Time
}

// Issue makes a key and a certificate of the authority in a directory.
func Issue(o IssueOptions) (Issued, error) {
	fail := func(err error) (Issued, error) { return Issued{}, fmt.Errorf("issue a certificate: %w", err) }
	authority, authorityKey, template, err := o.prepare()
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
	out := o.issued(c)
	out.Key = filepath.Join(o.Dir, o.Name.file()+".key")
	if err := writePair(out, c, key, o.Force); err != nil {
		return fail(err)
	}
	return out, nil
}

// prepare reads the authority, and gives what it is to sign.
func (o IssueOptions) prepare() (authority *x509.Certificate, key ed25519.PrivateKey, template *x509.Certificate, err error) {
	if err = o.Name.check(); err != nil {
		return nil, nil, nil, err
	}
	if authority, key, err = readAuthority(o.Dir); err != nil {
		return nil, nil, nil, err
	}
	template, err = o.template(authority)
	return authority, key, template, err
}

// issued says where a certificate is written.
func (o IssueOptions) issued(c *x509.Certificate) Issued {
	return Issued{
		Name: o.Name, Certificate: filepath.Join(o.Dir, o.Name.file()+".crt"), CA: filepath.Join(o.Dir, CACertificate), Expires: c.NotAfter,
	}
}

// file is what the names of files begin with.
func (n Name) file() string { return string(n.Role) + "-" + n.Name }

func (o IssueOptions) template(authority *x509.Certificate) (*x509.Certificate, error) {
	if o.Now.After(authority.NotAfter) {
		return nil, fmt.Errorf("the authority %q expired on %s: make a new one with `fmqmd pki init` in another directory", authority.Subject.CommonName, authority.NotAfter.UTC().Format(dateOnly))
	}
	days := o.Days
	if days < 0 || days > CAYears*366 {
		return nil, fmt.Errorf("%d days: write from 1 to %d", days, CAYears*366)
	}
	if days == 0 {
		days = map[Role]int{RoleNode: NodeDays, RoleOperator: OperatorDays, RolePerson: PersonDays, RoleServer: ServerDays}[o.Name.Role]
	}
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: o.Name.common()}, URIs: []*url.URL{o.Name.uri()},
		NotBefore: o.Now.Add(-early), NotAfter: o.Now.AddDate(0, 0, days), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: o.Name.usages(),
	}
	if t.NotAfter.After(authority.NotAfter) {
		t.NotAfter = authority.NotAfter
	}
	var err error
	t.DNSNames, t.IPAddresses, err = o.Name.hosts(o.Hosts)
	return t, err
}

// usages are the ends of a connection that a certificate is for. A server that is no node
// answers, and calls nobody.
func (n Name) usages() []x509.ExtKeyUsage {
	switch n.Role {
	case RoleNode:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	case RoleServer:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	default:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
}

// hosts are the names and addresses that a certificate has for machines: what was said,
// and nothing else. A server is called by its own name.
func (n Name) hosts(said []string) (names []string, addresses []net.IP, err error) {
	switch n.Role {
	case RoleOperator, RolePerson:
		if len(said) > 0 {
			return nil, nil, fmt.Errorf("%s has no host: remove --host", map[Role]string{RoleOperator: "an operator", RolePerson: "a person"}[n.Role])
		}
	case RoleServer:
		said = append([]string{n.Name}, said...)
	case RoleNode:
	}
	for _, host := range said {
		if ip := net.ParseIP(host); ip != nil {
			addresses = append(addresses, ip)
			continue
		}
		if !validHost(host) {
			return nil, nil, noHost(host)
		}
		names = append(names, host)
	}
	return names, addresses, nil
}

func noHost(s string) error {
	return fmt.Errorf("%q is neither the name nor the address of a machine: write a name such as b.example.org or an address such as 192.0.2.7, without a port", s)
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
