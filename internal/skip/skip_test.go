package skip

import (
	"fmt"
	"testing"
)

// asked notes what becomes of a test.
type asked struct {
	testing.TB
	failed, skipped string
}

func (a *asked) Helper()                           {}
func (a *asked) Name() string                      { return "TestOfATest" }
func (a *asked) Fatalf(format string, args ...any) { a.failed = fmt.Sprintf(format, args...); panic(a) }
func (a *asked) Skip(args ...any)                  { a.skipped = fmt.Sprint(args...); panic(a) }

func untested(t *testing.T) (a *asked) {
	t.Helper()
	a = &asked{TB: t}
	defer func() { _ = recover() }()
	Untested(a, "no disk: %s", "run as root")
	return a
}

// On a machine that lacks something a test is skipped, with the reason; in CI it fails.
func TestUntested(t *testing.T) {
	t.Setenv("CI", "")
	if a := untested(t); a.skipped != "no disk: run as root" || a.failed != "" {
		t.Errorf("%+v", a)
	}
	t.Setenv("CI", "true")
	if a := untested(t); a.failed != "no disk: run as root (CI is set: a skip is a failure)" || a.skipped != "" {
		t.Errorf("%+v", a)
	}
}
