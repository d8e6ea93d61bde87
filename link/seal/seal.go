package seal

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"

	"fmqm/processtable"
)

// Limits, in bytes.
const (
	MaxFrame     = 4 << 20          // what Seal takes
	MaxEnvelope  = MaxFrame + 1<<10 // what Receive takes
	MaxHandshake = 4 << 10          // a hello or a proof
)

// Errors of Receive, wrapped, with a text for people that says what to do. Anybody who
// can write to the broker can cause them: they are for showing, and only as long as no
// session is ready.
var (
	ErrNotPeer   = errors.New("not from the peer of this link")
	ErrVersion   = errors.New("no common version of the envelope format")
	ErrPlain     = errors.New("the peer speaks without identity")
	ErrSealed    = errors.New("the peer wants an identity")
	ErrIdentity  = errors.New("the peer's certificate is not accepted")
	ErrSignature = errors.New("the peer's signature does not match its certificate")
	// ErrMalformed: not an envelope, or damaged on its way.
	ErrMalformed = errors.New("malformed envelope")
)

// ErrNotReady: Seal was called while no session is ready.
var ErrNotReady = errors.New("no session is ready")

// Identity is this node's: its certificates and what signs with the key of the first.
type Identity interface {
	// Chain gives DER certificates, the node's own first, together below 3 KiB.
	Chain() [][]byte
	// Sign gives the Ed25519 signature of msg.
	Sign(msg []byte) ([]byte, error)
}

// Config is what a Session needs.
type Config struct {
	Self, Peer processtable.NodeID
	// Identity of this node; nil: plain sessions.
	Identity Identity
	// Verify says whose certificates these are, and with which key their owner signs; an
	// error says why they are not accepted. Not used by plain sessions.
	Verify func(chain [][]byte) (processtable.NodeID, ed25519.PublicKey, error)
	// PlainFrames has this node take peers that are too old to encrypt: with them, and only
	// with them, frames have a MAC and can be read on their way.
	PlainFrames bool
	Rand        io.Reader // usually crypto/rand.Reader

	newest uint8 // of the versions that this node reads; 0: Version. Tests have older nodes.
}

// versions are those of frames that this node reads. Plain sessions have no key to encrypt
// with.
func (c *Config) versions() (low, high uint8) {
	switch {
	case c.Identity == nil || c.newest == versionSigned:
		return versionSigned, versionSigned
	case c.PlainFrames:
		return versionSigned, versionEncrypted
	}
	return versionEncrypted, versionEncrypted
}

// agreed gives the version of the frames of the session that two offers lead to: the
// newest that both makers read.
func (c *Config) agreed(own, peers string) (uint64, error) {
	version := min(own[1], peers[1])
	switch {
	case version >= own[0] && version >= peers[0]:
		return uint64(version), nil
	case peers[1] == versionSigned:
		return 0, fmt.Errorf("%w: %s does not encrypt over a broker, and %s accepts only encrypted messages: update %s, or allow it until then with `plain_frames: true` in links.amqp of %s",
			ErrVersion, c.Peer, c.Self, c.Peer, c.Self)
	}
	return 0, fmt.Errorf("%w: %s reads versions %d to %d, and %s versions %d to %d: update the older of the two nodes", ErrVersion, c.Peer, peers[0], peers[1], c.Self, own[0], own[1])
}

// Result is what an envelope led to.
type Result struct {
	// Frame is what the peer sealed, a part of the envelope that was received, where it
	// was decrypted; nil if the envelope brought none.
	Frame []byte
	// Reply is to be sent to the peer, in this order.
	Reply [][]byte
	// Ready: with this envelope a session became ready, the first one or one that
	// follows another, such as after a restart of the peer.
	Ready bool
}

// Counts says what was dropped without a word, and how often.
type Counts struct {
	Malformed uint64 // not an envelope, or damaged
	Foreign   uint64 // from or for another node, among them what was reflected
	Stale     uint64 // of a session, or for an offer, that is not or no more
	Forged    uint64 // with a tag that is not the peer's, or of another version
	Replayed  uint64 // frames that came before, or are older than the window
	Refused   uint64 // hellos and proofs of a peer that is not accepted
}

