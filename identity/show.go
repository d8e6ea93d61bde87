package identity

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"time"
)

// Shown is what a certificate says.
type Shown struct {
	File        string
	Name        Name   // zero for an authority, and for what names nobody of fmqm
	Subject     string // common name
	Authority   bool
	Issuer      string
	Hosts       []string
	NotBefore   time.Time
	NotAfter    time.Time
	Fingerprint string // SHA-256 of the certificate, in hex
	Key         string // SHA-256 of its public key, with the kind of that
}

// Show reads the certificates of a file, without judging them.
func Show(file string) ([]Shown, error) {
	certificates, err := readCertificates(file)
	if err != nil {
		return nil, err
	}
	all := make([]Shown, 0, len(certificates))
	for _, c := range certificates {
		all = append(all, shown(file, c))
	}
	return all, nil
}

func shown(file string, c *x509.Certificate) Shown {
	sum, key := sha256.Sum256(c.Raw), sha256.Sum256(c.RawSubjectPublicKeyInfo)
	s := Shown{
		File: file, Subject: c.Subject.CommonName, Authority: c.IsCA, Issuer: c.Issuer.CommonName,
		Hosts: append([]string{}, c.DNSNames...), NotBefore: c.NotBefore, NotAfter: c.NotAfter, Fingerprint: hex.EncodeToString(sum[:]), Key: hex.EncodeToString(key[:]),
	}
	for _, ip := range c.IPAddresses {
		s.Hosts = append(s.Hosts, ip.String())
	}
	if name, err := NameOf(c); err == nil && !c.IsCA {
		s.Name = name
	}
	return s
}
