package message

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/processtable"
)

func drawFrame(t *rapid.T) Frame {
	return Frame{
		Composite: processtable.ActivityID(rapid.StringMatching(`[a-c_][a-c0-9_]{0,3}`).Draw(t, "composite")),
		Run:       rapid.SampledFrom([]int{0, 0, 1, 10, MaxIteration}).Draw(t, "run"),
		Iteration: rapid.SampledFrom([]int{0, 1, 2, 10, MaxIteration}).Draw(t, "iteration"),
		Element:   rapid.SampledFrom([]int{-1, -1, 0, 1, 10, MaxElement}).Draw(t, "element"),
	}
}

// in gives the scope of what a composite in s has begun.
func in(s Scope, f Frame) Scope {
	return Scope(strings.TrimPrefix(string(s)+"/"+f.String(), "/"))
}

// N10: a scope has one form, and is the path of its frames.
func TestN10AScopeIsThePathOfItsFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.SliceOfN(rapid.Custom(drawFrame), 0, MaxNesting).Draw(t, "frames")
		var s Scope
		for i, f := range frames {
			inner := in(s, f)
			if !inner.Within(s) || !inner.Within(inner) || s.Within(inner) {
				t.Fatalf("%q is inside of %q, and not the other way round", inner, s)
			}
			s = inner
			if len(s) == 0 || i == 0 && strings.Contains(string(s), "/") {
				t.Fatalf("frame %d gives %q", i, s)
			}
		}
		got, err := s.Frames()
		if err != nil || len(got) != len(frames) {
			t.Fatalf("%q: %v, %v", s, got, err)
		}
		for i := range got {
			if got[i] != frames[i] {
				t.Fatalf("%q: frame %d is %+v, want %+v", s, i, got[i], frames[i])
			}
		}
	})
}

// N10: whatever is read is written again to the byte: so two scopes are one place only if
// they are equal.
func TestN10AScopeHasOneForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Scope(rapid.StringMatching(`[ab0-2~#\[\]/]{1,14}`).Draw(t, "scope"))
		frames, err := s.Frames()
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		var again Scope
		for _, f := range frames {
			again = in(again, f)
		}
		if again != s {
			t.Fatalf("%q is written as %q", s, again)
		}
	})
}

func TestN10FramesCompareWhole(t *testing.T) {
	for _, c := range []struct {
		inner, outer Scope
		want         bool
	}{
		{"pay#10", "pay#1", false},
		{"pay#1/x", "pay#1", true},
		{"pay~1#1", "pay#1", false},
		{"line[17]", "line[1]", false},
		{"pays#1", "pay", false},
		{"pay#1", "", true},
		{"", "pay#1", false},
	} {
		if got := c.inner.Within(c.outer); got != c.want {
			t.Errorf("%q within %q: %t", c.inner, c.outer, got)
		}
	}
}

func TestN10ScopesThatAreNone(t *testing.T) {
	for s, want := range map[Scope]string{
		"/a":                                  "does not begin with the name of an activity",
		"a/":                                  "does not begin with the name of an activity",
		"a-b":                                 "does not begin with the name of an activity",
		"a#0":                                 "want a number from 1 to 2147483647 behind #",
		"a#01":                                "want a number from 1 to 2147483647 behind #",
		"a#2147483648":                        "want a number from 1",
		"a~0":                                 "behind ~",
		"a#1~1":                               "behind #",
		"a#1[2]":                              "behind #",
		"a[100000]":                           "want a number from 0 to 99999 in brackets",
		"a[1":                                 "in brackets",
		"a[+1]":                               "in brackets",
		"a[1]x":                               "does not end after its numbers",
		Scope(strings.Repeat("a/", 16)) + "a": "17 composites inside one another, and at most 16 are allowed",
	} {
		if _, err := s.Frames(); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", s, err, want)
		}
	}
}

