package identity

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Why somebody is not believed. Errors of this room wrap one of them.
var (
	ErrNoCertificate = errors.New("no certificate")
	ErrAuthority     = errors.New("signed by another authority")
	ErrExpired       = errors.New("not valid any more")
	ErrTooEarly      = errors.New("not valid yet")
	ErrWrongName     = errors.New("for somebody else")
	ErrUnfit         = errors.New("not fit for this")
	ErrDenied        = errors.New("denied")
)

// reason is an error for people that is also one of the errors above.
type reason struct {
	text string
	is   error
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.is }

func because(is error, format string, args ...any) error {
	return &reason{fmt.Sprintf(format, args...), is}
}

// dateOnly is how dates of certificates are shown, in UTC.
const dateOnly = "2006-01-02 15:04 UTC"

// believed is what a chain of certificates proves, and until when.
type believed struct {
	Name
	until time.Time
}

// verify says whom the first certificate is for, if it is of the authorities, valid now,
// made for the usage, and denied says nothing against it or what is above it.
func (l *loaded) verify(chain []*x509.Certificate, denied *denyList, now time.Time, usage x509.ExtKeyUsage) (believed, error) {
	if len(chain) == 0 {
		return believed{}, because(ErrNoCertificate, "no certificate was shown: %s", configureRemedy)
	}
	leaf, between := chain[0], x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	whose := describe(leaf)
	chains, err := leaf.Verify(x509.VerifyOptions{Roots: l.roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	if err != nil {
		return believed{}, explain(err, leaf, whose, l.authorities[0].Subject.CommonName, now)
	}
	name, err := NameOf(leaf)
	if err != nil {
		return believed{}, because(ErrUnfit, "the certificate that the other side showed cannot be used: %v: make one with `fmqmd pki issue`", err)
	}
	b := believed{Name: name}
	for _, c := range chains {
		if end := slices.MinFunc(c, byEnd).NotAfter; end.After(b.until) && !denied.any(c) {
			b.until = end
		}
	}
	if b.until.IsZero() {
		return believed{}, because(ErrDenied, "%s was revoked: it is on the deny list of the site that says this: request one for a new key with `%s`", whose, requestFor(name))
	}
	return b, nil
}

// requestFor is the command that asks the authority for another certificate.
func requestFor(name Name) string {
	flag := map[Role]string{RoleNode: "--name", RoleOperator: "--operator", RolePerson: "--person", RoleServer: "--server"}[name.Role]
	return "fmqmd pki request " + flag + " " + name.Name
}

const configureRemedy = "set `identity` there, with a certificate that `fmqmd pki issue` made"

// describe names a certificate for people, believed or not.
func describe(c *x509.Certificate) string {
	if name, err := NameOf(c); err == nil {
		return "the certificate of " + name.String()
	}
	return fmt.Sprintf("the certificate of %q", c.Subject)
}

// explain says in plain words why a certificate does not verify.
func explain(err error, leaf *x509.Certificate, whose, authority string, now time.Time) error {
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return explainTime(invalid.Cert, leaf, whose, now)
	}
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown) && leaf.Issuer.CommonName == authority:
		return because(ErrAuthority, "%s was signed by another authority with the same name, %q: if the authority was replaced, all sites need certificates of the new one, and its file as `ca`", whose, authority)
	case errors.As(err, &unknown):
		return because(ErrAuthority, "%s was signed by another authority (%q, and not %q): make one with the sites' own authority, or add the other to the file of `ca`", whose, cmp.Or(leaf.Issuer.CommonName, leaf.Issuer.String()), authority)
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return because(ErrUnfit, "%s is for the other end of a connection: make one with `fmqmd pki issue`", whose)
	}
	return because(ErrUnfit, "%s cannot be used: %s", whose, strings.TrimPrefix(err.Error(), "x509: "))
}

func explainTime(c, leaf *x509.Certificate, whose string, now time.Time) error {
	if c != nil && !c.Equal(leaf) {
		whose = fmt.Sprintf("the authority %q, of %s,", c.Subject.CommonName, whose)
	} else {
		c = leaf
	}
	if now.Before(c.NotBefore) {
		return because(ErrTooEarly, "%s is valid from %s, and the clock here says %s: set the clock that is wrong", whose, c.NotBefore.UTC().Format(dateOnly), now.UTC().Format(dateOnly))
	}
	return because(ErrExpired, "%s expired on %s (the clock here says %s): renew it with `fmqmd pki renew`, and reload the daemon", whose,
		c.NotAfter.UTC().Format(dateOnly), now.UTC().Format(dateOnly))
}
