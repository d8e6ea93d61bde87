package amqp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// Errors that connections and channels give, beside those of the client.
var (
	// ErrNoQueue: there is no such queue at the broker.
	ErrNoQueue = errors.New("no such queue at the broker")

	errEarly      = errors.New("the connection ended right after the handshake")
	errClosed     = errors.New("closed by this side")
	errUnanswered = errors.New("the broker did not answer")
	errCancelled  = errors.New("the queue was deleted, or moved, and the broker ended the consumer")
)

// explain says in plain words what an error of the broker or of the way to it means,
// and what to do.
func (t target) explain(err error) string {
	var reply *amqp091.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errSecond), inUse(err):
		return fmt.Sprintf("another consumer has the queue %s: a second daemon runs with this node's name: stop one of the two, and see that no copy of its data directory is in use (if it is this daemon's own broken connection, it ends within %s)", t.queue, 3*Heartbeat)
	case errors.Is(err, amqp091.ErrSASL):
		return t.explainLogin("the broker offers no login method that this side knows")
	case errors.As(err, &reply) && (reply.Server || reply.Code == amqp091.AccessRefused):
		return t.explainReply(reply)
	}
	if text := t.explainNetwork(err); text != "" {
		return text
	}
	if text := t.explainTLS(err); text != "" {
		return text
	}
	if reply != nil {
		return fmt.Sprintf("the connection to the broker %s was lost: %s", t.addr, reply.Reason)
	}
	return err.Error()
}

func (t target) explainNetwork(err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("the name of the broker, %s, does not resolve: %s", t.host, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s: the broker is down, or has another port", t.addr)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("there is no route to %s: check routes and firewalls", t.addr)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("%s does not answer: it is frozen or overloaded, or a firewall drops the packets", t.addr)
	case errors.Is(err, io.EOF):
		return fmt.Sprintf("the connection to %s was closed without a reason: the broker stopped, or a proxy closed it", t.addr)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fmt.Sprintf("the connection to %s was reset by the broker or on the way", t.addr)
	}
	return ""
}

func (t target) explainTLS(err error) string {
	var (
		unknown  x509.UnknownAuthorityError
		name     x509.HostnameError
		invalid  x509.CertificateInvalidError
		header   tls.RecordHeaderError
		certless *tls.CertificateVerificationError
		own      *tlsError
	)
	whose := "the broker's certificate"
	if errors.As(err, &certless) && len(certless.UnverifiedCertificates) > 0 {
		c := certless.UnverifiedCertificates[0]
		whose = fmt.Sprintf("the broker's certificate (of %s, issued by %s)", subject(c), c.Issuer.CommonName)
	}
	switch {
	case errors.As(err, &unknown):
		return "TLS: " + whose + " is signed by an authority that this site does not trust: name the right one (ca)"
	case errors.As(err, &name):
		return fmt.Sprintf("TLS: %s is not for %s: %s", whose, t.tls.ServerName, name.Error())
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("TLS: %s has expired or is not valid yet: %s", whose, invalid.Detail)
	case errors.As(err, &invalid):
		return fmt.Sprintf("TLS: %s is not valid: %s", whose, invalid.Error())
	case errors.As(err, &header):
		return fmt.Sprintf("TLS: %s does not speak TLS: write another port (5671 is usual), or amqp:// instead of amqps://", t.addr)
	case errors.Is(err, errEarly), strings.Contains(err.Error(), "remote error: tls:"):
		return fmt.Sprintf("TLS: the broker refuses this side's certificate: %s: use one that the broker's authorities signed", t.ownCertificate(err))
	case errors.As(err, &own):
		return fmt.Sprintf("TLS with %s failed: %v", t.addr, own.err)
	}
	return ""
}

// ownCertificate says what the broker complained of, and which certificate it was shown.
func (t target) ownCertificate(err error) string {
	text := err.Error()
	if errors.Is(err, errEarly) {
		text = errEarly.Error()
	}
	if i := strings.Index(text, "remote error: tls:"); i >= 0 {
		text = text[i+len("remote error: tls: "):]
	}
	shown := t.shown()
	if shown == nil {
		return text + " (it was shown none)"
	}
	c, parseErr := x509.ParseCertificate(shown.Certificate[0])
	if parseErr != nil {
		return text
	}
	return fmt.Sprintf("%s (it was shown that of %s, issued by %s)", text, subject(c), c.Issuer.CommonName)
}

