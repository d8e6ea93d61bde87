// Package daemontest has daemons in the process of a test. A test that kills one, or looks at it
// from outside, takes package test/fleet.
package daemontest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/cmd/internal/daemon"
	"fmqm/node/config"
)

// Config writes a configuration into a file of a directory, and reads it as a daemon does.
func Config(t testing.TB, dir, name, text string) *config.Config {
	t.Helper()
	file := filepath.Join(dir, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Read reads a configuration that is taken as it is: nothing in the environment changes it.
func Read(file string) (*config.Config, error) {
	return config.Load(file, func(string) string { return "" }, config.Overrides{})
}

// Start starts a daemon, which is stopped at the end of the test if it was not before.
func Start(t testing.TB, c *config.Config, log zerolog.Logger) *daemon.Daemon {
	t.Helper()
	d, err := daemon.Start(daemon.Options{Config: c, Log: log, Version: "a test's"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Stop(t, d) })
	return d
}

// Stop stops a daemon in order. One that was stopped or killed stays as it is.
func Stop(t testing.TB, d *daemon.Daemon) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := d.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// Log writes what daemons say into a test's own log.
func Log(t testing.TB) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
}
