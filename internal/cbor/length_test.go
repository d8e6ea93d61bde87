package cbor

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"
)

// lengths are those at which a head takes another form, and their neighbours.
var lengths = []int{0, 1, 22, 23, 24, 25, 254, 255, 256, 257, 65534, 65535, 65536, 65537}

func library(t interface{ Fatal(...any) }, v any) []byte {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	data, err := mode.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Texts, byte strings and arrays of every length at which a head changes are written as the
// library writes them, and read back.
func TestLengths(t *testing.T) {
	for _, n := range lengths {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			text, list := strings.Repeat("a", n), make([]uint64, n)
			written := AppendArray(nil, n)
			for i := range list {
				list[i] = uint64(i)
				written = AppendUint(written, list[i])
			}
			got := [][]byte{AppendText(nil, text), AppendBytes(nil, []byte(text)), written}
			for i, want := range []any{text, []byte(text), list} {
				if !bytes.Equal(got[i], library(t, want)) {
					t.Fatalf("%T of length %d: wrote %x...", want, n, got[i][:min(len(got[i]), 12)])
				}
			}
			r := NewReader(bytes.Join(got, nil))
			if s := r.Text(n); s != text {
				t.Errorf("text comes back with %d bytes: %v", len(s), r.Err())
			}
			if b := r.Bytes(n); string(b) != text {
				t.Errorf("bytes come back with %d: %v", len(b), r.Err())
			}
			if items := r.Array(n); items != n {
				t.Errorf("array comes back with %d items: %v", items, r.Err())
			}
			for i := range n {
				if v := r.Uint(math.MaxUint64); v != uint64(i) {
					t.Fatalf("item %d comes back as %d: %v", i, v, r.Err())
				}
			}
			if err := r.End(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Numbers on both sides of every length of a head.
func TestNumbers(t *testing.T) {
	for _, edge := range []uint64{24, 1 << 8, 1 << 16, 1 << 32, math.MaxInt64} {
		for _, n := range []uint64{edge - 1, edge, edge + 1} {
			data := AppendUint(nil, n)
			r := NewReader(data)
			if got := r.Uint(math.MaxUint64); !bytes.Equal(data, library(t, n)) || got != n || r.End() != nil {
				t.Errorf("%d is written as %x and read as %d, %v", n, data, got, r.End())
			}
			i := -int64(min(n, math.MaxInt64))
			data = AppendInt(nil, i)
			r = NewReader(data)
			if got := r.Int(); !bytes.Equal(data, library(t, i)) || got != i || r.End() != nil {
				t.Errorf("%d is written as %x and read as %d, %v", i, data, got, r.End())
			}
		}
	}
}

// A map of whatever fields, up to all 64 of them, is written as the library writes it, also
// as a value within another, and every field is read back.
func TestMapsOfAnyFields(t *testing.T) {
	check := func(t interface {
		Fatal(...any)
		Fatalf(string, ...any)
	}, chosen uint64, size int,
	) {
		inner, want := BeginMap([]byte{0xff}), map[int]string{}
		for k := range byte(maxKey + 1) {
			if chosen>>k&1 == 1 {
				want[int(k)] = strings.Repeat("a", size)
				inner.Text(k, want[int(k)])
			}
		}
		if data := inner.B[1:]; inner.B[0] != 0xff || !bytes.Equal(data, library(t, want)) {
			t.Fatalf("%d fields: wrote %x...", len(want), data[:min(len(data), 60)])
		}
		r := NewReader(inner.B[1:])
		for f := r.Map(); f.Next(); delete(want, f.Key) {
			if got := f.Text(size); got != want[f.Key] {
				t.Fatalf("field %d comes back as %q", f.Key, got)
			}
		}
		if err := r.End(); err != nil || len(want) != 0 {
			t.Fatalf("%d fields did not come back: %v", len(want), err)
		}
	}
	for n := range maxKey + 2 { // the first n fields
		check(t, 1<<n-1, 1)
	}
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.Uint64().Draw(t, "fields")
		if rapid.Bool().Draw(t, "nearly all") {
			chosen = ^(chosen & rapid.Uint64().Draw(t, "but these") & rapid.Uint64().Draw(t, "of these"))
		}
		check(t, chosen, rapid.SampledFrom(lengths[1:8]).Draw(t, "size"))
	})
}

// A map within a map of all fields stays what it is, wherever it stands.
func TestMapsInAFullMap(t *testing.T) {
	outer, want := BeginMap(nil), map[int]map[int]int{}
	for k := range byte(maxKey + 1) {
		want[int(k)] = map[int]int{}
		outer.Key(k)
		inner := BeginMap(outer.B)
		for i := range k + 1 {
			inner.Uint(i, uint64(i)+1)
			want[int(k)][int(i)] = int(i) + 1
		}
		outer.B = inner.B
	}
	if !bytes.Equal(outer.B, library(t, want)) {
		t.Fatalf("wrote %x", outer.B)
	}
}

// What a reader would refuse is not written.
func TestKeysThatCannotBeWritten(t *testing.T) {
	for name, write := range map[string]func(m *Map){
		"over the highest": func(m *Map) { m.Uint(maxKey+1, 1) },
		"twice":            func(m *Map) { m.Uint(3, 1); m.Uint(3, 1) },
		"out of order":     func(m *Map) { m.Uint(3, 1); m.Uint(2, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it was written")
				}
			}()
			m := BeginMap(nil)
			write(&m)
		})
	}
}
