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
	"time"
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

// held is the point at which to wait, and holder the file that holds whoever passes it.
var held, holder = parseHold(os.Getenv("FMQM_HOLD"))

func parseHold(text string) (point, file string) {
	point, file, found := strings.Cut(text, "=")
	if text != "" && (!found || point == "" || file == "") {
		fmt.Fprintf(os.Stderr, "FMQM_HOLD=%s: write NAME=FILE\n", text)
		os.Exit(2)
	}
	return point, file
}

// Hit kills the process, or waits, if it is told to at this point; with kinds, at the point
// of one of them.
func Hit(point string, kinds ...string) {
	if is(held, point, kinds) {
		wait()
	}
	if !is(target, point, kinds) || left.Add(-1) != 0 {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // nothing goes on until the signal is delivered
}

// is says whether a name is that of a point, or of one of its kinds.
func is(name, point string, kinds []string) bool {
	if name == "" || len(kinds) == 0 {
		return name == point
	}
	name, kind, _ := strings.Cut(name, "/")
	return name == point && slices.Contains(kinds, kind)
}

// holdPause is how often who waits looks whether the file is still there.
const holdPause = 5 * time.Millisecond

// wait waits until the file is gone. Meanwhile there is another one, FILE.held.
func wait() {
	sign := holder + ".held"
	for {
		if _, err := os.Stat(holder); err != nil {
			_ = os.Remove(sign)
			return
		}
		if err := os.WriteFile(sign, nil, 0o600); err != nil {
			fmt.Fprintf(os.Stderr, "FMQM_HOLD: %v\n", err)
			os.Exit(2)
		}
		time.Sleep(holdPause)
	}
}
