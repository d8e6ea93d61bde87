package container

import (
	"testing"
	"time"
)

// Days have 24 hours, and stand before the rest.
func TestDurationsHaveDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "2h30m": 150 * time.Minute, "14d": 14 * 24 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour,
		"0d": 0, "1d0.5s": 24*time.Hour + 500*time.Millisecond, "106751d": 106751 * 24 * time.Hour, "+5s": 5 * time.Second,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1h2d", "2d1d", "1d-2h", "-1d", "+1d", "106752d", "106751d24h", "1dx", "5", "1 d", "1ed"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// Input of an instance and what programs write may say days, too.
func TestJSONTakesDays(t *testing.T) {
	s, err := DecodeJSON(orderType(), []byte(`{"patience": "14d12h"}`))
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := s.Type.Resolve("patience")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Get(p); got != 348*time.Hour {
		t.Errorf("patience is %v", got)
	}
}
