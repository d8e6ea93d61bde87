package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
)

// encryptionKey is the size of a key of AES-256, in bytes.
const encryptionKey = 32

// encryption gives the cipher of one direction of a session.
func encryption(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(fmt.Sprintf("seal: %v", err)) // the key is of a size that AES has
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(fmt.Sprintf("seal: %v", err))
	}
	return aead
}

// nonce is that of the frame with a counter, which no other frame under the key has.
func nonce(counter uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 4, 12), counter)
}

// seal makes the envelope of a frame, or of none: that tells the peer that this node
// has the session.
func (n *session) seal(frame []byte) []byte {
	n.sent++
	e := envelope{
		version: n.version, kind: kindFrame, from: string(n.self), to: string(n.peer), plain: n.plain,
		session: n.id[:], counter: n.sent, frame: frame,
	}
	body := e.encode()
	if n.version == versionSigned {
		return tag(n.frameOut, body, body)
	}
	head := body[:len(body)-len(frame)] // the frame is the last field
	return n.aeadOut.Seal(head, nonce(e.counter), body[len(head):], head)
}

// open gives the frame of an envelope that the peer sealed in this session; of version 2
// it is decrypted where it stands.
func (n *session) open(e *envelope, body, tag []byte) (frame []byte, ok bool) {
	switch {
	case e.version != n.version:
		return nil, false
	case n.version == versionSigned:
		return e.frame, tagged(n.frameIn, body, tag)
	}
	head := body[:len(body)-len(e.frame)]
	sealed := body[len(head) : len(body)+tagSize] // and its tag, which stands behind it
	frame, err := n.aeadIn.Open(sealed[:0], nonce(e.counter), sealed, head)
	if len(e.frame) == 0 {
		frame = nil
	}
	return frame, err == nil
}