// Session is one node's end of the sessions with one peer.
type Session struct {
	cfg    Config
	offer  *offer   // made and not yet used; nil: none
	next   *session // both ends proved who they are; the peer may not know it yet
	ready  *session
	tries  int // calls of Open since next is there
	greets greeted
	counts Counts
}

// greeted is the last hello that was answered, so that a queue full of the same one
// does not get as many answers.
type greeted struct {
	answered string // the peer's offer
	with     string // own offer
	proof    []byte
	times    int
}

// A hello that is repeated is answered again, if the peer did not get the answer: the
// first times each, then each 16th.
const (
	greetEach  = 4
	greetEvery = 16
)

// helloEvery: every fourth call of Open asks for a new session beside repeating the
// proof, since a peer that was restarted cannot do anything with that.
const helloEvery = 4

// New makes a Session. It panics if the configuration cannot be meant.
func New(cfg Config) *Session {
	if !processtable.ValidNode(string(cfg.Self)) || !processtable.ValidNode(string(cfg.Peer)) || cfg.Self == cfg.Peer {
		panic(fmt.Sprintf("seal: session of node %q with %q", cfg.Self, cfg.Peer))
	}
	if cfg.Rand == nil || cfg.Identity != nil && cfg.Verify == nil {
		panic("seal: a session needs Rand, and Verify beside an Identity")
	}
	return &Session{cfg: cfg}
}

// Ready says whether frames can be sealed.
func (s *Session) Ready() bool { return s.ready != nil }

// Counts gives what was dropped so far.
func (s *Session) Counts() Counts { return s.counts }

// Waiting says for people what the session waits for; empty if it is ready.
func (s *Session) Waiting() string {
	switch {
	case s.ready != nil:
		return ""
	case s.next != nil:
		return fmt.Sprintf("%s has proved who it is, but has not answered this node's proof yet: if this stays so, check there whether it accepts the certificate of %s", s.cfg.Peer, s.cfg.Self)
	}
	return fmt.Sprintf("no answer from %s yet", s.cfg.Peer)
}

// PeerChain gives the certificates by which the peer is known in the session that is
// ready; nil: there is none, or it is plain.
func (s *Session) PeerChain() [][]byte {
	if s.ready == nil {
		return nil
	}
	return s.ready.chain
}

// End forgets the sessions with the peer, such as when its certificate is not accepted any
// more. Another one begins as the first did.
func (s *Session) End() { s.ready, s.next, s.tries, s.greets = nil, nil, 0, greeted{} }

// Open gives the envelopes that are to be sent now to bring a session about, none if
// nothing is missing. It is called when the transport is up, and again every few
// seconds (more and more rarely, while nothing comes), whether Ready or not.
func (s *Session) Open() ([][]byte, error) {
	if s.next == nil {
		if s.ready != nil && !s.renewing() {
			return nil, nil
		}
		hello, err := s.hello()
		if err != nil {
			return nil, err
		}
		return [][]byte{hello}, nil
	}
	s.tries++
	out := [][]byte{s.next.proof}
	if s.tries%helloEvery == 0 {
		hello, err := s.hello()
		if err != nil {
			return nil, err
		}
		out = append(out, hello)
	}
	return out, nil
}

// Renew asks for a new session, such as after this node's certificate was replaced.
// The one that is ready stays until the new one is.
func (s *Session) Renew() ([][]byte, error) {
	if _, err := s.ensureOffer(); err != nil {
		return nil, err
	}
	s.offer.wanted = true
	return s.Open()
}

func (s *Session) renewing() bool { return s.offer != nil && s.offer.wanted }

// Seal makes an envelope of a frame of 1 byte to MaxFrame.
func (s *Session) Seal(frame []byte) ([]byte, error) {
	if s.ready == nil {
		return nil, fmt.Errorf("seal a frame for %s: %w", s.cfg.Peer, ErrNotReady)
	}
	if len(frame) == 0 || len(frame) > MaxFrame {
		return nil, fmt.Errorf("seal a frame for %s: %d bytes: expected 1 to %d", s.cfg.Peer, len(frame), MaxFrame)
	}
	return s.ready.seal(frame), nil
}
