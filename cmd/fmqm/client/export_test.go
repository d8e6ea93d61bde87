package client

import (
	"testing"

	"github.com/urfave/cli/v2"
)

// OnATerminal lets commands ask whoever has typed them, until the test ends.
func OnATerminal(t *testing.T) {
	before := interactive
	interactive = func(*cli.Context) bool { return true }
	t.Cleanup(func() { interactive = before })
}
