package audit

import (
	"testing"

	"fmqm/message"
)

// In whichever order scopes come, equal sets are equal; sets of as many others, also of neighbours
// whose numbers have the same sum, are not.
func TestSetsOfScopes(t *testing.T) {
	set := func(all ...message.Scope) (s Scopes) {
		for _, scope := range all {
			s = s.with(scope)
		}
		return s
	}
	of := set("b#1", "b#4")
	if of != set("b#4", "b#1") {
		t.Error("the order counts")
	}
	for _, other := range []Scopes{set(), set("b#1"), set("b#2", "b#3"), set("b#1", "b#5"), set("b#1", "b#4", "b#4")} {
		if of == other {
			t.Errorf("%v is equal to %v", of, other)
		}
	}
}
