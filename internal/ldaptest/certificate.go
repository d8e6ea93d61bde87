package ldaptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// Authority makes an authority that nobody has a certificate of, and gives its file.
func Authority(tb testing.TB, path string) string {
	tb.Helper()
	authority(tb, path)
	return path
}

func authority(tb testing.TB, path string) (*x509.Certificate, *ecdsa.PrivateKey) {
	tb.Helper()
	return certificate(tb, path, &x509.Certificate{
		Subject: pkix.Name{CommonName: "an authority of a test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
}

// certificate makes one, writes it, and gives it with its key; without an issuer it is its own.
func certificate(tb testing.TB, path string, c, issuer *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if issuer == nil {
		issuer, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, issuer, key.Public(), by)
	if err != nil {
		tb.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		tb.Fatal(err)
	}
	return made, key
}

// certify gives the server a certificate, and CA that of its authority.
func (s *Server) certify() {
	s.tb.Helper()
	s.CA = s.path("ca.pem")
	ca, by := authority(s.tb, s.CA)
	_, key := certificate(s.tb, s.path("cert.pem"), &x509.Certificate{
		Subject: pkix.Name{CommonName: "slapd"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, by)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	s.must(err)
	s.must(os.WriteFile(s.path("key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
}
