package clitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/internal/skip"
)

// ManText gives a manual page as a terminal shows it, in plain letters. What mandoc
// calls an error and what groff warns of fails the test; without groff it is skipped,
// and without mandoc what mandoc would say.
func ManText(t *testing.T, page string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.1")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("mandoc", func(t *testing.T) {
		mandoc, err := exec.LookPath("mandoc")
		if err != nil {
			skip.Untested(t, "what mandoc says of the page: mandoc is not installed here (apt-get install mandoc)")
		}
		if out, err := exec.Command(mandoc, "-T", "lint", "-W", "error", file).CombinedOutput(); err != nil {
			t.Errorf("mandoc: %v: %s", err, out)
		}
	})
	groff, err := exec.LookPath("groff")
	if err != nil {
		skip.Untested(t, "how the page looks: groff is not installed here (apt-get install groff-base)")
	}
	c := exec.Command(groff, "-man", "-ww", "-T", "ascii", "-P-c", "-P-b", "-P-u", "-P-o", "-rLL=300n", file)
	var warnings strings.Builder
	c.Stderr = &warnings
	out, err := c.Output()
	if err != nil || warnings.Len() > 0 {
		t.Errorf("groff: %v: %s", err, warnings.String())
	}
	return string(out)
}
