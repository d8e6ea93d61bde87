package fleet

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Bin is the directory of the binaries that are tested, once Main has built them.
var Bin string

// made is where `make build` leaves binaries, seen from a package that uses Main. What of them is of today's
// sources, by its build ID, Go does not link again.
const made = "../../bin"

// beside is how many parallel tests run beside each other at least: part of the time they
// wait, for daemons and for brokers. More take the processors from each other, until a broker does
// not start in time.
const beside = 2

// Main builds the binaries, runs the tests of a package, and gives its exit code:
//
//	func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
//
// m is what has Run: a *testing.M, or what is around one. Tags are those of the build:
// with `failpoint` a daemon can be told where to die ([Site.StartToDie]).
func Main(m interface{ Run() int }, tags ...string) int {
	dir, err := os.MkdirTemp("", "fmqm-fleet-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	Bin = dir
	if err := os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config")); err != nil { // for the key that the first upload makes
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(max(beside, runtime.GOMAXPROCS(0))))
	}
	if err := os.CopyFS(dir, os.DirFS(made)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "copy what make build has left: %v\n", err)
		return 1
	}
	command := exec.Command("go", "build", "-tags", strings.Join(tags, ","), "-o", dir+string(filepath.Separator),
		"fmqm/cmd/fmqmd", "fmqm/cmd/fmqm", "fmqm/cmd/fmqm-define", "fmqm/cmd/fmqm-launch", "fmqm/test/sites/actor")
	if out, err := command.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
