package config_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/node/config"
)

// The files by which an http program proves itself are read with the configuration, and a
// key that others can read is refused.
func TestCertificatesOfServices(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	s.Close()
	pair := s.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate := write("crt", "CERTIFICATE", pair.Certificate[0], 0o644)
	other := write("other", "CERTIFICATE", pair.Certificate[0], 0o600)
	key, exposed := write("key", "PRIVATE KEY", der, 0o600), write("exposed", "PRIVATE KEY", der, 0o644)
	const program = "node: A\nprograms: {p: {http: \"https://h/\", certificate: CRT, key: KEY, ca: CRT}}\n"
	text := func(key string) string { return strings.NewReplacer("CRT", certificate, "KEY", key).Replace(program) }
	c, _, err := load(t, text(key), nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Programs["p"]; p.Certificate != certificate || p.Key != key || p.CA != certificate {
		t.Errorf("%+v", p)
	}
	if _, _, err = load(t, text(exposed), nil, config.Overrides{}); err == nil ||
		!strings.Contains(err.Error(), exposed+" can be read or changed by every user of this machine (mode 0644): chmod 600 it") {
		t.Errorf("%v", err)
	}
	if _, _, err = load(t, text(other), nil, config.Overrides{}); err == nil || !strings.Contains(err.Error(), ":2:12: program p: the certificate of the client: ") {
		t.Errorf("%v", err)
	}
}

// What programs are to be kept from is all that the configuration names as secret.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	c := &config.Config{Data: dir, Identity: &config.Identity{Key: "/k"}, AMQP: &config.AMQP{Password: "/p", Key: "/a"}}
	text := "node: A\nprograms: {b: {exec: [x], secrets: {T: /t, S: /k}}, a: {http: \"https://h/\", secrets: {H: /h}}}\n"
	read, _, err := load(t, text, nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	c.Programs = read.Programs
	if got := strings.Join(c.Private(), " "); got != dir+" /k /p /a /h /t" {
		t.Error(got)
	}
}
