package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/processtable"
)

// Peer is a node that this one has a link to, as links.peers has it.
type Peer struct {
	// Address is http://HOST:PORT or https://HOST:PORT; empty: the peer will call.
	Address string
	Via     Via
}

// Via is what carries the messages of a peer.
type Via string

// The ways to a peer. A peer that is not listed is reached by ViaAMQP, if there is a broker.
const (
	ViaDirect Via = "direct" // connections between the two daemons
	ViaAMQP   Via = "amqp"   // the broker of links.amqp
	ViaBoth   Via = "both"   // whichever works
)

// Direct says whether the peer may be talked to directly.
func (p Peer) Direct() bool { return p.Via != ViaAMQP }

// OverAMQP says whether the peer may be talked to over the broker.
func (p Peer) OverAMQP() bool { return p.Via == ViaAMQP || p.Via == ViaBoth }

// AMQP is the broker that carries messages between sites, links.amqp. Names of files
// are absolute.
type AMQP struct {
	// URL is amqp://USER@HOST:PORT/VHOST or amqps://..., always with the port, and never
	// with a password.
	URL string
	// User is the one of URL; empty: the certificate says who calls (SASL EXTERNAL).
	User string
	// Password is the file that holds the user's password.
	Password string
	// Certificate and Key are the files of the client's certificate for TLS; empty: those
	// of Config.Identity, if there is one, or none.
	Certificate, Key string
	// CA is the file of the authorities that the broker's certificate is checked against;
	// empty: the system's.
	CA     string
	Queues Queues
	// PlainFrames takes sites that are too old to encrypt what they send over the broker.
	PlainFrames bool
}

// Queues is the kind of the queues that are declared at the broker.
type Queues string

// The kinds of queues.
const (
	QueuesAuto    Queues = "auto" // quorum where the broker has it
	QueuesQuorum  Queues = "quorum"
	QueuesClassic Queues = "classic"
)

// passwordCredential is the systemd credential that is the broker's password where the
// configuration names no file.
const passwordCredential = "amqp-password"

// peer is a peer as the file has it, checked when all of the file is known.
type peer struct {
	id      processtable.NodeID
	key     *yaml.Node
	address *yaml.Node // nil: the peer calls
	via     *yaml.Node // nil: not said
}

// broker is links.amqp as the file has it.
type broker struct {
	url, password, plainFrames *yaml.Node // password: where its file is named
	amqp                       AMQP
}

// links reads the links section.
func (r *reader) links(n *yaml.Node) {
	r.mapping(n, "links", map[string]func(k, v *yaml.Node){
		"amqp":  r.amqp,
		"peers": func(_, v *yaml.Node) { r.pairs(v, "peers", r.peer) },
	})
}

// amqp reads the broker: its URL, or a mapping with more than that.
func (r *reader) amqp(k, v *yaml.Node) {
	const want = "amqps://USER@HOST/VHOST, or {url: amqps://USER@HOST/VHOST, password: FILE}"
	b := &broker{amqp: AMQP{Queues: QueuesAuto}}
	r.hasBroker = true
	if v.Kind != yaml.MappingNode {
		if _, ok := r.scalar(v, want); ok {
			b.url, r.broker = v, b
		}
		return
	}
	a, before := &b.amqp, len(r.problems)
	r.mapping(v, "links.amqp", map[string]func(k, v *yaml.Node){
		"url": func(_, v *yaml.Node) {
			if _, ok := r.scalar(v, want); ok {
				b.url = v
			}
		},
		"password": func(k, v *yaml.Node) {
			b.password = k
			r.secretName(v, &a.Password)
		},
		"certificate": func(_, v *yaml.Node) { r.fileName(v, &a.Certificate) },
		"key":         func(_, v *yaml.Node) { r.secretName(v, &a.Key) },
		"ca":          func(_, v *yaml.Node) { r.fileName(v, &a.CA) },
		"plain_frames": func(_, v *yaml.Node) {
			b.plainFrames = v
			r.bool(v, &a.PlainFrames)
		},
		"queues": func(_, v *yaml.Node) {
			r.oneOf(v, "a kind of queue", (*string)(&a.Queues), string(QueuesAuto), string(QueuesQuorum), string(QueuesClassic))
		},
	})
	switch {
	case len(r.problems) > before:
	case b.url == nil:
		r.add(k, "links.amqp does not say where the broker is", "write url: amqps://USER@HOST/VHOST")
	case (a.Certificate == "") != (a.Key == ""):
		r.add(k, "links.amqp has only one of certificate and key", "write both: the certificate that the broker knows this node by, and its private key")
	default:
		r.broker = b
	}
}

