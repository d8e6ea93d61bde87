// Package definer keeps the key of one who defines processes: with it
// `fmqm-define upload` signs process tables, and nodes that know its public half in
// their `definers` take them (invariant 11).
//
// What it guarantees: a key is written whole and durably, for its owner only, and never
// over another; a key that everybody may read is refused; nothing of a private key is
// part of an error.
package definer

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	keyType     = "PRIVATE KEY"
	maxFile     = 64 << 10 // bytes
	credential  = "credential:"
	credentials = "CREDENTIALS_DIRECTORY"
)

// ErrNoHome: there is no place for a key of the user who asks.
var ErrNoHome = errors.New("neither XDG_CONFIG_HOME nor HOME is set")

// Path gives the file that a name means: a path, credential:NAME for what systemd hands
// to a service, or, for "", the user's own, fmqm/definer.key in XDG_CONFIG_HOME or
// ~/.config.
func Path(name string, env func(string) string) (string, error) {
	if cred, ok := strings.CutPrefix(name, credential); ok {
		switch dir := env(credentials); {
		case cred == "" || cred == "." || cred == ".." || strings.ContainsAny(cred, "/\x00"):
			return "", fmt.Errorf("%q cannot name a credential: write credential:NAME with the NAME of LoadCredential= in the unit", cred)
		case dir == "":
			return "", fmt.Errorf("there are no credentials: %s is not set: write LoadCredential=%s:FILE into the unit", credentials, cred)
		default:
			return filepath.Join(dir, cred), nil
		}
	}
	if name != "" {
		return name, nil
	}
	const file = "fmqm/definer.key"
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, file), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", file), nil
	}
	return "", ErrNoHome
}

// Load reads a private key: PEM, PKCS #8, Ed25519, as Create writes it and
// `openssl genpkey -algorithm ed25519`. A file that is not there is fs.ErrNotExist.
func Load(path string) (ed25519.PrivateKey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("key of a definer: everybody may read or change %s (%v): chmod 600 it, or make another if somebody else may have it", path, info.Mode().Perm())
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxFile))
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != keyType {
		return nil, fmt.Errorf("key of a definer: %s has no private key: name a file in PEM, with -----BEGIN PRIVATE KEY-----, such as `fmqm-define keygen` makes", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if ed, ok := key.(ed25519.PrivateKey); err == nil && ok {
		return ed, nil
	}
	return nil, fmt.Errorf("key of a definer: the key in %s is not an Ed25519 key: make one with `fmqm-define keygen`", path)
}

func unreadable(path string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = ": make it with `fmqm-define keygen`, or name yours"
	case errors.Is(err, fs.ErrPermission):
		remedy = ": run this as a user who may read it"
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("key of a definer: cannot read %s: %w%s", path, err, remedy)
}

// Create makes a key and writes it to path, and the directories above it where they are
// missing. A file that is there is fs.ErrExist, and stays.
func Create(path string, random io.Reader) (ed25519.PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, fmt.Errorf("make the key of a definer: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the key of a definer: %w", err)
	}
	dir := filepath.Dir(path)
	if err = os.MkdirAll(dir, 0o700); err == nil {
		err = write(dir, path, pem.EncodeToMemory(&pem.Block{Type: keyType, Bytes: der}))
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("make the key of a definer: %s: %w: print its public key with --public, or name another file", path, fs.ErrExist)
	case err != nil:
		return nil, fmt.Errorf("make the key of a definer: write %s: %w", path, err)
	}
	return key, nil
}

// write writes a file that is there whole after a crash, or not at all, and never over
// another.
func write(dir, path string, text []byte) (err error) {
	f, err := os.CreateTemp(dir, ".definer.*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); err != nil { // fails where there is one
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
