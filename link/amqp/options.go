package amqp

import (
	"crypto/ed25519"
	crand "crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"fmqm/internal/secret"
	"fmqm/link/seal"
	"fmqm/processtable"
)

// Kinds of queues that a node declares for itself.
const (
	QueuesAuto    = "auto" // quorum where the broker has it; what exists is used
	QueuesQuorum  = "quorum"
	QueuesClassic = "classic"
)

// Clock is the time that a Broker goes by, beside the deadlines of sockets. A task.Scheduler
// is one.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, in its own goroutine, after d, unless stop was called before.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// Options says how a Broker works. Self and URL are needed.
type Options struct {
	Self processtable.NodeID
	// URL is amqp://USER@HOST:PORT/VHOST or amqps://...; a password in it is refused. The
	// default ports are 5672 and 5671, the default virtual host is "/".
	URL string
	// User, if not empty, stands before the one of URL. Without a user the client's
	// certificate says who calls (SASL EXTERNAL).
	User string
	// PasswordFile holds the user's password; a line end behind it does not count. It is
	// read at each connection. Credential, if PasswordFile is empty, is the name of a
	// systemd credential.
	PasswordFile, Credential string
	// TLS is for amqps://: with the client's certificate, if there is one. nil: the
	// system's authorities and no certificate. ServerName defaults to the host.
	TLS    *tls.Config
	Queues string // QueuesAuto (also if empty), QueuesQuorum or QueuesClassic

	// Identity and Verify are for the sessions with peers, see seal.Config; without
	// Identity anybody who may publish at the broker can write in any site's name.
	Identity seal.Identity
	Verify   func(chain [][]byte) (processtable.NodeID, ed25519.PublicKey, error)
	// Watch, if not nil, watches over who has a session: broken is called, in a goroutine of
	// its own, once that chain is not accepted any more; then the session ends. end ends it.
	Watch func(chain [][]byte, broken func(error)) (end func())
	// PlainFrames takes peers that are too old to encrypt: see seal.Config.
	PlainFrames bool

	// Unknown, if not nil, is told of a node without Dialer that calls, once it has proved
	// who it is with a certificate. It is called about once a minute for each that goes on
	// calling, in a goroutine of its own, for which nothing is kept here. A node that is not
	// dialed within some seconds is told that it is not wanted. nil: nobody without a Dialer
	// is answered at all.
	Unknown func(peer processtable.NodeID)
	// OnState, if not nil, is told of each change of state, in their order. It must not block.
	OnState func(Status)

	Log    zerolog.Logger
	Clock  Clock          // nil: the wall's
	Random func() float64 // in [0, 1): the jitter of pauses; nil: math/rand
	Rand   io.Reader      // for sessions; nil: crypto/rand

	open      opener        // nil: RabbitMQ; tests have another
	heartbeat time.Duration // 0: Heartbeat
	timeout   time.Duration // 0: CallTimeout
}

// target is where a connection goes, and as whom.
type target struct {
	addr   string // host:port
	host   string
	vhost  string
	user   string // empty: EXTERNAL
	secret func() (string, error)
	tls    *tls.Config // nil: none
	queue  string      // that of this node

	heartbeat, timeout time.Duration
}

