package identity

import (
	"crypto/ed25519"
	"fmt"
	"time"
)

// RenewOptions renew a certificate.
type RenewOptions struct {
	Dir  string // of the authority
	File string // of the certificate: it is replaced
	Days int    // see IssueOptions
	Now  time.Time
	All  bool // also if most of its life is left
}

// Renewed is what became of a certificate.
type Renewed struct {
	Name    Name
	File    string
	Expires time.Time
	Done    bool // false: it is good for longer, and stays
}

// Renew makes a certificate again that the authority has signed, for the same name, hosts
// and key, and writes it in place of the old one. It leaves those alone that are not due,
// see Due, so that it can be run every day. A key that somebody else has is not made good
// by that: deny it, and request a certificate for a new one.
func Renew(o RenewOptions) (Renewed, error) {
	fail := func(err error) (Renewed, error) { return Renewed{}, fmt.Errorf("renew %s: %w", o.File, err) }
	certificates, err := readCertificates(o.File)
	if err != nil {
		return fail(err)
	}
	old := certificates[0]
	name, err := NameOf(old)
	if err != nil {
		return fail(err)
	}
	issue := IssueOptions{Dir: o.Dir, Name: name, Days: o.Days, Now: o.Now}
	authority, authorityKey, template, err := issue.prepare()
	if err != nil {
		return fail(err)
	}
	if err := old.CheckSignatureFrom(authority); err != nil {
		return fail(fmt.Errorf("it was signed by another authority than the one in %s: renew it there", o.Dir))
	}
	public, ok := old.PublicKey.(ed25519.PublicKey)
	if !ok {
		return fail(fmt.Errorf("it has a key of another kind than Ed25519: make one with `fmqmd pki request`"))
	}
	denied, err := denials(o.Dir)
	if err != nil {
		return fail(err)
	}
	if denied.certificate(old) {
		return fail(fmt.Errorf("it is denied by %s: make a new key with `fmqmd pki request --force` at %s, and sign that", denied.file, name))
	}
	if !o.All && !Due(old.NotBefore, old.NotAfter, o.Now) {
		return Renewed{Name: name, File: o.File, Expires: old.NotAfter}, nil
	}
	template.DNSNames, template.IPAddresses = old.DNSNames, old.IPAddresses
	c, err := sign(template, authority, public, authorityKey)
	if err != nil {
		return fail(err)
	}
	if err := writeFile(o.File, encodeCertificates(c), 0o644, true); err != nil {
		return fail(err)
	}
	return Renewed{Name: name, File: o.File, Expires: c.NotAfter, Done: true}, nil
}

// Due says whether a certificate is to be renewed: less than a third of its life is left.
func Due(from, until, now time.Time) bool {
	return until.Sub(now) < until.Sub(from)/3
}
