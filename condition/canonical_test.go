package condition

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"fmqm/container"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"a>1": "a > 1", "a > 1\n": "a > 1", " a  >\n\t1 ": "a > 1", "a > 1 // big": "a > 1", "a // big\n > 1": "a > 1",
		"!a&&b": "!a && b", "! a": "!a", "a- -1<b-1": "a - -1 < b - 1", "-a<-1": "-a < -1", "(-1)<a": "(-1) < a", "f( a ,b )": "f(a, b)",
		"l [ 0 ] . x==1.5e3": "l[0].x == 1.5e3", "a?b:c": "a ? b : c", "a in[1,2]": "a in [1, 2]", "a&&(b||c)": "a && (b || c)",
		`s=="a  b"`: `s == "a  b"`, `s == 'x"  y'&&r"\"==s`: `s == 'x"  y' && r"\" == s`, `s == """a ""  b"""`: `s == """a ""  b"""`,
		`_RC==0`: "_RC == 0", "size( l )>=0x1F": "size(l) >= 0x1F", "l.exists(x,x==1)": "l.exists(x, x == 1)", "a == .5": "a == .5",
		"a & b": "a & b", "": "",
	} {
		if got := Canonical(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := Canonical(Canonical(text)); got != Canonical(text) {
			t.Errorf("%q: not the same a second time: %q", text, got)
		}
	}
}

// Whatever spaces a text has, and it is long, the canonical text means the same: it
// compiles to the same bytes, and all its spellings to the same text.
func TestCanonicalMeansTheSame(t *testing.T) {
	s := scopeOf(container.Member{Name: "n", Type: container.Scalar(container.Int)}, container.Member{Name: "s", Type: container.Scalar(container.String)},
		container.Member{Name: "l", Type: container.NewList(container.Scalar(container.Int))}, container.Member{Name: "ok", Type: container.Scalar(container.Bool)})
	parts := []string{
		"n", "1", "-", "!", "ok", "s", `"a b"`, `'x'`, "==", "!=", "<", ">=", "&&", "||", "(", ")", "[", "]", "l", "in", "?", ":", "+", ",", ".", "size", "exists", "x", "0x1F", "_RC", "true", "%",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(parts), 1, 12).Draw(t, "parts") {
			text += p + rapid.SampledFrom([]string{"", " ", " ", "\n"}).Draw(t, "space")
		}
		c, problems := Check(text, s)
		if len(problems) > 0 {
			return
		}
		again, problems := Check(Canonical(text), s)
		if len(problems) > 0 || !bytes.Equal(c.Expr, again.Expr) {
			t.Fatalf("%q and %q are not the same: %v", text, Canonical(text), problems)
		}
	})
	for _, text := range []string{
		"n == 1 && ok", "!ok || -n < 3 && n - -1 > 2", `s == "a" ? n in l : size(l) > 0`, "l.exists(x, x == n && ok)", "l[0] == 0x1F || l.all(y, y > 1)",
		`s.startsWith("a  b") && s != 'c' + "d"`, "(n + 1) * 2 % 3 == _RC",
	} {
		want, problems := Check(text, s)
		if len(problems) > 0 || Canonical(text) != text {
			t.Fatalf("%s: %s, %v", text, Canonical(text), problems)
		}
		for range 50 {
			other := ""
			for rest := text; rest != ""; {
				next := take(rest)
				if next == "" { // a space
					rest = rest[1:]
					continue
				}
				rest = rest[len(next):]
				other += next
				if word.MatchString(next) && rest != "" && rest[0] == ' ' || rand.IntN(3) == 0 {
					other += " \n"[rand.IntN(2):][:1]
				}
			}
			got, problems := Check(other, s)
			if len(problems) > 0 || !bytes.Equal(got.Expr, want.Expr) || Canonical(other) != text {
				t.Fatalf("%q: %q, %v", other, Canonical(other), problems)
			}
		}
	}
}
