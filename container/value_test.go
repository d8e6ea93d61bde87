package container

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTypesAreWrittenAsDefinitionsWriteThem(t *testing.T) {
	for want, typ := range map[string]*Type{
		"int": Scalar(Int), "[string]": NewList(Scalar(String)), "[[Order]]": NewList(NewList(orderType())), "{}": Empty,
	} {
		if got := typ.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for k := Bool; k <= Duration; k++ {
		once, again := Scalar(k), Scalar(k) // shared
		if parsed, ok := ParseKind(k.String()); !ok || parsed != k || once != again || once.Kind != k {
			t.Errorf("kind %d (%s) is not found by its name", k, k)
		}
	}
	for _, name := range []string{"structure", "list", "", "integer"} {
		if _, ok := ParseKind(name); ok {
			t.Errorf("%q is taken for a kind", name)
		}
	}
}

func TestDepthCountsStructuresAndLists(t *testing.T) {
	for want, typ := range []*Type{Scalar(Int), Empty, NewList(Empty), NewStructure("S", []Member{{Name: "a", Type: Scalar(Int)}, {Name: "b", Type: NewList(Empty)}})} {
		if got := Depth(typ); got != want {
			t.Errorf("Depth(%s) = %d, want %d", typ, got, want)
		}
	}
}

func TestSameTypeLooksAtNamesMembersAndDefaults(t *testing.T) {
	member := func(name string, typ *Type, def Value) *Type {
		return NewStructure("S", []Member{{Name: name, Type: typ, Default: def}})
	}
	base := member("a", Scalar(Int), nil)
	for name, other := range map[string]*Type{
		"name of the structure": NewStructure("T", base.Members),
		"name of the member":    member("b", Scalar(Int), nil),
		"type of the member":    member("a", Scalar(Double), nil),
		"default":               member("a", Scalar(Int), int64(7)),
		"number of members":     NewStructure("S", nil),
		"kind":                  Scalar(Int),
		"no type":               nil,
	} {
		if SameType(base, other) || SameType(other, base) {
			t.Errorf("another %s is taken for the same type", name)
		}
	}
	if !SameType(base, member("a", Scalar(Int), int64(0))) {
		t.Error("the zero as a default is not the same as no default")
	}
	if !SameType(NewList(orderType()), NewList(orderType())) {
		t.Error("the same type, built twice, is another type")
	}
}

// wide gives a type of a few structures that has 10^levels leaves.
func wide(levels int) *Type {
	t := Scalar(Int)
	for range levels {
		members := make([]Member, 10)
		for i := range members {
			members[i] = Member{Name: "m" + string(rune('0'+i)), Type: t}
		}
		t = NewStructure("W", members)
	}
	return t
}

func TestTypesWithMoreLeavesThanMemoryAreReckonedNotBuilt(t *testing.T) {
	a, b := wide(MaxNesting), wide(MaxNesting)
	if !SameType(a, b) {
		t.Error("not the same type")
	}
	if ZeroSize(a) <= MaxEncoded {
		t.Errorf("ZeroSize = %d", ZeroSize(a))
	}
	_, err := DecodeJSON(a, []byte("{}"))
	wantError(t, err, "m0: the encoded container has over 1048576 bytes: pass a reference (a file, a URL) instead of the content")
}

func TestZeroIsTheDefault(t *testing.T) {
	s := New(orderType())
	b, err := EncodeJSON(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"customer":"","paid":false,"amount":0,"seal":"","due":"1970-01-01T00:00:00Z",` +
		`"patience":"1h30m0s","first":{"sku":"","quantity":1},"lines":[]}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func TestEveryDrawnValueIsAValueOfItsType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := anyType(t, 3)
		v := anyValue(t, typ)
		for _, v := range []Value{v, Zero(typ), CloneValue(v)} {
			if err := CheckValue(typ, v); err != nil {
				t.Fatal(err)
			}
		}
		if !Equal(v, CloneValue(v)) {
			t.Fatal("a copy is not equal")
		}
		if b, err := EncodeCBOR(Zero(typ)); err != nil || len(b) != ZeroSize(typ) {
			t.Fatalf("ZeroSize says %d, encoded are %d bytes (%v)", ZeroSize(typ), len(b), err)
		}
	})
}

