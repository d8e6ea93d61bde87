package identity

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"fmqm/processtable"
)

// Files are where an identity is kept, in PEM.
type Files struct {
	Certificate string // the holder's own first, then those between it and the authority
	Key         string
	CA          string // one or more authorities
	Deny        string // fingerprints of those who are not believed whoever signed; "": none
}

// Part is one of the Files.
type Part int

// The Files, in their order.
const (
	OfCertificate Part = iota
	OfKey
	OfCA
	OfDeny
)

// InFile is an error of Load about one of the Files, which its text names.
type InFile struct {
	Of  Part // which of them: several may be one file
	err error
}

func (e *InFile) Error() string { return e.err.Error() }

// Unwrap gives what is wrong with the file.
func (e *InFile) Unwrap() error { return e.err }

// Options load an identity.
type Options struct {
	Files Files
	// Name, if it is not zero, is whom the certificate has to be for.
	Name Name
	Now  func() time.Time // nil: time.Now
}

// Identity is a certificate with its key, and whom its holder believes.
type Identity struct {
	name    Name
	now     func() time.Time
	current atomic.Pointer[loaded]
	servers servers
	watches watches
}

// loaded is what the files held.
type loaded struct {
	certificate tls.Certificate
	chain       []*x509.Certificate
	roots       *x509.CertPool
	authorities []*x509.Certificate
	denied      *denyList
}

// Load reads an identity. A certificate that is not valid now is an error, and so are
// files that do not belong together.
func Load(o Options) (*Identity, error) {
	i := &Identity{now: o.Now}
	if i.now == nil {
		i.now = time.Now
	}
	l, name, err := i.load(o.Files)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if o.Name != (Name{}) && name != o.Name {
		return nil, fmt.Errorf("identity: %w", because(ErrWrongName, "the certificate in %s is for %s, and this is %s: name the right file, or make one with `fmqmd pki issue %s`",
			o.Files.Certificate, name, o.Name, o.Name.Name))
	}
	i.name = name
	i.current.Store(l)
	return i, nil
}

// Reload reads the files, which may be others than before; on an error all stays as it was.
// Who is watched is judged again by them: see Watch.
func (i *Identity) Reload(files Files) error {
	l, name, err := i.load(files)
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	if name != i.name {
		return fmt.Errorf("identity: %w", because(ErrWrongName, "the certificate in %s is for %s, and this is %s: name the right file", files.Certificate, name, i.name))
	}
	i.current.Store(l)
	i.watches.again()
	return nil
}

func (i *Identity) load(f Files) (*loaded, Name, error) {
	chain, err := readCertificates(f.Certificate)
	if err != nil {
		return nil, Name{}, &InFile{OfCertificate, err}
	}
	key, err := readKey(f.Key)
	if err != nil {
		return nil, Name{}, &InFile{OfKey, err}
	}
	authorities, err := readCertificates(f.CA)
	if err != nil {
		return nil, Name{}, &InFile{OfCA, err}
	}
	if public, ok := chain[0].PublicKey.(ed25519.PublicKey); !ok || !public.Equal(key.Public()) {
		return nil, Name{}, because(ErrUnfit, "the key in %s does not belong to the certificate in %s: name the two that were made together", f.Key, f.Certificate)
	}
	l := &loaded{chain: chain, authorities: authorities, roots: x509.NewCertPool()}
	for _, c := range authorities {
		if !c.IsCA {
			return nil, Name{}, &InFile{OfCA, because(ErrUnfit, "%s has a certificate that is not an authority's (%q): name the authority's, ca.crt", f.CA, c.Subject)}
		}
		l.roots.AddCert(c)
	}
	if f.Deny != "" {
		if l.denied, err = readDeny(f.Deny); err != nil {
			return nil, Name{}, &InFile{OfDeny, err}
		}
	}
	// Its own list says nothing against who holds it: the others' do, and what is only here
	// goes on.
	own, err := l.verify(chain, nil, i.now(), x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, Name{}, fmt.Errorf("%s: %w", f.Certificate, err)
	}
	l.certificate = tls.Certificate{PrivateKey: key, Leaf: chain[0]}
	for _, c := range chain {
		l.certificate.Certificate = append(l.certificate.Certificate, c.Raw)
	}
	return l, own.Name, nil
}

// Name is whose identity it is.
func (i *Identity) Name() Name { return i.name }

// Node is the name of the node whose identity it is.
func (i *Identity) Node() processtable.NodeID { return processtable.NodeID(i.name.Name) }

// Expires is when the identity ends: its certificate, one above it, or the last of the
// authorities that it believes.
func (i *Identity) Expires() time.Time {
	l := i.current.Load()
	end := slices.MaxFunc(l.authorities, byEnd).NotAfter
	if first := slices.MinFunc(l.chain, byEnd).NotAfter; first.Before(end) {
		return first
	}
	return end
}

// Due says whether it is time to renew: the certificate, or one above it, has less than a
// third of its life left, or the last of the authorities, and that less than a year.
func (i *Identity) Due() bool {
	l, now := i.current.Load(), i.now()
	for _, c := range l.chain {
		if Due(c.NotBefore, c.NotAfter, now) {
			return true
		}
	}
	last := slices.MaxFunc(l.authorities, byEnd)
	return Due(last.NotBefore, last.NotAfter, now) && last.NotAfter.Before(now.AddDate(1, 0, 0))
}

// Denied says whether the identity's own certificate is on the deny list: then who has the
// same list believes it no more.
func (i *Identity) Denied() bool {
	l := i.current.Load()
	return l.denied.any(l.chain)
}

