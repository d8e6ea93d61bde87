package identity

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// A deny list is a file of SHA-256 fingerprints in hexadecimal, one a line, of
// certificates, or of keys: then of every certificate for that key. Colons between the
// bytes, empty lines, and what stands behind a # do not count.

// denyList is what such a file has. A nil one denies nobody.
type denyList struct {
	file         string
	fingerprints map[[sha256.Size]byte]bool
}

func readDeny(path string) (*denyList, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		return nil, fmt.Errorf("%s has over %d bytes: name a file with fingerprints", path, maxFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("cannot read the deny list %s: %w: make it (it may be empty), or name yours", path, err)
	}
	d := &denyList{file: path, fingerprints: map[[sha256.Size]byte]bool{}}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var f [sha256.Size]byte
		b, err := hex.DecodeString(strings.ReplaceAll(line, ":", ""))
		if err != nil || copy(f[:], b) != len(f) || len(b) != len(f) {
			return nil, fmt.Errorf("deny list %s, line %d: this is not a SHA-256 fingerprint: write 64 hexadecimal digits, as `fmqmd pki show` prints them, and comments behind #", path, number)
		}
		d.fingerprints[f] = true
	}
	return d, nil
}

// certificate says whether a certificate is denied, by its own fingerprint or its key's.
func (d *denyList) certificate(c *x509.Certificate) bool {
	return d != nil && (d.fingerprints[sha256.Sum256(c.Raw)] || d.key(c.RawSubjectPublicKeyInfo))
}

// key says whether a key is denied, given as certificates have it.
func (d *denyList) key(info []byte) bool {
	return d != nil && d.fingerprints[sha256.Sum256(info)]
}

// any says whether a chain has a certificate that is denied.
func (d *denyList) any(chain []*x509.Certificate) bool {
	for _, c := range chain {
		if d.certificate(c) {
			return true
		}
	}
	return false
}
