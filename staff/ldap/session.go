package ldap

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"
	goldap "github.com/go-ldap/ldap/v3"

	"fmqm/internal/secret"
)

// Limits of one reading.
const (
	maxReading = 5 * time.Minute
	maxBytes   = 500 << 20 // in all
	maxPage    = 48 << 20  // of one page: what the library makes of it in memory is many times that
	maxPacket  = 32 << 20  // of one entry: a group of 100,000 people
	maxPages   = 20_000
	maxCA      = 4 << 20
)

// What the library takes for one packet, and how deep one may be nested, it has for the whole process: they are set before
// any connection reads them.
func init() { ber.MaxPacketLengthBytes, ber.MaxNestingDepth = maxPacket, 64 }

// session is a connection on which this node has said who it is.
type session struct {
	settings Settings
	conn     *goldap.Conn
	raw      *bounded
	stop     func() bool
}

// bounded is a connection that fails where it has brought more than it may.
type bounded struct {
	net.Conn
	page, all atomic.Int64 // bytes that may still come
	over      atomic.Bool
}

var errTooMuch = errors.New("too many bytes")

func (b *bounded) Read(p []byte) (int, error) {
	if b.page.Load() <= 0 || b.all.Load() <= 0 {
		b.over.Store(true)
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p)
	b.page.Add(-int64(n))
	b.all.Add(-int64(n))
	return n, err
}

// open connects, encrypts, and says who this node is. What ends ctx ends the session.
func open(ctx context.Context, s Settings) (*session, error) {
	at, err := ParseURL(s.URL)
	if err != nil {
		return nil, &Unanswered{s.URL, "cannot be asked", err.Error()}
	}
	config, err := tlsConfig(s, at)
	if err != nil {
		return nil, err
	}
	password := ""
	if s.Bind != "" {
		if password, err = secret.Read(s.Password); err != nil {
			return nil, &Unanswered{s.URL, "no password for " + s.Bind, err.Error()}
		}
	}
	if s.Bind != "" && s.Plain() {
		return nil, &Unanswered{s.URL, "is on another machine, and ldap:// is not encrypted: the password is not sent", "write ldaps://, or starttls: true"}
	}
	dialer := net.Dialer{Timeout: s.Timeout}
	raw, err := dialer.DialContext(ctx, at.Network, at.Address)
	if err != nil {
		return nil, explain(s, "", err)
	}
	b := &bounded{Conn: raw}
	b.page.Store(maxPage)
	b.all.Store(maxBytes)
	out := &session{settings: s, raw: b, stop: context.AfterFunc(ctx, func() { _ = raw.Close() })}
	if err := out.begin(ctx, at, config, password); err != nil {
		err = out.explain(ctx, "", err)
		out.close()
		return nil, err
	}
	return out, nil
}

func (o *session) begin(ctx context.Context, at Address, config *tls.Config, password string) error {
	var end time.Time
	if at, ok := ctx.Deadline(); ok {
		end = at
	}
	if err := o.raw.SetDeadline(time.Now().Add(o.settings.Timeout)); err != nil {
		return err
	}
	var wire net.Conn = o.raw
	if at.TLS {
		encrypted := tls.Client(o.raw, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return err
		}
		wire = encrypted
	}
	o.conn = goldap.NewConn(wire, at.TLS)
	o.conn.SetTimeout(o.settings.Timeout)
	o.conn.Start()
	if o.settings.StartTLS {
		if err := o.conn.StartTLS(config); err != nil {
			return err
		}
	}
	if o.settings.Bind != "" {
		if err := o.conn.Bind(o.settings.Bind, password); err != nil {
			return err
		}
	}
	return o.raw.SetDeadline(end)
}

func (o *session) close() {
	o.stop()
	_ = o.raw.Close() // first: then nothing of the library waits for it
	if o.conn != nil {
		_ = o.conn.Close()
	}
}

