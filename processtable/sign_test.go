package processtable

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func definerKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func mustSign(t *testing.T, encoded []byte, key ed25519.PrivateKey) []byte {
	t.Helper()
	signed, err := Sign(encoded, key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestASignedTable(t *testing.T) {
	encoded := mustEncode(t, sample())
	signed := mustSign(t, encoded, definerKey(1))
	if !bytes.HasPrefix(signed, encoded) || len(signed) != len(encoded)+102 {
		t.Errorf("%d bytes became %d", len(encoded), len(signed))
	}
	table, err := Decode(signed)
	if err != nil {
		t.Fatal(err)
	}
	if !table.Definer.Equal(definerKey(1).Public()) {
		t.Errorf("definer %x", table.Definer)
	}
	bare, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if bare.Definer != nil {
		t.Errorf("definer of a table that nobody signed: %x", bare.Definer)
	}
	again, err := Encode(table)
	if err != nil || !bytes.Equal(again, encoded) {
		t.Errorf("what Encode gives for a signed table differs, %v", err)
	}
	if a, b := DefinerOf(signed), DefinerOf(encoded); !a.Equal(definerKey(1).Public()) || b != nil {
		t.Errorf("DefinerOf %x, and without signature %x", a, b)
	}
	if got, want := FormatOf(signed), FormatOf(encoded); got != want {
		t.Errorf("format %d, without signature %d", got, want)
	}
	if other := mustSign(t, signed, definerKey(2)); !bytes.Equal(other, mustSign(t, encoded, definerKey(2))) {
		t.Error("signed again, the second signature does not take the place of the first")
	}
}

// Whatever bit is flipped, of the table or of its signature: it is refused. (A signature
// that is none any more is read as a part of the table, and that refused.)
func TestASignedTableThatWasChanged(t *testing.T) {
	encoded := mustEncode(t, sample())
	signed := mustSign(t, encoded, definerKey(1))
	for bit := range len(signed) * 8 {
		changed := bytes.Clone(signed)
		changed[bit/8] ^= 1 << (bit % 8)
		if _, err := Decode(changed); err == nil {
			t.Fatalf("bit %d of byte %d was flipped, and the table is taken", bit%8, bit/8)
		}
	}
	value := bytes.Clone(signed)
	value[len(value)-1] ^= 1
	if _, err := Decode(value); err == nil || !strings.Contains(err.Error(), "the signature by "+DefinerText(definerKey(1).Public().(ed25519.PublicKey))+" does not fit this table: the table was changed after it was signed: upload the process again") {
		t.Errorf("error = %v", err)
	}
}

// A signature is of one table: of its node, process, version, definition and bytes.
func TestASignatureOfAnotherTable(t *testing.T) {
	encoded := mustEncode(t, sample())
	_, s := cutSignature(mustSign(t, encoded, definerKey(1)))
	if err := s.check(sample(), encoded); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Table){
		"another node":       func(t *Table) { t.Node = "Z" },
		"another process":    func(t *Table) { t.Process.Name += "x" },
		"another version":    func(t *Table) { t.Process.Version++ },
		"another definition": func(t *Table) { t.Definition[0]++ },
	} {
		t.Run(name, func(t *testing.T) {
			other := sample()
			change(other)
			if err := s.check(other, encoded); err == nil {
				t.Error("the signature is taken")
			}
		})
	}
}

func TestSignRefuses(t *testing.T) {
	if _, err := Sign([]byte("not a table"), definerKey(1)); err == nil {
		t.Error("what is no table was signed")
	}
}

func TestTextOfADefiner(t *testing.T) {
	key := definerKey(1).Public().(ed25519.PublicKey)
	text, id := DefinerText(key), DefinerID(key)
	if diff := cmp.Diff([]string{"ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=", "iojj3XQJ"}, []string{text, id}); diff != "" {
		t.Error(diff)
	}
}

// storedTable gives the bytes of a table as a store holds them, and what they are.
func storedTable(t *testing.T, file string) ([]byte, *Table) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	table, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return data, table
}

// The bytes of version 1 are what they are: stores hold them.
func TestASignatureOfVersion1(t *testing.T) {
	data, table := storedTable(t, "testdata/signed-1.hex")
	if !table.Definer.Equal(definerKey(1).Public()) {
		t.Errorf("definer %x", table.Definer)
	}
	if again := mustSign(t, data, definerKey(1)); !bytes.Equal(again, data) {
		t.Errorf("signed again: %x", again)
	}
}
