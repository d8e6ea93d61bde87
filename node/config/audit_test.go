package config_test

import (
	"testing"

	"fmqm/node/config"
)

// What is kept is said in the words of the file, whichever limits there are.
func TestAuditInWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "kept for ever",
		"audit: {}\n":                           "kept for ever",
		"audit: {age: 90d}\n":                   "kept for 90d",
		"audit: {age: 36h}\n":                   "kept for 36h0m0s",
		"audit: {bytes: 10GiB}\n":               "kept up to 10GiB",
		"audit: {age: 36500d, bytes: 16 MiB}\n": "kept for 36500d and up to 16MiB",
	} {
		c, _, err := load(t, "node: A\n"+text, nil, config.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Audit.String(); got != want {
			t.Errorf("%q: %s, expected %s", text, got, want)
		}
	}
}
