package identity

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fmqm/internal/secret"
)

// maxFile bounds a file of certificates, in bytes.
const maxFile = 1 << 20

const (
	typeCertificate = "CERTIFICATE"
	typeKey         = "PRIVATE KEY"
)

// makeFiles is what to do where a file is not there.
const makeFiles = "make it with `fmqmd pki issue`, or name yours"

// readBlocks reads all PEM blocks of a file. The remedy is for one that is not there.
func readBlocks(path, missing string) ([]*pem.Block, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		return nil, fmt.Errorf("%s has over %d bytes: name a file with certificates", path, maxFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		var cause *fs.PathError
		remedy := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			remedy = ": " + missing
		case errors.Is(err, fs.ErrPermission):
			remedy = ": let the user who runs this read it"
		}
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("cannot read %s: %w%s", path, err, remedy)
	}
	var blocks []*pem.Block
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return blocks, nil
		}
		blocks = append(blocks, block)
	}
}

// readCertificates gives the certificates of a file, at least one.
func readCertificates(path string) ([]*x509.Certificate, error) {
	blocks, err := readBlocks(path, makeFiles)
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for _, b := range blocks {
		if b.Type != typeCertificate {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: a certificate in it cannot be read: %w", path, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, because(ErrUnfit, "%s has no certificate: name a file in PEM, with -----BEGIN CERTIFICATE-----", path)
	}
	return all, nil
}

// readKey gives the private key of a file that nobody else can read. What is in it is
// never part of an error.
func readKey(path string) (ed25519.PrivateKey, error) {
	blocks, err := readBlocks(path, makeFiles)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if b.Type != typeKey {
			continue
		}
		if err := secret.Check(path); err != nil {
			return nil, because(ErrUnfit, "the private key in %v", err)
		}
		key, err := x509.ParsePKCS8PrivateKey(b.Bytes)
		if ed, ok := key.(ed25519.PrivateKey); err == nil && ok {
			return ed, nil
		}
		return nil, because(ErrUnfit, "%s has a key of another kind than Ed25519: make one with `fmqmd pki issue`", path)
	}
	return nil, because(ErrUnfit, "%s has no private key: name a file in PEM, with -----BEGIN PRIVATE KEY-----", path)
}

// writeFile writes a file that only its owner may write, so that after a crash it is
// there whole or not at all. One that is there already is an error unless force.
func writeFile(path string, text []byte, mode os.FileMode, force bool) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err = f.Chmod(mode); err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if force {
		err = os.Rename(f.Name(), path)
	} else {
		err = os.Link(f.Name(), path) // fails where there is one
	}
	if errors.Is(err, fs.ErrExist) {
		return alreadyThere(path)
	}
	return err
}

func alreadyThere(path string) error {
	return &Exists{Path: path}
}

// Exists is the error of what would overwrite a file.
type Exists struct{ Path string }

func (e *Exists) Error() string {
	return fmt.Sprintf("%s already exists, and nothing was changed: --force replaces it", e.Path)
}

func encodeCertificates(certificates ...*x509.Certificate) []byte {
	var text []byte
	for _, c := range certificates {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: typeCertificate, Bytes: c.Raw})...)
	}
	return text
}

func encodeKey(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: typeKey, Bytes: der}), nil
}
