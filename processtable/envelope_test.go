package processtable

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var production = Terms{Network: "production", NotAfter: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}

func mustSignFor(t *testing.T, encoded []byte, key ed25519.PrivateKey, terms Terms) []byte {
	t.Helper()
	signed, err := SignFor(encoded, key, terms)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// A signature for a network says who, where and until when, and whoever reads the table
// has that; what the table says beside it is as without one.
func TestATableSignedForANetwork(t *testing.T) {
	encoded := mustEncode(t, sample())
	signed := mustSignFor(t, encoded, definerKey(1), production)
	table, err := Decode(signed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(production, table.Terms); diff != "" || !table.Definer.Equal(definerKey(1).Public()) {
		t.Errorf("definer %x, terms (-want +got):\n%s", table.Definer, diff)
	}
	again, err := Encode(table)
	if err != nil || !bytes.Equal(again, encoded) {
		t.Errorf("what Encode gives for it differs, %v", err)
	}
	if !DefinerOf(signed).Equal(definerKey(1).Public()) || FormatOf(signed) != FormatOf(encoded) {
		t.Errorf("DefinerOf %x, format %d", DefinerOf(signed), FormatOf(signed))
	}
	// Either kind of signature takes the place of the other.
	if !bytes.Equal(mustSign(t, signed, definerKey(2)), mustSign(t, encoded, definerKey(2))) ||
		!bytes.Equal(mustSignFor(t, mustSign(t, encoded, definerKey(2)), definerKey(1), production), signed) {
		t.Error("signed again, the second signature does not take the place of the first")
	}
	if table, err := Decode(mustSign(t, encoded, definerKey(1))); err != nil || table.Terms != (Terms{}) {
		t.Errorf("a signature for no network has terms: %+v, %v", table.Terms, err)
	}
}

// The first bytes, which the first part of a large message has, say what a reader has to
// know: who knows no envelopes is not sent one (L6).
func TestTheBeginningOfATableSaysWhoReadsIt(t *testing.T) {
	encoded := mustEncode(t, sample())
	signed := mustSignFor(t, encoded, definerKey(1), production)
	if got := ReaderOf(signed[:2]); got != EnvelopeFormat {
		t.Errorf("in an envelope: %d, want %d", got, EnvelopeFormat)
	}
	if got, want := ReaderOf(mustSign(t, encoded, definerKey(1))), sample().Format; got != want {
		t.Errorf("signed for no network: %d, want %d", got, want)
	}
	if HasFormat(EnvelopeFormat) {
		t.Error("a format of tables has the number that tables in envelopes have on links")
	}
}

// Whatever bit is flipped, of the table, its terms or its signature: it is refused.
func TestATableInAnEnvelopeThatWasChanged(t *testing.T) {
	signed := mustSignFor(t, mustEncode(t, sample()), definerKey(1), production)
	for bit := range len(signed) * 8 {
		changed := bytes.Clone(signed)
		changed[bit/8] ^= 1 << (bit % 8)
		if _, err := Decode(changed); err == nil {
			t.Fatalf("bit %d of byte %d was flipped, and the table is taken", bit%8, bit/8)
		}
	}
	if _, err := Decode(append(bytes.Clone(signed), 0)); err == nil {
		t.Error("a byte behind the envelope is taken")
	}
}

// A signature is for its terms only, and one for no network is none for a network.
func TestTermsOfAnotherSignature(t *testing.T) {
	encoded := mustEncode(t, sample())
	_, s := cutSignature(mustSignFor(t, encoded, definerKey(1), production))
	_, bare := cutSignature(mustSign(t, encoded, definerKey(1)))
	later, test := production, production
	later.NotAfter, test.Network = later.NotAfter.Add(time.Second), "test"
	for name, other := range map[string]signature{
		"a later end":         {key: s.key, value: s.value, terms: &later},
		"another network":     {key: s.key, value: s.value, terms: &test},
		"no network":          {key: s.key, value: s.value},
		"one for no network":  {key: bare.key, value: bare.value, terms: &production},
		"another's signature": {key: definerKey(2).Public().(ed25519.PublicKey), value: s.value, terms: &production},
	} {
		if err := other.check(sample(), encoded); err == nil || !strings.Contains(err.Error(), "the table was changed after it was signed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.check(sample(), encoded); err != nil {
		t.Error(err)
	}
}

func TestTermsThatAreRefused(t *testing.T) {
	encoded := mustEncode(t, sample())
	for name, terms := range map[string]Terms{
		`"" cannot name a network of sites`:               {NotAfter: production.NotAfter},
		`"a b" cannot name a network of sites`:            {Network: "a b", NotAfter: production.NotAfter},
		"a signature for a network needs an expiry time":  {Network: "production"},
		"a signature for a network needs an expiry time ": {Network: "production", NotAfter: time.Unix(-5, 0)},
		"a signature ends by the year 9999":               {Network: "production", NotAfter: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if _, err := SignFor(encoded, definerKey(1), terms); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%+v: %v", terms, err)
		}
	}
}

// The largest table that the compiler lets pass can be signed in either way.
func TestTheLargestTableCanBeSigned(t *testing.T) {
	if size := len(mustSignFor(t, mustEncode(t, sample()), definerKey(1), Terms{strings.Repeat("n", MaxName), time.Date(lastYear, 12, 31, 0, 0, 0, 0, time.UTC)})) - len(mustEncode(t, sample())); size > MaxEncoded-MaxUnsigned {
		t.Errorf("an envelope takes %d bytes, and %d are left for it", size, MaxEncoded-MaxUnsigned)
	}
}

// The bytes of version 2 are what they are: stores hold them.
func TestASignatureOfVersion2(t *testing.T) {
	data, table := storedTable(t, "testdata/signed-2.hex")
	if table.Terms != production || !table.Definer.Equal(definerKey(1).Public()) {
		t.Errorf("%x, %+v", table.Definer, table.Terms)
	}
	if again := mustSignFor(t, data, definerKey(1), production); !bytes.Equal(again, data) {
		t.Errorf("signed again: %x", again)
	}
}
