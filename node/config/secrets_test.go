package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/node/config"
)

// Each file with a private key or a secret that others can read is refused, with its place
// in the configuration.
func TestSecretsThatOthersRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(path, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ text, place string }{
		"key of the identity":       {"identity: {certificate: c, key: " + path + ", ca: d}\n", ":2:33: "},
		"password of the broker":    {"links: {amqp: {url: \"amqp://a@localhost\", password: " + path + "}}\n", ":2:53: "},
		"key for the broker":        {"links: {amqp: {url: \"amqps://a@localhost\", certificate: c, key: " + path + "}}\n", ":2:65: "},
		"key of an http program":    {"programs: {p: {http: \"https://h/\", certificate: c, key: " + path + "}}\n", ":2:57: "},
		"secret of an exec program": {"programs: {p: {exec: [/bin/true], secrets: {TOKEN: " + path + "}}}\n", ":2:52: "},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Chmod(path, 0o604); err != nil {
				t.Fatal(err)
			}
			_, _, err := load(t, "node: A\n"+tc.text, nil, config.Overrides{})
			want := tc.place + path + " can be read or changed by every user of this machine (mode 0604): chmod 600 it, and use a new secret if somebody else may have seen this one"
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v\nwant %s", err, want)
			}
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := load(t, "node: A\n"+tc.text, nil, config.Overrides{}); err != nil && strings.Contains(err.Error(), "can be read") {
				t.Errorf("with mode 600: %v", err)
			}
		})
	}
}
