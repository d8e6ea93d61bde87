package program_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"fmqm/program"
)

// fewFiles lets this process open no more files until the test has ended, or gives them
// back earlier.
func fewFiles(t *testing.T) (giveBack func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	// The next number that is free is the first that may not be given out.
	next, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = uint64(next.Fd())
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	giveBack = func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) }
	t.Cleanup(giveBack)
	return giveBack
}

// A machine that is short of files says nothing of a program: it was no attempt. That
// holds for a child, and for a connection.
func TestAShortageIsNoAttempt(t *testing.T) {
	service := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) })
	for _, spec := range []program.Spec{shell(`echo '{}'`), service} {
		p := register(t, spec, program.Options{})
		giveBack := fewFiles(t)
		r := p.Run(context.Background(), call(t))
		giveBack()
		if !errors.Is(r.Err, program.ErrShort) {
			t.Errorf("%v", r.Err)
		}
		wantError(t, r.Err, "cannot be started now: too many open files: raise LimitNOFILE of the daemon's unit")
		if r = p.Run(context.Background(), call(t)); r.Err != nil {
			t.Errorf("with files again: %v", r.Err)
		}
	}
}
