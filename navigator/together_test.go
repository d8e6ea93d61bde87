package navigator

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/behaviour"
	"fmqm/processtable"
)

// R12: what all conditions about one output take together is bounded, the exit condition
// among them: an activity that needs more goes in error with what an operator can do,
// and a shorter output goes on.
func TestR12ConditionsThatTakeTooMuchTogether(t *testing.T) {
	long := `{"text": "` + strings.Repeat("a", 400_000) + `"}`
	split := func(conditions int) *Activity {
		names := []processtable.ActivityID{"a", "x"}
		for i := range conditions {
			names = append(names, processtable.ActivityID(fmt.Sprintf("y%d", i)))
		}
		m := newModel(t, names...).control("a -> x").exit("x", `!text.matches("b$")`)
		for i := range conditions {
			m.control(fmt.Sprintf(`x -> y%d: !text.matches("b$") || n == %d`, i, i))
		}
		return m.activity("x")
	}

	x := split(4)
	e := x.Conclude(folded(t, x, from(t, x, "a", T, "")), ran(t, 0, long), noon)
	if e.Outcome.What != behaviour.Terminated || len(e.Put) != 4 {
		t.Errorf("four: %s", show(x.process, e))
	}

	x = split(60)
	s := folded(t, x, from(t, x, "a", T, ""))
	r := ran(t, 0, long)
	r.Judged = x.Judge(&r)
	at := kept(t, x, s, x.Conclude(s, r, noon))
	if !s.InError() || !at.HasOutput || !strings.HasPrefix(at.Error, `transition condition "!text.matches(\"b$\")`) ||
		!strings.HasSuffix(at.Error, "the conditions of this activity took more than 10000000 steps together: make the texts and lists in its output shorter, "+
			"or its conditions fewer or simpler; `fmqm retry INSTANCE ACTIVITY --output JSON` continues with a shorter output") {
		t.Errorf("sixty: %.300q", at.Error)
	}
	e, err := x.Resume(s, behaviour.Retry{Output: value(t, `{"text": "short"}`)}, noon)
	if err != nil || e.Outcome.What != behaviour.Terminated {
		t.Errorf("with a shorter output: %s, %v", show(x.process, e), err)
	}
}