// shown is the certificate that the broker is shown; nil: none.
func (t target) shown() *tls.Certificate {
	switch {
	case t.tls == nil:
	case t.tls.GetClientCertificate != nil:
		if c, err := t.tls.GetClientCertificate(&tls.CertificateRequestInfo{}); err == nil && len(c.Certificate) > 0 {
			return c
		}
	case len(t.tls.Certificates) > 0:
		return &t.tls.Certificates[0]
	}
	return nil
}

func subject(c *x509.Certificate) string {
	if c.Subject.CommonName != "" {
		return c.Subject.CommonName
	}
	return strings.Join(c.DNSNames, ", ")
}

func (t target) explainLogin(why string) string {
	if t.user == "" {
		return why + ": without a user it has to offer EXTERNAL, which needs the plugin rabbitmq_auth_mechanism_ssl and a user with the name in this side's certificate"
	}
	return why + ": it has to offer PLAIN"
}

// inUse says whether a queue is refused because another consumer has it.
func inUse(err error) bool {
	var reply *amqp091.Error
	return errors.As(err, &reply) && reply.Code == amqp091.AccessRefused && strings.Contains(reply.Reason, "in exclusive use")
}

// explainReply is for what the broker itself says.
func (t target) explainReply(e *amqp091.Error) string {
	reason := e.Reason
	has := func(s string) bool { return strings.Contains(reason, s) }
	switch {
	case e.Code == amqp091.AccessRefused && has("access to queue"), e.Code == amqp091.AccessRefused && has("access to exchange"):
		return fmt.Sprintf("%s lacks a permission (%s): as the broker's administrator run %s", t.account(), trim(reason), t.grant())
	case e.Code == amqp091.AccessRefused && (e == amqp091.ErrCredentials || has("Login was refused") || !e.Server):
		return "the broker refuses the login of " + t.account() + ": wrong password or certificate, or no such user (or one that may log in from the broker's own machine only, such as guest)"
	case e.Code == amqp091.NotAllowed && has("not found"):
		return fmt.Sprintf("the broker has no virtual host %q: as its administrator run `rabbitmqctl add_vhost %s`, or correct the address", t.vhost, t.vhost)
	case e.Code == amqp091.NotAllowed && has("refused for user"):
		return fmt.Sprintf("%s may not use the virtual host %q: as the broker's administrator run %s", t.account(), t.vhost, t.grant())
	case e.Code == amqp091.PreconditionFailed && has("inequivalent arg"):
		return t.explainQueue(reason)
	case e.Code == amqp091.ConnectionForced:
		return "the broker ended the connection: " + trim(reason)
	}
	return fmt.Sprintf("the broker says %d: %s", e.Code, trim(reason))
}

// explainQueue is for a queue that exists and is another one than expected: "... inequivalent
// arg 'x-queue-type' for queue 'fmqm.A' in vhost 'v': received 'quorum' but current is 'classic'".
func (t target) explainQueue(reason string) string {
	part := func(after, until string) string {
		_, rest, _ := strings.Cut(reason, after)
		value, _, found := strings.Cut(rest, until)
		if !found {
			return "?"
		}
		return value
	}
	arg := part("inequivalent arg '", "'")
	_, current, _ := strings.Cut(reason, "current is ")
	return fmt.Sprintf("the queue %s at the broker has another setting: its %s is %s, expected %s: as the broker's administrator run `rabbitmqctl delete_queue -p %s %s` (nothing is lost, the sites send again), or write its kind of queue into the configuration",
		t.queue, arg, strings.ReplaceAll(current, "'", ""), strings.ReplaceAll(part("received ", " but"), "'", ""), t.vhost, t.queue)
}

// account says as whom this side logs in.
func (t target) account() string {
	if t.user == "" {
		return "the user of this side's certificate"
	}
	return "user " + t.user
}

// grant is the command that gives the user what he needs, and no more.
func (t target) grant() string {
	user := t.user
	if user == "" {
		user = "USER"
	}
	own := "^" + strings.ReplaceAll(t.queue, ".", `\.`)
	return fmt.Sprintf("`rabbitmqctl set_permissions -p %s %s '%s(\\.lock)?$' '^amq\\.default$' '%s$'`", t.vhost, user, own, own)
}

// trim takes off the code in words that the broker puts before a text.
func trim(reason string) string {
	if _, rest, found := strings.Cut(reason, " - "); found {
		return rest
	}
	return reason
}
