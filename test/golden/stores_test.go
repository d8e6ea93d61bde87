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
func told(dir string) (release string) {
	if os.Getenv("FMQM_GOLDEN") == filepath.Base(dir) {
		return os.Getenv("FMQM_GOLDEN_BIN")
	}
	return ""
}

// The stories are told one after the other: two daemons that run the same attempts on one
// machine end each other's programs (P2).

// N17: the stores of every release are opened by today's daemons, which say what that
// release said of them, and go on to the end.
func TestNetworks(t *testing.T) {
	for _, dir := range releases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) { tellNetwork(t, options{dir: dir, release: told(dir)}) })
	}
}

func tellNetwork(t *testing.T, o options) {
	t.Helper()
	o.sites, o.prepare = fleet.Names, func(s *fleet.Site) { unpack(t, o.dir, s) }
	newNetwork(t, o).tell("network.txt")
}

// N17: the backups of every release are restored by today's daemons.
func TestBackups(t *testing.T) {
	for _, dir := range releases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) { tellBackup(t, options{dir: dir, release: told(dir)}) })
	}
}

func tellBackup(t *testing.T, o options) {
	t.Helper()
	o.sites, o.prepare = []string{"A"}, func(s *fleet.Site) { restore(t, o.dir, s) }
	newNetwork(t, o).tell("backup.txt")
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
