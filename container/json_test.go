package container

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := anyStructure(t, 3)
		v := anyValue(t, typ).(*Struct)
		b, err := EncodeJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeJSON(typ, b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if !Equal(v, back) {
			t.Fatalf("%s came back as %v, was %v", b, back, v)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, b, "", "\t"); err != nil {
			t.Fatal(err)
		}
		if back, err := DecodeJSON(typ, indented.Bytes()); err != nil || !Equal(v, back) {
			t.Fatalf("%s came back as %v (%v)", indented.Bytes(), back, err)
		}
	})
}

// Strings and doubles are written as encoding/json writes them, without its HTML escapes.
func TestJSONAgreesWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(t, Scalar(rapid.SampledFrom([]Kind{String, Double, Int, Bool}).Draw(t, "kind")))
		ours, err := EncodeJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(ours, new(any)); err != nil {
			t.Fatalf("%s: %v", ours, err)
		}
		switch v := v.(type) {
		case string:
			var s string
			if err := json.Unmarshal(ours, &s); err != nil || s != v {
				t.Fatalf("%s reads as %q (%v), want %q", ours, s, err, v)
			}
		case float64:
			var f float64
			if err := json.Unmarshal(ours, &f); err != nil || math.Float64bits(f) != math.Float64bits(v) {
				t.Fatalf("%s reads as %v (%v), want %v", ours, f, err, v)
			}
			theirs, err := json.Marshal(v)
			if err != nil || len(ours) > len(theirs)+1 {
				t.Fatalf("%s is longer than %s (%v)", ours, theirs, err)
			}
		default:
		}
	})
}

func TestEncodingJSONTakesAStructAsAMember(t *testing.T) {
	b, err := json.Marshal(map[string]any{"output": New(orderType()).Fields[6], "none": (*Struct)(nil)})
	if want := `{"none":null,"output":{"sku":"","quantity":1}}`; err != nil || string(b) != want {
		t.Errorf("got %s (%v), want %s", b, err, want)
	}
}