func tlsConfig(s Settings, at Address) (*tls.Config, error) {
	c := &tls.Config{ServerName: at.Host, MinVersion: tls.VersionTLS12}
	if s.CA == "" {
		return c, nil
	}
	text, err := secret.ReadFile(s.CA, maxCA)
	if err != nil {
		return nil, &Unanswered{s.URL, err.Error(), "name the file of its authorities with `ca`"}
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(text) {
		return nil, &Unanswered{s.URL, s.CA + " has no certificate in PEM", "name the file of its authorities with `ca`"}
	}
	return c, nil
}

// search asks for all entries of a part of the directory, a page at a time (RFC 2696), and calls
// each for every one. A server that knows no pages gives them at once.
func (o *session) search(ctx context.Context, what string, q Search, page uint32, attributes []string, each func(*goldap.Entry) error) error {
	control := goldap.NewControlPaging(page)
	seconds := int(math.Ceil(o.settings.Timeout.Seconds()))
	for range maxPages {
		if err := ctx.Err(); err != nil {
			return o.explain(ctx, what, err)
		}
		o.raw.page.Store(maxPage)
		r, err := o.conn.Search(goldap.NewSearchRequest(q.Base, goldap.ScopeWholeSubtree, goldap.NeverDerefAliases, 0, seconds, false, q.Filter, attributes, []goldap.Control{control}))
		if err != nil {
			return o.explain(ctx, what, err)
		}
		for _, e := range r.Entries {
			if err := each(e); err != nil {
				return err
			}
		}
		next, ok := goldap.FindControl(r.Controls, goldap.ControlTypePaging).(*goldap.ControlPaging)
		if !ok || len(next.Cookie) == 0 {
			return nil
		}
		control.SetCookie(next.Cookie)
	}
	return &Unanswered{o.settings.URL, fmt.Sprintf("the search for %s does not end after %d pages", what, maxPages), "look at the directory"}
}

// explain says why a session, or a search in it, has failed.
func (o *session) explain(ctx context.Context, what string, err error) error {
	switch {
	case o.raw.over.Load():
		return &Unanswered{o.settings.URL, "the answer is larger than a staff can be", "narrow `filter` or `base`"}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Unanswered{o.settings.URL, "the answer is not whole after " + maxReading.String(), "look at the directory, or narrow `filter` or `base`"}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return explain(o.settings, what, err)
}

// explain says what an error of a directory means; what: which part of it was asked for.
func explain(s Settings, what string, err error) error {
	var (
		of        *goldap.Error
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		failed    = func(what, remedy string) error { return &Unanswered{s.URL, what, remedy} }
	)
	switch {
	// Of a handshake that follows StartTLS the library gives the text only.
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid), strings.Contains(err.Error(), "failed to verify certificate"):
		return failed("its certificate is not believed: "+shown(reason(err)), "name the file of its authority with `ca`, and in `url` the host that the certificate names")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return failed("no answer after "+s.Timeout.String(), "look at the directory, or give it longer with `timeout`")
	case !errors.As(err, &of):
		return failed("no answer: "+shown(reason(err)), "see whether the directory runs, and can be reached from here")
	}
	switch of.ResultCode {
	case goldap.ErrorNetwork:
		return failed("the connection broke: "+shown(reason(err)), "see whether the directory runs, and can be reached from here")
	case goldap.LDAPResultInvalidCredentials:
		return failed("the password of "+s.Bind+" is refused", "correct `bind`, or what is in "+s.Password)
	case goldap.LDAPResultConfidentialityRequired, goldap.LDAPResultStrongAuthRequired:
		return failed("it answers over TLS only", "write ldaps://, or starttls: true")
	case goldap.LDAPResultNoSuchObject:
		return failed("the base of "+what+" is not there, or not to be seen", "correct `base`, or let "+asWho(s)+" read it")
	case goldap.LDAPResultInsufficientAccessRights, goldap.LDAPResultInappropriateAuthentication:
		return failed("it does not let "+asWho(s)+" read "+what, "give that right at the directory, or name somebody else with `bind`")
	case goldap.LDAPResultSizeLimitExceeded, goldap.LDAPResultAdminLimitExceeded, goldap.LDAPResultTimeLimitExceeded:
		return failed("it gives only part of "+what+", by its own limits", "raise them there for "+asWho(s)+", or narrow `filter`")
	case goldap.LDAPResultReferral:
		return failed("it has "+what+" elsewhere (a referral, which is not followed)", "name that directory with `url`")
	}
	return failed(fmt.Sprintf("it refuses: %s (code %d): %s", goldap.LDAPResultCodeMap[of.ResultCode], of.ResultCode, shown(reason(err))), "look into the directory's log")
}

func asWho(s Settings) string {
	if s.Bind == "" {
		return "who does not say who he is"
	}
	return s.Bind
}
