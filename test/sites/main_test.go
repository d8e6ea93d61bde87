package sites

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is the directory of the binaries that are tested.
var bin string

func TestMain(m *testing.M) {
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fmqm-sites-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if err := os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config")); err != nil { // for the key that the first upload makes
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	command := exec.Command("go", "build", "-o", dir+string(filepath.Separator),
		"fmqm/cmd/fmqmd", "fmqm/cmd/fmqm", "fmqm/cmd/fmqm-define", "fmqm/test/sites/actor")
	if out, err := command.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
