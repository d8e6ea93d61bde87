package program_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/container"
	"fmqm/program"
)

// shell registers a shell script as an exec program.
func shell(script string) program.Spec {
	return program.Spec{Kind: program.KindExec, Exec: []string{"/bin/sh", "-c", script}}
}

func TestExecGivesTheInputAndTakesTheOutput(t *testing.T) {
	p := register(t, shell(`cat`), program.Options{})
	r := p.Run(context.Background(), call(t))
	if got, want := json(t, r.Output), `{"customer":"ann","quantity":4,"limit":2.5}`; r.Err != nil || got != want {
		t.Errorf("output %s, error %v; want %s", got, r.Err, want)
	}
}

func TestExecTellsTheFactsInACleanEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_DAEMON", "x")
	spec := shell(`env | sort`)
	dir := t.TempDir()
	spec.Env, spec.Dir = map[string]string{"GREETING": "hello", "LANG": "de_DE"}, dir
	var lines []string
	c := call(t)
	c.People = "ann,bob"
	c.On, c.About, c.Error = "error", "orders#4/credit", "no such customer"
	c.NoOutput, c.OutputType, c.Log = true, container.Empty, func(l string) { lines = append(lines, l) }
	r := register(t, spec, program.Options{Home: "/home/fmqm"}).Run(context.Background(), c)
	want := []string{
		"FMQM_ABOUT=orders#4/credit", "FMQM_ACTIVITY=credit", "FMQM_ATTEMPT=3", "FMQM_DUE=", "FMQM_ELEMENT=", "FMQM_ERROR=no such customer", "FMQM_IDEMPOTENCY_KEY=" + ownKey,
		"FMQM_INSTANCE=0197c0de-0000-7000-8000-000000000001", "FMQM_ITERATION=2", "FMQM_NODE=B", "FMQM_ON=error", "FMQM_PEOPLE=ann,bob", "FMQM_PROCESS=purchase-order@1",
		"FMQM_SCOPE=orders#4/credit",
		"GREETING=hello", "HOME=/home/fmqm", "LANG=de_DE", "PATH=/usr/local/bin:/usr/bin:/bin", "PWD=" + dir,
	}
	if d := cmp.Diff(want, lines); r.Err != nil || d != "" {
		t.Errorf("error %v; environment (-want +got):\n%s", r.Err, d)
	}
}

// What a program's end means: return code, output or error, and log.
func TestExecEndings(t *testing.T) {
	const defaults = `{"customer":"","quantity":0,"limit":2.5}`
	for _, tc := range []struct {
		name, script  string
		data, noLimit bool
		rc            int64
		output        string // or
		err           []string
		log           []string
	}{
		{name: "nothing written is the defaults", script: `:`, output: defaults},
		{name: "blanks are nothing", script: `echo`, output: defaults},
		{name: "it need not read its input", script: `exec <&-; echo '{"quantity": 9}'`, output: `{"customer":"","quantity":9,"limit":2.5}`},
		{name: "the exit code is _RC", script: `echo '{"quantity": 9}'; exit 3`, data: true, rc: 3, output: `{"customer":"","quantity":9,"limit":2.5}`},
		{
			name: "with _RC as data, what is no container counts as empty", script: `echo oops; exit 3`, data: true, rc: 3, output: defaults,
			log: []string{"fmqm: with return code 3 the output counts as empty: not JSON at line 1, column 1"},
		},
		{name: "without, the return code is what failed", script: `echo oops; exit 3`, rc: 3, output: defaults},
		{name: "standard error is log", script: `echo one >&2; printf 'two\r\n\nthree' >&2`, output: defaults, log: []string{"one", "two", "three"}},
		{name: "a long line is cut", script: `head -c 9000 /dev/zero | tr '\0' x >&2`, output: defaults, log: []string{strings.Repeat("x", program.MaxLogLine)}},
		{name: "what is not UTF-8 is replaced in the log", script: `printf '\377\n' >&2`, output: defaults, log: []string{"\uFFFD"}},
		{name: "no container", script: `echo oops`, err: []string{"the output is not a container of type Order", "not JSON at line 1, column 1"}},
		{name: "an unknown member", script: `echo '{"quantiti": 1}'`, err: []string{"quantiti: unknown member", "did you mean quantity"}},
		{name: "killed by a signal", script: `kill -9 $$`, err: []string{"killed by SIGKILL"}},
		{name: "over the limit", script: `head -c 4096 /dev/zero; sleep 3600`, err: []string{"wrote more than 1024 bytes to its standard output", "pass a reference"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log []string
			c := call(t)
			c.RCIsData, c.Log = tc.data, func(l string) { log = append(log, l) }
			r := register(t, shell(tc.script), program.Options{MaxOutput: 1024, Grace: 5 * time.Minute}).Run(context.Background(), c)
			if tc.err != nil {
				wantError(t, r.Err, tc.err...)
				return
			}
			if got := json(t, r.Output); r.Err != nil || r.RC != tc.rc || got != tc.output {
				t.Errorf("rc %d, output %s, error %v; want rc %d, %s", r.RC, got, r.Err, tc.rc, tc.output)
			}
			if len(log) != len(tc.log) {
				t.Fatalf("log %q, want %q", log, tc.log)
			}
			for i := range log {
				if !strings.HasPrefix(log[i], tc.log[i]) {
					t.Errorf("log line %q, want %q", log[i], tc.log[i])
				}
			}
		})
	}
}

