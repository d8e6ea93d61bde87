package identity_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/identity"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Keys are their owner's only, nothing is overwritten that was not asked for, and
// nothing else is left in the directory.
func TestFilesOfAnAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "pki")
	made, err := identity.Init(identity.InitOptions{Dir: dir, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	issued, err := identity.Issue(identity.IssueOptions{Dir: dir, Name: node("A"), Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]os.FileMode{"ca.crt": 0o644, "ca.key": 0o600, "node-A.crt": 0o644, "node-A.key": 0o600}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != modes[e.Name()] {
			t.Errorf("%s: mode %v, want %v", e.Name(), info.Mode(), modes[e.Name()])
		}
		delete(modes, e.Name())
	}
	if len(modes) > 0 {
		t.Errorf("not there: %v", modes)
	}

	before := read(t, issued.Key) + read(t, issued.Certificate) + read(t, made.Key)
	_, err = identity.Issue(identity.IssueOptions{Dir: dir, Name: node("A"), Now: noon})
	var exists *identity.Exists
	if !errors.As(err, &exists) || exists.Path != issued.Certificate || !strings.Contains(err.Error(), "already exists, and nothing was changed: --force replaces it") {
		t.Errorf("a second time: %v", err)
	}
	if _, err = identity.Init(identity.InitOptions{Dir: dir, Now: noon}); !errors.As(err, &exists) {
		t.Errorf("an authority a second time: %v", err)
	}
	if err := os.Remove(issued.Certificate); err != nil {
		t.Fatal(err)
	}
	if _, err = identity.Issue(identity.IssueOptions{Dir: dir, Name: node("A"), Now: noon}); !errors.As(err, &exists) || exists.Path != issued.Key {
		t.Errorf("where only the key is there: %v", err)
	}
	again, err := identity.Issue(identity.IssueOptions{Dir: dir, Name: node("A"), Now: noon, Force: true})
	if err != nil || read(t, again.Key)+read(t, again.Certificate)+read(t, made.Key) == before {
		t.Errorf("with force: %v", err)
	}
}

// A certificate never outlives its authority.
func TestHowLongCertificatesAreValid(t *testing.T) {
	dir := authority(t, "")
	for _, tc := range []struct {
		o    identity.IssueOptions
		want string
	}{
		{identity.IssueOptions{Name: node("A"), Now: noon}, "2027-11-21"},
		{identity.IssueOptions{Name: operator("ann"), Now: noon}, "2027-02-19"},
		{identity.IssueOptions{Name: node("A"), Now: noon, Days: 1}, "2026-11-22"},
		{identity.IssueOptions{Name: node("A"), Now: noon.AddDate(9, 0, 0), Days: 1000}, "2036-11-21"},
	} {
		tc.o.Dir, tc.o.Force = dir, true
		out, err := identity.Issue(tc.o)
		if err != nil || out.Expires.Format("2006-01-02") != tc.want {
			t.Errorf("%+v: %v, %v", tc.o, out.Expires, err)
		}
	}
}

func TestWhatIsNotIssued(t *testing.T) {
	dir := authority(t, "")
	damaged := authority(t, "")
	if err := os.WriteFile(filepath.Join(damaged, identity.CAKey), []byte(read(t, filepath.Join(dir, identity.CAKey))), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		o    identity.IssueOptions
		want string
	}{
		{"a wrong name", identity.IssueOptions{Dir: dir, Name: node("b.org")}, `"b.org" cannot name a node: use letters, digits, _ and -`},
		{"a way out of the directory", identity.IssueOptions{Dir: dir, Name: node("../x")}, `cannot name a node`},
		{"an operator's wrong name", identity.IssueOptions{Dir: dir, Name: operator("a/b")}, `"a/b" cannot name an operator: use letters, digits, and . _ @ -`},
		{"no authority", identity.IssueOptions{Dir: dir + "/none", Name: node("A")}, "there is no authority in " + dir + "/none: make one with `fmqmd pki init`, or name its directory with --dir"},
		{"another key", identity.IssueOptions{Dir: damaged, Name: node("A")}, "ca.key in " + damaged + " is not the key of ca.crt"},
		{"no such time", identity.IssueOptions{Dir: dir, Name: node("A"), Days: -1}, "-1 days: write from 1 to 3660"},
		{"no host", identity.IssueOptions{Dir: dir, Name: node("A"), Hosts: []string{"b.example.org:7411"}}, `"b.example.org:7411" is neither the name nor the address of a machine`},
		{"an operator's host", identity.IssueOptions{Dir: dir, Name: operator("ann"), Hosts: []string{"b.org"}}, "an operator has no host: remove --host"},
		{"an expired authority", identity.IssueOptions{Dir: dir, Name: node("A"), Now: noon.AddDate(11, 0, 0)}, `the authority "fmqm sites" expired on 2036-11-21`},
	} {
		if tc.o.Now.IsZero() {
			tc.o.Now = noon
		}
		if _, err := identity.Issue(tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", tc.name, err, tc.want)
		}
	}
	if _, err := identity.Init(identity.InitOptions{Dir: t.TempDir(), Name: strings.Repeat("x", 65), Now: noon}); err == nil || !strings.Contains(err.Error(), "its name has 65 bytes: at most 64") {
		t.Errorf("a long name: %v", err)
	}
	if _, err := identity.Init(identity.InitOptions{Dir: "/dev/null/x", Now: noon}); err == nil {
		t.Error("in no directory")
	}
}

func TestShow(t *testing.T) {
	dir := authority(t, "sites")
	files := issue(t, dir, node("B"), noon, "b.example.org")
	shown, err := identity.Show(files.Certificate)
	if err != nil || len(shown) != 1 {
		t.Fatal(shown, err)
	}
	s := shown[0]
	if s.Name != node("B") || s.Issuer != "sites" || s.Authority || strings.Join(s.Hosts, " ") != "b.example.org" ||
		!s.NotAfter.Equal(noon.AddDate(0, 0, identity.NodeDays)) || len(s.Fingerprint) != 64 {
		t.Errorf("%+v", s)
	}
	shown, err = identity.Show(files.CA)
	if err != nil || !shown[0].Authority || shown[0].Subject != "sites" || shown[0].Name != (identity.Name{}) {
		t.Errorf("%+v, %v", shown, err)
	}
	if _, err := identity.Show(files.Key); err == nil || strings.Contains(err.Error(), strings.Split(read(t, files.Key), "\n")[1]) {
		t.Errorf("a key: %v", err)
	}
}
