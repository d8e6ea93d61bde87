package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fmqm/internal/skip"
)

// lastLine runs a daemon on a configuration, as its own process, until it ends, and gives
// what its last line of standard error says.
func lastLine(t *testing.T, conf string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "run", "--config", conf)
	cmd.Env = []string{"FMQMD_TEST_RUN=1"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	_ = cmd.Run()
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	var last struct{ Level, Error, Message string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Level != "error" || last.Message != "the daemon ends" || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v: exit %d, the last line is %s", err, cmd.ProcessState.ExitCode(), lines[len(lines)-1])
	}
	return last.Error
}

func wantIn(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not say %q", got, part)
		}
	}
}

// On a disk that is full the last line says so, and what to do; a restore that finds no
// room leaves nothing that is in the way of the next.
func TestAFullDiskIsSaidLast(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.Untested(t, "a disk that is full: run the tests as root")
	}
	home := t.TempDir()
	_, stop := startDaemon(t, home)
	exit, out, talk := fmqmd("backup", filepath.Join(home, "backups"), "--to", "unix:"+filepath.Join(home, "a.sock"))
	must(t, exit, 0, out, talk)
	stop()
	backup, _, _ := strings.Cut(out, ": ")

	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		skip.Untested(t, "a disk that is full: tmpfs cannot be mounted: %v", err)
	}
	defer func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	conf := filepath.Join(home, "full.yaml")
	if err := os.WriteFile(conf, []byte("node: A\ndata: "+disk+"/data\nsocket: full.sock\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantIn(t, lastLine(t, conf), "too little free disk space", disk+"/data has 24 MiB left", "make room there, then start again; nothing is lost")
	exit, out, talk = fmqmd("check-config", conf)
	must(t, exit, 0, out, talk) // it says nothing of the disk, and is not in the way

	for _, dir := range []string{disk + "/new", disk + "/empty"} {
		if dir == disk+"/empty" {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		exit, out, talk = fmqmd("restore", backup, "--data", dir)
		must(t, exit, 1, out, talk)
		wantIn(t, talk, "too little free disk space", "make room there")
		if left, err := os.ReadDir(dir); len(left) > 0 || (err == nil) != (dir == disk+"/empty") {
			t.Errorf("%s: left behind: %v, %v", dir, left, err)
		}
	}
	exit, out, talk = fmqmd("verify", "--data", disk+"/data")
	must(t, exit, 1, out, talk)
}

// So does a store with a broken file, for the daemon and for verify.
func TestABrokenFileIsSaidLast(t *testing.T) {
	home := t.TempDir()
	_, stop := startDaemon(t, home)
	stop()
	conf, data := filepath.Join(home, "a.yaml"), filepath.Join(home, "data")
	for name, spoil := range map[string]func(path string) error{
		"MANIFEST":   os.Remove,
		"000001.sst": func(path string) error { return os.Truncate(path, 100) },
	} {
		path := filepath.Join(data, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		remedy := []string{"the store is damaged: ", name, "put back the data directory from a backup"}
		wantIn(t, lastLine(t, conf), remedy...)
		exit, out, talk := fmqmd("verify", "--data", data)
		must(t, exit, 1, out, talk)
		wantIn(t, talk, remedy...)
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
