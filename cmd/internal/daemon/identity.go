package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/identity"
	"fmqm/link"
	"fmqm/link/https"
	"fmqm/node/config"
	"fmqm/processtable"
	"fmqm/staff"
)

// openIdentity loads the identity of a configuration; nil if it has none.
func openIdentity(c *config.Config) (*identity.Identity, error) {
	if c.Identity == nil {
		return nil, nil
	}
	return identity.Load(identity.Options{
		Files: identityFiles(c), Name: identity.Name{Role: identity.RoleNode, Name: string(c.Node)},
	})
}

func identityFiles(c *config.Config) identity.Files {
	return identity.Files{Certificate: c.Identity.Certificate, Key: c.Identity.Key, CA: c.Identity.CA, Deny: c.Identity.Deny}
}

// reloadIdentity takes up certificates that were renewed, of a daemon with an identity. Who
// is not believed any more is cut off. renewed: this node's own certificate is another one.
func (d *Daemon) reloadIdentity(c *config.Config) (renewed bool, err error) {
	before := d.identity.Chain()
	err = d.identity.Reload(identityFiles(c))
	return !slices.EqualFunc(before, d.identity.Chain(), bytes.Equal), err
}

// incoming takes what peers dial, each node on connections that are its own.
func (d *Daemon) incoming() http.Handler {
	acceptor := d.Node.Acceptor()
	acceptor.Permit = d.permit
	if refused := acceptor.Refused; refused != nil {
		acceptor.Refused = func(caller processtable.NodeID, reason string) {
			if d.told.news("site "+string(caller), reason) {
				refused(caller, reason)
			}
		}
	}
	return &https.Server{
		Identity: d.identity,
		Accept:   func(conn link.Conn, _ string) { acceptor.Accept(d.accept, conn) },
		Refused: func(remote string, err error) {
			if d.told.news(host(remote), err.Error()) {
				d.log.Warn().Str("remote", remote).Str("reason", err.Error()).Msg("connection refused")
			}
		},
	}
}

// permit compares who a caller says it is with whom its certificate names. Only a node
// without an identity, which listens in plain text by its operator's word, takes it as said.
func (d *Daemon) permit(conn link.Conn, caller processtable.NodeID) error {
	known := processtable.NodeID("")
	if c, ok := conn.(*https.Conn); ok {
		known = c.Peer()
	}
	switch {
	case known == caller || d.identity == nil:
		return nil
	case known != "":
		return fmt.Errorf("the caller says that it is site %s, and its certificate names site %s: set `node` and `identity` there so that they agree", caller, known)
	}
	return fmt.Errorf("site %s calls without a certificate, and site %s has an identity: write https:// for %s there, and give it an `identity`", caller, d.config.Load().Node, d.config.Load().Node)
}

// stranger says that a site calls over the broker to which there is no link: it is in no
// process that is stored here, and not among the peers. It is turned away: a certificate of
// the authority makes nobody a peer.
func (d *Daemon) stranger(peer processtable.NodeID) {
	if d.told.news("stranger "+string(peer), "") {
		d.log.Warn().Str("peer", string(peer)).Msg("a site that calls over the broker is turned away: it is neither in a process stored here nor in links.peers; " +
			"if it is to define processes here, or take part in one, write it under links.peers with `via: amqp`, and reload")
	}
}

// operators lets those through who may ask: without an identity everybody (by the word of
// who wrote `insecure: true`), with one those with the certificate of an operator. The log
// has everybody else, whoever it is: alerts are built on that.
func (d *Daemon) operators(next http.Handler) http.Handler {
	if d.identity == nil {
		return next
	}
	return api.Authenticated(next, func(r *http.Request) (int, *api.Error) {
		c := d.config.Load()
		name, err := d.asking(r)
		if err == nil && d.mayAsk(c, name) {
			d.askers.add(r, name, d.identity)
			return 0, nil
		}
		status, refusal := notAnOperator(name, err, c)
		who, from := d.caller(r)
		// Under its reason, so that who is refused for two in turn does not fill the log.
		if d.told.news("request "+from+" "+refusal.Message, "") {
			d.log.Warn().Str("remote", r.RemoteAddr).Str("by", who).Str("reason", refusal.Message).Msg("request refused")
		}
		return status, refusal
	})
}

