package processtable

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"fmqm/internal/cbor"
)

// A signature of version 1 says who defined a table: it is, behind the encoded table and of
// fixed length, an array of its version (1), the definer's public key and the signature.
//
// One of version 2 also says where the table may be taken, and until when. It is an
// envelope around the encoded table, so that the first part of a large one shows what
// its reader must know (L6): an array of its version (2), the definer's public key, the
// name of the network, the end in seconds since 1970, the signature, and the table.
const (
	plainVersion = 1
	plainParts   = 3
	plainSize    = 1 + 1 + 2 + ed25519.PublicKeySize + 2 + ed25519.SignatureSize

	envelopeVersion = 2
	envelopeParts   = 6
	envelopeSize    = plainSize + 2 + MaxName + 9 + 5 // at most
)

// SignatureVersion is the newest version of signatures that this code reads.
const SignatureVersion = envelopeVersion

// EnvelopeFormat is what a reader of tables has to know to read one in an envelope: a
// number after those of the formats that were there before.
const EnvelopeFormat = 3

// MaxUnsigned is the size limit of an encoded table that is to be signed, in bytes.
const MaxUnsigned = MaxEncoded - envelopeSize

// Terms are where a definer wants a table to be taken, and until when.
type Terms struct {
	Network  string    // the name of the network of sites, ValidNetwork
	NotAfter time.Time // after this second no site takes it from a definer; of those that have it others do
}

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

// Sign adds a definer's signature of version 1 to an encoded table, or puts it in the
// place of the one that is there. The whole is at most MaxEncoded bytes.
func Sign(encoded []byte, key ed25519.PrivateKey) ([]byte, error) {
	t, encoded, err := toSign(encoded)
	if err != nil {
		return nil, err
	}
	b := cbor.AppendUint(cbor.AppendArray(bytes.Clone(encoded), plainParts), plainVersion)
	b = cbor.AppendBytes(b, key.Public().(ed25519.PublicKey))
	return cbor.AppendBytes(b, ed25519.Sign(key, t.signed(encoded))), nil
}

// SignFor is Sign with a signature of version 2, which is worth nothing in another
// network, nor to who uploads it after its end.
func SignFor(encoded []byte, key ed25519.PrivateKey, terms Terms) ([]byte, error) {
	t, encoded, err := toSign(encoded)
	if err != nil {
		return nil, err
	}
	if err := terms.check(); err != nil {
		return nil, fmt.Errorf("sign process table: %s: %w", QueueName(t.Process, t.Node), err)
	}
	b := cbor.AppendUint(cbor.AppendArray(nil, envelopeParts), envelopeVersion)
	b = cbor.AppendBytes(b, key.Public().(ed25519.PublicKey))
	b = cbor.AppendInt(cbor.AppendText(b, terms.Network), terms.NotAfter.Unix())
	b = cbor.AppendBytes(b, ed25519.Sign(key, t.signedFor(encoded, terms)))
	return cbor.AppendBytes(b, encoded), nil
}

// lastYear is the last one that times in JSON have (RFC 3339).
const lastYear = 9999

func (t Terms) check() error {
	switch {
	case !ValidNetwork(t.Network):
		return fmt.Errorf("%q cannot name a network of sites: use letters, digits, _ and -, not a digit or - first, at most %d", t.Network, MaxName)
	case t.NotAfter.Unix() <= 0:
		return errors.New("a signature for a network needs an expiry time")
	case t.NotAfter.Year() > lastYear: // nobody could be told of a later one
		return fmt.Errorf("a signature ends by the year %d", lastYear)
	}
	return nil
}

// toSign gives the table that is to be signed, and its bytes without a signature.
func toSign(encoded []byte) (*Table, []byte, error) {
	encoded, _ = cutSignature(encoded)
	t, err := Decode(encoded)
	if err != nil {
		return nil, nil, err
	}
	if len(encoded) > MaxUnsigned {
		return nil, nil, fmt.Errorf("sign process table: %s: it takes %d bytes and a signature up to %d, but both together may take at most %d: split the process",
			QueueName(t.Process, t.Node), len(encoded), envelopeSize, MaxEncoded)
	}
	return t, encoded, nil
}

// signed is what a definer signs in version 1: what the table is, for whom, and all of its
// bytes.
func (t *Table) signed(encoded []byte) []byte {
	return t.named("fmqm process table 1", encoded, string(t.Node), t.Process.String())
}

// signedFor is what a definer signs in version 2: that, and its terms.
func (t *Table) signedFor(encoded []byte, terms Terms) []byte {
	b := t.named("fmqm process table 2", encoded, string(t.Node), t.Process.String(), terms.Network)
	return binary.BigEndian.AppendUint64(b, uint64(terms.NotAfter.Unix()))
}

func (t *Table) named(what string, encoded []byte, names ...string) []byte {
	b := append([]byte(what), 0)
	for _, s := range names {
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
	terms *Terms // of version 2
}

// cutSignature parts a table from its signature; nil if it has none.
func cutSignature(data []byte) ([]byte, *signature) {
	if table, s := openEnvelope(data); s != nil {
		return table, s
	}
	n := len(data) - plainSize
	if n <= 0 {
		return data, nil
	}
	r := cbor.NewReader(data[n:])
	r.Tuple(plainParts)
	version, signed := r.Uint(plainVersion), &signature{key: make([]byte, ed25519.PublicKeySize), value: make([]byte, ed25519.SignatureSize)}
	r.Fixed(signed.key)
	r.Fixed(signed.value)
	if r.End() != nil || version != plainVersion {
		return data, nil
	}
	return data[:n], signed
}

// openEnvelope takes a table out of its envelope; nil if it is in none.
func openEnvelope(data []byte) ([]byte, *signature) {
	if !inEnvelope(data) {
		return data, nil
	}
	r, signed := readEnvelope(data)
	table := r.Bytes(MaxEncoded)
	if r.End() != nil || signed.terms.check() != nil {
		return data, nil
	}
	return table, signed
}

// readEnvelope reads all of an envelope but the table.
func readEnvelope(data []byte) (cbor.Reader, *signature) {
	r := cbor.NewReader(data)
	r.Tuple(envelopeParts)
	r.Uint(envelopeVersion)
	s := &signature{key: make([]byte, ed25519.PublicKeySize), value: make([]byte, ed25519.SignatureSize), terms: &Terms{}}
	r.Fixed(s.key)
	s.terms.Network = r.Text(MaxName)
	s.terms.NotAfter = time.Unix(int64(r.Uint(math.MaxInt64)), 0).UTC()
	r.Fixed(s.value)
	return r, s
}

// inEnvelope says whether what data begins with, at least 2 bytes, is an envelope.
func inEnvelope(data []byte) bool {
	return bytes.HasPrefix(data, cbor.AppendUint(cbor.AppendArray(nil, envelopeParts), envelopeVersion))
}

// check says whether the table is what the definer signed.
func (s *signature) check(t *Table, encoded []byte) error {
	signed := t.signed
	if s.terms != nil {
		signed = func(encoded []byte) []byte { return t.signedFor(encoded, *s.terms) }
	}
	if !ed25519.Verify(s.key, signed(encoded), s.value) {
		return fmt.Errorf("%s: the signature by %s does not fit this table: the table was changed after it was signed: upload the process again",
			QueueName(t.Process, t.Node), DefinerText(s.key))
	}
	return nil
}

// into notes in the table who signed it, and the terms.
func (s *signature) into(t *Table) {
	t.Definer = s.key
	if s.terms != nil {
		t.Terms = *s.terms
	}
}
