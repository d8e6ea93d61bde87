package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// CAYears is how long an authority is valid.
const CAYears = 10

// Names of files of an authority's directory.
const (
	CACertificate = "ca.crt"
	CAKey         = "ca.key"
)

// InitOptions make an authority.
type InitOptions struct {
	Dir   string // made if it is not there
	Name  string // shown in what it signs; "fmqm sites" if empty
	Now   time.Time
	Force bool // replace an authority that is there: all that it signed is worthless then
}

// Init makes an authority: its certificate, valid for CAYears, and its key.
func Init(o InitOptions) (Issued, error) {
	if o.Name == "" {
		o.Name = "fmqm sites"
	}
	fail := func(err error) (Issued, error) { return Issued{}, fmt.Errorf("make an authority: %w", err) }
	if len(o.Name) > 64 {
		return fail(fmt.Errorf("its name has %d bytes: at most 64", len(o.Name)))
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fail(err)
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fail(err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: o.Name}, NotBefore: o.Now.Add(-early), NotAfter: o.Now.AddDate(CAYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, // what it signs is for nothing else
	}
	c, err := sign(template, template, public, key)
	if err != nil {
		return fail(err)
	}
	out := Issued{Certificate: filepath.Join(o.Dir, CACertificate), Key: filepath.Join(o.Dir, CAKey), Expires: c.NotAfter}
	out.CA = out.Certificate
	if err := writePair(out, c, key, o.Force); err != nil {
		return fail(err)
	}
	return out, nil
}

func readAuthority(dir string) (*x509.Certificate, ed25519.PrivateKey, error) {
	certificates, err := readCertificates(filepath.Join(dir, CACertificate))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no authority in %s: make one with `fmqmd pki init`, or name its directory with --dir", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	key, err := readKey(filepath.Join(dir, CAKey))
	if err != nil {
		return nil, nil, fmt.Errorf("the authority's key: %w", err)
	}
	c := certificates[0]
	if public, ok := c.PublicKey.(ed25519.PublicKey); !ok || !c.IsCA || !public.Equal(key.Public()) {
		return nil, nil, fmt.Errorf("%s in %s is not the key of %s", CAKey, dir, CACertificate)
	}
	return c, key, nil
}

func sign(template, parent *x509.Certificate, public ed25519.PublicKey, key ed25519.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key) // with a random serial number
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// writePair writes a certificate and its key.
func writePair(out Issued, c *x509.Certificate, key ed25519.PrivateKey, force bool) error {
	return writeWithKey(out.Certificate, encodeCertificates(c), out.Key, key, force)
}

// writeWithKey writes a certificate, or a request for one, and its key, the key first: a new one
// without its certificate does no harm. With force the certificate of the key before may be left
// beside the new key, if the second file cannot be written: to do it again mends that.
func writeWithKey(path string, text []byte, keyPath string, key ed25519.PrivateKey, force bool) error {
	if !force {
		for _, path := range []string{path, keyPath} {
			if _, err := os.Lstat(path); err == nil {
				return alreadyThere(path)
			}
		}
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return err
	}
	if err := writeFile(keyPath, encoded, 0o600, force); err != nil {
		return err
	}
	return writeFile(path, text, 0o644, force)
}
