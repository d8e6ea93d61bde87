//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Enabled says whether this build has failpoints.
const Enabled = true

// target is the point at which to die, and how often it has still to be passed.
var target, left = parse(os.Getenv("FMQM_FAILPOINT"))

func parse(text string) (string, *atomic.Int64) {
	var left atomic.Int64
	left.Store(1)
	name, n, counted := strings.Cut(text, ":")
	if counted {
		times, err := strconv.ParseInt(n, 10, 64)
		if err != nil || times < 1 {
			fmt.Fprintf(os.Stderr, "FMQM_FAILPOINT=%s: write NAME or NAME:N, N from 1\n", text)
			os.Exit(2)
		}
		left.Store(times)
	}
	return name, &left
}

// Hit kills the process if it is told to at this point; with kinds, at the point of
// one of them.
func Hit(point string, kinds ...string) {
	if target == "" {
		return
	}
	here := target == point
	if len(kinds) > 0 {
		name, kind, _ := strings.Cut(target, "/")
		here = name == point && slices.Contains(kinds, kind)
	}
	if !here || left.Add(-1) != 0 {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // nothing goes on until the signal is delivered
}
