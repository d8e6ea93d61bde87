package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWhatIsSaidOfACertificateThatEnds(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for days, want := range map[int]string{
		-1:  "the certificate of this node expired on 2026-11-20: no site and no operator believes it: renew it with `fmqmd pki issue --force`, and reload",
		0:   "the certificate of this node expired on 2026-11-21",
		5:   "the certificate of this node, or its authority's, expires on 2026-11-26, in 5 days: renew it",
		30:  "expires on 2026-12-21, in 30 days",
		31:  "",
		700: "",
	} {
		if got := nearExpiry(now.AddDate(0, 0, days), now); !strings.Contains(got, want) || want == "" && got != "" {
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
