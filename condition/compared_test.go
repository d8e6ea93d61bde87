package condition

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/container"
)

// What a word is compared with is found wherever it stands, and nothing else is.
func TestComparedWith(t *testing.T) {
	members := []container.Member{{Name: "n", Type: aString}}
	scope := Scope{Members: container.NewStructure("S", members), RC: true, Words: WordEvent}
	for text, want := range map[string]string{
		`_EVENT == "paid"`:                          "paid@10",
		`"paid" != _EVENT && n == "other"`:          "paid@0",
		`!(_EVENT in ["a", 'b', n])`:                "a@13 b@18",
		`_EVENT == n || n in ["a"]`:                 "",
		`_EVENT == "a" ? _RC == 0 : _EVENT != "bä"`: "a@10 bä@37",
		`["x"].exists(x, _EVENT == "y")`:            "y@26",
	} {
		var got []string
		for _, c := range ComparedWith(text, scope, WordEvent) {
			got = append(got, fmt.Sprintf("%s@%d", c.Text, c.Offset))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	hiding := Scope{Members: container.NewStructure("S", []container.Member{{Name: "_EVENT", Type: aString}}), Words: WordEvent}
	if got := ComparedWith(`_EVENT == "a"`, hiding, WordEvent); got != nil {
		t.Errorf("of a member of that name: %v", got)
	}
}