func TestWhatOneInvocationLogsIsBounded(t *testing.T) {
	bytes, last := 0, ""
	c := call(t)
	c.Log = func(l string) { bytes, last = bytes+len(l), l }
	r := register(t, shell(`yes 0123456789 | head -c 3000000 >&2`), program.Options{}).Run(context.Background(), c)
	if r.Err != nil || bytes > program.MaxLogBytes+200 {
		t.Errorf("%d bytes logged, error %v", bytes, r.Err)
	}
	if want := "fmqm: more than 1048576 bytes logged: the rest of this attempt's output is dropped"; last != want {
		t.Errorf("last line %q, want %q", last, want)
	}
}

func TestWhatCannotBeStartedSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	unknown := filepath.Join(dir, "unknown")
	if err := os.WriteFile(unknown, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		spec program.Spec
		want []string
	}{
		{"no such file", program.Spec{Exec: []string{dir + "/absent"}}, []string{"cannot be started", "absent: no such file", "install it, or correct `exec`"}},
		{"not in PATH", program.Spec{Exec: []string{"absent-program"}}, []string{`no executable "absent-program" in /usr/local/bin:/usr/bin:/bin`, "install it"}},
		{"not executable", program.Spec{Exec: []string{plain}}, []string{"permission denied", "chmod +x"}},
		{"no format", program.Spec{Exec: []string{unknown}}, []string{"exec format error", "#!/bin/sh"}},
		{"no directory", program.Spec{Exec: []string{"true"}, Dir: dir + "/gone"}, []string{"`dir` " + dir + "/gone is not a directory"}},
		{"arguments too long", program.Spec{Exec: []string{"true", strings.Repeat("x", 4<<20)}}, []string{"argument list too long", "together they are too long"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.spec.Kind = program.KindExec
			r := register(t, tc.spec, program.Options{}).Run(context.Background(), call(t))
			wantError(t, r.Err, append(tc.want, "cannot be started")...)
		})
	}
}

func TestANameIsLookedForInTheProgramsOwnPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/bin/cat", filepath.Join(dir, "my-program")); err != nil {
		t.Fatal(err)
	}
	p := register(t, program.Spec{Kind: program.KindExec, Exec: []string{"my-program"}, Env: map[string]string{"PATH": dir}}, program.Options{})
	if r := p.Run(context.Background(), call(t)); r.Err != nil {
		t.Error(r.Err)
	}
}

// The group of a program is gone when Run returns, also what it left in the background
// and what does not listen to SIGTERM.
func TestTheWholeGroupIsGoneAfterwards(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		err          error
		grace        time.Duration
	}{
		{"a background child of a program that ended", `sleep 3600 & echo $! >&2`, nil, 5 * time.Minute},
		{"a program that the node ends", `sleep 3600 & echo $! >&2; echo $$ >&2; echo ready >&2; wait`, context.Canceled, 5 * time.Minute},
		{"a program that does not listen", `trap '' TERM; sleep 3600 & echo $! >&2; echo $$ >&2; echo ready >&2; while :; do sleep 3600; done`, context.Canceled, 100 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var pids []string
			c := call(t)
			c.Log = func(l string) {
				if l == "ready" {
					cancel()
					return
				}
				pids = append(pids, l)
			}
			r := register(t, shell(tc.script), program.Options{Grace: tc.grace}).Run(ctx, c)
			if !errors.Is(r.Err, tc.err) || len(pids) == 0 {
				t.Fatalf("error %v, want %v; processes %v", r.Err, tc.err, pids)
			}
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("process %s is still alive", pid)
				}
			}
		})
	}
}

func TestAProgramOverItsTimeoutIsEnded(t *testing.T) {
	spec := shell(`exec sleep 3600`)
	for _, spec.Timeout = range []time.Duration{50 * time.Millisecond, time.Nanosecond} { // while it runs, and before it could begin
		r := register(t, spec, program.Options{}).Run(context.Background(), call(t))
		wantError(t, r.Err, "overran its timeout of "+spec.Timeout.String()+": make it faster, or raise `timeout` of the program")
		if !errors.Is(r.Err, program.ErrTimeout) {
			t.Errorf("%v is no ErrTimeout", r.Err)
		}
	}
}

// alive says whether a process exists and is no zombie. A process that was killed may
// take a moment to become one, so it is asked for until a deadline.
func alive(pid string) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return false
		}
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && (rest[0] == 'Z' || rest[0] == 'X') {
			return false
		}
	}
	return true
}

func TestAProgramMayEndItselfWhenItsNodeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var log []string
	c := call(t)
	c.Log = func(l string) {
		log = append(log, l)
		if l == "ready" {
			cancel()
		}
	}
	p := register(t, shell(`trap 'echo tidy >&2; exit 0' TERM; sleep 3600 & echo ready >&2; wait`), program.Options{Grace: time.Minute})
	r := p.Run(ctx, c)
	if !errors.Is(r.Err, context.Canceled) {
		t.Errorf("error %v, want that the node stopped it", r.Err)
	}
	if log[len(log)-1] != "tidy" { // a shell may say before that its child was ended
		t.Errorf("log %q", log)
	}
}

func TestAContextThatHasEndedStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	file := filepath.Join(t.TempDir(), "ran")
	r := register(t, shell(fmt.Sprintf("touch %s", file)), program.Options{}).Run(ctx, call(t))
	if !errors.Is(r.Err, context.Canceled) {
		t.Errorf("error %v", r.Err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it ran")
	}
}

func TestALargeInputReachesAProgram(t *testing.T) {
	c := call(t)
	c.Input = value(t, order, `{"customer": "`+strings.Repeat("x", 1_000_000)+`"}`)
	r := register(t, shell(`cat`), program.Options{}).Run(context.Background(), c)
	if r.Err != nil || !container.Equal(r.Output, c.Input) {
		t.Errorf("error %v, or not what went in", r.Err)
	}
}