func TestNothingMutableIsShared(t *testing.T) {
	typ := NewStructure("S", []Member{
		{Name: "b", Type: Scalar(Bytes), Default: []byte("default")},
		{Name: "l", Type: NewList(Empty), Default: []Value{New(Empty)}},
		{Name: "n", Type: NewStructure("N", []Member{{Name: "b", Type: Scalar(Bytes)}})},
	})
	target := New(typ)
	path, _, err := typ.Resolve("n")
	if err != nil {
		t.Fatal(err)
	}
	source := New(typ)
	target.Assign(path, source.Get(path))
	for name, copied := range map[string]*Struct{"New": New(typ), "Clone": target.Clone(), "Assign": target} {
		before := copied.Clone()
		scribble(source)
		scribble(New(typ))
		scribble(target.Clone())
		if !Equal(copied, before) {
			t.Errorf("%s shares something", name)
		}
	}
	if string(typ.Members[0].Default.([]byte)) != "default" {
		t.Error("a default was changed")
	}
}

func scribble(v Value) {
	switch v := v.(type) {
	case []byte:
		for i := range v {
			v[i] = '!'
		}
	case []Value:
		for i := range v {
			scribble(v[i])
			v[i] = nil
		}
	case *Struct:
		for _, f := range v.Fields {
			scribble(f)
		}
	default:
	}
}

func TestEqual(t *testing.T) {
	noon := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	different := []Value{
		nil, false, true, int64(0), int64(1), 0.0, math.Copysign(0, -1), 1.0, "", "a",
		[]byte{},
		[]byte("a"),
		noon, noon.Add(1), time.Duration(0), time.Duration(1),
		[]Value{},
		[]Value{int64(0)},
		New(orderType()), (*Struct)(nil),
	}
	for i, a := range different {
		for j, b := range different {
			if i != j && Equal(a, b) {
				t.Errorf("%#v equals %#v", a, b)
			}
		}
	}
	if !Equal(noon, noon.In(time.FixedZone("", 3600))) {
		t.Error("one instant is not equal to itself")
	}
}

func TestCheckValueNamesThePath(t *testing.T) {
	order := orderType()
	with := func(path string, v Value) *Struct {
		s := New(order)
		p, _, err := order.Resolve(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p[:len(p)-1] {
			s = s.Fields[m].(*Struct)
		}
		s.Fields[p[len(p)-1]] = v
		top := s
		if len(p) > 1 {
			top = New(order)
			top.Fields[p[0]] = s
		}
		return top
	}
	for _, c := range []struct {
		v    Value
		want string
	}{
		{with("amount", math.Inf(1)), "amount: a double cannot be +Inf: use a finite number"},
		{with("amount", int64(1)), "amount: expected double, found a Go int64"},
		{with("customer", "\xff"), "customer: a string must be valid UTF-8: use the type bytes for what is not text"},
		{with("first.quantity", nil), "first.quantity: expected int, found a Go <nil>"},
		{with("lines", []Value{New(Empty)}), "lines[0]: expected Line, found {}"},
		{with("due", time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)), "due: the timestamp 10000-01-01 00:00:00 +0000 UTC is out of range: use a time in the years 1 to 9999"},
		{with("due", time.Date(2024, 1, 1, 0, 0, 0, 0, time.FixedZone("X", 60))), "due: the timestamp 2024-01-01 00:00:00 +0001 X is not in UTC: convert it with UTC()"},
		{with("lines", make([]Value, MaxList+1)), "lines: the list has more than 100000 elements: split it"},
		{int64(1), "expected Order, found a Go int64"},
		{(*Struct)(nil), "expected Order, found a Go *container.Struct"},
	} {
		wantError(t, CheckValue(order, c.v), c.want)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want %s", want)
	} else if err.Error() != want {
		t.Errorf("\ngot  %s\nwant %s", err, want)
	}
}

func TestResolveNamesWhatIsMissingAndWhatThereIs(t *testing.T) {
	order := orderType()
	p, typ, err := order.Resolve("first.quantity")
	if err != nil || typ != Scalar(Int) || order.PathString(p) != "first.quantity" {
		t.Errorf("got %v, %v, %v", p, typ, err)
	}
	if at, err := order.TypeAt(p); err != nil || at != typ {
		t.Errorf("TypeAt gives %v, %v", at, err)
	}
	for path, want := range map[string]string{
		"":               "the path names no member: write the name of a member of Order",
		"amont":          "amont: unknown member; Order has customer, paid, amount, seal, due, patience, first, lines: did you mean amount",
		"first.weight":   "first.weight: unknown member; Line has sku, quantity: remove it or correct its name",
		"lines.sku":      "lines.sku: lines is a list ([Line]) and has no members that a path can name: name lines itself",
		"customer.name":  "customer.name: customer is a string (string) and has no members that a path can name: name customer itself",
		"first..sku":     `first."": unknown member; Line has sku, quantity: remove it or correct its name`,
		"first.sku.more": "first.sku.more: first.sku is a string (string) and has no members that a path can name: name first.sku itself",
	} {
		_, _, err := order.Resolve(path)
		wantError(t, err, want)
	}
	_, _, err = Empty.Resolve("x")
	wantError(t, err, "x: unknown member; the container has no members: remove it")
	for _, p := range []Path{nil, {8}, {-1}, {0, 0}, {7, 0}} {
		if _, err := order.TypeAt(p); err == nil {
			t.Errorf("%v is taken for a path", p)
		}
	}
}

