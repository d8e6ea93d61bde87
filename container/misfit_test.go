package container

import (
	"testing"
)

func structure(name string, members ...Member) *Type { return NewStructure(name, members) }

func member(name string, t *Type) Member { return Member{Name: name, Type: t} }

// N19: what the structures are called, and their defaults, do not count; the order of members does.
func TestMisfit(t *testing.T) {
	text, number := Scalar(String), Scalar(Int)
	line := structure("Line", member("item", text), member("count", number))
	want := structure("Order", member("order", text), member("line", line), member("all", NewList(line)))
	for _, tc := range []struct {
		name string
		have *Type
		want string
	}{
		{"another name", structure("Job",
			Member{Name: "order", Type: text, Default: "none"},
			member("line", structure("M", member("item", text), member("count", number))),
			member("all", NewList(structure("L", member("item", text), member("count", number))))), ""},
		{"another order", structure("Job", want.Members[1], want.Members[0], want.Members[2]), "member 1 of Job is line and not order: write them in the same order"},
		{"another order inside", structure("Job", want.Members[0], member("line", structure("L", member("count", number), member("item", text))), want.Members[2]), "member 1 of line of Job is count and not item: write them in the same order"},
		{"a member is missing", structure("Job", member("order", text), member("all", NewList(line))), "Job has no member line: add it"},
		{"one more", structure("Job", append([]Member{member("more", text)}, want.Members...)...), "Job has the member more as well: remove it"},
		{"of another type", structure("Job", member("order", number), member("line", line), member("all", NewList(line))), "order of Job is of type int: make it string"},
		{"inside a member", structure("Job", member("order", text), member("line", structure("L", member("item", text))), member("all", NewList(line))), "line of Job has no member count: add it"},
		{"inside a list", structure("Job", member("order", text), member("line", line), member("all", NewList(text))), "an element of all of Job is of type string: make it Line"},
		{"nothing", Empty, "{} has no member order: add it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Misfit(want, tc.have); got != tc.want {
				t.Errorf("%q\nwant %q", got, tc.want)
			}
		})
	}
	if got := Misfit(Empty, structure("Job", member("order", text))); got != "Job has the member order as well: remove it" {
		t.Error(got)
	}
	if got := Shape(want) + Shape(Empty); got != "{order: string, line: Line, all: [Line]}{}" {
		t.Error(got)
	}
}

// A structure that contains the one below it twice, and so on, has as many paths as there are grains on
// a chessboard; comparing costs one look at each.
func TestMisfitIsFast(t *testing.T) {
	deep := func(name string) *Type {
		all := structure(name, member("leaf", Scalar(Int)))
		for range 60 {
			all = structure(name, member("left", all), member("right", all))
		}
		return all
	}
	if got := Misfit(deep("A"), deep("B")); got != "" {
		t.Error(got)
	}
}

func TestReshape(t *testing.T) {
	inner := structure("Line", member("item", Scalar(String)), member("data", Scalar(Bytes)))
	mine := structure("Order", member("line", inner), member("all", NewList(inner)), member("n", Scalar(Int)))
	other := structure("L", inner.Members...)
	theirs := structure("Job", member("line", other), member("all", NewList(other)), member("n", Scalar(Int)))
	s := New(mine)
	line := &Struct{Type: inner, Fields: []Value{"pump", []byte("x")}}
	s.Fields = []Value{line, []Value{line}, int64(3)}
	got := Reshape(s, theirs)
	if err := CheckValue(theirs, got); err != nil {
		t.Fatal(err)
	}
	if back := Reshape(got, mine); !Equal(back, s) {
		t.Errorf("there and back it is %v", back)
	}
	got.Fields[0].(*Struct).Fields[1].([]byte)[0] = 'y'
	if string(line.Fields[1].([]byte)) != "x" {
		t.Error("they share bytes")
	}
}