// prepare checks the options, and fills in what is not said.
func (o *Options) prepare() (target, error) {
	if !processtable.ValidNode(string(o.Self)) {
		return target{}, fmt.Errorf("links over a broker: node name %q is not one", string(o.Self))
	}
	switch o.Queues {
	case "":
		o.Queues = QueuesAuto
	case QueuesAuto, QueuesQuorum, QueuesClassic:
	default:
		return target{}, fmt.Errorf("kind of queues %q: expected auto, quorum or classic", o.Queues)
	}
	if o.Identity != nil && o.Verify == nil {
		return target{}, errors.New("links over a broker: an identity of this node, and nothing that verifies those of others")
	}
	if o.Clock == nil {
		o.Clock = wallClock{}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Rand == nil {
		o.Rand = crand.Reader
	}
	if o.open == nil {
		o.open = openRabbit
	}
	if o.heartbeat == 0 {
		o.heartbeat = Heartbeat
	}
	if o.timeout == 0 {
		o.timeout = CallTimeout
	}
	t, err := o.target()
	if err != nil {
		return t, fmt.Errorf("address of the broker: %w", err)
	}
	return t, nil
}

const wantURL = "expected amqps://USER@HOST:PORT/VHOST"

// target reads the address. Errors of url.Parse quote what they parsed, so they are not
// passed on.
func (o *Options) target() (target, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "amqp" && u.Scheme != "amqps" {
		return target{}, errors.New(wantURL)
	}
	if _, has := u.User.Password(); has {
		return target{}, fmt.Errorf("%s has a password, and process lists and logs would show it: write it into a file that only the daemon's user can read, and name that file", u.Redacted())
	}
	vhost := "/"
	if path := strings.TrimPrefix(u.EscapedPath(), "/"); path != "" {
		if vhost, err = url.PathUnescape(path); err != nil || strings.Contains(path, "/") {
			return target{}, fmt.Errorf("%s: a / in the name of a virtual host is written %%2F", u.Redacted())
		}
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return target{}, fmt.Errorf("%s: %s and nothing behind it", u.Redacted(), wantURL)
	}
	port := u.Port()
	t := target{
		host: u.Hostname(), vhost: vhost, user: o.User, secret: o.secret, queue: QueueName(o.Self),
		heartbeat: o.heartbeat, timeout: o.timeout,
	}
	if t.user == "" {
		t.user = u.User.Username()
	}
	switch u.Scheme {
	case "amqps":
		if port == "" {
			port = "5671"
		}
		t.tls = &tls.Config{}
		if o.TLS != nil {
			t.tls = o.TLS.Clone()
		}
		if t.tls.ServerName == "" {
			t.tls.ServerName = t.host
		}
		t.tls.MinVersion = max(t.tls.MinVersion, tls.VersionTLS12)
	default:
		if port == "" {
			port = "5672"
		}
		if t.user == "" {
			return target{}, fmt.Errorf("%s names no user: %s", u.Redacted(), wantURL)
		}
	}
	t.addr = net.JoinHostPort(t.host, port)
	return t, nil
}

// String is the address without anything secret.
func (t target) String() string {
	u := url.URL{Scheme: "amqp", Host: t.addr, Path: "/" + t.vhost, RawPath: "/" + url.PathEscape(t.vhost)}
	if t.tls != nil {
		u.Scheme = "amqps"
	}
	if t.user != "" {
		u.User = url.User(t.user)
	}
	return u.String()
}

// QueueName is the queue that a node receives from.
func QueueName(n processtable.NodeID) string { return "fmqm." + string(n) }

// lockName is the queue that shows that a daemon receives for the node.
func lockName(n processtable.NodeID) string { return QueueName(n) + ".lock" }

// secretFile is where the password is.
func (o *Options) secretFile() (string, error) {
	switch dir := os.Getenv("CREDENTIALS_DIRECTORY"); {
	case o.PasswordFile != "":
		return o.PasswordFile, nil
	case o.Credential == "":
		return "", errors.New("the broker asks for a password and none is configured: name a file that holds it")
	case dir == "":
		return "", fmt.Errorf("the password should be the systemd credential %s, and there are no credentials: start the daemon by a unit with LoadCredential=%s:FILE", o.Credential, o.Credential)
	default:
		return filepath.Join(dir, o.Credential), nil
	}
}

func (o *Options) secret() (string, error) {
	file, err := o.secretFile()
	if err != nil {
		return "", err
	}
	password, err := secret.Read(file)
	if err != nil {
		return "", fmt.Errorf("the broker's password: %w", err)
	}
	return password, nil
}
