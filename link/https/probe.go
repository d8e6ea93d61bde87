package https

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"
)

// probeHeader asks to be told whether a link would be given, and for none.
const probeHeader = "Fmqm-Probe"

// Found is what answered a probe.
type Found struct {
	Encrypted bool
	// Expires is when the certificate of the peer does; zero if it is not encrypted.
	Expires time.Time
}

// Probe calls a peer as a link would, and hangs up: for somebody who wants to know
// whether it would work. The error says in plain words why not; it ends with ctx.
// That the peer has this node among its own peers is not looked at.
func Probe(ctx context.Context, p Peer) (Found, error) {
	d, err := NewPeerDialer(p)
	if err != nil {
		return Found{}, err
	}
	c, res, _, err := d.ask(ctx, http.Header{probeHeader: {"1"}})
	if err != nil {
		return Found{}, err
	}
	defer c.Close()
	if res.StatusCode != http.StatusNoContent {
		if err := d.upgraded(res); err != nil {
			return Found{}, fmt.Errorf("dial %s: %w", d.addr, err)
		}
	}
	f := Found{}
	if t, ok := c.(*tls.Conn); ok {
		f.Encrypted, f.Expires = true, t.ConnectionState().PeerCertificates[0].NotAfter
	}
	return f, nil
}
