package daemon

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"fmqm/node/config"
)

// A reload keeps the broker as long as it would be made alike, and dials anew where not:
// also where a file has other authorities than before.
func TestABrokerGoesOnWhereItWouldBeMadeAlike(t *testing.T) {
	dir := t.TempDir()
	server := httptest.NewTLSServer(nil) // for its certificate
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	write := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	c := &config.Config{Node: "A", AMQP: &config.AMQP{
		URL: "amqps://u@127.0.0.1:5671/v", User: "u", Queues: config.QueuesAuto,
		Password: write("password", []byte("secret")), CA: write("ca.pem", authority),
	}}
	next := func(before *links) *links {
		t.Helper()
		l, err := newLinks(c, nil, before, zerolog.Nop(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := next(nil)
	write("password", []byte("another")) // is read at each login
	if again := next(first); again.broker != first.broker || again.life != first.life {
		t.Error("another broker, though nothing has changed but what is read at each login")
	}
	write("ca.pem", append(authority, authority...))
	if renewed := next(first); renewed.broker == first.broker || renewed.life == first.life {
		t.Error("the broker goes on with authorities that the file has no more")
	}
}

// Who names no certificate for the broker shows the identity's: when that has another
// place, the broker is made anew.
func TestTheBrokerIsShownTheIdentitysCertificate(t *testing.T) {
	of := func(certificate, identity string) access {
		a, err := accessOf(&config.Config{
			AMQP:     &config.AMQP{URL: "amqps://u@h:1/v", Certificate: certificate, Key: certificate},
			Identity: &config.Identity{Certificate: identity, Key: identity},
		})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if of("", "i") == of("", "j") || of("", "i").Certificate != "i" || of("c", "i") != of("c", "j") {
		t.Error("what the broker is shown does not follow the configuration")
	}
}
