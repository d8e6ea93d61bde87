package container

import (
	"testing"

	"pgregory.net/rapid"
)

// What JSON changes keeps all that the text does not name, and what is changed stays as it was.
func TestMergeChangesWhatItNames(t *testing.T) {
	address := NewStructure("Address", []Member{{Name: "street", Type: Scalar(String)}, {Name: "city", Type: Scalar(String), Default: "Ulm"}})
	claim := NewStructure("Claim", []Member{
		{Name: "number", Type: Scalar(Int)}, {Name: "at", Type: address}, {Name: "parts", Type: NewList(Scalar(String))},
	})
	base := decode(t, claim, `{"number": 7, "at": {"street": "Weg 1", "city": "Bonn"}, "parts": ["a", "b"]}`)
	for _, c := range []struct{ changes, want string }{
		{`{}`, `{"number":7,"at":{"street":"Weg 1","city":"Bonn"},"parts":["a","b"]}`},
		{`{"number": 8}`, `{"number":8,"at":{"street":"Weg 1","city":"Bonn"},"parts":["a","b"]}`},
		{`{"at": {"street": "Weg 2"}}`, `{"number":7,"at":{"street":"Weg 2","city":"Bonn"},"parts":["a","b"]}`},
		{`{"at": {"city": null}, "number": null}`, `{"number":0,"at":{"street":"Weg 1","city":"Ulm"},"parts":["a","b"]}`},
		{`{"at": null, "parts": ["c"]}`, `{"number":7,"at":{"street":"","city":"Ulm"},"parts":["c"]}`},
	} {
		changed, err := MergeJSON(base, []byte(c.changes))
		if err != nil {
			t.Errorf("%s: %v", c.changes, err)
			continue
		}
		if got, _ := EncodeJSON(changed); string(got) != c.want {
			t.Errorf("%s gives %s, want %s", c.changes, got, c.want)
		}
	}
	if got, _ := EncodeJSON(base); string(got) != `{"number":7,"at":{"street":"Weg 1","city":"Bonn"},"parts":["a","b"]}` {
		t.Errorf("what was changed has become %s", got)
	}
	if _, err := MergeJSON(base, []byte(`{"numbr": 8, "parts": 1}`)); len(All(err)) != 2 {
		t.Errorf("two mistakes are told as %v", err)
	}
}

// A text that names every member gives what it would give alone, and one that names none changes nothing.
func TestMergeOfAllAndOfNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := anyStructure(t, 3)
		base, other := anyValue(t, typ).(*Struct), anyValue(t, typ).(*Struct)
		text, err := EncodeJSON(other)
		if err != nil {
			t.Fatal(err)
		}
		if changed, err := MergeJSON(base, text); err != nil || !Equal(changed, other) {
			t.Fatalf("%s over %v gives %v, %v", text, base, changed, err)
		}
		if changed, err := MergeJSON(base, []byte(`{}`)); err != nil || !Equal(changed, base) {
			t.Fatalf("nothing over %v gives %v, %v", base, changed, err)
		}
	})
}

func decode(t *testing.T, typ *Type, text string) *Struct {
	t.Helper()
	s, err := DecodeJSON(typ, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
