package text

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"plain", "Grüße, 世界 ½ €\tok\n", "Grüße, 世界 ½ €\tok\n"},
		{"a no-break space is a space", "a\u00a0b", "a\u00a0b"},
		{"a backslash is none of ours", `\x1b`, `\x1b`},
		{"a replacement character is a sign", "\uFFFD", "\uFFFD"},
		{"an escape sequence", "\x1b[2Jgone", `\x1b[2Jgone`},
		{"carriage return, backspace, bell, NUL, DEL", "a\rb\bc\ad\x00e\x7f", `a\x0db\x08c\x07d\x00e\x7f`},
		{"C1: the one-byte CSI and NEL", "\u009b2J\u0085", `\u009b2J\u0085`},
		{"overrides and isolates", "a\u202eb\u2066c\u2069d\u200fe\u061cf", `a\u202eb\u2066c\u2069d\u200fe\u061cf`},
		{"zero width", "a\u200bb\u200dc\ufeffd\u2060e\u00adf", `a\u200bb\u200dc\ufeffd\u2060e\u00adf`},
		{"line separators", "a\u2028b\u2029c", `a\u2028b\u2029c`},
		{"fillers and variation selectors", "a\u3164b\ufe0fc\u115fd\u034fe", `a\u3164b\ufe0fc\u115fd\u034fe`},
		{"tags, far away", "a\U000e0041b\U000e0100c", `a\U000e0041b\U000e0100c`},
		{"private and unassigned", "\ue000\U0010ffff", `\ue000\U0010ffff`},
		{"no UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
	} {
		if got := Visible(test.text); got != test.want {
			t.Errorf("%s: %q gives %q, want %q", test.name, test.text, got, test.want)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"  a \r\n\t b\u2028c\u0085d\n": "a b c d",
		"\x1b]0;title\x07":             `\x1b]0;title\x07`,
		"one\vtwo\fthree":              "one two three",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

// Every character, by its categories: whatever is a control, a format character or a
// separator of lines never comes out, and letters, digits and signs always do.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r == '\n' || r == '\t' || !utf8.ValidRune(r) {
			continue
		}
		got := Visible(string(r))
		switch {
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Join_Control):
			if got == string(r) || !strings.HasPrefix(got, `\`) || !utf8.ValidString(got) {
				t.Fatalf("%U comes out as %q", r, got)
			}
		case unicode.In(r, unicode.Lu, unicode.Ll, unicode.Nd, unicode.P, unicode.Sm, unicode.Sc):
			if got != string(r) {
				t.Fatalf("%U comes out as %q", r, got)
			}
		}
	}
}

// What JSON gives is read as what went in, and has nothing in it that steers.
func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\": 1}\r\n":                      "{\"a\": 1}\r\n",
		"\"\x7f\u009b\u202e\u200b\"":          `"\u007f\u009b\u202e\u200b"`,
		"[\"\U000e0041\", \"a\xffb\", \"ä\"]": `["\udb40\udc41", "a\ufffdb", "ä"]`,
	} {
		got := JSON([]byte(in))
		if string(got) != want {
			t.Errorf("%q gives %s, want %s", in, got, want)
		}
		var before, after any
		if err := errors.Join(json.Unmarshal([]byte(in), &before), json.Unmarshal(got, &after)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%q is read as %q, and %q as %q", in, before, got, after)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Visible(s)
		if again := Visible(got); again != got {
			t.Errorf("%q gives %q, and that %q", s, got, again)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }) || !utf8.ValidString(got) {
			t.Errorf("%q gives %q", s, got)
		}
		if line := Line(s); strings.ContainsAny(line, "\n\t") {
			t.Errorf("%q gives the line %q", s, line)
		}
	})
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		most int
		want string
	}{{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"äö", 3, "ä"}, {"äö", 1, ""}, {"", 5, ""}, {"\x80\x80", 1, ""}} {
		if got := Cut(c.s, c.most); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.most, got, c.want)
		}
	}
}

// What one node shows of another's answer has the characters that this has.
func TestEncodeLeavesCharactersAsTheyAre(t *testing.T) {
	b, err := Encode(map[string]any{"why": `d1 * 2 > d1 && "<" == s`, "raw": json.RawMessage(`{"s":"a < b"}`)})
	if got, want := string(b), `{"raw":{"s":"a < b"},"why":"d1 * 2 > d1 && \"<\" == s"}`; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
