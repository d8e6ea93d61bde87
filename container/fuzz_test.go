package container

import (
	"bytes"
	"testing"
)

func fuzzType() *Type {
	inner := NewStructure("Inner", []Member{{Name: "at", Type: Scalar(Timestamp)}, {Name: "for", Type: Scalar(Duration)}, {Name: "raw", Type: Scalar(Bytes)}})
	return NewStructure("Outer", []Member{
		{Name: "b", Type: Scalar(Bool)},
		{Name: "i", Type: Scalar(Int), Default: int64(7)},
		{Name: "d", Type: Scalar(Double)},
		{Name: "s", Type: Scalar(String)},
		{Name: "inner", Type: inner},
		{Name: "list", Type: NewList(NewList(inner))},
	})
}

// FuzzCBOR: what DecodeCBOR takes, EncodeCBOR writes again byte by byte.
func FuzzCBOR(f *testing.F) {
	typ := fuzzType()
	if encoded, err := EncodeCBOR(New(typ)); err == nil {
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := DecodeCBOR(typ, data)
		if err != nil {
			return
		}
		if again, err := EncodeCBOR(v); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("read %x, written again %x, %v", data, again, err)
		}
	})
}

// FuzzJSON: what DecodeJSON takes is the same value after writing and reading it again.
func FuzzJSON(f *testing.F) {
	typ := fuzzType()
	f.Add([]byte(`{"b":true,"i":-5,"d":1.5e3,"s":"x","inner":{"at":"2026-01-01T00:00:00Z","for":"1h2m3.5s","raw":"AA=="},"list":[[{}],[]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeJSON(typ, data)
		if err != nil {
			return
		}
		written, err := EncodeJSON(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeJSON(typ, written)
		if err != nil || !Equal(s, again) {
			t.Fatalf("%s: read, written as %s, read again: %v", data, written, err)
		}
	})
}
