package condition

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/container"
)

func claimScope() Scope {
	scalar := container.Scalar
	part := container.NewStructure("Part", []container.Member{{Name: "d", Type: scalar(container.Double)}})
	return Scope{RC: true, Words: everyWord, Results: part, Members: container.NewStructure("S", []container.Member{
		{Name: "i", Type: scalar(container.Int)},
		{Name: "j", Type: scalar(container.Int)},
		{Name: "d", Type: scalar(container.Double)},
		{Name: "f", Type: scalar(container.Double)},
		{Name: "s", Type: scalar(container.String)},
		{Name: "b", Type: scalar(container.Bool)},
		{Name: "c", Type: scalar(container.Bool)},
		{Name: "l", Type: container.NewList(scalar(container.Int))},
		{Name: "part", Type: part},
		{Name: "at", Type: scalar(container.Timestamp)},
		{Name: "due", Type: scalar(container.Timestamp)},
	})}
}

func TestExcludes(t *testing.T) {
	for _, test := range []struct {
		a, b     string
		excludes bool
	}{
		{"i > 1000", "i <= 1000", true},
		{"i > 1000", "i < 500", true},
		{"i > 1000", "i >= 1000", false},
		{"i > 5", "i < 6", true}, // no int is between
		{"d > 5", "d < 6", false},
		{"i > 5.2", "i < 5.9", true},
		{"i == 5.5", "i > 1", false}, // a mixed == is no condition
		{"d == 5", "d == 5.0", false},
		{"d == 5", "d != 5", true},
		{"1000 < d", "d <= 1000", true},
		{"1000 <= d", "1000 > d", true},
		{"_RC == 0", "_RC != 0", true},
		{"_RC == 0", "_RC == 1", true},
		{"_RC == -1", "_RC >= 0", true},
		{`s == "a"`, `s == "b"`, true},
		{`s in ["a", "b"]`, `s == "c"`, true},
		{`s in ["a", "b"]`, `s in ["b", "c"]`, false},
		{`s in ["a", "b"]`, `!(s in ["a", "b", "c"])`, true},
		{`s < "b"`, `s > "b"`, true},
		{"b", "!b", true},
		{"b == true", "!b", true},
		{"b == c", "b != c", true},
		{"b == c", "b && !c", true},
		{"b && i > 5", "!b", true},
		{"b && i > 5", "!b || i < 3", true},
		{"b || i > 5", "!b && i > 3", false},
		{"b ? i > 5 : i < 3", "i == 4", true},
		{"b ? i > 5 : i < 3", "b && i < 5", true},
		{"i < j", "i >= j", true},
		{"i < j", "j < i", true},
		{"i < j", "j > i", false},
		{"i <= j", "i == j", false},
		{"i == j", "j != i", true},
		{"i > d", "i <= d", true},
		{"part.d > 1", "part.d < 0", true},
		{"l[0] > 1", "l[0] <= 1", true},
		{"size(l) > 0", "size(l) == 0", true},
		{"size(l) > 0", "size(l) < 1", true},
		{"size(l) == 0", "size(l) >= 0", false},
		{"l.exists(x, x > 1)", "!l.exists(x, x > 1)", true},
		{"l.exists(x, x > 1)", "!l.exists(x, x > 2)", false},
		{`s.matches("a")`, `!s.matches("a")`, true},
		{`s.matches("a")`, `!s.matches("b")`, false},
		{"at < due", "at >= due", true},
		{`at < timestamp("2026-01-01T00:00:00Z")`, `at >= timestamp("2026-01-01T00:00:00Z")`, true},
		{"l == [1]", "l != [1]", true},
		{"i + j > 3", "i + j < 3", true},
		{"i > 1", "d < 0", false},         // of different things
		{"false", "true", false},          // reads nothing: somebody switched it off
		{"i > 5 && i < 3", "i > 1", true}, // can never be TRUE
		// Words of the engine are like members.
		{"_TIMEOUT", "!_TIMEOUT", true},
		{"_TIMEOUT == true", "b && !_TIMEOUT", true},
		{`_EVENT == "a"`, `_EVENT == "b"`, true},
		{`_EVENT in ["a", "b"]`, `_EVENT == s`, false},
		{`_ERROR != ""`, `i > 1 && _ERROR == ""`, true},
		{"_FAILED > 0", "_FAILED < 1", true},
		{"_DONE == _COUNT", "_DONE < _COUNT", true},
		{"_RESULTS[0].d > 1", "_RESULTS[0].d < 1", true},
		{"_RESULTS.exists(r, r.d > 1)", "!_RESULTS.exists(r, r.d > 1)", true},
		{"_TIMEOUT", "!b", false},
		// What is worked out with doubles may be neither less, nor equal, nor greater.
		{"d * f < 1", "!(d * f < 1)", true},
		{"d * f < 1", "d * f >= 1", false},
	} {
		a, okA := ClaimOf(test.a, claimScope())
		b, okB := ClaimOf(test.b, claimScope())
		if got := okA && okB && a.Excludes(b); got != test.excludes {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
		if got := okA && okB && b.Excludes(a); got != test.excludes {
			t.Errorf("%s and %s: %v", test.b, test.a, got)
		}
	}
}

// What a claim takes grows with its condition, also where that asks the same of many parts
// in turn: with each == or ?: it took twice as long before.
func TestALongChainIsReadInItsLength(t *testing.T) {
	const n = 120 // half of what the parser takes inside one another
	chain := "b" + strings.Repeat(" == c", n)
	choice := strings.Repeat("(", n/4) + "b" + strings.Repeat(" ? c : b)", n/4)
	for _, text := range []string{chain, choice} {
		claim, ok := ClaimOf(text, claimScope())
		if !ok {
			t.Fatalf("%.20s… makes no claim", text)
		}
		if claim.Size() > 4*n {
			t.Errorf("%.20s… has %d parts", text, claim.Size())
		}
		other, ok := ClaimOf("!("+text+")", claimScope())
		if !ok || !claim.Excludes(other) {
			t.Errorf("%.20s… and its negation do not exclude each other", text)
		}
	}
}

// Where a claim says that two conditions exclude each other no values make both TRUE:
// also where parts of them fail.
func TestNothingExcludedIsBothTrue(t *testing.T) {
	atoms := []string{
		"i > 2", "i >= 2", "i < 3", "i == 2", "i != 3", "i in [1, 3]", "2.5 < i", "i > d", "d <= i", "d < 2.5", "d >= 2.5", "d == 2",
		"i < j", "j <= i", "i == j", "b", "c", "b == c", "6 / i > 2", "6 / i <= 2", "l[i] > 0", "l[i] == 0", "l[0] < l[1]", "size(l) < 2", "size(l) == i",
		"l.exists(x, x == i)", "_TIMEOUT", "_TIMEOUT == b", `_EVENT == "a"`, `_EVENT != s`, "_COUNT > 1", "_COUNT <= i", "size(_ERRORS) < _COUNT", `s < "b"`, `s == "b"`, `s in ["a", "c"]`, "_RC == 0", "d / f > 1", "d * f == d",
	}
	var draw func(t *rapid.T, depth int) string
	draw = func(t *rapid.T, depth int) string {
		op := "atom"
		if depth > 0 {
			op = rapid.SampledFrom([]string{"atom", "!", "&&", "||", "?"}).Draw(t, "op")
		}
		switch op {
		case "atom":
			return rapid.SampledFrom(atoms).Draw(t, "atom")
		case "!":
			return "!(" + draw(t, depth-1) + ")"
		case "?":
			return "(" + draw(t, depth-1) + " ? " + draw(t, depth-1) + " : " + draw(t, depth-1) + ")"
		}
		return "(" + draw(t, depth-1) + " " + op + " " + draw(t, depth-1) + ")"
	}
	scope := claimScope()
	excluded := 0
	rapid.Check(t, func(t *rapid.T) {
		texts := []string{draw(t, 2), draw(t, 2)}
		var conditions []*Condition
		var of []Claim
		for _, text := range texts {
			checked, problems := Check(text, scope)
			if len(problems) > 0 {
				t.Fatalf("%s: %v", text, problems)
			}
			loaded, err := Load(checked, scope)
			if err != nil {
				t.Fatal(err)
			}
			claim, ok := ClaimOf(text, scope)
			if !ok {
				t.Fatalf("%s makes no claim", text)
			}
			conditions, of = append(conditions, loaded), append(of, claim)
		}
		// Two that exclude each other are never both TRUE, and by itself one that never is.
		sets := [][]int{}
		for i, claim := range of {
			if claim.Never() {
				sets = append(sets, []int{i})
			}
		}
		if of[0].Excludes(of[1]) {
			sets = append(sets, []int{0, 1})
		}
		other := Contradict(of[:1], of[1:])
		if len(sets) == 0 && !other {
			return
		}
		excluded++
		for range 50 {
			out := container.New(scope.Members)
			out.Fields[0] = rapid.Int64Range(0, 4).Draw(t, "i")
			out.Fields[1] = rapid.Int64Range(0, 4).Draw(t, "j")
			out.Fields[2] = float64(rapid.IntRange(0, 8).Draw(t, "d")) / 2
			out.Fields[3] = float64(rapid.IntRange(0, 2).Draw(t, "f"))
			out.Fields[4] = rapid.SampledFrom([]string{"", "a", "b", "bb", "c"}).Draw(t, "s")
			out.Fields[5], out.Fields[6] = rapid.Bool().Draw(t, "b"), rapid.Bool().Draw(t, "c")
			var l []container.Value
			for range rapid.IntRange(0, 3).Draw(t, "size") {
				l = append(l, rapid.Int64Range(0, 2).Draw(t, "element"))
			}
			out.Fields[7] = l
			says := &Values{
				RC: rapid.Int64Range(0, 1).Draw(t, "rc"), Timeout: rapid.Bool().Draw(t, "timeout"),
				Event: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "event"), Count: rapid.Int64Range(0, 3).Draw(t, "count"),
				Errors: make([]container.Value, rapid.IntRange(0, 2).Draw(t, "errors")),
			}
			var isTrue, isFalse [2]bool
			for i, c := range conditions {
				v, err := c.EvalWithin(&Spent{}, out, says)
				isTrue[i], isFalse[i] = err == nil && v, err == nil && !v
			}
			for _, set := range sets {
				if !slices.ContainsFunc(set, func(i int) bool { return !isTrue[i] }) {
					t.Fatalf("%v of %s are TRUE", set, strings.Join(texts, " and "))
				}
			}
			if other && isTrue[0] && isFalse[1] {
				t.Fatalf("%s is TRUE and %s FALSE", texts[0], texts[1])
			}
		}
	})
	if excluded == 0 {
		t.Error("nothing was excluded")
	}
}
