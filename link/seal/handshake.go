package seal

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
)

// Receive takes an envelope. An error says why the peer, or who claims to be it, is not
// accepted; it changes nothing. What is merely not for the session that is under way
// (lost sessions, repeats, forgeries) is counted and gives neither result nor error.
func (s *Session) Receive(data []byte) (Result, error) {
	e, body, tag, err := decode(data)
	if err != nil {
		s.counts.Malformed++
		return Result{}, fmt.Errorf("envelope for %s: %w", s.cfg.Self, err)
	}
	if e.from != string(s.cfg.Peer) || e.to != string(s.cfg.Self) {
		s.counts.Foreign++
		return Result{}, fmt.Errorf("%w: an envelope from %s to %s, on the link of %s with %s", ErrNotPeer, e.from, e.to, s.cfg.Self, s.cfg.Peer)
	}
	if err := s.checkMode(&e); err != nil {
		s.counts.Refused++
		return Result{}, err
	}
	switch e.kind {
	case kindHello:
		return s.receiveHello(&e, body, tag)
	case kindProof:
		return s.receiveProof(&e, body, tag)
	default:
		return s.receiveFrame(&e, body, tag), nil
	}
}

// checkMode insists that both ends have an identity, or neither.
func (s *Session) checkMode(e *envelope) error {
	switch own := s.cfg.Identity == nil; {
	case e.plain && !own:
		return fmt.Errorf("%w, and %s accepts nothing without one: give %s an identity (`identity` in its configuration)", ErrPlain, s.cfg.Self, s.cfg.Peer)
	case !e.plain && own:
		return fmt.Errorf("%w, and %s has none: give %s one (`identity` in its configuration)", ErrSealed, s.cfg.Self, s.cfg.Self)
	}
	return nil
}

func (s *Session) ensureOffer() (*offer, error) {
	if s.offer == nil {
		o, err := newOffer(&s.cfg)
		if err != nil {
			return nil, fmt.Errorf("open a session with %s: %w", s.cfg.Peer, err)
		}
		s.offer = o
	}
	return s.offer, nil
}

func (s *Session) envelope(kind uint64) envelope {
	return envelope{version: versionSigned, kind: kind, from: string(s.cfg.Self), to: string(s.cfg.Peer), plain: s.cfg.Identity == nil}
}

func (s *Session) hello() ([]byte, error) {
	o, err := s.ensureOffer()
	if err != nil {
		return nil, err
	}
	e := s.envelope(kindHello)
	e.offer = []byte(o.wire)
	body := e.encode()
	return append(body, checksum(body)...), nil
}

// receiveHello answers with a proof. What is ready stays so: a hello proves nothing.
func (s *Session) receiveHello(e *envelope, body, tag []byte) (Result, error) {
	if string(checksum(body)) != string(tag) {
		s.counts.Malformed++
		return Result{}, fmt.Errorf("hello from %s: %w: its checksum does not match", s.cfg.Peer, ErrMalformed)
	}
	offer := string(e.offer)
	switch {
	case s.ready != nil && s.ready.peers == offer: // late: the peer has the session
		s.counts.Stale++
		return Result{}, nil
	case s.next != nil && s.next.peers == offer:
		return s.greet(offer, s.next.own, func() ([]byte, error) { return s.next.proof, nil })
	}
	own, err := s.ensureOffer()
	if err != nil {
		return Result{}, err
	}
	return s.greet(offer, own.wire, func() ([]byte, error) {
		session, err := derive(&s.cfg, own, offer)
		if err != nil {
			s.counts.Refused++
			return nil, fmt.Errorf("hello from %s: %w", s.cfg.Peer, err)
		}
		return s.prove(session, false)
	})
}

// greet answers the peer's offer with a proof, which is made when there is none yet.
func (s *Session) greet(offer, own string, prove func() ([]byte, error)) (Result, error) {
	g := &s.greets
	if g.answered != offer || g.with != own {
		proof, err := prove()
		if err != nil {
			return Result{}, err
		}
		*g = greeted{answered: offer, with: own, proof: proof}
	}
	g.times++
	if g.times > greetEach && g.times%greetEvery != 0 {
		s.counts.Stale++
		return Result{}, nil
	}
	return Result{Reply: [][]byte{g.proof}}, nil
}

// prove makes this node's proof of a session: both offers, signed, with a MAC under
// the session's key. has: this node has the peer's.
func (s *Session) prove(n *session, has bool) ([]byte, error) {
	e := s.envelope(kindProof)
	e.offer, e.answered, e.has = []byte(n.own), []byte(n.peers), has
	if id := s.cfg.Identity; id != nil {
		e.chain = id.Chain()
		if err := checkChain(e.chain); err != nil {
			return nil, fmt.Errorf("open a session with %s: %w", s.cfg.Peer, err)
		}
		signature, err := id.Sign(signed(n.self, n.transcript()))
		if err != nil {
			return nil, fmt.Errorf("open a session with %s: sign: %w", s.cfg.Peer, err)
		}
		if len(signature) != signatureSize {
			return nil, fmt.Errorf("open a session with %s: a signature of %d bytes: the certificate's key has to be Ed25519", s.cfg.Peer, len(signature))
		}
		e.signature = signature
	}
	body := e.encode()
	return tag(n.proofOut, body, body), nil
}

