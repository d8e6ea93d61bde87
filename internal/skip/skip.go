// Package skip is for tests that need more of a machine than every machine gives: a
// tool, root's rights, a part of the kernel. In CI nothing is left out: there what is
// missing is a failure.
package skip

import (
	"fmt"
	"os"
	"testing"
)

// Untested skips a test, or fails it where the environment says CI; reason names what
// is not tested and what would let it be. It says so also without -v.
func Untested(tb testing.TB, reason string, args ...any) {
	tb.Helper()
	reason = fmt.Sprintf(reason, args...)
	if os.Getenv("CI") != "" {
		tb.Fatalf("%s (CI is set: a skip is a failure)", reason)
	}
	fmt.Fprintf(os.Stderr, "#### %s NOT TESTED: %s\n", tb.Name(), reason)
	tb.Skip(reason)
}
