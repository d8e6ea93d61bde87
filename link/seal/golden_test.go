package seal_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"fmqm/link/seal"
)

// scene is one handshake and a frame each way, of fixed chance: the known answers.
func scene(t tb, configure func(self, peer string, seed uint64) seal.Config) [][]byte {
	a, b := newEnd(t, configure("A", "B", 1)), newEnd(t, configure("B", "A", 2))
	a.open()
	carried := settle(a, b)
	a.say("to B")
	b.say("to A")
	return append(carried, settle(a, b)...)
}

// The bytes of each version are what they are: nodes of it are out there.
func TestKnownAnswers(t *testing.T) {
	for name, configure := range map[string]func(self, peer string, seed uint64) seal.Config{"sealed-1": signed, "sealed-2": config, "plain-1": plain} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for _, data := range scene(t, configure) {
				fmt.Fprintf(&got, "%x\n", data)
			}
			want, err := os.ReadFile("testdata/" + name + ".hex")
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("envelopes have changed: what is in the field does not understand them\ngot:\n%s", got.String())
			}
		})
	}
}

// The page docs/formats.md, followed by hand, leads to the same tags and signatures:
// an implementation that shares no code with this one.
func TestTheProtocolAsWritten(t *testing.T) {
	for version := byte(1); version <= seal.Version; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) { asWritten(t, version) })
	}
}

func asWritten(t *testing.T, version byte) {
	t.Helper()
	file, err := os.ReadFile(fmt.Sprintf("testdata/sealed-%d.hex", version))
	if err != nil {
		t.Fatal(err)
	}
	var envelopes []map[uint64]any
	var bodies, tags [][]byte
	for line := range strings.Lines(string(file)) {
		data, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		var m map[uint64]any
		body, tag := data[:len(data)-16], data[len(data)-16:]
		if err := cbor.Unmarshal(body, &m); err != nil {
			t.Fatal(err)
		}
		envelopes, bodies, tags = append(envelopes, m), append(bodies, body), append(tags, tag)
	}
	hello, proofB, proofA, empty, frameA, frameB := envelopes[0], envelopes[1], envelopes[2], envelopes[3], envelopes[4], envelopes[5]

	// What A's chance gives: 16 bytes of nonce, then its ephemeral key.
	random := make([]byte, 48)
	if _, err := newChance(1).Read(random); err != nil {
		t.Fatal(err)
	}
	private, err := ecdh.X25519().NewPrivateKey(random[16:])
	if err != nil {
		t.Fatal(err)
	}
	offerA := append(append([]byte{version, version}, random[:16]...), private.PublicKey().Bytes()...)
	if !bytes.Equal(hello[5].([]byte), offerA) || !bytes.Equal(proofB[6].([]byte), offerA) {
		t.Fatalf("A's offer: %x", hello[5])
	}
	offerB := proofB[5].([]byte)
	public, err := ecdh.X25519().NewPublicKey(offerB[18:])
	if err != nil {
		t.Fatal(err)
	}
	secret, err := private.ECDH(public)
	if err != nil {
		t.Fatal(err)
	}

	transcript := "fmqm link session 1\x00\x00" + "\x00\x01A" + "\x00\x32" + string(offerA) + "\x00\x01B" + "\x00\x32" + string(offerB)
	salt := sha256.Sum256([]byte(transcript))
	key := func(info string, size int) []byte {
		k, err := hkdf.Key(sha256.New, secret, salt[:], info, size)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	sum := checksum16(bodies[0])
	if !bytes.Equal(tags[0], sum) {
		t.Errorf("tag of the hello %x, want %x", tags[0], sum)
	}
	for i, info := range []string{1: "proof from B", 2: "proof from A", 3: "frame from B", 4: "frame from A", 5: "frame from B"} {
		if i == 0 {
			continue
		}
		if m := envelopes[i]; m[0] == uint64(2) {
			text, _ := m[12].([]byte)
			if frame := decrypted(t, key(strings.Replace(info, "frame", "encrypt", 1), 32), bodies[i], text, tags[i], m[11].(uint64)); len(text) > 0 {
				m[12] = frame
			}
			continue
		}
		mac := hmac.New(sha256.New, key(info, 32))
		mac.Write(bodies[i])
		if want := mac.Sum(nil)[:16]; !bytes.Equal(tags[i], want) {
			t.Errorf("tag of envelope %d %x, want %x", i, tags[i], want)
		}
	}
	for name, proof := range map[string]map[uint64]any{"A": proofA, "B": proofB} {
		signed := "fmqm link proof 1\x00" + "\x00\x01" + name + transcript
		if !ed25519.Verify(head.issue(name).key.Public().(ed25519.PublicKey), []byte(signed), proof[9].([]byte)) {
			t.Errorf("the signature of %s is of something else", name)
		}
	}
	if proofA[7] != true || proofB[7] != nil {
		t.Errorf("has the peer's proof: A %v, B %v", proofA[7], proofB[7])
	}
	session := key("session", 8)
	for i, m := range []map[uint64]any{empty, frameA, frameB} {
		if !bytes.Equal(m[10].([]byte), session) {
			t.Errorf("frame %d is of session %x, want %x", i, m[10], session)
		}
	}
	if empty[12] != nil || string(frameA[12].([]byte)) != "to B" || frameB[11] != uint64(2) {
		t.Errorf("frames %v, %v, %v", empty, frameA, frameB)
	}
}

// decrypted opens a frame of version 2: the envelope before the encrypted frame is the
// associated data, the counter the end of the nonce.
func decrypted(t *testing.T, key, body, text, tag []byte, counter uint64) []byte {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, 12)
	binary.BigEndian.PutUint64(nonce[4:], counter)
	frame, err := gcm.Open(nil, nonce, append(bytes.Clone(text), tag...), body[:len(body)-len(text)])
	if err != nil {
		t.Fatalf("frame %d: %v", counter, err)
	}
	return frame
}

func checksum16(body []byte) []byte {
	sum := sha256.Sum256(body)
	return sum[:16]
}
