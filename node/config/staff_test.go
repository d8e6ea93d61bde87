package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/node/config"
)

// loaded reads a configuration that has a staff file beside it.
func withStaff(t *testing.T, conf, staff string) (*config.Config, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"fmqmd.yaml": conf, "staff.yaml": staff} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(filepath.Join(dir, "fmqmd.yaml"), func(string) string { return "" }, config.Overrides{})
	return c, dir, err
}

func TestStaff(t *testing.T) {
	c, dir, err := withStaff(t, "node: ward\nstaff: {file: staff.yaml, socket: work.sock}\n", "people: {ann: {same: [aames@lab]}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.Staff.File != filepath.Join(dir, "staff.yaml") || c.Staff.Socket != filepath.Join(dir, "work.sock") {
		t.Errorf("%+v", c.Staff)
	}
	if n, ok := c.Staff.People.Surely("ann@ward"); !ok || n != "ann" {
		t.Errorf("the staff is not this node's: %s %t", n, ok)
	}
	if !strings.Contains(strings.Join(c.Private(), " "), c.Staff.File) {
		t.Error("programs may write the staff file")
	}
}

func TestStaffMistakes(t *testing.T) {
	const good = "people: {ann: {}}\n"
	for _, c := range []struct{ name, conf, staff, want string }{
		{"no file", "node: ward\nstaff: {socket: s}\n", good, "2:1: staff has no file: write staff: {file: FILE}, with the people of this node in FILE; docs/staff.md shows how"},
		{"a word", "node: ward\nstaff: staff.yaml\n", good, "2:8: staff is not a mapping"},
		{"an unknown key", "node: ward\nstaff: {files: staff.yaml}\n", good, "did you mean file?"},
		{"one socket", "node: ward\nsocket: s\nstaff: {file: staff.yaml, socket: s}\n", good, "is the socket of this node's operators: give the staff's socket another name"},
		{"a long socket", "node: ward\nstaff: {file: staff.yaml, socket: /" + strings.Repeat("s", 110) + "}\n", good, "the system allows 107"},
		{"somebody of this node", "node: ward\nstaff: {file: staff.yaml}\n", "people: {ann: {same: [ben@ward]}}\n", "staff.yaml:1:23: ben@ward, in same of ann, is of this node"},
		{"both files", "node: ward\nstore: x\nstaff: {file: staff.yaml}\n", "roles: x\n", "staff.yaml:1:8: roles is not a list"},
		{"no such file", "node: ward\nstaff: {file: none.yaml}\n", good, "none.yaml: cannot read the staff file: no such file or directory"},
	} {
		if _, _, err := withStaff(t, c.conf, c.staff); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}
