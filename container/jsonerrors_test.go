package container

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// everythingWrong is a text of an order in which each member is wrong in a way of its own.
const everythingWrong = `{
  "customer": 5,
  "täter": {"a": [1, {"b": 2}], "c": "}"},
  "count": 1.5, "count": 2,
  "lines": [
    {"item": "a", "price": "9"},
    "none",
    {"item": null, "prise": 2, "price": 1e999}
  ],
  "half": "\ud800", "due": "tomorrow", "done": [],
  "more": {"item": {}}
}`

func wrongType() *Type {
	line := NewStructure("Line", []Member{{Name: "item", Type: Scalar(String)}, {Name: "price", Type: Scalar(Double)}})
	return NewStructure("Order", []Member{
		{Name: "customer", Type: Scalar(String)},
		{Name: "count", Type: Scalar(Int)},
		{Name: "lines", Type: NewList(line)},
		{Name: "half", Type: Scalar(String)},
		{Name: "due", Type: Scalar(Timestamp)},
		{Name: "done", Type: Scalar(Bool)},
		{Name: "more", Type: line},
	})
}

// All that is wrong is told at once, in the order of the text, each with its place.
func TestEverythingThatIsWrongIsTold(t *testing.T) {
	_, err := DecodeJSON(wrongType(), []byte(everythingWrong))
	var got []string
	for _, e := range All(err) {
		line, column, ok := TokenAt([]byte(everythingWrong), e.Token)
		if !ok {
			t.Errorf("%v has no place", e)
		}
		got = append(got, fmt.Sprintf("%d:%d %s: %s", line, column, e.Path, e.What))
	}
	want := []string{
		`2:15 customer: expected string, found 5`,
		`3:3 täter: unknown member; Order has customer, count, lines, half, due, done, more`,
		`4:12 count: expected int, found 1.5`,
		`4:17 count: the member occurs twice`,
		`6:28 lines[0].price: expected double, found "9"`,
		`7:5 lines[1]: expected Line, found a string`,
		`8:20 lines[2].prise: unknown member; Line has item, price`,
		`8:41 lines[2].price: 1e999 does not fit into a double`,
		`10:11 half: "\ud800" has half of a surrogate pair`,
		`10:28 due: expected timestamp, found "tomorrow"`,
		`10:48 done: expected bool, found a list`,
		`11:20 more.item: expected string, found an object`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var first *Error
	if !errors.As(err, &first) || first.Path != "customer" || !strings.HasPrefix(err.Error(), `customer: expected string, found 5: write a string, such as "text"; täter: `) {
		t.Errorf("%v", err)
	}
}

// A single thing is an error as before, and very many are not all told.
func TestHowMuchIsTold(t *testing.T) {
	_, err := DecodeJSON(wrongType(), []byte(`{"customer": 5}`))
	var one *Error
	var many Errors
	if errors.As(err, &many) || !errors.As(err, &one) || one.Path != "customer" || one.Token != 3 {
		t.Errorf("%T %v", err, err)
	}
	_, err = DecodeJSON(wrongType(), []byte(`{"lines": [`+strings.Repeat(`{"item": 1, "x": 2}, `, 5000)+`{}]}`))
	all := All(err)
	last := all[len(all)-1].Error()
	if len(all) != maxErrors+1 || !strings.HasSuffix(last, "there may be more errors: correct what is listed, then try again") {
		t.Errorf("%d, at last %s", len(all), last)
	}
	_, err = DecodeJSON(wrongType(), []byte(`{"customer": 5, "half": "`+strings.Repeat("x", MaxEncoded)+`", "count": "5"}`))
	if all := All(err); len(all) != 2 || !strings.Contains(all[1].What, "over 1048576 bytes") {
		t.Errorf("%v", err)
	}
}

// The token of an error is the same in every layout of a text, and its place is where that
// token stands.
func TestTokensAreTheSameInEveryLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var loose, compact bytes.Buffer
		for _, r := range everythingWrong {
			loose.WriteRune(r)
			if strings.ContainsRune("{[],:", r) && rapid.Bool().Draw(t, "space") {
				loose.WriteString(rapid.SampledFrom([]string{" ", "\n", "\t", "\r\n", "  \n "}).Draw(t, "spaces"))
			}
		}
		if err := json.Compact(&compact, []byte(everythingWrong)); err != nil {
			t.Fatal(err)
		}
		text := loose.Bytes()
		_, err := DecodeJSON(wrongType(), compact.Bytes())
		_, same := DecodeJSON(wrongType(), text)
		if fmt.Sprint(err) != fmt.Sprint(same) {
			t.Fatalf("%v\n%v", err, same)
		}
		for i, e := range All(err) {
			if other := All(same)[i]; other.Token != e.Token {
				t.Fatalf("%v: token %d, and %d in\n%s", e, e.Token, other.Token, text)
			}
			line, column, ok := TokenAt(text, e.Token)
			if !ok || line > bytes.Count(text, []byte("\n"))+1 || column < 1 {
				t.Fatalf("%v is at %d:%d of\n%s", e, line, column, text)
			}
		}
	})
	for _, token := range []int{0, -1, 4, 100} {
		if line, column, ok := TokenAt([]byte("[5]"), token); ok {
			t.Errorf("token %d is at %d:%d", token, line, column)
		}
	}
	if _, _, ok := TokenAt([]byte("[5"), 1); ok {
		t.Error("what is no JSON has tokens")
	}
}
