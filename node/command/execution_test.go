package command

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/report"
)

// An activity inside of blocks that is named alone is its one execution that is in error; of several they
// are named.
func TestN18ExecutionThatIsMeant(t *testing.T) {
	broken := func(scope, activity string) api.Activity {
		return api.Activity{Scope: scope, Activity: activity, State: api.ActivityInError}
	}
	for _, c := range []struct {
		scope, activity string
		broken          []api.Activity
		want            string
	}{
		{"", "pay", nil, "pay"},
		{"", "check", []api.Activity{broken("documents#2", "check"), broken("documents#2", "sink")}, "documents#2/check"},
		{"documents#1", "check", []api.Activity{broken("documents#2", "check")}, "documents#1/check"},
		{"documents#2", "sink", []api.Activity{broken("documents#2", "sink")}, "documents#2/sink"},
		{"", "check", []api.Activity{broken("documents#1", "check"), broken("documents#2", "check")}, "check is in error at documents#1/check, documents#2/check: name one, or --all"},
		{"", "check", nil, "no execution of check is known to be in error: see fmqm status --tree; or name it with the blocks around it, such as documents#2/check"},
		{"", "chek", nil, "p@1 has no activity chek: did you mean check? See fmqm status for its activities"},
		{"documents#", "check", nil, `retry check: message format: scope: "documents#": want a number from 1 to 2147483647 behind #: ` + seeScopes},
	} {
		g := report.NewGathered("A", uuid.UUID{1})
		g.Add("A", report.Report{Known: true, Process: "p@1", Origin: "A", State: api.InstanceRunning, Activities: c.broken, Roster: []api.Place{
			{Activity: "documents", Node: "A"}, {Activity: "check", Node: "A", Inside: "documents"}, {Activity: "pay", Node: "B"},
		}})
		scope, activity, err := execution(g, message.WishRetry, &api.RetryRequest{Scope: c.scope, Activity: c.activity})
		got := api.InScope(scope, activity)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s in %q: %s\nwant %s", c.activity, c.scope, got, c.want)
		}
	}
}

// N15, N21: the answer to a word says where as everybody does: what is inside of an element that is a block is at line[3]#2.
func TestAWordSaysWhereAsPeopleDo(t *testing.T) {
	for scope, want := range map[message.Scope]string{"": "", "documents#2": "documents#2", "count[3]": "count[3]", "line[3]/line#2": "line[3]#2"} {
		o := wish{entry: message.Entry{Scope: scope, Activity: "pick"}}
		if got := o.shown(api.WordDone).Scope; got != want {
			t.Errorf("of what is in %q it says %q, want %q", scope, got, want)
		}
	}
	work := wish{entry: message.Entry{Scope: "box#2/ask[3]/ask#1", Activity: "ask"}} // of a call
	if w := work.shown(api.WordDone); api.Shown(w.Scope, w.Activity) != "box#2/ask[3]" {
		t.Errorf("of the work of a call it says %+v", w)
	}
}
