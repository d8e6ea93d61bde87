package container

import (
	"fmt"
	"math"
	"time"

	"pgregory.net/rapid"
)

// anyType draws a type at most depth structures and lists deep, with defaults.
func anyType(t *rapid.T, depth int) *Type {
	kind := Kind(rapid.IntRange(int(Bool), int(List)).Draw(t, "kind"))
	if depth == 0 {
		kind = min(kind, Duration)
	}
	switch kind {
	case Structure:
		return anyStructure(t, depth)
	case List:
		return NewList(anyType(t, depth-1))
	default:
		return Scalar(kind)
	}
}

func anyStructure(t *rapid.T, depth int) *Type {
	members := make([]Member, rapid.IntRange(0, 4).Draw(t, "members"))
	for i := range members {
		members[i] = Member{Name: fmt.Sprintf("m%d", i), Type: anyType(t, depth-1)}
		if rapid.Bool().Draw(t, "default") {
			members[i].Default = anyValue(t, members[i].Type)
		}
	}
	return NewStructure(rapid.SampledFrom([]string{"Order", "Line", "Parcel"}).Draw(t, "name"), members)
}

func anyValue(t *rapid.T, of *Type) Value {
	switch of.Kind {
	case Bool:
		return rapid.Bool().Draw(t, "bool")
	case Int:
		return rapid.Int64().Draw(t, "int")
	case Double:
		return rapid.Float64().Filter(func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }).Draw(t, "double")
	case String:
		return rapid.String().Draw(t, "string")
	case Bytes:
		return append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...)
	case Timestamp:
		seconds := rapid.Int64Range(minTime.Unix(), maxTime.Unix()).Draw(t, "seconds")
		return time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).UTC()
	case Duration:
		return time.Duration(rapid.Int64().Draw(t, "duration"))
	case List:
		l := make([]Value, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range l {
			l[i] = anyValue(t, of.Elem)
		}
		return l
	case Structure:
		s := New(of)
		for i, m := range of.Members {
			if rapid.Bool().Draw(t, "assigned") {
				s.Fields[i] = anyValue(t, m.Type)
			}
		}
		return s
	}
	panic("no kind")
}

// orderType is the order of the examples, with a member of every kind.
func orderType() *Type {
	line := NewStructure("Line", []Member{
		{Name: "sku", Type: Scalar(String)},
		{Name: "quantity", Type: Scalar(Int), Default: int64(1)},
	})
	return NewStructure("Order", []Member{
		{Name: "customer", Type: Scalar(String)},
		{Name: "paid", Type: Scalar(Bool)},
		{Name: "amount", Type: Scalar(Double)},
		{Name: "seal", Type: Scalar(Bytes)},
		{Name: "due", Type: Scalar(Timestamp)},
		{Name: "patience", Type: Scalar(Duration), Default: 90 * time.Minute},
		{Name: "first", Type: line},
		{Name: "lines", Type: NewList(line)},
	})
}
