package client

import (
	"testing"

	"fmqm/api"
)

// N19: start says, once, that a higher version is stored than the one that NAME is, and why it is not current.
func TestAHigherVersionIsTold(t *testing.T) {
	for want, newer := range map[string]*api.Newer{
		"": nil,
		"started p@1: p@2 is stored, and not current yet: B, C have not said that they have it (fmqm-define upload --now: at once)":       {Process: "p@2", Lacking: []string{"B", "C"}},
		"started p@1: p@2 is stored, and not current yet: its sites have just said that they have it (fmqm-define upload --now: at once)": {Process: "p@2"},
	} {
		told := ""
		s := &starter{talk: func(text string) { told += text }}
		for range 2 {
			s.tellNewer(api.Status{Process: "p@1", Newer: newer})
		}
		if told != want {
			t.Errorf("%q, want %q", told, want)
		}
	}
}
