package trust

import (
	"testing"

	"fmqm/processtable"
)

// Whose requests a node takes: of sites and operators by their patterns; who has no name is
// taken where no names are asked for.
func TestRemoteOperators(t *testing.T) {
	all := Operators{
		{Site: "B", Operators: []string{"alice", "ops-*", "user:root"}},
		{Site: "branch-*", Operators: []string{"*"}},
		{Site: "H"},
	}
	for site, operators := range map[processtable.NodeID]map[string]bool{
		"B":        {"alice": true, "ops-1": true, "user:root": true, "bob": false, "": false, "user:alice": false, "root": false, "alice2": false},
		"branch-7": {"alice": true, "user:root": true, "": false},
		"H":        {"alice": true, "": true},
		"C":        {"alice": false, "": false},
	} {
		for operator, want := range operators {
			if got := all.Take(site, operator); got != want {
				t.Errorf("%q at %s: taken %t", operator, site, got)
			}
		}
	}
}
