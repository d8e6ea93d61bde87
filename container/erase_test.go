package container

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// caseFile is a container in which a name stands at several depths, and in a list.
func caseFile() *Type {
	structure := func(name string, members ...Member) *Type { return NewStructure(name, members) }
	text := Scalar(String)
	person := structure("Person", Member{Name: "name", Type: text}, Member{Name: "born", Type: Scalar(Int)})
	return structure("Case",
		Member{Name: "number", Type: Scalar(Int), Default: int64(7)},
		Member{Name: "name", Type: text},
		Member{Name: "owner", Type: person},
		Member{Name: "witnesses", Type: NewList(person)})
}

// A member is overwritten wherever its path leads to it; nothing else is.
func TestErase(t *testing.T) {
	of := caseFile()
	const full = `{"number":3,"name":"C-1","owner":{"name":"ann","born":1970},"witnesses":[{"name":"bob","born":1},{"name":"","born":2}]}`
	for _, tc := range []struct{ members, want string }{
		{"owner.name", `{"number":3,"name":"C-1","owner":{"name":"","born":1970},"witnesses":[{"name":"bob","born":1},{"name":"","born":2}]}`},
		{"name", `{"number":3,"name":"","owner":{"name":"","born":1970},"witnesses":[{"name":"","born":1},{"name":"","born":2}]}`},
		{"witnesses.born", `{"number":3,"name":"C-1","owner":{"name":"ann","born":1970},"witnesses":[{"name":"bob","born":0},{"name":"","born":0}]}`},
		{"witnesses", `{"number":3,"name":"C-1","owner":{"name":"ann","born":1970},"witnesses":[]}`},
		{"owner", `{"number":3,"name":"C-1","owner":{"name":"","born":0},"witnesses":[{"name":"bob","born":1},{"name":"","born":2}]}`},
		{"number", `{"number":7,"name":"C-1","owner":{"name":"ann","born":1970},"witnesses":[{"name":"bob","born":1},{"name":"","born":2}]}`},
		{"owner.name,owner.born", `{"number":3,"name":"C-1","owner":{"name":"","born":0},"witnesses":[{"name":"bob","born":1},{"name":"","born":2}]}`},
		{"Person", full},
		{"owner.number", full},
		{"name.owner", full},
		{"", `{"number":7,"name":"","owner":{"name":"","born":0},"witnesses":[]}`},
	} {
		before, err := DecodeJSON(of, []byte(full))
		if err != nil {
			t.Fatal(err)
		}
		m := Members{All: tc.members == ""}
		if !m.All {
			m.Paths = strings.Split(tc.members, ",")
			if named := of.Names(m.Paths[0]); named != (tc.want != full) {
				t.Errorf("%s names a member: %t", tc.members, named)
			}
		}
		after, changed := m.Erase(of, before)
		got, err := EncodeJSON(after)
		if err != nil || string(got) != tc.want || changed != (tc.want != full) {
			t.Errorf("%q: %s, changed %t, %v; want %s", tc.members, got, changed, err, tc.want)
		}
		if still, err := EncodeJSON(before); err != nil || string(still) != full {
			t.Errorf("%q: what was given is %s, %v", tc.members, still, err)
		}
		if _, again := m.Erase(of, after); again {
			t.Errorf("%q: what is overwritten changes once more", tc.members)
		}
	}
}

// Whatever a container is: what was overwritten once stays, it is a value of its type, and naming no member of
// it changes nothing.
func TestEraseAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := anyStructure(t, 3)
		v := anyValue(t, of)
		m := Members{All: rapid.Bool().Draw(t, "all")}
		if !m.All {
			m.Paths = rapid.SliceOfN(rapid.SampledFrom([]string{"m0", "m1", "m2", "m0.m1", "m1.m0", "m0.m0", "no.such"}), 1, 3).Draw(t, "paths")
		}
		once, changed := m.Erase(of, v)
		if !changed && !Equal(once, v) {
			t.Fatal("it has changed, and that is not said")
		}
		if err := CheckValue(of, once); err != nil {
			t.Fatal(err)
		}
		if twice, again := m.Erase(of, once); again || !Equal(twice, once) {
			t.Fatal("the second time changes something")
		}
	})
}

// What cannot name a member is refused.
func TestMembersThatCannotBe(t *testing.T) {
	for _, m := range []Members{
		{},
		{All: true, Paths: []string{"a"}},
		{Paths: []string{""}},
		{Paths: []string{"a..b"}},
		{Paths: []string{".a"}},
		{Paths: []string{strings.Repeat("a", MaxMemberPath+1)}},
		{Paths: make([]string, MaxMembers+1)},
	} {
		if m.Check() == nil {
			t.Errorf("%+v is taken", m)
		}
	}
	if err := (&Members{Paths: []string{"a", "a.b"}}).Check(); err != nil {
		t.Error(err)
	}
}
