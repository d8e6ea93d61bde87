package daemon_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A reload takes up a staff as a whole.
// What was read as another node's staff is not taken up, nor is another socket before a restart.
func TestAReloadTakesUpTheStaff(t *testing.T) {
	s := newSecured(t, "A")
	file := filepath.Join(s.dir, "staff.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const key = "staff: {file: staff.yaml, socket: work.sock}\n"
	write("people: {ann: {}}\n")
	d, log := s.start(s.config("A", key))
	first := d.Node.Staff()
	if !first.Has("ann") || first.Node() != "A" {
		t.Fatal("the staff is not there")
	}
	write("people: {bob: {}}\n")
	next := s.config("A", key)
	elsewhere := *next
	elsewhere.Node = "B"
	if err := d.Reload(&elsewhere); err != nil {
		t.Fatal(err)
	}
	if d.Node.Staff() != first {
		t.Error("the staff of another node is taken up")
	}
	if err := d.Reload(next); err != nil {
		t.Fatal(err)
	}
	if now := d.Node.Staff(); now.Has("ann") || !now.Has("bob") || !first.Has("ann") {
		t.Error("the staff is not as the file")
	}
	if err := d.Reload(s.config("A", "staff: {file: staff.yaml}\n")); err != nil {
		t.Fatal(err)
	}
	log.await(t, "this change needs a restart", `"key":"staff.socket"`)
	if err := d.Reload(s.config("A", "")); err != nil {
		t.Fatal(err)
	}
	if d.Node.Staff().Len() != 0 {
		t.Error("without staff in the file somebody works here")
	}
}
