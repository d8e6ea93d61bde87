package https

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"fmqm/identity"
	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/processtable"
)

// Path is where a daemon takes links, below the address that peers have of it.
const Path = "/v1/link"

// Protocol is what the connection is upgraded to.
const Protocol = "fmqm-link/1"

// Peer is whom a Dialer calls.
type Peer struct {
	Address string // http://host:port or https://host:port; the default ports are 80 and 443
	// Name is what the certificate of who answers an https address has to say.
	Name processtable.NodeID
	// Identity of this node, which an https address needs.
	Identity *identity.Identity
}

// Dialer dials one peer. It is a link.Dialer.
type Dialer struct {
	url  *url.URL // of Path
	addr string
	tls  *tls.Config // nil: plain HTTP

	identity *identity.Identity // of tls
}

var _ link.Dialer = (*Dialer)(nil)

// NewDialer gives a Dialer for an address such as http://127.0.0.1:7411, in plain text.
func NewDialer(address string) (*Dialer, error) { return NewPeerDialer(Peer{Address: address}) }

// NewPeerDialer gives a Dialer for a peer.
func NewPeerDialer(p Peer) (*Dialer, error) {
	u, err := url.Parse(p.Address)
	if err != nil {
		return nil, fmt.Errorf("address of a peer: %w", err)
	}
	d := &Dialer{}
	port := ""
	switch u.Scheme {
	case "http":
		port = "80"
	case "https":
		port = "443"
	default:
		return nil, fmt.Errorf("address of a peer %q: expected http://host:port or https://host:port", p.Address)
	}
	if u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("address of a peer %q: expected %s://host:port, without user, query and fragment", u.Redacted(), u.Scheme)
	}
	if u.Scheme == "https" {
		if p.Identity == nil {
			return nil, fmt.Errorf("address of a peer %q: https:// needs an identity of this node", p.Address)
		}
		d.tls, d.identity = p.Identity.Client(p.Name), p.Identity
	}
	if u.Port() != "" {
		port = u.Port()
	}
	d.addr = net.JoinHostPort(u.Hostname(), port)
	if u.Path == "" {
		u.Path = "/" // JoinPath would leave the path relative
	}
	d.url = u.JoinPath(Path)
	return d, nil
}

// Dial connects and upgrades. The error says what answered instead, and why that is
// not the peer.
func (d *Dialer) Dial(ctx context.Context) (link.Conn, error) {
	c, res, in, err := d.ask(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := d.upgraded(res); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("dial %s: %w", d.addr, err)
	}
	conn := newConn(c, in, PingEvery)
	conn.peer = peerOf(c)
	if t, ok := c.(*tls.Conn); ok {
		conn.believe(d.identity, identity.Watched{Chain: t.ConnectionState().PeerCertificates, Role: identity.RoleNode, Answers: true})
	}
	return conn, nil
}

// ask connects and sends the request for a link, and gives the answer: of one that is no link,
// what an error shows of it. Its caller closes the connection.
func (d *Dialer) ask(ctx context.Context, more http.Header) (net.Conn, *http.Response, *bufio.Reader, error) {
	c, err := d.connect(ctx)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("dial %s: %w", d.addr, explain(err))
	}
	release := context.AfterFunc(ctx, func() { _ = c.Close() })
	res, in, err := d.request(c, more)
	if !release() {
		return nil, nil, nil, fmt.Errorf("dial %s: %w", d.addr, context.Cause(ctx))
	}
	if err != nil {
		_ = c.Close()
		return nil, nil, nil, fmt.Errorf("dial %s: %w", d.addr, err)
	}
	return c, res, in, nil
}

func (d *Dialer) connect(ctx context.Context) (net.Conn, error) {
	if d.tls != nil {
		return (&tls.Dialer{Config: d.tls}).DialContext(ctx, "tcp", d.addr)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", d.addr)
}

// explain puts into plain words why there is no connection.
func explain(err error) error {
	var name *net.DNSError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("the name %s does not resolve: correct the address, or the DNS: %w", name.Name, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens there: start the daemon, or correct the address: %w", err)
	}
	return identity.ExplainDial(err)
}

// request sends the request and reads the head of the answer; of one that is no link it reads
// what an error shows, and the rest never.
func (d *Dialer) request(c net.Conn, more http.Header) (*http.Response, *bufio.Reader, error) {
	latest := time.Now().Add(HelloTimeout)
	if err := c.SetDeadline(latest); err != nil {
		return nil, nil, err
	}
	req := &http.Request{
		Method: http.MethodPost, URL: d.url, Host: d.url.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {Protocol}},
	}
	maps.Copy(req.Header, more)
	if err := req.Write(c); err != nil {
		return nil, nil, fmt.Errorf("ask for a link: %w", err)
	}
	until := &io.LimitedReader{R: c, N: maxHead}
	in := bufio.NewReaderSize(until, 64<<10)
	res, err := http.ReadResponse(in, req)
	if err != nil && until.N <= 0 {
		return nil, nil, fmt.Errorf("ask for a link: the head of the answer has more than %d bytes: correct the address", maxHead)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ask for a link: the answer is not HTTP/1.1: %w", quoting{explain(err)})
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		until.N = math.MaxInt64 // frames have limits of their own
		return res, in, c.SetDeadline(time.Time{})
	}
	if soon := time.Now().Add(answerTimeout); soon.Before(latest) {
		err = c.SetDeadline(soon)
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // for the message only
	res.Body = io.NopCloser(bytes.NewReader(body))             // to close the other one would be to read its rest
	return res, in, err
}

// maxHead is how much is read of an answer before it is known to be a link, in bytes:
// net/http has no limit of its own there.
const maxHead = 256 << 10

// maxAnswer is how much of an answer that is no link an error shows, in bytes.
const maxAnswer = 1024

// answerTimeout is how long that may take behind the head: who drips it holds up nobody.
const answerTimeout = time.Second

// upgraded says why an answer is not the link that was asked for.
func (d *Dialer) upgraded(res *http.Response) error {
	if res.StatusCode == http.StatusSwitchingProtocols {
		if got := res.Header.Get("Upgrade"); got != Protocol {
			return fmt.Errorf("ask for a link: the server speaks %.40q, expected %q", got, Protocol)
		}
		return nil
	}
	body, _ := io.ReadAll(res.Body) // request has read it
	said := strings.Join(strings.Fields(string(body)), " ")
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusUpgradeRequired:
		return fmt.Errorf("ask for a link: refused there: %s", said)
	case http.StatusBadRequest:
		if d.tls == nil && strings.Contains(said, "HTTPS server") {
			return fmt.Errorf("ask for a link: the peer has an identity and speaks TLS only: write https://%s, and give this node an `identity`", d.addr)
		}
	}
	return fmt.Errorf("ask for a link: the server answers %.100s %s", res.Status, said)
}

// quoting is an error whose text quotes what somebody else has sent.
type quoting struct{ error }

func (q quoting) Error() string { return frame.Cut(q.error.Error()) }
func (q quoting) Unwrap() error { return q.error }

// peerOf gives the node that answered over TLS, whom the handshake has verified.
func peerOf(c net.Conn) processtable.NodeID {
	if t, ok := c.(*tls.Conn); ok {
		if name, err := identity.NameOf(t.ConnectionState().PeerCertificates[0]); err == nil {
			return processtable.NodeID(name.Name)
		}
	}
	return ""
}
