package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/queue"
	"fmqm/queue/backup"
	"fmqm/queue/record"
)

// named writes a backup of a store that says that its node has this name.
func named(t *testing.T, name string) (file string) {
	t.Helper()
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := queue.Open(engine, queue.Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	b := &store.Batch{}
	b.Put(record.KeyNode, record.New(record.KeyNode, []byte(name)...))
	if err := engine.Commit(engine.Last()+1, b); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "made.fmqmbackup")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Write(engine, f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return file
}

// What a backup says its node is called is one line of the answer, which steers no terminal.
func TestTheNameInABackupIsShownInOneLine(t *testing.T) {
	file, restored := named(t, "A\nB.fmqmbackup: good\x1b[2J"), filepath.Join(t.TempDir(), "restored")
	for _, args := range [][]string{
		{"verify", file},
		{"restore", file, "--data", restored},
		{"verify", "--data", restored},
	} {
		exit, out, talk := fmqmd(args...)
		must(t, exit, 0, out, talk)
		if strings.Count(out, "\n") != 1 || !strings.Contains(out, `node A B.fmqmbackup: good\x1b[2J, `) {
			t.Errorf("%v: %q", args, out)
		}
	}
}

// Whom a certificate names stays in its comment of a deny list: what follows a line break
// there is no line of the list.
func TestTheNameInACertificateIsNoLineOfADenyList(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
		Subject: pkix.Name{CommonName: "M\n" + strings.Repeat("ab", 32) + "  # site B"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "m.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	exit, out, talk := fmqmd("pki", "deny", file)
	must(t, exit, 0, out, talk)
	if lines := strings.Split(out, "\n"); len(lines) != 3 || !strings.HasSuffix(lines[1], "  # its key") {
		t.Errorf("%q", out)
	}
}
