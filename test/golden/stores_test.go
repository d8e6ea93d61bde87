package golden

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/test/fleet"
)

// releases are the directories of all releases whose files are kept.
func releases(t *testing.T) (dirs []string) {
	t.Helper()
	found, err := filepath.Glob("testdata/*")
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	for _, dir := range found {
		dir, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// told gives the directory of the binaries that tell a story: today's, or, where the
// golden files of a release are made, that release's own.
func told(t *testing.T, dir string) (release string) {
	t.Helper()
	if commit := os.Getenv("FMQM_GOLDEN"); commit == filepath.Base(dir) {
		return fleet.Before(t, commit, "failpoint")
	}
	return ""
}

// The stories are told one after the other: two daemons that run the same attempts on one
// machine end each other's programs (P2).

// N17: the stores of every release are opened by today's daemons, which say what that
// release said of them, and go on to the end.
func TestNetworks(t *testing.T) {
	for _, dir := range releases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			n := newNetwork(t, options{sites: fleet.Names, dir: dir, release: told(t, dir), prepare: func(s *fleet.Site) { unpack(t, dir, s) }})
			n.tell("network.txt")
		})
	}
}

// N17: the backups of every release are restored by today's daemons.
func TestBackups(t *testing.T) {
	for _, dir := range releases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			n := newNetwork(t, options{sites: []string{"A"}, dir: dir, release: told(t, dir), prepare: func(s *fleet.Site) { restore(t, dir, s) }})
			n.tell("backup.txt")
		})
	}
}

// restore makes a site's store of its golden backup.
func restore(t *testing.T, dir string, s *fleet.Site) {
	t.Helper()
	backup, err := exec.Command("gzip", "-d", "-c", filepath.Join(dir, s.Name+".fmqmbackup.gz")).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(file, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	out := fleet.Must(t, s.Binary("fmqmd"), "verify", file)
	if !strings.Contains(out, "node "+s.Name) {
		t.Errorf("verify: %s", out)
	}
	fleet.Must(t, s.Binary("fmqmd"), "restore", file, "--data", s.File("data"))
}
