package secret_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/internal/secret"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for text, want := range map[string]string{
		"hunter2": "hunter2", "hunter2\n": "hunter2", "hunter2\r\n": "hunter2", " a b \n": " a b ",
		"":                              "is empty: write the secret into it",
		"\n":                            "is empty: write the secret into it",
		"a\nhunter2b":                   "has more than one line: write the secret into it, and nothing else",
		strings.Repeat("hunter2", 1000): "has more than 4096 bytes: check that it is the right file",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := secret.Read(path)
		switch {
		case err == nil && got != want:
			t.Errorf("%.20q: got %q", text, got)
		case err != nil && (!strings.HasSuffix(err.Error(), path+" "+want) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	if _, err := secret.Read(path + "x"); err == nil || err.Error() != "cannot read "+path+"x: no such file or directory" {
		t.Errorf("got %v", err)
	}
}
