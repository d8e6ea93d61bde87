package secret_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/internal/secret"
)

// Who may read the file of a secret: its owner; a group where root owns the file, who
// then chose that group; nobody else.
func TestWhoMayRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := os.Getuid() == 0
	owners := []int{os.Getuid()}
	if root {
		owners = append(owners, 12345)
	}
	for _, owner := range owners {
		if err := os.Chown(path, owner, -1); err != nil {
			t.Fatal(err)
		}
		for mode, who := range map[os.FileMode]string{
			0o600: "", 0o400: "", 0o700: "", 0o640: "a group", 0o440: "a group", 0o620: "a group", 0o660: "a group",
			0o604: "every user of this machine", 0o602: "every user of this machine", 0o644: "every user of this machine",
		} {
			if who == "a group" && owner == 0 && mode&0o020 == 0 {
				who = ""
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			want := ""
			if who != "" {
				want = fmt.Sprintf("%s can be read or changed by %s (mode %04o): chmod 600 it", path, who, mode)
			}
			_, err := secret.Read(path)
			if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("owner %d, mode %04o: %v\nwant %q", owner, mode, err, want)
			}
		}
	}
	if err := secret.Check(path + "x"); err != nil {
		t.Errorf("of a file that is not there: %v", err)
	}
}
