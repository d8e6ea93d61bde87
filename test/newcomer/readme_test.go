package newcomer

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// The README's four daemons work as one paste: nothing has to be waited for by hand.
func TestFourDaemonsAsOnePaste(t *testing.T) {
	clone := t.TempDir()
	if err := os.CopyFS(filepath.Join(clone, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fleet.Bin, filepath.Join(clone, "bin")); err != nil {
		t.Fatal(err)
	}
	ownPorts(t, filepath.Join(clone, "examples", "purchase-order"), "purchase-order")
	paste := exec.CommandContext(t.Context(), "bash", "-e")
	// A shell that somebody types into has job control; and what fails in the middle is not
	// to leave daemons. The trap has no say in how the paste ended: where a daemon is gone
	// already, its kill fails.
	paste.Stdin = strings.NewReader("set -m\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n" + block(t, "## Four daemons by hand"))
	paste.Dir = clone
	out, err := paste.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"B     connected", "C     connected", "D     connected", "purchase-order@1  add   stored", "state        finished", `"customer":"carol"`, "finished  "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// block is the first indented block below a heading of the README.
func block(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(page), heading+"\n")
	first := regexp.MustCompile(`\n\n((?:    .*\n)+)`).FindStringSubmatch(below)
	if !found || first == nil {
		t.Fatalf("the README has nothing to paste below %q", heading)
	}
	return regexp.MustCompile(`(?m)^    `).ReplaceAllString(first[1], "")
}

// ownPorts gives the sites of an example an address that nobody else has.
func ownPorts(t *testing.T, dir, name string) {
	t.Helper()
	pid := os.Getpid()
	own := net.IPv4(127, byte(1+pid%250), byte(1+pid/250%250), 9).String()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if filepath.Base(file) == name+".yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "127.0.0.1:", own+":")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
