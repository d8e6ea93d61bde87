package condition

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/container"
)

func scopeOf(members ...container.Member) Scope {
	return Scope{Members: container.NewStructure("S", members), RC: true}
}

// An int and a double compare as the numbers that they are, whatever their size.
func TestAnIntAndADoubleCompareExactly(t *testing.T) {
	s := scopeOf(container.Member{Name: "i", Type: container.Scalar(container.Int)}, container.Member{Name: "d", Type: container.Scalar(container.Double)})
	conditions := map[string]*Condition{}
	for _, text := range []string{"i < d", "i <= d", "i > d", "i >= d", "d < i", "d <= i", "d > i", "d >= i"} {
		c, problems := Check(text, s)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		loaded, err := Load(c, s)
		if err != nil {
			t.Fatal(err)
		}
		conditions[text] = loaded
	}
	check := func(t interface{ Fatalf(string, ...any) }, i int64, d float64) {
		order := new(big.Float).SetInt64(i).Cmp(big.NewFloat(d))
		want := map[string]bool{
			"i < d": order < 0, "i <= d": order <= 0, "i > d": order > 0, "i >= d": order >= 0,
			"d < i": order > 0, "d <= i": order >= 0, "d > i": order < 0, "d >= i": order <= 0,
		}
		out := container.New(s.Members)
		out.Assign(container.Path{0}, i)
		out.Assign(container.Path{1}, d)
		for text, c := range conditions {
			if got, err := c.Eval(out, 0); err != nil || got != want[text] {
				t.Fatalf("%s with i %d, d %v: %v, %v", text, i, d, got, err)
			}
		}
	}
	for _, i := range []int64{0, 1, -1, 1<<53 + 1, -(1<<53 + 1), math.MaxInt64, math.MinInt64, math.MaxInt64 - 1} {
		for _, d := range []float64{0, 0.5, -0.5, 1 << 53, -(1 << 53), 1<<53 + 2, 1 << 63, -(1 << 63), math.MaxFloat64, -math.MaxFloat64, 5e-324} {
			check(t, i, d)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.Int64().Draw(t, "i")
		check(t, i, float64(i)+float64(rapid.IntRange(-2, 2).Draw(t, "beside")))
	})
}

// What fails, fails also where it is asked whether it is in the empty list.
func TestAnErrorIsInNoList(t *testing.T) {
	s := scopeOf(container.Member{Name: "z", Type: container.Scalar(container.Int)})
	for text, fails := range map[string]bool{"(1 / z) in []": true, "!((1 / z) in [])": true, "z == 1 && (1 / z) in []": false, "z in []": false} {
		c, problems := Check(text, s)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", text, problems)
		}
		loaded, err := Load(c, s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := loaded.Eval(container.New(s.Members), 0)
		if (err != nil) != fails || got {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// A literal that cannot be converted is shown, with what would do.
func TestConversionsOfLiterals(t *testing.T) {
	s := scopeOf(container.Member{Name: "n", Type: container.Scalar(container.Int)})
	for text, want := range map[string]string{
		`n == int("x")`: `"x" is not a valid int: write 42, or int("42")`, `double("1,5") > 1.0`: `"1,5" is not a valid double: write 4.2`,
		`bool("yes")`: `"yes" is not a valid bool: write true or false`, `duration("2 days") > duration("1h")`: `"2 days" is not a valid duration: write duration("1h30m")`,
		`timestamp("2024-05-01") > timestamp("2024-05-01T12:00:00Z")`: `"2024-05-01" is not a valid timestamp: write timestamp("2024-05-01T12:00:00Z")`,
	} {
		_, problems := Check(text, s)
		if len(problems) != 1 {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		if got := problems[0].Message + ": " + problems[0].Remedy; !strings.HasPrefix(got, want) || text[problems[0].Offset] != '"' {
			t.Errorf("%s: %d %s\nwant %s", text, problems[0].Offset, got, want)
		}
	}
}
