package container

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// Invariant 10: what is reckoned for values is about what they take, also where that is many
// times their encoding.
func TestFootprint(t *testing.T) {
	pair := NewStructure("Pair", []Member{{Name: "a", Type: Scalar(Int)}, {Name: "b", Type: Scalar(Int)}})
	for name, c := range map[string]struct {
		count int
		of    *Type
		make  func(i int) Value
	}{
		"numbers":         {20_000, Scalar(Int), func(i int) Value { return int64(300 + i) }},
		"fractions":       {20_000, Scalar(Double), func(i int) Value { return float64(i) + 0.5 }},
		"truths":          {20_000, Scalar(Bool), func(i int) Value { return i%2 == 0 }},
		"short texts":     {20_000, Scalar(String), func(int) Value { return strings.Repeat("a", 3) }},
		"long texts":      {900, Scalar(String), func(int) Value { return strings.Repeat("a", 1000) }},
		"bytes":           {9_000, Scalar(Bytes), func(int) Value { return make([]byte, 100) }},
		"times":           {20_000, Scalar(Timestamp), func(i int) Value { return time.Unix(int64(i), 5).UTC() }},
		"spans of time":   {20_000, Scalar(Duration), func(i int) Value { return time.Duration(i+300) * time.Second }},
		"structures":      {20_000, pair, func(int) Value { s := New(pair); s.Fields[0], s.Fields[1] = int64(300), int64(301); return s }},
		"empty lists":     {20_000, NewList(Scalar(Int)), func(int) Value { return []Value{} }},
		"lists of a few":  {20_000, NewList(Scalar(Int)), func(int) Value { return []Value{int64(300), int64(301), int64(302)} }},
		"empty texts":     {20_000, Scalar(String), func(int) Value { return "" }},
		"lists in a list": {20_000, NewList(NewList(Scalar(Int))), func(int) Value { return []Value{[]Value{int64(300)}, []Value{}} }},
	} {
		list := make([]Value, c.count)
		for i := range list {
			list[i] = c.make(i)
		}
		encoded, err := EncodeValues([]Value{list})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		const copies = 8
		types := []*Type{NewList(c.of)}
		kept := make([][]Value, copies)
		before := heap()
		for i := range kept {
			if kept[i], err = DecodeValues(types, encoded); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		takes, reckoned := (heap()-before)/copies, Footprint(kept[0])
		if takes > reckoned*3/2 || takes < reckoned*3/5 {
			t.Errorf("%s take %d bytes, encoded %d, and are reckoned at %d", name, takes, len(encoded), reckoned)
		}
		runtime.KeepAlive(kept)
	}
}

// heap is how much is in use, after what is garbage is gone.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
