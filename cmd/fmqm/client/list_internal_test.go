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
		{true, false, []string{"2025-06-01 12:00:00", "", "", ""}},
		{true, true, []string{"2025-06-01 12:00:00", "11:00:00", "", ""}},
		{false, false, []string{"2025-06-01 12:00:00", "2025-06-02 11:00:00", "-", "-"}},
	} {
		columns, cells := listColumns(tc.terminal, tc.all, now)
		if got := cells(i); len(got) != len(columns) || !slices.Equal(got[3:], tc.want) {
			t.Errorf("terminal %v, all %v: %q under %q, want %q", tc.terminal, tc.all, got[3:], columns, tc.want)
		}
	}
}

// --since takes a time in the zone of whoever asks, or how long ago it is.
func TestSince(t *testing.T) {
	now := time.Date(2025, 6, 2, 12, 30, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"2h":                   now.Add(-2 * time.Hour),
		"1h30m":                now.Add(-90 * time.Minute),
		"3d":                   now.AddDate(0, 0, -3),
		"2025-06-01":           time.Date(2025, 6, 1, 0, 0, 0, 0, time.Local),
		"2025-06-01 14:05":     time.Date(2025, 6, 1, 14, 5, 0, 0, time.Local),
		"2025-06-01T14:05:06":  time.Date(2025, 6, 1, 14, 5, 6, 0, time.Local),
		"2025-06-01T14:05:06Z": time.Date(2025, 6, 1, 14, 5, 6, 0, time.UTC),
		"9:15":                 time.Date(2025, 6, 2, 9, 15, 0, 0, time.Local),
	} {
		if got, err := parseSince("since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-2h", "2", "d", "-3d", "2025-13-01", "25:00"} {
		if got, err := parseSince("since", text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
