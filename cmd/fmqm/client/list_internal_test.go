package client

import (
	"slices"
	"testing"
	"time"

	"fmqm/api"
)

// On a terminal times of today stand without the day, those of other days with it.
func TestTimesOfAList(t *testing.T) {
	now := time.Date(2025, 6, 2, 12, 0, 0, 0, time.Local)
	i := api.Instance{Process: "p@1", State: api.InstanceFinished, Started: now.Add(-24 * time.Hour), Ended: now.Add(-time.Hour)}
	for _, tc := range []struct {
		terminal, all bool
		want          []string
	}{
		{true, false, []string{"2025-06-01 12:00:00", "-"}},
		{true, true, []string{"2025-06-01 12:00:00", "11:00:00", "-"}},
		{false, false, []string{"2025-06-01 12:00:00", "2025-06-02 11:00:00", "-"}},
	} {
		columns, cells := listColumns(tc.terminal, tc.all, now)
		if got := cells(i); len(got) != len(columns) || !slices.Equal(got[3:], tc.want) {
			t.Errorf("terminal %v, all %v: %q under %q, want %q", tc.terminal, tc.all, got[3:], columns, tc.want)
		}
	}
}
