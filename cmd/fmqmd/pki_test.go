package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Every form of the commands around certificates, as people type it.
func TestPKICommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Files: []string{filepath.Join("testdata", "script", "pki.txtar")}, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			// The test binary is fmqmd, as for tests of signals.
			bin := filepath.Join(e.WorkDir, "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			e.Setenv("FMQMD_TEST_RUN", "1")
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			return os.Symlink(self, filepath.Join(bin, "fmqmd"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a command that must end with an exit code: exits CODE COMMAND...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec("sh", append([]string{"-c", `want=$1; shift; "$@"; got=$?; [ $got = $want ] || { echo "exit code $got, want $want" >&2; exit 1; }`, "exits"}, args...)...)
	if err != nil {
		ts.Fatalf("%v\n%s%s", err, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}
