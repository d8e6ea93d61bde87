package daemon

import (
	"crypto/ed25519"
	"testing"

	"fmqm/node/config"
)

// Who has an identity is not open to everybody's tables for want of a line in his
// configuration; without either, a first run needs no key.
func TestWhoseTablesADaemonTakes(t *testing.T) {
	key := ed25519.PublicKey(make([]byte, ed25519.PublicKeySize))
	for _, c := range []struct {
		name     string
		config   config.Config
		required bool
		keys     int
	}{
		{"nothing said", config.Config{}, false, 0},
		{"insecure", config.Config{Insecure: true}, false, 0},
		{"an identity", config.Config{Identity: &config.Identity{}}, true, 0},
		{"definers", config.Config{Definers: []config.Definer{{Key: key}}}, true, 1},
		{"definers, and none of them", config.Config{Definers: []config.Definer{}}, true, 0},
		{"both", config.Config{Identity: &config.Identity{}, Definers: []config.Definer{{Key: key}}}, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := definers(&c.config); d.Required != c.required || len(d.Known) != c.keys {
				t.Errorf("required %v with %d keys", d.Required, len(d.Known))
			}
		})
	}
}
