package definer_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/definer"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestAKeyIsMadeOnceAndReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "definer.key")
	made, err := definer.Create(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	read, err := definer.Load(path)
	if err != nil || !read.Equal(made) {
		t.Errorf("read %v, %v", read.Equal(made), err)
	}
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	if _, err := definer.Create(path, rand.Reader); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path+": file already exists: print its public key with --public") {
		t.Errorf("made again: %v", err)
	}
	if again, err := definer.Load(path); err != nil || !again.Equal(made) {
		t.Errorf("the key that was there has changed, %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCreateRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := definer.Create(filepath.Join(file, "definer.key"), rand.Reader); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("below a file: %v", err)
	}
	path := filepath.Join(t.TempDir(), "definer.key")
	if _, err := definer.Create(path, strings.NewReader("too little")); err == nil {
		t.Error("a key was made of nothing")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("and written: %v", err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	for _, c := range []struct {
		name, want string
		text       []byte
		mode       fs.FileMode
	}{
		{"of everybody", "everybody may read or change ", nil, 0o644},
		{"empty", "has no private key: name a file in PEM", nil, 0o600},
		{"a certificate", "has no private key: name a file in PEM", block("CERTIFICATE", der), 0o600},
		{"of another kind", "is not an Ed25519 key: make one with `fmqm-define keygen`", block("PRIVATE KEY", der), 0o600},
		{"broken", "is not an Ed25519 key", block("PRIVATE KEY", der[:20]), 0o600},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "definer.key")
			if err := os.WriteFile(path, c.text, c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil { // whatever the umask
				t.Fatal(err)
			}
			if _, err := definer.Load(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error = %v\nwant %q", err, c.want)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "definer.key")
	if _, err := definer.Load(missing); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "make it with `fmqm-define keygen`, or name yours") {
		t.Errorf("no file: %v", err)
	}
	if _, err := definer.Load(t.TempDir()); err == nil {
		t.Error("a directory is a key")
	}
}

// What others write in the same form is read as well.
func TestAKeyOfOpenSSL(t *testing.T) {
	const made = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB
-----END PRIVATE KEY-----
`
	path := filepath.Join(t.TempDir(), "definer.key")
	if err := os.WriteFile(path, []byte(made), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := definer.Load(path)
	if err != nil || !bytes.Equal(key.Seed(), bytes.Repeat([]byte{1}, 32)) {
		t.Errorf("%v", err)
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		name, key, want string
		env             func(string) string
	}{
		{"the user's", "", "/home/ann/.config/fmqm/definer.key", env("HOME", "/home/ann")},
		{"the user's, elsewhere", "", "/etc/ann/fmqm/definer.key", env("HOME", "/home/ann", "XDG_CONFIG_HOME", "/etc/ann")},
		{"a place that is none does not count", "", "/home/ann/.config/fmqm/definer.key", env("HOME", "/home/ann", "XDG_CONFIG_HOME", "here")},
		{"a file", "keys/d.key", "keys/d.key", env("HOME", "/home/ann")},
		{"a credential", "credential:definer", "/run/credentials/x/definer", env("CREDENTIALS_DIRECTORY", "/run/credentials/x")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := definer.Path(c.key, c.env); err != nil || got != c.want {
				t.Errorf("Path = %s, %v, want %s", got, err, c.want)
			}
		})
	}
	for _, c := range []struct{ name, key, want string }{
		{"no home", "", "neither XDG_CONFIG_HOME nor HOME is set"},
		{"no credentials", "credential:definer", "CREDENTIALS_DIRECTORY is not set: write LoadCredential=definer:FILE into the unit"},
		{"a credential that climbs", "credential:../x", `"../x" cannot name a credential`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := definer.Path(c.key, env()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Path = %v", err)
			}
		})
	}
}
