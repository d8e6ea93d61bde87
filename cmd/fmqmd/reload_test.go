package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// `fmqmd reload`, which `systemctl reload` runs, ends well if the configuration is taken
// up, and else says what the daemon has found. It fails where no daemon answers.
func TestReloadSaysWhatTheDaemonThinksOfIt(t *testing.T) {
	s := startService(t, plain)
	s.said(`"message":"ready"`)
	socket := "unix:" + filepath.Join(s.dir, "s")
	s.configure(plain + "programs:\n  pass: {builtin: echo}\n")
	if exit, out, talk := fmqmd("reload", "--to", socket); exit != 0 || out+talk != "" {
		t.Errorf("%d: %s%s", exit, out, talk)
	}
	s.said("configuration taken up")
	s.configure(plain + "nonsense: 1\n")
	if exit, _, talk := fmqmd("reload", "--to", socket); exit != 1 ||
		!strings.Contains(talk, "the configuration is not taken up, and what was configured before goes on") || !strings.Contains(talk, `unknown key "nonsense"`) {
		t.Errorf("%d: %s", exit, talk)
	}
	s.said("configuration not taken up")
	// What only the daemon can see.
	s.configure(plain + "identity: {certificate: none.crt, key: none.key, ca: none.crt}\n")
	if exit, _, talk := fmqmd("reload", "--to", socket); exit != 1 || !strings.Contains(talk, "this daemon started without one") {
		t.Errorf("%d: %s", exit, talk)
	}
	s.signal(syscall.SIGTERM)
	s.said("node stopped")
	if exit, _, _ := fmqmd("reload", "--to", socket); exit != 5 {
		t.Errorf("without a daemon: %d", exit)
	}
}

// Who asks for a reload while the daemon stops does not wait for it.
func TestNobodyWaitsForAReloadThatDoesNotCome(t *testing.T) {
	r := reloads{asked: make(chan chan error), over: make(chan struct{})}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.ask(gone); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(r.over)
	if err := r.ask(t.Context()); err == nil || err.Error() != "the daemon is stopping" {
		t.Error(err)
	}
}
