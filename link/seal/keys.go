package seal

import (
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"

	"fmqm/processtable"
)

// An offer on the wire: the lowest and the highest version that its maker reads, a
// nonce, and, unless plain, an ephemeral X25519 key.
const (
	nonceSize = 16
	keySize   = 32
	maxOffer  = 2 + nonceSize + keySize
)

func offerSize(plain bool) int {
	if plain {
		return maxOffer - keySize
	}
	return maxOffer
}

// offer is one that this node made.
type offer struct {
	wire    string
	private *ecdh.PrivateKey // nil: plain
	wanted  bool             // this node asks for a session with it, and does not only answer
}

func newOffer(cfg *Config) (*offer, error) {
	low, high := cfg.versions()
	wire := append(make([]byte, 0, maxOffer), low, high)
	random := make([]byte, nonceSize+keySize)
	if _, err := io.ReadFull(cfg.Rand, random); err != nil {
		return nil, fmt.Errorf("read random bytes: %w", err)
	}
	wire = append(wire, random[:nonceSize]...)
	if cfg.Identity == nil {
		return &offer{wire: string(wire)}, nil
	}
	private, err := ecdh.X25519().NewPrivateKey(random[nonceSize:])
	if err != nil {
		return nil, fmt.Errorf("make an ephemeral key: %w", err)
	}
	return &offer{wire: string(append(wire, private.PublicKey().Bytes()...)), private: private}, nil
}

// agree gives the secret that both makers of the two offers, and only they, can reckon.
func (o *offer) agree(peers string) ([]byte, error) {
	if o.private == nil {
		return nil, nil
	}
	public, err := ecdh.X25519().NewPublicKey([]byte(peers[2+nonceSize:]))
	if err != nil {
		return nil, err
	}
	return o.private.ECDH(public) // refuses keys that lead to zero
}

// transcript is all that both ends have to agree on before there is a session: the
// same bytes at both, since the lower name comes first.
func transcript(plain bool, a processtable.NodeID, offerA string, b processtable.NodeID, offerB string) []byte {
	if b < a {
		a, offerA, b, offerB = b, offerB, a, offerA
	}
	t := []byte("fmqm link session 1\x00\x00")
	if plain {
		t[len(t)-1] = 1
	}
	for _, s := range []string{string(a), offerA, string(b), offerB} {
		t = binary.BigEndian.AppendUint16(t, uint16(len(s)))
		t = append(t, s...)
	}
	return t
}

// signed is what a node signs: who signs, and the transcript.
func signed(from processtable.NodeID, transcript []byte) []byte {
	m := []byte("fmqm link proof 1\x00")
	m = binary.BigEndian.AppendUint16(m, uint16(len(from)))
	m = append(m, from...)
	return append(m, transcript...)
}

// session is what two offers lead to, at one end.
type session struct {
	self, peer processtable.NodeID
	plain      bool
	own, peers string // the offers
	version    uint64 // of its frames
	id         [sessionSize]byte

	proofOut, proofIn hash.Hash
	frameOut, frameIn hash.Hash   // of version 1
	aeadOut, aeadIn   cipher.AEAD // of version 2

	chain  [][]byte // that the peer has shown
	proof  []byte   // of this node, which has the peer's: repeated until the peer knows it
	sent   uint64   // counter of the newest frame
	window window
}

// derive makes the keys of a session by HKDF-SHA256, salted with the hash of the
// transcript, one for each direction and use. Both offers, so what versions both ends
// read, are part of every key, and of what both sign: who changes them on the way makes
// no session of an older version, but none.
func derive(cfg *Config, own *offer, peers string) (*session, error) {
	version, err := cfg.agreed(own.wire, peers)
	if err != nil {
		return nil, err
	}
	plain := own.private == nil
	secret, err := own.agree(peers)
	if err != nil {
		return nil, fmt.Errorf("%w: agree on keys: %w", ErrMalformed, err)
	}
	salt := sha256.Sum256(transcript(plain, cfg.Self, own.wire, cfg.Peer, peers))
	prk, err := hkdf.Extract(sha256.New, secret, salt[:])
	if err != nil {
		return nil, fmt.Errorf("derive keys: %w", err)
	}
	s := &session{self: cfg.Self, peer: cfg.Peer, plain: plain, own: own.wire, peers: peers, version: version}
	expand := func(info string, size int) []byte {
		key, failed := hkdf.Expand(sha256.New, prk, info, size)
		if failed != nil && err == nil {
			err = fmt.Errorf("derive keys: %w", failed)
		}
		return key
	}
	mac := func(info string) hash.Hash { return hmac.New(sha256.New, expand(info, sha256.Size)) }
	s.proofOut, s.proofIn = mac("proof from "+string(cfg.Self)), mac("proof from "+string(cfg.Peer))
	if version == versionSigned {
		s.frameOut, s.frameIn = mac("frame from "+string(cfg.Self)), mac("frame from "+string(cfg.Peer))
	} else {
		s.aeadOut, s.aeadIn = encryption(expand("encrypt from "+string(cfg.Self), encryptionKey)), encryption(expand("encrypt from "+string(cfg.Peer), encryptionKey))
	}
	copy(s.id[:], expand("session", sessionSize))
	return s, err
}

// tag is HMAC-SHA256 of body, cut to 16 bytes, appended to to.
func tag(mac hash.Hash, body, to []byte) []byte {
	var sum [sha256.Size]byte
	mac.Reset()
	mac.Write(body)
	return append(to, mac.Sum(sum[:0])[:tagSize]...)
}

func tagged(mac hash.Hash, body, with []byte) bool {
	var sum [tagSize]byte
	return hmac.Equal(tag(mac, body, sum[:0]), with)
}
