package api

import (
	"strings"
	"testing"
)

// N28: what `rights` would have to say names who asks as `rights` has him: a person by person:, and never by a name that there is a certificate's.
func TestN28WhoLacksARightIsToldWhatToWrite(t *testing.T) {
	for _, c := range []struct {
		caller Caller
		want   string
	}{
		{Caller{Name: "ann@ward", Person: "ann"}, "{who: person:ann, roles: [operator], processes: [claim]}"},
		{Caller{Name: "user:root", Person: "ann"}, "{who: user:root, "},
		{Caller{Name: "alice"}, "{who: alice, "},
		{Caller{}, "{who: NAME, "},
	} {
		c.caller.Rights = &Rights{Node: "ward"}
		if got := c.caller.refuse(RightOperator, "claim@1").Error(); !strings.Contains(got, c.want) {
			t.Errorf("%+v is told: %s", c.caller, got)
		}
	}
}
