package cbor

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"
)

// TestIsCBOR holds the writer to a CBOR library: what it writes is CBOR, in the
// library's deterministic form.
func TestIsCBOR(t *testing.T) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		u, i := rapid.Uint64().Draw(t, "u"), rapid.Int64().Draw(t, "i")
		s, b := rapid.String().Draw(t, "s"), rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		flag := rapid.Bool().Draw(t, "flag")
		list := rapid.SliceOfN(rapid.Int64(), 0, 30).Draw(t, "list")

		w := BeginMap(nil)
		w.Uint(0, u)
		w.Int(1, i)
		w.Text(2, s)
		w.Bytes(3, b)
		w.Bool(4, flag)
		w.Array(5, len(list))
		for _, n := range list {
			w.B = AppendInt(w.B, n)
		}
		want := map[int]any{}
		for k, v := range map[int]any{0: u, 1: i, 2: s, 3: b, 4: flag, 5: list} {
			if !isZero(v) {
				want[k] = v
			}
		}
		encoded, err := mode.Marshal(want)
		if err != nil || !bytes.Equal(encoded, w.B) {
			t.Fatalf("wrote %x, want %x, %v", w.B, encoded, err)
		}
	})
}

func isZero(v any) bool {
	switch v := v.(type) {
	case uint64:
		return v == 0
	case int64:
		return v == 0
	case string:
		return v == ""
	case []byte:
		return len(v) == 0
	case []int64:
		return len(v) == 0
	case bool:
		return !v
	}
	return false
}

// everything reads a map of all that there is, strictly.
func everything(data []byte) (w Map, err error) {
	w = BeginMap(nil)
	r := NewReader(data)
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			w.Uint(0, f.Uint(math.MaxUint64))
		case 1:
			w.Int(1, f.Int())
		case 2:
			w.Text(2, f.Text(20))
		case 3:
			w.Bytes(3, f.Bytes(20))
		case 4:
			w.Bool(4, f.Bool())
		case 5:
			n := f.Array(10)
			w.Array(5, n)
			for range n {
				w.B = AppendUint(w.B, r.Uint(math.MaxUint64))
			}
		case 6:
			w.Time(6, f.Time())
		case 7:
			var fixed [4]byte
			f.Fixed(fixed[:])
			w.Bytes(7, fixed[:])
		default:
			f.Unknown()
		}
	}
	return w, r.End()
}

// TestStrict: whatever is read is written again to the byte.
func TestStrict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := BeginMap(nil)
		w.Uint(0, rapid.Uint64().Draw(t, "u"))
		w.Int(1, rapid.Int64().Draw(t, "i"))
		w.Text(2, rapid.StringN(0, 5, 20).Draw(t, "s"))
		w.Bytes(3, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "b"))
		w.Bool(4, rapid.Bool().Draw(t, "flag"))
		w.Time(6, time.Unix(0, rapid.Int64().Draw(t, "time")))
		data := w.B
		if got, err := everything(data); err != nil || !bytes.Equal(got.B, data) {
			t.Fatalf("%x comes back as %x, %v", data, got.B, err)
		}
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		data = bytes.Clone(data)
		data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if got, err := everything(data); err == nil && !bytes.Equal(got.B, data) {
			t.Fatalf("%x was read as %x", data, got.B)
		}
		if _, err := everything(data[:at]); err == nil {
			t.Fatalf("%x was read although it is cut", data[:at])
		}
	})
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct{ name, data, want string }{
		{"nothing", "", "ends too early: expected map"},
		{"no map", "\x80", "expected map"},
		{"a head of unknown length", "\xbc", "the length is indefinite or reserved"},
		{"a head without its number", "\xa1\x18", "ends too early"},
		{"too many fields", "\xb8\x41", "map of 65 fields is over the limit of"},
		{"twice", "\xa2\x00\x01\x00\x01", "field 0 after field 0: repeated, or out of order"},
		{"out of order", "\xa2\x01\x01\x00\x01", "field 0 after field 1: repeated, or out of order"},
		{"unknown", "\xa1\x17\x01", "unknown field 23"},
		{"a key over the highest", "\xa1\x18\x40\x01", "number 64 is over the limit of 63"},
		{"a number too long", "\xa1\x00\x18\x17", "a number is not in its shortest form"},
		{"a length too long", "\xa1\x02\x78\x01a", "a number is not in its shortest form"},
		{"zero number", "\xa1\x00\x00", "field 0 is present although it is zero"},
		{"zero integer", "\xa1\x01\x00", "field 1 is present although it is zero"},
		{"empty text", "\xa1\x02\x60", "field 2 is present although it is zero"},
		{"empty bytes", "\xa1\x03\x40", "field 3 is present although it is zero"},
		{"empty array", "\xa1\x05\x80", "field 5 is present although it is zero"},
		{"false", "\xa1\x04\xf4", "expected true"},
		{"no truth", "\xa1\x04", "expected true"},
		{"another type", "\xa1\x00\x61a", "expected unsigned integer"},
		{"text over its limit", "\xa1\x02\x75" + strings.Repeat("a", 21), "text of 21 bytes is over the limit of 20"},
		{"text that is not there", "\xa1\x02\x63ab", "ends too early: expected text of 3 bytes"},
		{"text is not UTF-8", "\xa1\x02\x61\xff", "text is not UTF-8"},
		{"indefinite text", "\xa1\x02\x7f\x61a\xff", "the length is indefinite or reserved"},
		{"bytes over their limit", "\xa1\x03\x58\x40", "byte string of 64 bytes is over the limit of 20"},
		{"array over its limit", "\xa1\x05\x8b" + strings.Repeat("\x01", 11), "array of 11 items is over the limit of 10"},
		{"array that cannot be there", "\xa1\x05\x8a\x01", "ends too early: expected array of 10 items"},
		{"integer too large", "\xa1\x01\x1b\xff\xff\xff\xff\xff\xff\xff\xff", "integer does not fit into 64 bits"},
		{"integer too small", "\xa1\x01\x3b\xff\xff\xff\xff\xff\xff\xff\xff", "integer does not fit into 64 bits"},
		{"fixed bytes too short", "\xa1\x07\x43abc", "byte string has 3 bytes, expected 4"},
		{"fixed bytes too long", "\xa1\x07\x45abcde", "byte string of 5 bytes is over the limit of 4"},
		{"something behind", "\xa0\x00", "the data should end here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := everything([]byte(tc.data)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestFirstErrorStays: what is read behind an error is nothing, and the error stays.
func TestFirstErrorStays(t *testing.T) {
	r := NewReader([]byte{0x01, 0x61, 'a', 0xf5})
	r.Fail("first")
	if r.Uint(9) != 0 || r.Text(9) != "" || r.Int() != 0 || r.Bytes(9) != nil || r.Array(9) != 0 {
		t.Error("something was read behind an error")
	}
	if err := r.End(); err == nil || err.Error() != "byte 0: first" {
		t.Errorf("error %v", err)
	}
}