// asking is whom a certificate names that may ask: an operator or a person.
func (d *Daemon) asking(r *http.Request) (identity.Name, error) {
	name, err := d.identity.Caller(r.TLS, identity.RoleOperator)
	if errors.Is(err, identity.ErrWrongName) {
		if person, notPerson := d.identity.Caller(r.TLS, identity.RolePerson); notPerson == nil {
			return person, nil
		}
	}
	return name, err
}

// notAnOperator is what somebody is told who may not ask; err is why nobody knows who it is.
func notAnOperator(name identity.Name, err error, c *config.Config) (int, *api.Error) {
	const flags = "with --cert, --cert-key and --ca (or FMQM_CERT, FMQM_KEY and FMQM_CA)"
	switch {
	case err == nil && name.Role == identity.RolePerson:
		return http.StatusForbidden, api.Errorf(api.CodeRefused, enrol(c, "that person")+"; a certificate for NAME@NODE is good at that node only", "%s is not in the staff of site %s", name, c.Node)
	case err == nil:
		return http.StatusForbidden, api.Errorf(api.CodeRefused, "add the name to `operators` in the configuration of the node, and reload it", "%s is not among the operators of site %s", name, c.Node)
	case errors.Is(err, identity.ErrNoCertificate):
		return http.StatusUnauthorized, api.Errorf(api.CodeRefused, "name the certificate of an operator "+flags+"; `fmqmd pki issue --operator NAME` makes one", "this node answers operators only, and no certificate was shown")
	case errors.Is(err, identity.ErrDenied):
		return http.StatusForbidden, api.Errorf(api.CodeRefused, "if it should not be revoked, have it taken off that list", "%v", err)
	}
	return http.StatusForbidden, api.Errorf(api.CodeRefused, "name the right one "+flags, "%v", err)
}

// mayAsk says whether an operator or a person who has proved who it is may ask.
func (d *Daemon) mayAsk(c *config.Config, who identity.Name) bool {
	if who.Role == identity.RolePerson {
		person, here := who.PersonAt(c.Node)
		return here && d.Node.Staff().Has(staff.Name(person))
	}
	return c.Operators == nil || slices.Contains(c.Operators, who.Name)
}

// told remembers what was said about whom, so that it is said once and not at each of
// their tries.
type told struct {
	mu   sync.Mutex
	last map[string]said
}

type said struct {
	what string
	when time.Time
}

const (
	maxTold  = 1024
	sayAgain = time.Hour
)

func newTold() *told { return &told{last: map[string]said{}} }

// news says whether what is new about who, or was said long ago.
func (t *told) news(who, what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if s, ok := t.last[who]; ok && s.what == what && now.Sub(s.when) < sayAgain {
		return false
	}
	if len(t.last) >= maxTold {
		clear(t.last)
	}
	t.last[who] = said{what, now}
	return true
}

// forget lets what comes next of who be news.
func (t *told) forget(who string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, who)
}

// host is the part of an address that stays the same from one connection to the next.
func host(remote string) string {
	if h, _, err := net.SplitHostPort(remote); err == nil {
		return h
	}
	return remote
}

// handshakes is the log of a server: handshakes that fail, and what else its package says.
type handshakes struct {
	log  zerolog.Logger
	told *told
}

func (h handshakes) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	who, what := "", text
	if rest, ok := strings.CutPrefix(text, "http: TLS handshake error from "); ok {
		if remote, reason, ok := strings.Cut(rest, ": "); ok {
			who, what = host(remote), "no TLS: "+reason
		}
	}
	if h.told.news(who, what) {
		h.log.Warn().Str("remote", who).Str("reason", what).Msg("connection refused")
	}
	return len(line), nil
}
