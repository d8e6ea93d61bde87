package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fmqm/node/config"
)

// A daemon that could not make its store or its socket is warned of before it is started,
// with the line; one that can, is not.
func TestDirectoriesThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	for _, open := range []string{filepath.Dir(dir), dir} { // another user has to come by here
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	closed, mine, file := filepath.Join(dir, "closed"), filepath.Join(dir, "mine"), filepath.Join(dir, "file")
	for path, mode := range map[string]os.FileMode{closed: 0o555, mine: 0o777} {
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "fmqmd.yaml")
	lacks := func(data, socket string) []string {
		t.Helper()
		if err := os.WriteFile(name, []byte("node: A\ndata: "+data+"\nsocket: "+socket+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(name, func(string) string { return "" }, config.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 { // root may write everywhere
			if err := syscall.Seteuid(54321); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := syscall.Seteuid(0); err != nil {
					t.Fatal(err)
				}
			}()
		}
		var texts []string
		for _, p := range c.Lacks() {
			texts = append(texts, p.String())
		}
		return texts
	}
	for _, tc := range []struct {
		name, data, socket string
		want               []string // what the lines have
	}{
		{"all is there", mine, mine + "/s", nil},
		{"it would be made", mine + "/a/b", mine + "/s", nil},
		{"closed", closed, closed + "/s", []string{
			name + ":2:1: data: user ", "cannot write into " + closed + ": permission denied: let the daemon's user own it, or set `data` to another directory",
			name + ":3:1: socket: user ", "cannot write into " + closed + ": permission denied: make it for the daemon's user",
		}},
		{"above is closed", closed + "/a/b", mine + "/s", []string{"cannot make " + closed + "/a/b, because " + closed + " cannot be written: permission denied"}},
		{"no directory for the socket", mine, mine + "/none/s", []string{"socket: there is no directory " + mine + "/none: make it"}},
		{"a file", file, file + "/s", []string{"data: " + file + " is not a directory", "socket: " + file + " is not a directory"}},
		{"below a file", file + "/a", mine + "/s", []string{"not a directory"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(lacks(tc.data, tc.socket), "\n")
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in:\n%s", want, got)
				}
			}
			if len(tc.want) == 0 && got != "" {
				t.Errorf("it is warned of\n%s", got)
			}
		})
	}
}

// A warning is at the line of its key, also where a value above says the same.
func TestAPlaceIsOfAKey(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fmqmd.yaml")
	const text = "node: data\nlinks:\n  peers:\n    programs: {url: 'https://p.example:1'}\ndata: /d\nprograms:\n  data: {exec: [/bin/true]}\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &config.Config{Path: name}
	for _, tc := range []struct {
		keys         []string
		line, column int
	}{
		{[]string{"node"}, 1, 1},
		{[]string{"data"}, 5, 1},
		{[]string{"programs", "data"}, 7, 3},
		{[]string{"links", "peers", "programs"}, 4, 5},
		{[]string{"/d"}, 0, 0},
		{[]string{"data", "x"}, 0, 0},
	} {
		if line, column := c.Place(tc.keys...); line != tc.line || column != tc.column {
			t.Errorf("%v is at %d:%d, want %d:%d", tc.keys, line, column, tc.line, tc.column)
		}
	}
}

// Who gives a process definition is told what it is, once, also where it is several
// documents or no YAML.
func TestAProcessDefinitionIsNamedAsOne(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.yaml")
	for _, text := range []string{
		"process: p\nversion: 1\nactivities:\n  a: {node: A, empty: true}\n",
		"# two\nprocess: p\nversion: 1\n---\nprocess: q\nversion: 1\n",
		"process: p\nversion: [\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(name, func(string) string { return "" }, config.Overrides{})
		want := name + ": this is a process definition, not the configuration of a node: check it with `fmqm-define check`, and name the node's configuration here"
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want\n%s", text, err, want)
		}
	}
}
