package container

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"
)

func TestCBORRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := anyType(t, 3)
		v := anyValue(t, typ)
		b, err := EncodeCBOR(v)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) != encodedSize(v) {
			t.Fatalf("reckoned %d bytes, wrote %d", encodedSize(v), len(b))
		}
		if err := cbor.Wellformed(b); err != nil {
			t.Fatalf("another decoder says: %v", err)
		}
		back, err := DecodeCBOR(typ, b)
		if err != nil {
			t.Fatal(err)
		}
		if !Equal(v, back) {
			t.Fatalf("%x came back as %v, was %v", b, back, v)
		}
		if err := CheckValue(typ, back); err != nil {
			t.Fatal(err)
		}
	})
}

// Equal values give equal bytes, and bytes that are not what the encoder writes are
// not accepted: so whatever is accepted is written again to the byte.
func TestDecodeCBORAcceptsOnlyWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := anyType(t, 3)
		b, err := EncodeCBOR(anyValue(t, typ))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "more")...)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		v, err := DecodeCBOR(typ, b)
		if err != nil {
			return
		}
		if err := CheckValue(typ, v); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		if again, err := EncodeCBOR(v); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x was accepted and is written as %x (%v)", b, again, err)
		}
	})
}

// The format is stored and sent; it does not change.
func TestCBORFormat(t *testing.T) {
	s := New(orderType())
	for i, v := range []Value{
		"ann", true, 1.5, []byte{1, 2}, time.Date(2024, 5, 1, 12, 0, 0, 5, time.UTC), -time.Nanosecond,
	} {
		s.Fields[i] = v
	}
	s.Fields[7] = []Value{New(s.Type.Members[6].Type)}
	b, err := EncodeCBOR(s)
	if err != nil {
		t.Fatal(err)
	}
	want := "88" + "63616e6e" + "f5" + "fb3ff8000000000000" + "420102" + "821a66322ec005" + "20" + "826001" + "81826001"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for n, want := range map[int64]string{
		0: "00", 23: "17", 24: "1818", 255: "18ff", 256: "190100", 65536: "1a00010000", math.MaxInt64: "1b7fffffffffffffff",
		-1: "20", -24: "37", -25: "3818", math.MinInt64: "3b7fffffffffffffff",
	} {
		if b, err := EncodeCBOR(n); err != nil || hex.EncodeToString(b) != want {
			t.Errorf("%d: got %x (%v), want %s", n, b, err, want)
		}
	}
}

