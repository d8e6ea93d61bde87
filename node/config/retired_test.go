package config_test

import (
	"strings"
	"testing"
	"time"

	"fmqm/node/config"
)

// How long a retired version can be taken back: 7 days unless it is said, and not at all with 0s.
func TestRetired(t *testing.T) {
	if c := parsed(t, ""); c.Retired != nil {
		t.Errorf("without the key it is %v", *c.Retired)
	}
	for text, want := range map[string]time.Duration{"0s": 0, "36h": 36 * time.Hour, "90d": 90 * 24 * time.Hour} {
		if c := parsed(t, "retired: "+text+"\n"); c.Retired == nil || *c.Retired != want {
			t.Errorf("%s is %v", text, c.Retired)
		}
	}
	for text, want := range map[string]string{"soon": `"soon" is not a duration: write how long a retired version can be taken back`, "-1h": "-1h is out of range", "36501d": "36501d is out of range"} {
		_, _, err := load(t, "node: A\nretired: "+text+"\n", nil, config.Overrides{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
