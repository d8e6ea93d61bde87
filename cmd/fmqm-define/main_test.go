package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fmqm/api/apitest"
	shared "fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fmqm-define": func() { os.Exit(program()) }})
}

// Every form of every command, as people type it. In each script $NODE is the address
// of a node A with links to B and C, which answer, and to D, which is down; $NOBODY is
// that of none.
func TestCommands(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(scripts) == 0 {
		t.Fatal("there are no scripts")
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			t.Parallel()
			node := apitest.Serve(t, newFakeNode())
			testscript.Run(t, testscript.Params{
				Files:               []string{script},
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				Setup: func(e *testscript.Env) error {
					e.Setenv("GORACE", "atexit_sleep_ms=0")            // else each command under the race detector ends after a second
					e.Setenv("HOME", filepath.Join(e.WorkDir, "home")) // where the first upload makes its key
					e.Setenv("XDG_CONFIG_HOME", "")
					e.Setenv("NODE", node)
					e.Setenv("NOBODY", "unix:"+filepath.Join(e.WorkDir, "nobody.sock"))
					e.Setenv("SHARED", sharedFiles(t))
					e.Setenv("DEFINE", os.Args[0])
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
			})
		})
	}
}

// sharedFiles is the directory of definitions that several scripts use.
func sharedFiles(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// exits runs a command that must end with an exit code: exits CODE [< FILE] COMMAND...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec("sh", append([]string{"-c", `want=$1; shift; "$@"; got=$?; [ $got = $want ] || { echo "exit code $got, want $want" >&2; exit 1; }`, "exits"}, args...)...)
	if err != nil {
		ts.Fatalf("%v\n%s%s", err, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func TestEveryCommandHasHelpWithAnExampleThatWorks(t *testing.T) {
	for _, problem := range shared.CheckHelp(newApp()) {
		t.Error(problem)
	}
	clitest.Pages(t, "../..", func(page string) ([]string, int) { return shared.CheckPage(newApp(), page) })
	clitest.Commands(t, "../..", newApp())
	if text := clitest.ManText(t, shared.ManPage(newApp())); !strings.Contains(text, "--allow-new-node") {
		t.Errorf("the manual page lacks a flag:\n%s", text)
	}
}