func byEnd(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }

// Chain gives the certificates in DER, the node's own first.
func (i *Identity) Chain() [][]byte { return i.current.Load().certificate.Certificate }

// Sign signs msg with the key of the first certificate of Chain.
func (i *Identity) Sign(msg []byte) ([]byte, error) {
	return ed25519.Sign(i.current.Load().certificate.PrivateKey.(ed25519.PrivateKey), msg), nil
}

// Verify says which node a chain of certificates in DER is for, and with which key it
// signs.
func (i *Identity) Verify(chain [][]byte) (processtable.NodeID, ed25519.PublicKey, error) {
	certificates, err := parseChain(chain)
	if err != nil {
		return "", nil, err
	}
	b, err := i.verifyAs(RoleNode, certificates, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return "", nil, err
	}
	key, ok := certificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return "", nil, because(ErrUnfit, "the certificate of %s has a key of another kind than Ed25519: make one with `fmqmd pki issue`", b.Name)
	}
	return processtable.NodeID(b.Name.Name), key, nil
}

// maxChain is how many certificates one end may show.
const maxChain = 8

func parseChain(chain [][]byte) ([]*x509.Certificate, error) {
	if len(chain) > maxChain {
		return nil, because(ErrUnfit, "%d certificates were shown, of at most %d", len(chain), maxChain)
	}
	certificates := make([]*x509.Certificate, 0, len(chain))
	for _, der := range chain {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, because(ErrUnfit, "the peer showed something that is not a certificate: %v", err)
		}
		certificates = append(certificates, c)
	}
	return certificates, nil
}

func (i *Identity) verifyAs(role Role, chain []*x509.Certificate, usage x509.ExtKeyUsage) (believed, error) {
	l := i.current.Load()
	b, err := l.verify(chain, l.denied, i.now(), usage)
	switch {
	case err != nil:
		return believed{}, err
	case b.Role == role && role == RoleNode && i.servers.has(chain[0]):
		return believed{}, because(ErrDenied, "the certificate of %s is that of the broker, and a broker is not a site: give the broker its own, with `fmqmd pki issue --server`, and %s another one", b.Name, b.Name)
	case b.Role == role:
		return b, nil
	case role == RolePerson:
		return believed{}, because(ErrWrongName, "the certificate is for %s, and not for a person: use one that `fmqmd pki issue --person NAME` made", b.Name)
	case role == RoleNode:
		return believed{}, because(ErrWrongName, "the certificate is for %s, and links are for sites: use the one that `fmqmd pki issue NODE` made", b.Name)
	}
	return believed{}, because(ErrWrongName, "the certificate is for %s, and requests are for operators: use one that `fmqmd pki issue --operator NAME` made", b.Name)
}

// Server is the configuration of a listener. It asks callers for a certificate and takes
// whatever they show: who handles a request looks with Caller, and can then say why not.
func (i *Identity) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, ClientAuth: tls.RequestClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &i.current.Load().certificate, nil
		},
	}
}

// Caller says who has opened a connection that Server accepted, and is known to be in
// that role. The error is for the caller, too.
func (i *Identity) Caller(state *tls.ConnectionState, role Role) (Name, error) {
	if state == nil {
		return Name{}, because(ErrNoCertificate, "the connection is not encrypted: use https://")
	}
	b, err := i.verifyAs(role, state.PeerCertificates, x509.ExtKeyUsageClientAuth)
	return b.Name, err
}

// Client is the configuration of a connection to the node peer, at whatever address.
func (i *Identity) Client(peer processtable.NodeID) *tls.Config {
	return i.client(func(state tls.ConnectionState) error {
		b, err := i.verifyAs(RoleNode, state.PeerCertificates, x509.ExtKeyUsageServerAuth)
		if err == nil && b.Name.Name != string(peer) {
			err = because(ErrWrongName, "the certificate names %s and not %s: correct the address of %s in links.peers", b.Name, peer, peer)
		}
		return err
	})
}

// Operator is the configuration of a connection of an operator to the node at an
// address, which the node's certificate has to name.
func (i *Identity) Operator(host string) *tls.Config {
	return i.client(func(state tls.ConnectionState) error {
		b, err := i.verifyAs(RoleNode, state.PeerCertificates, x509.ExtKeyUsageServerAuth)
		if errors.Is(err, ErrDenied) {
			return because(ErrDenied, "%s was revoked: it is on your own deny list: do not use this site until it has a certificate for a new key", describe(state.PeerCertificates[0]))
		}
		if err != nil {
			return err
		}
		if err := state.PeerCertificates[0].VerifyHostname(host); err != nil {
			return because(ErrWrongName, "the certificate of %s is not for the address %s: use another address of it, or make one with `fmqmd pki issue %s --host %s`", b.Name, host, b.Name.Name, host)
		}
		return nil
	})
}

// client leaves to verify what Go would check by host names.
func (i *Identity) client(verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection:   verify,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &i.current.Load().certificate, nil
		},
	}
}

// ExplainDial says in plain words what the error of a TLS connection means; errors
// that are not of TLS come back as they are.
func ExplainDial(err error) error {
	var own *reason
	var record tls.RecordHeaderError
	var alert *net.OpError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &record):
		return because(ErrUnfit, "the other side does not speak TLS: give the daemon there an `identity`, or write http:// where that is allowed")
	case errors.As(err, &alert) && alert.Op == "remote error":
		return because(ErrUnfit, "the other side ended the connection (%v): it is not an fmqm daemon with an `identity`, or it is of another version", alert.Err)
	}
	return err
}
