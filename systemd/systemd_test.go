// Package systemd_test checks the units as systemd itself reads them.
package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fmqm/internal/skip"
)

var units = []string{"fmqmd.service", "fmqmd@.service"}

// need finds a tool of systemd, or skips the test.
func need(t *testing.T, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		skip.Untested(t, "the units: %s is not installed here (apt-get install systemd)", tool)
	}
	return path
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// settings gives the lines of a unit that are none of comment, section and empty.
func settings(unit string) []string {
	var all []string
	for line := range strings.Lines(unit) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != '[' {
			all = append(all, line)
		}
	}
	return all
}

// alone puts a unit where it has no drop-ins but these, and gives its file. The daemon is
// not installed here: another program stands for it.
func alone(t *testing.T, unit string, dropIns ...string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, strings.Replace(unit, "@.", "@B.", 1))
	if err := os.Mkdir(file+".d", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, d := range dropIns {
		if err := os.WriteFile(filepath.Join(file+".d", d), []byte(read(t, "fmqmd.service.d/"+d)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(read(t, unit), "/usr/local/bin/fmqmd ", os.Args[0]+" ")), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The exposure that systemd reckons is at most 1.2 of 10; programs with users of their own
// cost some of it, addresses that are closed give some back.
func TestExposure(t *testing.T) {
	analyze := need(t, "systemd-analyze")
	for _, tc := range []struct {
		unit    string
		dropIns []string
		most    float64
	}{
		{"fmqmd.service", nil, 1.2},
		{"fmqmd@.service", nil, 1.2},
		{"fmqmd.service", []string{"addresses.conf"}, 1.1},
		{"fmqmd.service", []string{"users.conf"}, 1.8},
	} {
		out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", alone(t, tc.unit, tc.dropIns...)).CombinedOutput()
		if err != nil && strings.Contains(string(out), "offline") && !strings.Contains(string(out), "exposure") {
			skip.Untested(t, "the units' exposure: this systemd-analyze knows no --offline (it came with 250): %s", out)
		}
		found := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
		if found == nil {
			t.Fatalf("%s: %v: %s", tc.unit, err, out)
		}
		if level, err := strconv.ParseFloat(string(found[1]), 64); err != nil || level > tc.most {
			t.Errorf("%s %v: exposure %s, at most %v is promised:\n%s", tc.unit, tc.dropIns, found[1], tc.most, out)
		}
	}
}

// systemd finds nothing to say about the units and their drop-ins.
func TestUnitsAreUnderstood(t *testing.T) {
	analyze := need(t, "systemd-analyze")
	var files []string
	for _, unit := range units {
		files = append(files, alone(t, unit, "users.conf", "addresses.conf"))
	}
	out, err := exec.Command(analyze, append([]string{"verify", "--man=no", "--recursive-errors=no"}, files...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// What a dead network, a daemon that hangs and programs that run ask of a unit
// is in both, and they differ only in names and places.
func TestBothUnitsSayTheSame(t *testing.T) {
	one, each := settings(read(t, units[0])), settings(read(t, units[1]))
	for _, want := range []string{
		"Type=notify", "WatchdogSec=2min", "Wants=network-online.target", "KillMode=mixed", "NoNewPrivileges=yes",
		"ProtectSystem=strict", "TimeoutStartSec=infinity",
		// What is mended runs again without anybody who types something.
		"Restart=on-failure", "StartLimitIntervalSec=0",
		// One program takes neither the machine nor the service.
		"MemoryMax=75%", "TasksMax=4096", "OOMPolicy=continue", "Delegate=pids",
		// Programs are kept from the store (Landlock), also where system calls are few.
		"SystemCallFilter=landlock_create_ruleset landlock_add_rule landlock_restrict_self",
	} {
		if !strings.Contains("\n"+strings.Join(one, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if len(one) != len(each) {
		t.Fatalf("%d settings in one, %d in the other", len(one), len(each))
	}
	for i := range one {
		key, _, _ := strings.Cut(one[i], "=")
		switch key {
		case "Requires", "BindsTo":
			t.Errorf("%s: the daemon works on without what it wants", one[i])
		case "MemoryDenyWriteExecute":
			t.Errorf("%s: Java and Node.js programs would fail", one[i])
		case "RestartPreventExitStatus", "StartLimitBurst":
			t.Errorf("%s: a site that was mended would stay down", one[i])
		case "IPAddressDeny":
			t.Errorf("%s: its links would not connect until somebody found that", one[i])
		case "Description", "ExecStart", "ExecReload", "Environment", "StateDirectory", "RuntimeDirectory":
			if !strings.HasPrefix(each[i], key+"=") || !strings.Contains(each[i], "%i") {
				t.Errorf("%s, but %s", one[i], each[i])
			}
		default:
			if one[i] != strings.ReplaceAll(each[i], "system-fmqmd.slice/", "") { // where templates run
				t.Errorf("%s, but %s", one[i], each[i])
			}
		}
	}
}

// The user and the directories can be made on a new machine.
func TestUserAndDirectories(t *testing.T) {
	sysusers, tmpfiles := need(t, "systemd-sysusers"), need(t, "systemd-tmpfiles")
	if os.Getuid() != 0 {
		skip.Untested(t, "sysusers.d and tmpfiles.d: making users and directories of other owners needs root")
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc/fmqm"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(root, "etc/fmqm/fmqmd.yaml")
	if err := os.WriteFile(config, []byte("node: A\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{sysusers, "--root=" + root, filepath.Join(workdir(t), "sysusers.d/fmqm.conf")},
		{tmpfiles, "--create", "--root=" + root, filepath.Join(workdir(t), "tmpfiles.d/fmqm.conf")},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", command, err, out)
		}
	}
	if passwd := read(t, filepath.Join(root, "etc/passwd")); !strings.Contains(passwd, "fmqm:") || !strings.Contains(passwd, ":/var/lib/fmqm:") {
		t.Errorf("no user fmqm: %s", passwd)
	}
	for path, mode := range map[string]os.FileMode{"etc/fmqm": 0o750, "etc/fmqm/fmqmd.yaml": 0o640, "etc/fmqm/credentials": 0o700} {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, want %v", path, info.Mode().Perm(), mode)
		}
	}
}

func workdir(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
