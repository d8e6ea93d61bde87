package api_test

import (
	"testing"

	"fmqm/api"
)

// One execution of an activity with for_each is shown by its element (N21), and all else by where it is.
func TestShown(t *testing.T) {
	for _, c := range []struct{ scope, activity, want string }{
		{"", "count", "count"},
		{"count[3]", "count", "count[3]"},
		{"documents#2/count[0]", "count", "documents#2/count[0]"},
		{"documents#2", "review", "documents#2/review"},
		{"line[3]#2", "pick", "line[3]#2/pick"},
		{"line[3]", "lin", "line[3]/lin"},
		{"turns#2", "turns", "turns#2/turns"},
	} {
		if got := api.Shown(c.scope, c.activity); got != c.want {
			t.Errorf("%s in %q is shown as %q, want %q", c.activity, c.scope, got, c.want)
		}
	}
}