func (r *reader) peer(k, v *yaml.Node) {
	const want = "its address, https://HOST:PORT, or {} if the peer calls"
	if !processtable.ValidNode(k.Value) {
		r.add(k, fmt.Sprintf("%q cannot name a node", k.Value), "use letters, digits, _ and -, not a digit or - first, at most 64")
		return
	}
	p := peer{id: processtable.NodeID(k.Value), key: k}
	address := func(k, v *yaml.Node) {
		if _, ok := r.scalar(v, want); !ok {
			return
		}
		if p.address != nil {
			r.add(k, "the address is given twice", "remove one of address and url, which mean the same")
			return
		}
		p.address = v
	}
	if v.Kind == yaml.MappingNode {
		r.mapping(v, "a peer", map[string]func(k, v *yaml.Node){
			"address": address,
			"url":     address, // the older word
			"via":     func(_, v *yaml.Node) { p.via = v },
		})
	} else {
		address(v, v)
		if p.address == nil {
			return
		}
	}
	r.peers = append(r.peers, p)
}

// checkPeers checks what of a peer depends on other keys.
func (r *reader) checkPeers(c *Config) {
	for _, p := range r.peers {
		if p.id == c.Node && c.Node != "" {
			r.add(p.key, fmt.Sprintf("%s is this node itself", p.id), "remove it: peers are the other sites")
			continue
		}
		out := Peer{Via: ViaDirect}
		if p.via != nil {
			r.checkVia(p, &out)
		}
		if p.address != nil {
			out.Address = r.checkAddress(p.address, c)
		}
		c.Peers[p.id] = out
	}
}

func (r *reader) checkVia(p peer, out *Peer) {
	if !r.oneOf(p.via, "a way to a peer", (*string)(&out.Via), string(ViaDirect), string(ViaAMQP), string(ViaBoth)) {
		return
	}
	switch {
	case out.OverAMQP() && !r.hasBroker:
		r.add(p.via, fmt.Sprintf("%s is to be reached over a broker, but no broker is configured", p.id), "write links.amqp, or remove via")
	case out.Via == ViaAMQP && p.address != nil:
		r.add(p.via, fmt.Sprintf("%s has an address that would never be used", p.id), "write `via: both`, or remove the address")
	}
}

// checkAddress gives the address of a peer with its port.
func (r *reader) checkAddress(n *yaml.Node, c *Config) string {
	u, err := url.Parse(n.Value)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		r.addHiding(n, fmt.Sprintf("%q is not the address of a node", hidden(n.Value)), "write https://HOST:PORT, or {} if the peer calls")
		return ""
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || (u.Path != "" && u.Path != "/"):
		r.addHiding(n, fmt.Sprintf("%q contains more than an address", u.Redacted()), "write "+u.Scheme+"://"+u.Host)
	case u.Scheme == "https" && !r.hasIdentity:
		r.add(n, "a link over TLS needs a certificate of this node", identityRemedy(c))
	case u.Scheme == "http" && !loopback(u.Hostname()) && !c.Insecure:
		r.add(n, fmt.Sprintf("%s is on another machine, and http:// is not encrypted", u.Host),
			insecureRemedy("write https://"+u.Host+" and give this node an `identity`"))
	}
	return u.Scheme + "://" + hostPort(u, "7411")
}

