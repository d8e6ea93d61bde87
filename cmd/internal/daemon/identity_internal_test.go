package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fmqm/identity"
	"fmqm/node/config"
	"fmqm/staff/ldap"
)

func TestWhatIsSaidOfACertificateThatEnds(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for days, want := range map[int]string{
		-1:  "the certificate of this node expired on 2026-11-20: sites and operators do not believe it any more: renew it with `fmqmd pki renew`, and reload",
		0:   "the certificate of this node expired on 2026-11-21",
		5:   "the certificate of this node, or its authority's, has less than a third of its life left: it expires on 2026-11-26, in 5 days: renew it",
		121: "it expires on 2027-03-22, in 121 days",
		122: "",
		300: "",
	} {
		until := now.AddDate(0, 0, days)
		if got := nearExpiry(until, identity.Due(until.AddDate(0, 0, -366), until, now), now); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("in %d days: %q, want %q", days, got, want)
		}
	}
}

// What is the same of the same is said once, and what is remembered is bounded.
func TestSaidOnce(t *testing.T) {
	said := newTold()
	for i, tc := range []struct {
		who, what string
		news      bool
	}{{"B", "x", true}, {"B", "x", false}, {"C", "x", true}, {"B", "y", true}, {"B", "x", true}, {"C", "x", false}} {
		if said.news(tc.who, tc.what) != tc.news {
			t.Errorf("%d: %+v", i, tc)
		}
	}
	for i := range 10 * maxTold {
		said.news(fmt.Sprint(i), "x")
	}
	if len(said.last) > maxTold {
		t.Errorf("%d are remembered", len(said.last))
	}
}

// Who has a person's certificate and is not in the staff is told where the people of the site are from.
func TestWhereSomebodyIsToBeAPerson(t *testing.T) {
	ann := identity.Name{Role: identity.RolePerson, Name: "ann"}
	for want, from := range map[string]*config.Staff{
		"have that person written into the file of `staff`, and reload it":                        {File: "staff.yaml"},
		"have the directory of `staff` give that person, and reload or wait for its next reading": {LDAP: &ldap.Settings{}},
	} {
		if _, err := notAnOperator(ann, nil, &config.Config{Node: "A", Staff: from}); !strings.HasPrefix(err.Remedy, want) {
			t.Errorf("%s\nwant %s", err.Remedy, want)
		}
	}
}
