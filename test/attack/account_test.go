package attack

import (
	"os"
	"path/filepath"
	"testing"

	"fmqm/internal/rabbittest"
)

// password is a file with that of the user at the broker who may do everything there.
func password(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(rabbittest.Password), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