func checkChain(chain [][]byte) error {
	size := 0
	for _, c := range chain {
		size += len(c)
	}
	if len(chain) == 0 || len(chain) > maxChain || size > maxChainBytes {
		return fmt.Errorf("%d certificates of together %d bytes: a link over a broker carries 1 to %d, of at most %d bytes", len(chain), size, maxChain, maxChainBytes)
	}
	return nil
}

func (n *session) transcript() []byte {
	return transcript(n.plain, n.self, n.own, n.peer, n.peers)
}

// receiveProof takes the peer's proof for an offer of this node: for the open one, which
// makes the next session, or again for a session that is there.
func (s *Session) receiveProof(e *envelope, body, tag []byte) (Result, error) {
	own, peers := string(e.answered), string(e.offer)
	for _, n := range []*session{s.ready, s.next} {
		if n != nil && n.own == own && n.peers == peers {
			return s.proofAgain(n, e, body, tag), nil
		}
	}
	if s.offer == nil || s.offer.wire != own {
		s.counts.Stale++
		return Result{}, nil
	}
	n, err := derive(&s.cfg, s.offer, peers)
	if err != nil {
		s.counts.Refused++
		return Result{}, fmt.Errorf("proof of %s: %w", s.cfg.Peer, err)
	}
	if !tagged(n.proofIn, body, tag) {
		s.counts.Forged++
		return Result{}, nil
	}
	if err := s.verify(n, e); err != nil {
		s.counts.Refused++
		return Result{}, err
	}
	for _, c := range e.chain {
		n.chain = append(n.chain, bytes.Clone(c))
	}
	if n.proof, err = s.prove(n, true); err != nil {
		return Result{}, err
	}
	// The offer has served: no record of this handshake can be played to it again.
	s.next, s.offer, s.tries, s.greets = n, nil, 0, greeted{}
	if e.has {
		return s.confirm(n, Result{Reply: [][]byte{n.seal(nil)}}), nil
	}
	return Result{Reply: [][]byte{n.proof}}, nil
}

// verify checks whose certificates the proof brings, and their owner's signature.
func (s *Session) verify(n *session, e *envelope) error {
	if s.cfg.Identity == nil {
		return nil
	}
	name, key, err := s.cfg.Verify(e.chain)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrIdentity, err)
	case name != s.cfg.Peer:
		return fmt.Errorf("%w: it is for node %s, and this link is with %s: give %s its own certificate", ErrIdentity, name, s.cfg.Peer, s.cfg.Peer)
	case len(key) != ed25519.PublicKeySize:
		return fmt.Errorf("%w: its key is not Ed25519: give %s a certificate with such a key", ErrIdentity, name)
	case !ed25519.Verify(key, signed(s.cfg.Peer, n.transcript()), e.signature):
		return fmt.Errorf("%w: somebody else may speak for %s", ErrSignature, name)
	}
	return nil
}

// proofAgain answers a proof of a session that is there, whose peer is known by its MAC.
func (s *Session) proofAgain(n *session, e *envelope, body, tag []byte) Result {
	switch {
	case !tagged(n.proofIn, body, tag):
		s.counts.Forged++
		return Result{}
	case e.has: // it may not know yet that this node has the session
		return s.confirm(n, Result{Reply: [][]byte{n.seal(nil)}})
	case n == s.next:
		return Result{Reply: [][]byte{n.proof}}
	}
	s.counts.Stale++
	return Result{}
}

// confirm makes n the session that is ready: the peer has proved that it has it.
func (s *Session) confirm(n *session, r Result) Result {
	if n == s.next {
		s.ready, s.next, r.Ready = n, nil, true
	}
	return r
}

func (s *Session) receiveFrame(e *envelope, body, tag []byte) Result {
	n := s.find(e.session)
	if n == nil {
		s.counts.Stale++
		return Result{}
	}
	frame, ok := n.open(e, body, tag)
	switch {
	case !ok:
		s.counts.Forged++
		return Result{}
	case !n.window.fresh(e.counter):
		s.counts.Replayed++
		return Result{}
	}
	n.window.mark(e.counter)
	return s.confirm(n, Result{Frame: frame})
}

func (s *Session) find(id []byte) *session {
	for _, n := range []*session{s.ready, s.next} {
		if n != nil && string(n.id[:]) == string(id) {
			return n
		}
	}
	return nil
}