// checkBroker checks what of links.amqp depends on other keys, and what its URL says.
func (r *reader) checkBroker(c *Config) {
	b := r.broker
	if b == nil {
		return
	}
	a := b.amqp
	u, err := url.Parse(b.url.Value)
	if err != nil || u.Hostname() == "" || (u.Scheme != "amqp" && u.Scheme != "amqps") {
		r.addHiding(b.url, fmt.Sprintf("%q is not the address of a broker", hidden(b.url.Value)), "write amqps://USER@HOST/VHOST")
		return
	}
	if _, has := u.User.Password(); has {
		u.User = url.User(u.User.Username())
		r.addHiding(b.url, "whoever can read this file or a backup of it can read the password",
			fmt.Sprintf("write the password into a file that only the daemon's user can read, and `amqp: {url: %q, password: FILE}`", u))
		return
	}
	vhost := strings.TrimPrefix(u.EscapedPath(), "/")
	switch {
	case u.RawQuery != "" || u.Fragment != "" || strings.Contains(vhost, "/"):
		r.add(b.url, fmt.Sprintf("%q contains more than scheme, user, host, port and virtual host", b.url.Value), "write amqps://USER@HOST/VHOST; a / in the name of a virtual host is %2F")
		return
	case u.Scheme == "amqp" && (a.Certificate != "" || a.CA != ""):
		r.add(b.url, "certificates are for amqps://", "write amqps://, or remove certificate, key and ca")
	case !loopback(u.Hostname()) && u.Scheme == "amqp" && !c.Insecure:
		r.add(b.url, fmt.Sprintf("the broker %s is on another machine, and amqp:// is not encrypted", u.Host),
			"write amqps://, or accept with `insecure: true` that everybody on the way reads the messages and the password")
	case !loopback(u.Hostname()) && !r.hasIdentity && !c.Insecure:
		r.add(b.url, "whoever may publish at the broker could write messages in any site's name", identityRemedy(c)+
			", or accept it with `insecure: true`")
	}
	if a.PlainFrames && !r.hasIdentity {
		r.add(b.plainFrames, "plain_frames takes sites that do not encrypt, and without an identity nothing is encrypted", identityRemedy(c)+", or remove plain_frames")
	}
	a.User = u.User.Username()
	r.checkPassword(b, &a, u)
	u.Host = hostPort(u, map[string]string{"amqp": "5672", "amqps": "5671"}[u.Scheme])
	a.URL = u.String()
	c.AMQP = &a
}

// checkPassword sees that the broker can be told who calls.
func (r *reader) checkPassword(b *broker, a *AMQP, u *url.URL) {
	if a.Password == "" && b.password == nil && a.User != "" {
		a.Password = r.credential(passwordCredential)
	}
	external := u.Scheme == "amqps" && (a.Certificate != "" || r.hasIdentity)
	switch {
	case a.User == "" && b.password != nil:
		r.add(b.password, "there is a password, but no user", "write the user into the URL: "+u.Scheme+"://USER@"+u.Host+u.Path)
	case a.User == "" && !external:
		r.add(b.url, "this node does not tell the broker who it is", "write the user into the URL and `password: FILE`, or give this node a certificate that the broker knows")
	case a.User != "" && a.Password == "" && b.password == nil && !external:
		r.add(b.url, fmt.Sprintf("there is no password for the user %s", a.User),
			fmt.Sprintf("write `amqp: {url: %q, password: FILE}`, or hand it over as the systemd credential %s", b.url.Value, passwordCredential))
	}
}

// addHiding is add for an address: one that may hold a password is not shown.
func (r *reader) addHiding(n *yaml.Node, what, remedy string) {
	r.add(n, what, remedy)
	if strings.Contains(n.Value, "@") {
		r.problems[len(r.problems)-1].Source = ""
	}
}

// hidden is an address without the password that may be in it.
func hidden(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return u.Redacted()
	}
	if at := strings.LastIndex(address, "@"); at >= 0 {
		return "xxxxx" + address[at:]
	}
	return address
}

// hostPort is the host and port of u; port is the default.
func hostPort(u *url.URL, port string) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), port)
	}
	return u.Host
}
