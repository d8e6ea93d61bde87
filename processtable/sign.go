package processtable

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// A signed table is the encoded table and behind it, of fixed length, an array of the
// signature's format version (1), the definer's public key and the signature. So what
// reads the beginning of a table need not know of signatures.
const (
	signatureVersion = 1
	signatureSize    = 1 + 1 + 2 + ed25519.PublicKeySize + 2 + ed25519.SignatureSize
)

// MaxUnsigned is the size limit of an encoded table that is to be signed, in bytes.
const MaxUnsigned = MaxEncoded - signatureSize

// definerPrefix is what the text of a definer's key begins with.
const definerPrefix = "ed25519:"

// DefinerText gives a definer's public key as it stands in configurations:
// ed25519:BASE64.
func DefinerText(key ed25519.PublicKey) string {
	return definerPrefix + base64.StdEncoding.EncodeToString(key)
}

// DefinerID gives the beginning of DefinerText's BASE64: for people, who can find it in
// a configuration; nothing is decided by it.
func DefinerID(key ed25519.PublicKey) string {
	return base64.StdEncoding.EncodeToString(key)[:8]
}

// Sign adds a definer's signature to an encoded table, or puts it in the place of the
// one that is there. The whole is at most MaxEncoded bytes.
func Sign(encoded []byte, key ed25519.PrivateKey) ([]byte, error) {
	encoded, _ = cutSignature(encoded)
	t, err := Decode(encoded)
	if err != nil {
		return nil, err
	}
	if len(encoded) > MaxUnsigned {
		return nil, fmt.Errorf("sign process table: %s: %d bytes, with the signature %d: at most %d: split the process",
			QueueName(t.Process, t.Node), len(encoded), len(encoded)+signatureSize, MaxEncoded)
	}
	w := &writer{b: bytes.Clone(encoded)}
	w.array(3)
	w.int(signatureVersion)
	w.bytes(key.Public().(ed25519.PublicKey))
	w.bytes(ed25519.Sign(key, t.signed(encoded)))
	return w.b, nil
}

// signed is what a definer signs: what the table is, for whom, and all of its bytes.
func (t *Table) signed(encoded []byte) []byte {
	b := []byte("fmqm process table 1\x00")
	for _, s := range []string{string(t.Node), t.Process.String()} {
		b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	b = append(b, t.Definition[:]...)
	sum := sha256.Sum256(encoded)
	return append(b, sum[:]...)
}

// DefinerOf gives the key that an encoded table says it is signed with, and nil if it says
// nothing. Decode verifies it.
func DefinerOf(encoded []byte) ed25519.PublicKey {
	if _, s := cutSignature(encoded); s != nil {
		return s.key
	}
	return nil
}

type signature struct {
	key   ed25519.PublicKey
	value []byte
}

// cutSignature parts a table from its signature; nil if it has none.
func cutSignature(data []byte) ([]byte, *signature) {
	n := len(data) - signatureSize
	if n <= 0 {
		return data, nil
	}
	r := &reader{data: data[n:]}
	parts, err := r.expect(majorArray)
	version, errVersion := r.uint(signatureVersion)
	key, errKey := r.take(majorBytes, ed25519.PublicKeySize)
	value, errValue := r.take(majorBytes, ed25519.SignatureSize)
	if err != nil || errVersion != nil || errKey != nil || errValue != nil || parts != 3 || version != signatureVersion || r.left() != 0 {
		return data, nil
	}
	return data[:n], &signature{key: bytes.Clone(key), value: value}
}

// check says whether the table is what the definer signed.
func (s *signature) check(t *Table, encoded []byte) error {
	if !ed25519.Verify(s.key, t.signed(encoded), s.value) {
		return fmt.Errorf("%s: the signature by %s is not of this table: it was changed after it was signed: upload the process again",
			QueueName(t.Process, t.Node), DefinerText(s.key))
	}
	return nil
}
