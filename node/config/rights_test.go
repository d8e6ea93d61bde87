package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/node/config"
)

// Rights as they are written, and what is probably not meant by them.
func TestRights(t *testing.T) {
	for _, tc := range []struct {
		text, said string
		want       []config.Right
		warns      []string
	}{
		{"", "no rights: whoever may ask may do all", nil, nil},
		{"rights: []\n", "rights granted: 0", []config.Right{}, []string{"nobody has the role admin"}},
		{
			"rights: [{who: alice, roles: [admin]}, {who: ['user:bob', 'group:ops-*'], roles: [clerk, definer], processes: [order, claim-*]}]\n", "rights granted: 2",
			[]config.Right{{Who: []string{"alice"}, Roles: []string{"admin"}}, {Who: []string{"user:bob", "group:ops-*"}, Roles: []string{"clerk", "definer"}, Processes: []string{"order", "claim-*"}}},
			nil,
		},
		{
			"rights: [{who: 'role:nurse', roles: [admin], processes: [order]}]\n", "rights granted: 1",
			[]config.Right{{Who: []string{"role:nurse"}, Roles: []string{"admin"}, Processes: []string{"order"}}},
			[]string{"nobody has the role admin", "they name people or roles of the staff"},
		},
	} {
		c, _, err := load(t, "node: A\n"+tc.text, nil, config.Overrides{})
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		if d := cmp.Diff(tc.want, c.Rights); d != "" || c.RightsSaid() != tc.said {
			t.Errorf("%q: %s %s", tc.text, c.RightsSaid(), d)
		}
		var warns []string
		for _, w := range c.Warnings() {
			if strings.HasPrefix(w, "rights: ") {
				warns = append(warns, w)
			}
		}
		if len(warns) != len(tc.warns) {
			t.Errorf("%q: warnings %q", tc.text, warns)
			continue
		}
		for i, w := range tc.warns {
			if !strings.Contains(warns[i], w) {
				t.Errorf("%q: %q, want %q", tc.text, warns[i], w)
			}
		}
	}
}