func TestMalformedCBOR(t *testing.T) {
	const damaged = ": the bytes are damaged or of another type"
	pair := NewStructure("Pair", []Member{{Name: "a", Type: Scalar(Int)}, {Name: "b", Type: NewList(Scalar(String))}})
	for _, c := range []struct {
		typ  *Type
		hex  string
		want string
	}{
		{Scalar(Int), "", "at byte 0: the data ends too early: expected integer" + damaged},
		{Scalar(Int), "18", "at byte 1: the data ends too early" + damaged},
		{Scalar(Int), "1805", "at byte 1: a number is not in its shortest form" + damaged},
		{Scalar(Int), "1900ff", "at byte 1: a number is not in its shortest form" + damaged},
		{Scalar(Int), "1f", "at byte 1: the length is indefinite or reserved" + damaged},
		{Scalar(Int), "1bffffffffffffffff", "at byte 9: integer does not fit into 64 bits" + damaged},
		{Scalar(Int), "3b8000000000000000", "at byte 9: integer does not fit into 64 bits" + damaged},
		{Scalar(Int), "f5", "at byte 0: expected integer, not simple value" + damaged},
		{Scalar(Int), "0000", "at byte 1: the data should end here" + damaged},
		{Scalar(Bool), "f6", "at byte 0: expected true or false" + damaged},
		{Scalar(Bool), "", "at byte 0: expected true or false" + damaged},
		{Scalar(Double), "00", "at byte 0: expected double" + damaged},
		{Scalar(Double), "f93c00", "at byte 0: expected double" + damaged},
		{Scalar(Double), "fb3ff80000000000", "at byte 0: expected double" + damaged},
		{Scalar(Double), "fb7ff8000000000000", "at byte 9: a double that is not finite" + damaged},
		{Scalar(Double), "fb7ff0000000000000", "at byte 9: a double that is not finite" + damaged},
		{Scalar(String), "61ff", "at byte 2: text is not UTF-8" + damaged},
		{Scalar(String), "6261", "at byte 1: the data ends too early: expected text of 2 bytes" + damaged},
		{Scalar(String), "7bffffffffffffffff", "at byte 9: text of 18446744073709551615 bytes is over the limit of 1048576" + damaged},
		{Scalar(String), "7f6161ff", "at byte 1: the length is indefinite or reserved" + damaged},
		{Scalar(Bytes), "6161", "at byte 0: expected byte string, not text" + damaged},
		{Scalar(Timestamp), "8100", "at byte 1: array of 1 items, expected 2" + damaged},
		{Scalar(Timestamp), "821b7fffffffffffffff00", "at byte 11: a timestamp outside the years 1 to 9999" + damaged},
		{Scalar(Timestamp), "82001a3b9aca00", "at byte 7: a timestamp outside the years 1 to 9999" + damaged},
		{pair, "8100", "at byte 1: array of 1 items, expected 2" + damaged},
		{pair, "830080" + "00", "at byte 1: array of 3 items, expected 2" + damaged},
		{pair, "826080", "a: at byte 1: expected integer, not text" + damaged},
		{pair, "8200816100", "b[0]: at byte 4: the data ends too early: expected text of 1 bytes" + damaged},
		{pair, "82009a000fffff", "b: at byte 7: the data ends too early: expected array of 1048575 items" + damaged},
		{pair, "8200a0", "b: at byte 2: expected array, not map" + damaged},
		{&Type{}, "00", "at byte 0: no such kind of value: 0" + damaged},
	} {
		data, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if c.hex == "8200816100" {
			data = data[:4]
		}
		_, err = DecodeCBOR(c.typ, data)
		wantError(t, err, c.want)
	}
}

func TestCBORLimits(t *testing.T) {
	const tooLarge = "the encoded container has over 1048576 bytes: pass a reference (a file, a URL) instead of the content"
	const tooLong = "the list has more than 100000 elements: split it"
	if b, err := EncodeCBOR(strings.Repeat("a", MaxEncoded-5)); err != nil || len(b) != MaxEncoded {
		t.Errorf("the largest value is refused: %v", err)
	}
	_, err := EncodeCBOR(strings.Repeat("a", MaxEncoded-4))
	wantError(t, err, tooLarge)
	_, err = DecodeCBOR(Scalar(String), make([]byte, MaxEncoded+1))
	wantError(t, err, tooLarge)
	_, err = EncodeCBOR(make([]Value, MaxList+1))
	wantError(t, err, tooLong)
	_, err = DecodeCBOR(NewList(Scalar(Int)), append([]byte{0x9a, 0, 1, 0x86, 0xa1}, make([]byte, MaxList+1)...))
	wantError(t, err, tooLong)
	_, err = DecodeCBOR(wide(MaxNesting+1), []byte{0x80})
	wantError(t, err, "W is nested 17 deep; the limit is 16: make it flatter")
}