func TestMissingAndNullAreTheDefault(t *testing.T) {
	order := orderType()
	for _, text := range []string{
		"{}", "null", ` { "patience" : null } `, `{"first": null, "lines": null}`, `{"first": {"quantity": null}}`, `{"first":{}}`,
	} {
		s, err := DecodeJSON(order, []byte(text))
		if err != nil || !Equal(s, New(order)) {
			t.Errorf("%s: got %v (%v)", text, s, err)
		}
	}
	s, err := DecodeJSON(order, []byte(`{"lines": [null, {"sku": "a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := EncodeJSON(s.Fields[7]); err != nil || string(b) != `[{"sku":"","quantity":1},{"sku":"a","quantity":1}]` {
		t.Errorf("got %s (%v)", b, err)
	}
}

func TestIntsAreIntegralAndNeverRounded(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.0": 0, "0e5": 0, "0e-99999999999": 0, "5.0": 5, "1e3": 1000, "-1.50e1": -15, "100e-2": 1, "0.5e1": 5,
		"1E+2": 100, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
		"9223372036854775807.000": math.MaxInt64, "9.223372036854775807e18": math.MaxInt64, "9007199254740993": 9007199254740993,
		"0." + strings.Repeat("0", 40) + "1e41": 1, "1" + strings.Repeat("0", 40) + "e-40": 1,
	} {
		v, err := DecodeJSONValue(Scalar(Int), []byte(text))
		if err != nil || v != want {
			t.Errorf("%s: got %v (%v), want %d", text, v, err, want)
		}
	}
	const fraction = ": write a number without a fraction, or declare the member as double"
	const range64 = " does not fit into an int of 64 bits: use a string, or a double if it may be rounded"
	for text, want := range map[string]string{
		"5.5": "expected int, found 5.5" + fraction, "1e-1": "expected int, found 1e-1" + fraction,
		"1e-99999999999": "expected int, found 1e-99999999999" + fraction, "15e-2": "expected int, found 15e-2" + fraction,
		"9223372036854775808": "9223372036854775808" + range64, "1e19": "1e19" + range64, "1e99999999999": "1e99999999999" + range64,
		`"5"`: `expected int, found "5": write an integer of 64 bits, such as 42`, "true": "expected int, found true: write an integer of 64 bits, such as 42",
	} {
		_, err := DecodeJSONValue(Scalar(Int), []byte(text))
		wantError(t, err, want)
	}
}

func TestMalformedJSON(t *testing.T) {
	order := orderType()
	for text, want := range map[string]string{
		``:                                    `there is nothing where JSON is expected: write an object { } with members of Order`,
		" \n":                                 `there is nothing where JSON is expected: write an object { } with members of Order`,
		`{"amount": }`:                        `not JSON at line 1, column 12: invalid character '}' looking for beginning of value: write an object { } with members of Order`,
		"{\n  \"paid\": yes":                  `not JSON at line 2, column 11: invalid character 'y' looking for beginning of value: write an object { } with members of Order`,
		`{"amount": 1`:                        `not JSON at line 1, column 13: unexpected end of JSON input: write an object { } with members of Order`,
		`{} {}`:                               `not JSON at line 1, column 4: invalid character '{' after top-level value: write an object { } with members of Order`,
		"{\"customer\": \"\xff\"}":            `the JSON is not valid UTF-8: write it as UTF-8; use base64 for what is not text`,
		`[]`:                                  `expected Order, found a list: write an object { } with members of Order`,
		`"x"`:                                 `expected Order, found a string: write an object { } with members of Order`,
		`{"amont": 1}`:                        `amont: unknown member; Order has customer, paid, amount, seal, due, patience, first, lines: did you mean amount`,
		`{"first": {"weight": 1}}`:            `first.weight: unknown member; Line has sku, quantity: remove it or correct its name`,
		`{"lines": [{}, {"Sku": "a"}]}`:       `lines[1].Sku: unknown member; Line has sku, quantity: did you mean sku`,
		`{"": 1}`:                             `"": unknown member; Order has customer, paid, amount, seal, due, patience, first, lines: remove it or correct its name`,
		`{"a\nb": 1}`:                         `"a\nb": unknown member; Order has customer, paid, amount, seal, due, patience, first, lines: remove it or correct its name`,
		`{"paid": true, "paid": true}`:        `paid: the member occurs twice: remove one of them`,
		`{"paid": null, "p\u0061id": true}`:   `paid: the member occurs twice: remove one of them`,
		`{"first": {"sku": "a", "sku": "b"}}`: `first.sku: the member occurs twice: remove one of them`,
		`{"paid": 1}`:                         `paid: expected bool, found 1: write true or false`,
		`{"paid": "true"}`:                    `paid: expected bool, found "true": write true or false`,
		`{"paid": {}}`:                        `paid: expected bool, found an object: write true or false`,
		`{"customer": 5}`:                     `customer: expected string, found 5: write a string, such as "text"`,
		`{"customer": [1]}`:                   `customer: expected string, found a list: write a string, such as "text"`,
		`{"first": 7}`:                        `first: expected Line, found a number: write an object { } with members of Line`,
		`{"first": true}`:                     `first: expected Line, found a bool: write an object { } with members of Line`,
		`{"lines": {}}`:                       `lines: expected [Line], found an object: write a list [ ] of Line`,
		`{"lines": [7]}`:                      `lines[0]: expected Line, found a number: write an object { } with members of Line`,
		`{"amount": "NaN"}`:                   `amount: expected double, found "NaN": write a number, such as 4.2`,
		`{"amount": NaN}`:                     `not JSON at line 1, column 12: invalid character 'N' looking for beginning of value: write an object { } with members of Order`,
		`{"amount": 1e999}`:                   `amount: 1e999 does not fit into a double: use a number up to 1.7e308`,
		`{"seal": "a"}`:                       `seal: expected bytes, found "a": write base64 in a string, such as "aGVsbG8="`,
		`{"seal": "aGVsbG9="}`:                `seal: expected bytes, found "aGVsbG9=": write base64 in a string, such as "aGVsbG8="`,
		`{"due": "yesterday"}`:                `due: expected timestamp, found "yesterday": write a time of RFC 3339 in a string, such as "2024-05-01T12:00:00Z"`,
		`{"due": "0000-01-01T00:00:00Z"}`:     `due: the timestamp 0000-01-01 00:00:00 +0000 UTC is out of range: use a time in the years 1 to 9999`,
		`{"due": 5}`:                          `due: expected timestamp, found 5: write a time of RFC 3339 in a string, such as "2024-05-01T12:00:00Z"`,
		`{"patience": "1 day"}`:               `patience: expected duration, found "1 day": write a duration in a string, such as "1h30m", "2.5s" or "14d"`,
		`{"patience": 60}`:                    `patience: expected duration, found 60: write a duration in a string, such as "1h30m", "2.5s" or "14d"`,
		`{"customer": "\ud800"}`:              `customer: "\ud800" has half of a surrogate pair: write the whole character`,
		`{"customer": 12345678901234567890123456789012345678901234567890}`: `customer: expected string, found 1234567890123456789012345678901234567890…: write a string, such as "text"`,
	} {
		_, err := DecodeJSON(order, []byte(text))
		wantError(t, err, want)
	}
	_, err := DecodeJSON(Scalar(Int), []byte("5"))
	wantError(t, err, "a container is a structure, not int")
}

func TestReplacementCharactersThatAreMeantAreTaken(t *testing.T) {
	for _, text := range []string{`"\ufffd"`, `"\uFFFD\n"`, `"` + "\uFFFD" + `\n"`, `"\ud83d\ude00"`} {
		if _, err := DecodeJSONValue(Scalar(String), []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTimesInOtherZonesBecomeUTC(t *testing.T) {
	v, err := DecodeJSONValue(Scalar(Timestamp), []byte(`"2024-05-01T14:00:00.5+02:00"`))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := EncodeJSON(v); err != nil || string(b) != `"2024-05-01T12:00:00.5Z"` {
		t.Errorf("got %s (%v)", b, err)
	}
}

func TestJSONLimits(t *testing.T) {
	ints := NewList(Scalar(Int))
	zeros := func(n int) []byte { return []byte("[" + strings.Repeat("0,", n-1) + "0]") }
	if v, err := DecodeJSONValue(ints, zeros(MaxList)); err != nil || len(v.([]Value)) != MaxList {
		t.Errorf("a list of the longest length is refused: %v", err)
	}
	_, err := DecodeJSONValue(ints, zeros(MaxList+1))
	wantError(t, err, "the list has more than 100000 elements: split it")

	text := func(n int) []byte { return []byte(`"` + strings.Repeat("a", n) + `"`) }
	if _, err := DecodeJSONValue(Scalar(String), text(MaxEncoded-5)); err != nil {
		t.Errorf("the largest value is refused: %v", err)
	}
	const tooLarge = "the encoded container has over 1048576 bytes: pass a reference (a file, a URL) instead of the content"
	_, err = DecodeJSONValue(Scalar(String), text(MaxEncoded-4))
	wantError(t, err, tooLarge)
	_, err = DecodeJSONValue(Scalar(Int), bytes.Repeat([]byte(" "), MaxJSON+1))
	wantError(t, err, "the JSON has over 8388608 bytes: pass a reference (a file, a URL) instead of the content")

	// A short text that stands for much by its defaults.
	long := make([]Value, 50_000)
	for i := range long {
		long[i] = int64(0)
	}
	heavy := NewList(NewStructure("Heavy", []Member{{Name: "l", Type: ints, Default: long}}))
	_, err = DecodeJSONValue(heavy, []byte("["+strings.Repeat("{},", 99)+"{}]"))
	wantError(t, err, "[20].l: "+tooLarge)

	deep := Scalar(Int)
	for range MaxNesting {
		deep = NewList(deep)
	}
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := DecodeJSONValue(deep, nested(MaxNesting)); err != nil {
		t.Error(err)
	}
	_, err = DecodeJSONValue(NewList(deep), nested(MaxNesting))
	wantError(t, err, fmt.Sprintf("%s is nested 17 deep; the limit is 16: make it flatter", NewList(deep)))
	_, err = DecodeJSONValue(ints, nested(9_999))
	wantError(t, err, "[0]: expected int, found a list: write an integer of 64 bits, such as 42")
}

// What DecodeJSON accepts is always a value, whatever the text.
func TestDecodeJSONOfAnything(t *testing.T) {
	order := orderType()
	tokens := []string{"{", "}", "[", "]", ",", ":", "null", "true", "1", "1.5", "1e9", `"sku"`, `"lines"`, `"first"`, `"paid"`, `"1h"`, " ", `"\ud800"`}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 12).Draw(t, "tokens"), "")
		if s, err := DecodeJSON(order, []byte(text)); err == nil {
			if err := CheckValue(order, s); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	})
}
