package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
)

// What cannot be a value of a member's type is asked for again, in the words of the type and not of JSON.
func TestAFormSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ kind, typed, want, said string }{
		{"double", "8oo\n800,50\n\n800.5\n", "800.5", `found "800,50": write a number`},
		{"int", "1.5\n2\n", "2", "expected int"},
		{"bool", "perhaps\nyes\n", "true", `expected bool, found "perhaps"`},
		{"string", "\"\"\n", `""`, ""},
	} {
		var said bytes.Buffer
		f := form{in: bufio.NewReader(strings.NewReader(c.typed)), out: &said}
		got, err := f.structure("", []api.MemberType{{Name: "m", Type: c.kind}}, nil)
		if err != nil || string(got) != `{"m":`+c.want+`}` || !strings.Contains(said.String(), c.said) || strings.Contains(said.String(), "JSON") {
			t.Errorf("%s %q: %s, %v\n%s", c.kind, c.typed, got, err, &said)
		}
	}
}

// An interrupt ends a form at once, and says that nothing has changed: the terminal would go on reading until Enter.
func TestAnInterruptEndsAForm(t *testing.T) {
	in, never := io.Pipe()
	defer never.Close()
	stop := make(chan struct{})
	close(stop)
	var said bytes.Buffer
	f := form{bufio.NewReader(in), &said, stop}
	if _, err := f.structure("", []api.MemberType{{Name: "sum", Type: "double"}}, nil); !errors.Is(err, errGivenUp) || !strings.Contains(said.String(), "nothing has changed") {
		t.Errorf("it ends with %v, and says\n%s", err, &said)
	}
}

// What an item is about is shown member by member, in the order of its type.
func TestMembersAsPeopleReadThem(t *testing.T) {
	got := membersOf(json.RawMessage(`{"number": "K-7", "amount": 0.5, "lines": [{"n": 1}], "note": "a\nb"}`))
	if want := []string{"number: K-7", "amount: 0.5", `lines: [{"n":1}]`, "note: a b"}; !slices.Equal(got, want) {
		t.Errorf("shown as %q, want %q", got, want)
	}
}
