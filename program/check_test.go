package program_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/program"
)

// What a program needs and does not find is named before it is to run, for the user that
// it will run as.
func TestLacks(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", 0o600, "")
	script := file("script", 0o700, "#!/bin/sh -e\n")
	lost := file("lost", 0o755, "#! /no/such/interpreter\n")
	exec := func(argv ...string) program.Spec { return program.Spec{Kind: program.KindExec, Exec: argv} }
	with := func(s program.Spec, change func(*program.Spec)) program.Spec {
		change(&s)
		return s
	}
	const nobodyCannot = "let user nobody execute it (chmod +x, and x for the directories above it)"
	for name, tc := range map[string]struct {
		spec program.Spec
		want []program.Lack
	}{
		"there":          {exec(script), nil},
		"in the PATH":    {exec("true"), nil},
		"http":           {program.Spec{Kind: program.KindHTTP, URL: "http://x/"}, nil},
		"not there":      {exec("/no/such"), []program.Lack{{"/no/such cannot be executed: no such file or directory", "install it, or correct `exec`"}}},
		"a directory":    {exec(dir), []program.Lack{{dir + " cannot be executed: it is a directory", "install it, or correct `exec`"}}},
		"not executable": {exec(plain), []program.Lack{{plain + " cannot be executed: permission denied", "let the daemon's user execute it (chmod +x, and x for the directories above it)"}}},
		"not in the PATH": {exec("no-such"), []program.Lack{
			{`no executable "no-such" in /usr/local/bin:/usr/bin:/bin`, "install it, or write its whole path in `exec`"},
		}},
		"no interpreter": {exec(lost), []program.Lack{{lost + " names /no/such/interpreter as its interpreter, which cannot be executed", "install it, or correct the first line of the script"}}},
		"no directory": {with(exec(script), func(s *program.Spec) { s.Dir = "/no/dir" }), []program.Lack{
			{"its `dir` /no/dir is not a directory, or the daemon's user cannot enter it", "make it, or correct `dir`"},
		}},
		"a file as directory": {with(exec("true"), func(s *program.Spec) { s.Dir = script }), []program.Lack{{"its `dir` " + script + " is not a directory", "correct `dir`"}}},
		"no secret": {with(exec("true"), func(s *program.Spec) { s.Secrets = map[string]string{"B": "/no/b", "A": plain} }), []program.Lack{
			{"the secret A: " + plain + " is empty: write the secret into it", "write one line into the file, and let the daemon's user read it"},
			{"the secret B: cannot read /no/b: no such file or directory", "write one line into the file, and let the daemon's user read it"},
		}},
		"a secret": {with(exec("true"), func(s *program.Spec) { s.Secrets = map[string]string{"A": script} }), nil},
		"a secret that others read": {with(exec("true"), func(s *program.Spec) { s.Secrets = map[string]string{"A": lost} }), []program.Lack{
			{"the secret A: " + lost + " can be read or changed by every user of this machine (mode 0755)", "chmod 600 it, and use a new secret if somebody else may have seen this one"},
		}},
		"no user": {with(exec("true"), func(s *program.Spec) { s.User = "nobody-at-all" }), []program.Lack{
			{"there is no user nobody-at-all on this machine", "make it (useradd --system nobody-at-all), or correct `user`"},
		}},
		"another user":     {with(exec("true"), func(s *program.Spec) { s.User = "nobody" }), nil},
		"another's script": {with(exec(script), func(s *program.Spec) { s.User, s.Dir = "nobody", "/" }), []program.Lack{{script + " cannot be executed: permission denied", nobodyCannot}}},
		"a way that is closed": {with(exec(file("open", 0o755, "")), func(s *program.Spec) { s.User, s.Dir = "nobody", dir }), []program.Lack{
			{dir + "/open cannot be executed: permission denied", nobodyCannot},
			{"its `dir` " + dir + " is not a directory, or user nobody cannot enter it", "make it, or correct `dir`"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a way that is closed" {
				if err := os.Chmod(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			} else if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, tc.spec.Lacks()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
