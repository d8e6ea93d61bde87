package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/test/fleet"
)

// patience bounds all that a row does.
const patience = 3 * time.Minute

// programs of both sites. Each notes the execution that it is for; the top of a process is the scope ".".
func programs(string) (lines []string) {
	const note = `echo "$FMQM_INSTANCE ${FMQM_SCOPE:-.} $FMQM_ACTIVITY $FMQM_ITERATION $FMQM_IDEMPOTENCY_KEY" >>runs; `
	for _, p := range [][2]string{
		{"pass", `cat`},
		{"count", `cat >/dev/null; printf '{"n": %s}' "$FMQM_ITERATION"`}, // its output's n is the iteration
		{"flaky", `[ "$FMQM_ATTEMPT" -gt 1 ] || exit 3; cat`},             // its first attempt fails
		{"broken", `exit 4`}, // it always fails
		{"fails", `exit 4`},  // no operator gives its output
		{"sleep", `exec sleep 100`},
	} {
		lines = append(lines, fmt.Sprintf("%s: {exec: [/bin/sh, -c, %q]}", p[0], note+p[1]))
	}
	return lines
}

// prepare writes the staff of a site, if it has one.
func (w *world) prepare(s *fleet.Site) {
	w.Helper()
	staff := w.row.scenario.staff[s.Name]
	if staff == "" {
		return
	}
	if err := errors.Join(os.MkdirAll(s.Dir, 0o700), os.WriteFile(s.File("staff.yaml"), []byte(staff), 0o600)); err != nil {
		w.Fatal(err)
	}
}

// configuration is what else a site's has.
func (w *world) configuration(f *fleet.Fleet, site string) (text string) {
	if site != w.alone {
		text = fleet.EverybodyOperates
	}
	if keys := w.definers[site]; len(keys) > 0 {
		text += "definers:\n  - " + strings.Join(keys, "\n  - ") + "\n"
	}
	if w.row.scenario.staff[site] != "" {
		text += "staff: {file: staff.yaml}\n"
	}
	if d := w.row.scenario.retired; d != "" {
		text += "retired: " + d + "\n"
	}
	return text + "links:\n" + f.Peers(site, nil)
}

// loseStore removes the store of a site that is stopped.
func (w *world) loseStore(s *fleet.Site) {
	w.Helper()
	if err := os.RemoveAll(s.File("data")); err != nil {
		w.Fatal(err)
	}
}

// command runs fmqmd for something else than a daemon, to die at a point.
func command(ctx context.Context, s *fleet.Site, point string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.Binary("fmqmd"), args...)
	cmd.Env = append(os.Environ(), "FMQM_FAILPOINT="+point)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// runs are the executions that programs noted at a site: instance, scope, activity, iteration and key.
func (w *world) runs(s *fleet.Site) []string {
	text, err := os.ReadFile(s.File("runs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// until repeats a request until it succeeds: a node that is down, or dies meanwhile, is
// asked again. An answer of a node that is up is an error, unless it is one of bear.
func until(ctx context.Context, t *testing.T, what string, request func() error, bear ...api.Code) {
	t.Helper()
	var last error
	err := fleet.Until(ctx, func() (bool, error) {
		last = request()
		code := api.CodeOf(last)
		switch {
		case last == nil:
			return true, nil
		case code == api.CodeUnreachable:
			return false, nil
		}
		for _, b := range bear {
			if code == b {
				return false, nil
			}
		}
		return false, last
	})
	if err != nil {
		t.Fatalf("%s: %v (last: %v)", what, err, last)
	}
}

// notYet is the error of a request that is to be repeated.
func notYet(format string, args ...any) error {
	return api.Errorf(api.CodeUnreachable, "", format, args...)
}
