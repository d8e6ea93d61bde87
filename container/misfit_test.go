package container

import "testing"

func TestMisfit(t *testing.T) {
	structure := func(name string, members ...Member) *Type { return NewStructure(name, members) }
	number, text := Member{Name: "n", Type: Scalar(Int)}, Member{Name: "s", Type: Scalar(String)}
	inner := func(name string, members ...Member) Member {
		return Member{Name: "in", Type: NewList(structure(name, members...))}
	}
	for name, tc := range map[string]struct {
		a, b *Type
		want string
	}{
		"the same":                {structure("A", number, text), structure("A", number, text), ""},
		"of other names":          {structure("A", number, inner("B", text)), structure("C", number, inner("D", text)), ""},
		"with another default":    {structure("A", number), structure("A", Member{Name: "n", Type: Scalar(Int), Default: int64(3)}), ""},
		"nothing":                 {Empty, Empty, ""},
		"of another order":        {structure("A", number, text), structure("A", text, number), "n is member 1, and there s is"},
		"less":                    {structure("A", number), structure("A", number, text), "it has no member s, and there it has"},
		"more":                    {structure("A", number, text), structure("A", number), "s is not there"},
		"another type":            {structure("A", number), structure("A", Member{Name: "n", Type: Scalar(Double)}), "n is int, and there double"},
		"another type inside":     {structure("A", inner("B", number)), structure("A", inner("B", Member{Name: "n", Type: Scalar(Bool)})), "in[].n is int, and there bool"},
		"a structure and a list":  {structure("A", inner("B", number)), structure("A", Member{Name: "in", Type: structure("B", number)}), "in is [B], and there B"},
		"less in a list's":        {structure("A", inner("B")), structure("A", inner("B", number)), "in[] has no member n, and there it has"},
		"a list of another kind ": {structure("A", Member{Name: "l", Type: NewList(Scalar(Int))}), structure("A", Member{Name: "l", Type: NewList(Scalar(String))}), "l[] is int, and there string"},
	} {
		if got := Misfit(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if back := Misfit(tc.b, tc.a); (back == "") != (tc.want == "") {
			t.Errorf("%s, the other way round: %q", name, back)
		}
	}
}
