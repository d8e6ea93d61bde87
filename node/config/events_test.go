package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/node/config"
	"fmqm/processtable"
)

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	c, _, err := load(t, "node: A\n"+text, nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// How events are kept, and whose are taken, is read; without these keys nothing is said of that.
func TestEvents(t *testing.T) {
	c := parsed(t, "events: {keep: 3d, limit: 50}\naccept: {events: [rotterdam]}\n")
	if c.Events.Keep != 72*time.Hour || c.Events.Limit != 50 || !slices.Equal(c.Events.From, []processtable.NodeID{"rotterdam"}) {
		t.Errorf("read was %+v", c.Events)
	}
	if c := parsed(t, "accept: {events: []}\n"); c.Events.From == nil || len(c.Events.From) > 0 {
		t.Errorf("nobody's: %+v", c.Events)
	}
	if c := parsed(t, ""); c.Events.From != nil || c.Events.Keep != 0 || c.Events.Limit != 0 {
		t.Errorf("nothing said: %+v", c.Events)
	}
	for text, want := range map[string]string{
		"events: {keep: soon}\n":         `"soon" is not a duration`,
		"events: {keep: 1s}\n":           "1s is out of range",
		"events: {limit: 0}\n":           `limit cannot be "0"`,
		"events: {kept: 7d}\n":           `unknown key "kept"`,
		"accept: {events: [\"a b\"]}\n":  `"a b" cannot name a site`,
		"accept: {words: [rotterdam]}\n": `unknown key "words"`,
	} {
		if _, _, err := load(t, "node: A\n"+text, nil, config.Overrides{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", text, err, want)
		}
	}
}
