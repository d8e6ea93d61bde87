package amqp

import (
	"fmt"
	"testing"
)

// A reason is logged once in a state, and so is the next one: a broker that comes back
// may refuse what it did not before. What varies without end ends.
func TestEachReasonIsToldOnceInAState(t *testing.T) {
	b := &Broker{}
	for i, step := range []struct {
		reason string
		turned bool
		want   bool
	}{
		{"", true, true}, // connected
		{"reset", true, true},
		{"reset", false, false},
		{"no permission", false, true},
		{"reset", false, false},
		{"no permission", false, false},
		{"", false, false},
		{"", true, true}, // connected again
		{"no permission", true, true},
		{"no permission", false, false},
	} {
		if got := b.tell(step.reason, step.turned); got != step.want {
			t.Errorf("step %d: %q told: %t, expected %t", i, step.reason, got, step.want)
		}
	}
	count := 0
	for i := range 100 {
		if b.tell(fmt.Sprintf("reason %d", i), i == 0) {
			count++
		}
	}
	if count != maxTold {
		t.Errorf("%d reasons were told in one state, expected %d", count, maxTold)
	}
}
