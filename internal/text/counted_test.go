package text_test

import (
	"testing"

	"fmqm/internal/text"
)

func TestCounted(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 activities", 1: "1 activity", 2: "2 activities"} {
		if got := text.Counted(n, "activity", "activities"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
