package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const typeRequest = "CERTIFICATE REQUEST"

// RequestOptions make a key, and a request for a certificate of it.
type RequestOptions struct {
	Dir   string // the files are written there; it is made if it is not there
	Name  Name
	Hosts []string // see IssueOptions
	Force bool     // replace the files of an earlier one
}

// Requested is what was written. The key stays where it is; the request goes to the
// authority, and is no secret.
type Requested struct {
	Name    Name
	Request string
	Key     string
}

// Request makes a key and a request for a certificate where the certificate will be
// used, so that the key never leaves that machine.
func Request(o RequestOptions) (Requested, error) {
	fail := func(err error) (Requested, error) { return Requested{}, fmt.Errorf("request a certificate: %w", err) }
	if err := o.Name.check(); err != nil {
		return fail(err)
	}
	names, addresses, err := o.Name.hosts(o.Hosts)
	if err != nil {
		return fail(err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fail(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: o.Name.common()}, URIs: []*url.URL{o.Name.uri()}, DNSNames: names, IPAddresses: addresses,
	}, key)
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fail(err)
	}
	base := filepath.Join(o.Dir, o.Name.file())
	out := Requested{Name: o.Name, Request: base + ".csr", Key: base + ".key"}
	text := pem.EncodeToMemory(&pem.Block{Type: typeRequest, Bytes: der})
	if err := writeWithKey(out.Request, text, out.Key, key, o.Force); err != nil {
		return fail(err)
	}
	return out, nil
}

// Sign makes a certificate for the key in a request. It is for whom the options say, for
// as long and with the hosts that they say: nothing is taken from the request but the key,
// and one that asks for more is refused, since whoever made it expects that.
func Sign(o IssueOptions, request string) (Issued, error) {
	fail := func(err error) (Issued, error) { return Issued{}, fmt.Errorf("sign a request: %w", err) }
	asked, err := readRequest(request)
	if err != nil {
		return fail(err)
	}
	authority, authorityKey, template, err := o.prepare()
	if err != nil {
		return fail(err)
	}
	public, ok := asked.PublicKey.(ed25519.PublicKey)
	if !ok {
		return fail(fmt.Errorf("%s has a key of another kind than Ed25519: make one with `fmqmd pki request`", request))
	}
	if err := o.compare(asked, template); err != nil {
		return fail(fmt.Errorf("%s: %w", request, err))
	}
	denied, err := denials(o.Dir)
	if err != nil {
		return fail(err)
	}
	if denied.key(asked.RawSubjectPublicKeyInfo) {
		return fail(fmt.Errorf("the key in %s is denied by %s: make a new one with `fmqmd pki request --force`", request, denied.file))
	}
	c, err := sign(template, authority, public, authorityKey)
	if err != nil {
		return fail(err)
	}
	out := o.issued(c)
	if err := writeFile(out.Certificate, encodeCertificates(c), 0o644, o.Force); err != nil {
		return fail(err)
	}
	return out, nil
}

// compare says what a request asks for beyond what it is to be given.
func (o IssueOptions) compare(asked *x509.CertificateRequest, given *x509.Certificate) error {
	name, err := nameIn(asked.URIs)
	switch {
	case err != nil:
		return err
	case name != (Name{}) && name != o.Name:
		return fmt.Errorf("it is for %s, not for %s: check who sent it", name, o.Name)
	}
	var more []string
	for _, host := range asked.DNSNames {
		if !slices.Contains(given.DNSNames, host) {
			more = append(more, "--host "+host)
		}
	}
	for _, ip := range asked.IPAddresses {
		if !slices.ContainsFunc(given.IPAddresses, ip.Equal) {
			more = append(more, "--host "+ip.String())
		}
	}
	if len(more) > 0 {
		return fmt.Errorf("it asks for more names of machines than you named: if they belong to %s, add %s", o.Name, strings.Join(more, " "))
	}
	return nil
}

func readRequest(path string) (*x509.CertificateRequest, error) {
	blocks, err := readBlocks(path, "make it with `fmqmd pki request`, or name yours")
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if b.Type != typeRequest {
			continue
		}
		r, err := x509.ParseCertificateRequest(b.Bytes)
		if err == nil {
			err = r.CheckSignature()
		}
		if err != nil {
			return nil, fmt.Errorf("%s has a request that cannot be used: %w", path, err)
		}
		return r, nil
	}
	return nil, because(ErrUnfit, "%s has no request: name a file in PEM, with -----BEGIN CERTIFICATE REQUEST-----", path)
}

// DenyFile is the list of what an authority does not sign again, in its directory; see
// Files.Deny.
const DenyFile = "deny"

// denials reads that list; a directory without one denies nothing.
func denials(dir string) (*denyList, error) {
	path := filepath.Join(dir, DenyFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &denyList{}, nil
	}
	return readDeny(path)
}
