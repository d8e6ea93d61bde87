package world_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// Worlds are made and thrown away: a fifth of their time is the collector's where it begins as often as in a daemon.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