// What is refused for its size takes no longer than what is not, however large it is.
func TestCheckSize(t *testing.T) {
	text := strings.Repeat("a", MaxEncoded-5)
	if err := CheckSize(text); err != nil {
		t.Errorf("as much as is allowed: %v", err)
	}
	var many Value = []Value{int64(1)}
	for range 12 {
		l := make([]Value, 1000)
		for i := range l {
			l[i] = many
		}
		many = l
	}
	for name, v := range map[string]Value{"a text": text + "a", "one list very often": many} {
		if err := CheckSize(v); err == nil || !strings.Contains(err.Error(), "the encoded container has over 1048576 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEncodeRefusesWhatIsNoValue(t *testing.T) {
	order := orderType()
	for _, c := range []struct {
		member int
		v      Value
		want   string
	}{
		{0, "\xff", "customer: a string must be valid UTF-8: use the type bytes for what is not text"},
		{2, math.NaN(), "amount: a double cannot be NaN: use a finite number"},
		{2, 5, "amount: a Go int is not a value of a container"},
		{4, time.Time{}.Add(-1), "due: the timestamp 0000-12-31 23:59:59.999999999 +0000 UTC is out of range: use a time in the years 1 to 9999"},
		{6, (*Struct)(nil), "first: a structure without a value"},
		{7, []Value{nil}, "lines[0]: a Go <nil> is not a value of a container"},
	} {
		s := New(order)
		s.Fields[c.member] = c.v
		_, err := EncodeCBOR(s)
		wantError(t, err, c.want)
		_, err = EncodeJSON(s)
		wantError(t, err, c.want)
	}
}

func TestValuesTravelTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := make([]*Type, rapid.IntRange(0, 4).Draw(t, "types"))
		vs := make([]Value, len(types))
		for i := range types {
			types[i] = anyType(t, 2)
			vs[i] = anyValue(t, types[i])
		}
		b, err := EncodeValues(vs)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeValues(types, b)
		if err != nil || !equalAll(vs, back) {
			t.Fatalf("%x came back as %v (%v), was %v", b, back, err, vs)
		}
		if _, err := DecodeValues(append(types, Scalar(Int)), b); err == nil {
			t.Fatal("a value is missing, and nobody says so")
		}
		if _, err := DecodeValues(types, append(b, 0)); err == nil {
			t.Fatal("a byte too many, and nobody says so")
		}
	})
	_, err := DecodeValues([]*Type{Scalar(Int), Scalar(Bool)}, []byte{0x82, 0, 0})
	wantError(t, err, "[1]: at byte 2: expected true or false: the bytes are damaged or of another type")
	_, err = EncodeValues([]Value{int64(1), math.Inf(-1)})
	wantError(t, err, "[1]: a double cannot be -Inf: use a finite number")
	_, err = EncodeValues([]Value{strings.Repeat("a", MaxEncoded)})
	wantError(t, err, "[0]: the encoded container has over 1048576 bytes: pass a reference (a file, a URL) instead of the content")
}

func small() *Struct {
	s := New(NewStructure("Order", []Member{
		{Name: "customer", Type: Scalar(String)},
		{Name: "item", Type: Scalar(String)},
		{Name: "quantity", Type: Scalar(Int)},
		{Name: "amount", Type: Scalar(Double)},
	}))
	s.Fields = []Value{"ACME Ltd", "bolt M8", int64(400), 1250.0}
	return s
}

func BenchmarkCBOR(b *testing.B) {
	s := small()
	data, err := EncodeCBOR(s)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err = EncodeCBOR(s)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err = DecodeCBOR(s.Type, data)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkJSON(b *testing.B) {
	s := small()
	data, err := EncodeJSON(s)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			_, err = EncodeJSON(s)
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			_, err = DecodeJSON(s.Type, data)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

// Texts, bytes and lists of every length at which a head changes come back as they were.
func TestCBORLengths(t *testing.T) {
	for _, n := range []int{0, 1, 22, 23, 24, 25, 255, 256, 257, 65535, 65536, MaxList} {
		list := make([]Value, n)
		for i := range list {
			list[i] = int64(i)
		}
		for _, c := range []struct {
			t *Type
			v Value
		}{
			{Scalar(String), strings.Repeat("a", n)},
			{Scalar(Bytes), bytes.Repeat([]byte("a"), n)},
			{NewList(Scalar(Int)), list},
		} {
			b, err := EncodeCBOR(c.v)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := DecodeCBOR(c.t, b); err != nil || !Equal(c.v, back) || len(b) != encodedSize(c.v) || cbor.Wellformed(b) != nil {
				t.Errorf("%s of length %d does not come back: %v", c.t, n, err)
			}
		}
	}
}