func TestAssignIsLeafByLeaf(t *testing.T) {
	target, source := New(orderType()), New(orderType()) // two instances of one type
	nested := target.Fields[6].(*Struct)
	resolve := func(path string) Path {
		p, _, err := target.Type.Resolve(path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	source.Assign(resolve("first.sku"), "A-1")
	source.Assign(resolve("lines"), []Value{source.Get(resolve("first"))})
	target.Assign(resolve("first"), source.Get(resolve("first")))
	target.Assign(resolve("lines"), source.Get(resolve("lines")))
	if target.Fields[6].(*Struct) != nested || nested.Type != target.Type.Members[6].Type {
		t.Error("a nested structure was replaced, not assigned")
	}
	if !Equal(target, source) {
		t.Errorf("got %v, want %v", target, source)
	}
	if err := CheckValue(target.Type, target); err != nil {
		t.Error(err)
	}
}

// Share takes lists and bytes as they are; structures are assigned leaf by leaf, and what is appended to a list that is
// shared is in one of them only.
func TestShare(t *testing.T) {
	list := []Value{New(orderType().Members[6].Type)}
	target, source := New(orderType()), New(orderType())
	resolve := func(path string) Path {
		p, _, err := target.Type.Resolve(path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	source.Share(resolve("lines"), list)
	source.Assign(resolve("first.sku"), "A-1")
	nested := target.Fields[6].(*Struct)
	target.Share(resolve("lines"), source.Get(resolve("lines")))
	target.Share(resolve("first"), source.Get(resolve("first")))
	if target.Fields[6].(*Struct) != nested || !Equal(target, source) {
		t.Errorf("got %v, want %v in the same structures", target, source)
	}
	if shared := target.Get(resolve("lines")).([]Value); &shared[0] != &list[0] {
		t.Error("the list was copied")
	}
	if err := target.Append(resolve("lines"), New(orderType().Members[6].Type)); err != nil {
		t.Fatal(err)
	}
	if n := len(source.Get(resolve("lines")).([]Value)); n != 1 {
		t.Errorf("what was appended to the list of one is in the other: %d elements", n)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"customer", "amount", "quantity"}
	for name, want := range map[string]string{
		"amont": "amount", "Amount": "amount", "custmer": "customer", "qantiti": "quantity", "x": "", "weight": "",
		"amuont": "amount", "qauntity": "quantity", "csutmoer": "customer",
	} {
		if got, ok := Nearest(name, names); got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %v; want %q", name, got, ok, want)
		}
	}
	if near, _ := Nearest("stauts", []string{"start", "status"}); near != "status" {
		t.Errorf("stauts means %s", near)
	}
	if near, _ := Nearest("itme", []string{"item"}); near != "item" {
		t.Errorf("itme means %q", near)
	}
	if _, ok := Nearest(strings.Repeat("x", longestName+1), []string{strings.Repeat("x", longestName)}); ok {
		t.Error("a text of any length is compared with names")
	}
}

// Whatever the size of a structure, what is said of a member that it does not have is short.
func TestAnUnknownMemberOfALargeStructureIsToldInShort(t *testing.T) {
	members := make([]Member, mostCompared+1)
	for i := range members {
		members[i] = Member{Name: fmt.Sprintf("m%d", i), Type: Scalar(Int)}
	}
	large, small := NewStructure("Large", members), NewStructure("Small", members[:22])
	for _, test := range []struct {
		t    *Type
		want string
	}{
		{large, "unknown member; Large has m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, and 981 more: remove it or correct its name"},
		{small, "unknown member; Small has m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, and 2 more: did you mean m21"},
	} {
		_, _, err := test.t.Resolve("m_21")
		if err == nil || err.Error() != "m_21: "+test.want {
			t.Errorf("%v", err)
		}
	}
}

func TestAbove(t *testing.T) {
	n := &Type{Name: "N", Kind: Structure, Members: []Member{{Name: "s", Type: Scalar(String)}, {Name: "l", Type: NewList(Scalar(Int))}}}
	v := New(n)
	v.Fields[0], v.Fields[1] = strings.Repeat("x", 100), []Value{int64(1), int64(2)}
	const size = 100 + 2*8 + 8 + 8 // text, elements, list, structure
	if Above(v, size) || !Above(v, size-1) || !Above(v, 0) || Above([]byte("1234"), 4) || !Above([]byte("1234"), 3) {
		t.Error("a value has another size")
	}
}
