package systemd_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fmqm/node/config"
)

// value gives what a unit sets a key to.
func value(t *testing.T, unit, key string) string {
	t.Helper()
	for _, s := range settings(unit) {
		if v, found := strings.CutPrefix(s, key+"="); found {
			return v
		}
	}
	t.Fatalf("no %s", key)
	return ""
}

var (
	installed  = regexp.MustCompile(`(?m)^    install -D -m [0-7]+ -t (/\S+) (\S+(?: [^&\s]\S*)*)`)
	credential = regexp.MustCompile(`LoadCredential=[a-z.-]+:(/\S+)/`)
)

// What the pages have a sysadmin install is there, and lies where the unit looks for it;
// the unit's directories are the daemon's defaults.
func TestInstalledAsThePagesSay(t *testing.T) {
	unit := read(t, "fmqmd.service")
	places := map[string]string{} // by the file's name
	for _, page := range []string{"../docs/operations.md", "../docs/monitoring.md", "../docs/programs.md"} {
		for _, m := range installed.FindAllStringSubmatch(read(t, page), -1) {
			for _, file := range strings.Fields(m[2]) {
				if found, _ := filepath.Glob("../" + file); strings.HasPrefix(file, "systemd/") && len(found) == 0 {
					t.Errorf("%s installs %s, which is not there", page, file)
				}
				places[path.Base(path.Dir(file))+"/"+path.Base(file)] = m[1] + "/" + path.Base(file)
			}
		}
	}
	command := strings.Fields(value(t, unit, "ExecStart"))
	for file, want := range map[string]string{
		"bin/fmqmd": command[0], "systemd/fmqmd.service": "/etc/systemd/system/fmqmd.service",
		"tmpfiles.d/fmqm.conf": "/etc/tmpfiles.d/", "sysusers.d/fmqm.conf": "/etc/sysusers.d/",
		"fmqmd.service.d/users.conf": "/etc/systemd/system/fmqmd.service.d/", "fmqmd.service.d/addresses.conf": "/etc/systemd/system/fmqmd.service.d/",
	} {
		if got := places[file]; !strings.HasPrefix(got, want) {
			t.Errorf("the pages install %s as %q, expected %s", file, got, want)
		}
	}

	file := command[slices.Index(command, "--config")+1]
	if page := read(t, "../docs/operations.md"); !strings.Contains(page, "$EDITOR "+file) || !strings.Contains(page, "check-config "+file) {
		t.Errorf("operations.md does not have %s written and checked", file)
	}
	for _, name := range []string{value(t, unit, "User"), value(t, unit, "Group")} {
		if !regexp.MustCompile(`(?m)^u ` + name + ` `).MatchString(read(t, "sysusers.d/fmqm.conf")) {
			t.Errorf("nobody makes the user %s", name)
		}
	}
	directories := read(t, "tmpfiles.d/fmqm.conf")
	for _, file := range []string{"fmqmd.service", "../docs/operations.md", "../docs/monitoring.md", "../docs/links.md"} {
		found := credential.FindAllStringSubmatch(read(t, file), -1)
		if len(found) == 0 {
			t.Errorf("%s does not say how to hand over a credential", file)
		}
		for _, m := range found {
			if !strings.Contains(directories, "d "+m[1]+" ") {
				t.Errorf("a credential lies in %s, which nobody makes", m[1])
			}
		}
	}

	empty := filepath.Join(t.TempDir(), "fmqmd.yaml")
	if err := os.WriteFile(empty, []byte("node: A\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(empty, func(string) string { return "" }, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	state := strings.Fields(value(t, unit, "StateDirectory"))
	if want := "/var/lib/" + state[0]; c.Data != want {
		t.Errorf("the daemon keeps its data in %s, the unit makes %s", c.Data, want)
	}
	if home := value(t, unit, "Environment"); len(state) != 2 || home != "HOME=/var/lib/"+state[1] || strings.HasPrefix("/var/lib/"+state[1], c.Data+"/") {
		t.Errorf("programs are at home in %s, the unit makes %v, the store is %s", home, state, c.Data)
	}
	if reload := value(t, unit, "ExecReload"); !strings.HasSuffix(reload, " reload --to unix:"+c.Socket) {
		t.Errorf("a reload is %q, the daemon's socket is %s", reload, c.Socket)
	}
	if want := "/run/" + value(t, unit, "RuntimeDirectory"); path.Dir(c.Socket) != want {
		t.Errorf("the daemon's socket is %s, the unit makes %s", c.Socket, want)
	}
}

// The recipe of operations.md works where none of the directories is there yet: a stock
// Debian has no /etc/sysusers.d and no directory for manual pages below /usr/local.
func TestTheRecipeInstalls(t *testing.T) {
	root, clone := t.TempDir(), t.TempDir()
	for _, dir := range []string{"bin", "man"} {
		if err := os.Mkdir(filepath.Join(clone, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, made := range []string{"bin/fmqmd", "bin/fmqm", "bin/fmqm-define", "bin/fmqm-launch", "man/fmqmd.1", "man/fmqm.1", "man/fmqm-define.1"} { // by make
		if err := os.WriteFile(filepath.Join(clone, made), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, filepath.Join(clone, "systemd")); err != nil {
		t.Fatal(err)
	}
	lines := installed.FindAllStringSubmatch(read(t, "../docs/operations.md"), -1)
	for _, m := range lines {
		line := exec.CommandContext(t.Context(), "sh", "-ec", strings.Replace(strings.TrimSpace(m[0]), " -t /", " -t "+root+"/", 1))
		line.Dir = clone
		if out, err := line.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", m[0], err, out)
		}
	}
	for file, mode := range map[string]fs.FileMode{
		"usr/local/bin/fmqmd": 0o755, "usr/local/bin/fmqm": 0o755, "usr/local/bin/fmqm-define": 0o755, "usr/local/bin/fmqm-launch": 0o755,
		"usr/local/share/man/man1/fmqmd.1": 0o644, "usr/local/share/man/man1/fmqm.1": 0o644, "usr/local/share/man/man1/fmqm-define.1": 0o644,
		"etc/systemd/system/fmqmd.service": 0o644, "etc/sysusers.d/fmqm.conf": 0o644, "etc/tmpfiles.d/fmqm.conf": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(root, file)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, expected mode %v", file, info, err, mode)
		}
	}
}
