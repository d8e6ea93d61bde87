package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"fmqm/identity"
	"fmqm/link"
	"fmqm/link/amqp"
	"fmqm/link/https"
	"fmqm/node"
	"fmqm/node/config"
	"fmqm/processtable"
)

// links is what carries messages: how each peer is reached, and the broker, if there
// is one. A configuration that is read again makes new ones; the broker goes over from
// one to the next where its part of the configuration is the same.
type links struct {
	ways   node.Ways
	access access
	broker *amqp.Broker // nil: none
	life   int          // counts the brokers
}

// access is what a broker was made with: another one needs another broker. What is read
// at each login is not in it: the password, certificate and key.
type access struct {
	config.AMQP
	authorities string // what the file CA has
}

// accessOf gives the certificate its name: without one of its own it is the identity's.
func accessOf(c *config.Config) (access, error) {
	a := access{AMQP: *c.AMQP}
	if a.Certificate == "" && c.Identity != nil {
		a.Certificate, a.Key = c.Identity.Certificate, c.Identity.Key
	}
	if a.CA != "" {
		text, err := os.ReadFile(a.CA)
		if err != nil {
			return a, fmt.Errorf("the authorities of the broker: %w", err)
		}
		a.authorities = string(text)
	}
	return a, nil
}

// newLinks makes the links of a configuration; before are those that there were, or nil.
// A new broker does nothing before it is started. stranger is told of sites that call over
// it and are not known here.
func newLinks(c *config.Config, id *identity.Identity, before *links, log zerolog.Logger, stranger func(processtable.NodeID)) (*links, error) {
	l := &links{}
	if before != nil {
		l.life = before.life
	}
	if c.AMQP != nil {
		if err := l.openBroker(c, id, before, log, stranger); err != nil {
			return nil, fmt.Errorf("links.amqp: %w", err)
		}
	}
	l.ways.Peers = map[processtable.NodeID]node.Peer{}
	for name, p := range c.Peers {
		routes, err := l.routes(name, p, id)
		if err != nil {
			return nil, fmt.Errorf("links.peers.%s: %w", name, err)
		}
		l.ways.Peers[name] = node.Peer{Routes: routes}
	}
	if l.broker != nil {
		l.ways.Unlisted = func(peer processtable.NodeID) (node.Peer, bool) {
			return node.Peer{Routes: []link.Route{l.overBroker(peer)}}, true
		}
	}
	return l, nil
}

// openBroker takes the broker of before, where it has what this configuration says, or
// makes a new one.
func (l *links) openBroker(c *config.Config, id *identity.Identity, before *links, log zerolog.Logger, stranger func(processtable.NodeID)) (err error) {
	if l.access, err = accessOf(c); err != nil {
		return err
	}
	if before != nil {
		if before.broker != nil && before.access == l.access {
			l.broker = before.broker
			return nil
		}
		l.life++
	}
	o, err := BrokerOptions(c, id)
	if err != nil {
		return err
	}
	o.Log, o.Unknown = log, stranger
	judgeBroker(&o, id, func(text string) { log.Warn().Msg(text) })
	l.broker, err = amqp.New(o)
	return err
}

// routes are those of a listed peer, the best first.
func (l *links) routes(name processtable.NodeID, p config.Peer, id *identity.Identity) ([]link.Route, error) {
	var routes []link.Route
	if p.Address != "" && p.Direct() {
		dialer, err := https.NewPeerDialer(https.Peer{Address: p.Address, Name: name, Identity: id})
		if err != nil {
			return nil, err
		}
		routes = append(routes, link.Route{Name: link.RouteDirect, Dialer: dialer, Address: p.Address})
	}
	if p.OverAMQP() && l.broker != nil {
		routes = append(routes, l.overBroker(name))
	}
	return routes, nil
}

// overBroker is the way to any site. Another broker is another way, also at one address:
// its password or certificate may be what changed.
func (l *links) overBroker(peer processtable.NodeID) link.Route {
	return link.Route{Name: link.RouteAMQP, Dialer: l.broker.Dialer(peer), Address: l.broker.Address(), Life: l.life}
}

// start begins with the broker, unless it came from before.
func (l *links) start(before *links) {
	if l.broker != nil && (before == nil || l.broker != before.broker) {
		l.broker.Start()
	}
}

// stop ends the broker, unless it goes over to next.
func (l *links) stop(ctx context.Context, next *links) error {
	if l.broker == nil || next != nil && next.broker == l.broker {
		return nil
	}
	if err := l.broker.Stop(ctx); err != nil {
		return fmt.Errorf("stop the links over the broker: %w", err)
	}
	return nil
}

// BrokerOptions is how a configuration's broker is talked to; it has one.
func BrokerOptions(c *config.Config, id *identity.Identity) (amqp.Options, error) {
	a := c.AMQP
	o := amqp.Options{
		Self: c.Node, URL: a.URL, User: a.User, PasswordFile: a.Password, Queues: string(a.Queues),
	}
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" && filepath.Dir(a.Password) == filepath.Clean(dir) {
		o.PasswordFile, o.Credential = "", filepath.Base(a.Password)
	}
	if id != nil {
		o.Identity, o.Verify, o.PlainFrames, o.Watch = id, id.Verify, a.PlainFrames, id.WatchChain
	}
	if strings.HasPrefix(a.URL, "amqps://") {
		t, err := brokerTLS(c)
		if err != nil {
			return o, err
		}
		o.TLS = t
	}
	return o, nil
}

// judgeBroker has the broker's certificate judged beside what TLS does: one that was called
// back is refused, and one that is a site's makes nobody that site. say tells of that, once.
func judgeBroker(o *amqp.Options, id *identity.Identity, say func(string)) {
	if o.TLS == nil || id == nil {
		return
	}
	o.TLS.VerifyConnection = func(s tls.ConnectionState) error {
		c := s.PeerCertificates[0]
		if id.Denies(c) {
			return errors.New("the broker's certificate was revoked: it is on the deny list of this site")
		}
		if name, news := id.NoSite(c); news {
			say(fmt.Sprintf("the broker's certificate is that of %s: whoever controls the broker's machine could pose as that site, so this site believes nobody by that key: give the broker a certificate of its own, with `fmqmd pki issue --server %s`", name, s.ServerName))
		}
		return nil
	}
}

// brokerTLS is what the broker is shown, and whom it has to be believed by. The files are
// read at each handshake, so that renewed ones are shown without a restart.
func brokerTLS(c *config.Config) (*tls.Config, error) {
	a, err := accessOf(c)
	if err != nil {
		return nil, err
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.Certificate != "" {
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(a.Certificate, a.Key)
			if err != nil {
				return nil, fmt.Errorf("the certificate for the broker: %w", err)
			}
			return &pair, nil
		}
		if _, err := load(); err != nil {
			return nil, err
		}
		t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	if a.CA == "" {
		return t, nil
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM([]byte(a.authorities)) {
		return nil, fmt.Errorf("the authorities of the broker: %s has no certificate: write them there in PEM", a.CA)
	}
	return t, nil
}