// N10: a scope has the shape of the static path to its activity, within the limits.
// What is inside of a composite is in its scope, with one more frame.
func TestN10EnterAndLeave(t *testing.T) {
	for _, tc := range []struct {
		outer Scope
		frame Frame
		want  Scope
	}{
		{"", Frame{Composite: "documents", Iteration: 2, Element: -1}, "documents#2"},
		{"documents#2", Frame{Composite: "line", Element: 17}, "documents#2/line[17]"},
		{"line[3]#1", Frame{Composite: "pick", Run: 1, Iteration: 4, Element: -1}, "line[3]#1/pick~1#4"},
	} {
		got := tc.outer.Enter(tc.frame)
		if got != tc.want || got.Leave() != tc.outer || got.Inside() != tc.frame.Composite {
			t.Errorf("%q with %v is %q, inside of %s and then of %q", tc.outer, tc.frame, got, got.Inside(), got.Leave())
		}
	}
	if s := Scope(""); s.Inside() != "" || s.Leave() != "" {
		t.Errorf("the top is inside of %q, %q", s.Inside(), s.Leave())
	}
}

func TestFits(t *testing.T) {
	path := []processtable.Composite{{Activity: "pay", Iterations: 10}, {Activity: "line", Iterations: 2, Elements: true}, {Activity: "pick", Elements: true}}
	for scope, want := range map[Scope]string{
		"pay#1/line[0]#1/pick[3]":                 "",
		"pay~7#10/line[99999]#2/pick[0]~1":        "",
		"":                                        "has 0 composites, and 3 are around it",
		"pay#1":                                   "has 1 composites",
		"pay#1/line[0]#1/pick[3]/pack#1":          "has 4 composites",
		"line[0]#1/pay#1/pick[3]":                 "line is not the composite that is around it there, which is pay",
		"payment#1/line[0]#1/pick[3]":             "payment is not the composite",
		"pay#11/line[0]#1/pick[3]":                "iteration 11 of pay, and at most 10 are allowed",
		"pay/line[0]#1/pick[3]":                   "the iteration of pay is missing",
		"pay[0]#1/line[0]#1/pick[3]":              "pay has no elements",
		"pay#1/line#1/pick[3]":                    "the element of line is missing",
		"pay#1/line[0]#1/pick[3]#1":               "iteration 1 of pick, and at most 0 are allowed",
		"pay#1/line[100000]#1/pick[3]":            "want a number from 0 to 99999",
		"pay#1/line[0]#1/pick[3":                  "want a number from 0 to 99999",
		Scope(strings.Repeat("a#1/", 16)) + "a#1": "at most 16 are allowed",
	} {
		err := scope.Fits(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", scope, err, want)
		}
	}
	if err := Scope("").Fits(nil); err != nil {
		t.Error(err)
	}
}

// A path is what people read and write: which run of a composite it was is not in it.
func TestAPathHasNoRuns(t *testing.T) {
	for scope, want := range map[Scope]string{
		"": "check", "documents#2": "documents#2/check", "line[3]~2#1/pick~1#4": "line[3]#1/pick#4/check",
	} {
		if got := scope.Path("check"); got != want {
			t.Errorf("%q: %s, want %s", scope, got, want)
		}
	}
}

// What a bundle or a call has begun has one name for people, however many scopes it takes.
func TestOneNameForWhatIsBegun(t *testing.T) {
	for _, c := range []struct {
		scope    Scope
		activity processtable.ActivityID
		path     string
	}{
		{"count[3]", "count", "count[3]"},
		{"count[3]~2", "count", "count[3]"},
		{"count[3]/count#1", "count", "count[3]"},
		{"count#1", "count", "count"},
		{"line[3]/line#2", "pick", "line[3]#2/pick"},
		{"waves#2/install[4]/install~1#1", "install", "waves#2/install[4]"},
		{"waves#2/line[4]~1/line#3/in[0]", "in", "waves#2/line[4]#3/in[0]"},
		{"documents#2", "check", "documents#2/check"},
	} {
		if got := c.scope.Path(c.activity); got != c.path {
			t.Errorf("%q, %s: %q, want %q", c.scope, c.activity, got, c.path)
		}
		if back := c.scope.Shown().Full(); back != c.scope {
			t.Errorf("%q is shown as %q, which is %q", c.scope, c.scope.Shown(), back)
		}
	}
	for scope, want := range map[Scope]string{"": "", "documents#2": "", "line[3]/line#2": "3", "a[12]~1/b#1/c[0]/d#4": "0"} {
		if got := scope.Element(); got != want {
			t.Errorf("%q is in element %q, want %q", scope, got, want)
		}
	}
	if got := Scope("line[3]/line#2").Shown(); got != "line[3]#2" {
		t.Errorf("it is shown as %q", got)
	}
}
