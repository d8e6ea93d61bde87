package programs

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/api"
	"fmqm/test/fleet"
)

// What a program does, and what becomes of its activity. Every program runs under the
// same daemon, which none of them may trouble.
func TestWhatProgramsDo(t *testing.T) {
	const defaults, box = `{"n":0,"text":"","rc":0}`, `{"n":1,"text":"x"}`
	cases := []struct {
		name     string
		script   string
		spec     string // beside exec
		activity string // beside program
		data     bool   // _RC is data

		state    api.InstanceState
		output   string
		reason   string
		attempts int
		log      []string
	}{
		{name: "echoes", script: `cat`, state: api.InstanceFinished, output: `{"n":1,"text":"x","rc":0}`},
		{name: "writes nothing", script: `:`, state: api.InstanceFinished, output: defaults},
		{name: "fails", script: `exit 3`, state: api.InstanceInError, reason: "return code 3, and no condition or mapping of work reads _RC"},
		{name: "fails as data", script: `echo '{"n": 5}'; exit 3`, data: true, state: api.InstanceFinished, output: `{"n":5,"text":"","rc":3}`},
		{name: "fails and continues", script: `exit 3`, activity: "on_rc: continue", state: api.InstanceFinished, output: defaults},
		{
			name: "fails with garbage as data", script: `echo Traceback; exit 1`, data: true, state: api.InstanceFinished, output: `{"n":0,"text":"","rc":1}`,
			log: []string{"with return code 1 the output counts as empty"},
		},
		{
			name: "fails twice", script: `[ $FMQM_ATTEMPT = 3 ] || exit 1; cat`, activity: "retry: {attempts: 3, backoff: 10ms}",
			state: api.InstanceFinished, output: `{"n":1,"text":"x","rc":0}`,
		},
		{
			name: "fails always", script: `exit 1`, activity: "retry: {attempts: 3, backoff: 10ms}",
			state: api.InstanceInError, reason: "return code 1", attempts: 3,
		},
		{name: "hangs", script: `sleep 3600`, spec: "timeout: 200ms", state: api.InstanceInError, reason: "overran its timeout of 200ms"},
		{
			name: "hangs once", script: `[ $FMQM_ATTEMPT != 1 ] || sleep 3600; cat`, spec: "timeout: 1s", activity: "retry: {attempts: 20, backoff: 10ms}",
			state: api.InstanceFinished, output: `{"n":1,"text":"x","rc":0}`,
		},
		{name: "prints garbage", script: `echo hello`, state: api.InstanceInError, reason: "the output is not a container of type Box: not JSON at line 1, column 1"},
		{name: "prints two objects", script: `echo '{} {}'`, state: api.InstanceInError, reason: "the output is not a container of type Box"},
		{name: "prints an unknown member", script: `echo '{"txt": "x"}'`, state: api.InstanceInError, reason: "txt: unknown member; Box has n, text: did you mean text"},
		{name: "prints another type", script: `echo '{"n": "many"}'`, state: api.InstanceInError, reason: "the output is not a container of type Box"},
		{name: "prints 1 GiB", script: `head -c 1073741824 /dev/zero`, state: api.InstanceInError, reason: "bytes to its standard output: pass a reference"},
		{name: "prints 1 GiB, deaf", script: `trap '' TERM; head -c 1073741824 /dev/zero`, state: api.InstanceInError, reason: "bytes to its standard output: pass a reference"},
		{
			name: "logs 1 GiB", script: `yes 0123456789012345678901234567890123456789 | head -c 1073741824 >&2; cat`, state: api.InstanceFinished, output: `{"n":1,"text":"x","rc":0}`,
		},
		{name: "dies by a signal", script: `kill -SEGV $$`, state: api.InstanceInError, reason: "killed by SIGSEGV"},
		{name: "dies by the kernel's hand", script: `kill -9 $$`, activity: "retry: {attempts: 2, backoff: 10ms}", state: api.InstanceInError, reason: "killed by SIGKILL", attempts: 2},
		{name: "closes its input", script: `exec <&-; echo '{"n": 2}'`, state: api.InstanceFinished, output: `{"n":2,"text":"","rc":0}`},
		{name: "closes its output", script: `echo '{"n": 2}'; exec >&- 2>&-; cat >/dev/null; exit 4`, data: true, state: api.InstanceFinished, output: `{"n":2,"text":"","rc":4}`},
		{
			name: "finds no command", script: `no-such-command`, state: api.InstanceInError, reason: "return code 127",
			log: []string{"no-such-command: not found", "return code 127 usually means that a command was not found"},
		},
		{
			name: "finds no interpreter", script: `exit 126`, state: api.InstanceInError, reason: "return code 126",
			log: []string{"return code 126 usually means that a command could not be executed"},
		},
	}
	var programs, definitions []string
	for i, tc := range cases {
		programs = append(programs, fmt.Sprintf("p%d: {exec: [./p%d]%s}", i, i, and(tc.spec)))
		define := process
		if tc.data {
			define = reading
		}
		definitions = append(definitions, define(fmt.Sprintf("d%d", i), fmt.Sprintf("program: p%d%s", i, and(tc.activity))))
	}
	s := newSite(t, programs...)
	for i, tc := range cases {
		s.script(fmt.Sprintf("p%d", i), tc.script)
	}
	s.start()
	s.Upload(strings.Join(definitions, "---\n"))
	instances := make([]api.InstanceID, len(cases))
	for i := range cases {
		instances[i] = s.begin(fmt.Sprintf("d%d", i), box)
	}
	for i, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			status, work := s.await(instances[i])
			if status.State != tc.state || string(status.Output) != tc.output || !strings.Contains(work.Reason, tc.reason) || tc.attempts > 0 && work.Attempts != tc.attempts {
				t.Errorf("%s after %d attempts, output %s: %s", status.State, work.Attempts, status.Output, work.Reason)
			}
			log := strings.Join(s.Logged(instances[i].String()), "\n")
			for _, want := range tc.log {
				if !strings.Contains(log, want) {
					t.Errorf("log lacks %q:\n%s", want, log)
				}
			}
			if len(log) > 3<<20 {
				t.Errorf("%d bytes in the log", len(log))
			}
		})
	}
	if peak := s.peak(); peak > 400<<20 {
		t.Errorf("the daemon took %d MiB", peak>>20)
	}
}

func and(keys string) string {
	if keys == "" {
		return ""
	}
	return ", " + keys
}

// peak gives the most memory that the daemon has had of its own, in bytes.
func (s *site) peak() int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process()))
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if err != nil || found == nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n << 10
}

// What cannot be started is in error, with what to do about it. A retry runs it when
// that has been done.
func TestWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	s := newSite(t, "absent: {exec: [/no/such/program]}", "plain: {exec: [./plain]}", "nameless: {exec: [no-such-program]}",
		"bare: {exec: [./bare]}", "lost: {exec: [./lost]}", "astray: {exec: ['true'], dir: nowhere}")
	s.write("plain", 0o600, "")
	s.write("bare", 0o700, "echo no interpreter is named")
	s.write("lost", 0o700, "#!/no/such/interpreter\n")
	s.start()
	cases := map[string]string{
		"absent":       "cannot be started: execute /no/such/program: no such file or directory: install it, or correct `exec`",
		"plain":        "permission denied: let the daemon's user execute it (chmod +x, and x for the directories above it)",
		"nameless":     `cannot be started: no executable "no-such-program" in /usr/local/bin:/usr/bin:/bin`,
		"bare":         "exec format error: it is not a program for this machine; a script needs a first line such as #!/bin/sh",
		"lost":         "for a script, also the interpreter in its first line",
		"astray":       "is not a directory, or the daemon's user cannot enter it: make it, or correct `dir`",
		"unregistered": "program unregistered is not registered at A",
	}
	instances := map[string]api.InstanceID{}
	for name := range cases {
		s.Upload(process(name, "program: "+name+", retry: {attempts: 2, backoff: 10ms}"))
		instances[name] = s.begin(name, `{}`)
	}
	for name, reason := range cases {
		status, work := s.await(instances[name])
		if status.State != api.InstanceInError || !strings.Contains(work.Reason, reason) || work.Attempts != 2 {
			t.Errorf("%s: %s after %d attempts: %s", name, status.State, work.Attempts, work.Reason)
		}
	}
	if err := os.Chmod(s.File("plain"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.script("plain", "cat")
	if _, err := s.Client.Retry(t.Context(), instances["plain"], api.RetryRequest{Activity: "work"}); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.await(instances["plain"]); status.State != api.InstanceFinished {
		t.Errorf("after the retry: %s %s", status.State, status.Reason)
	}
}

// A program sees what it is told, and nothing of the daemon's.
func TestTheEnvironmentOfAProgram(t *testing.T) {
	t.Setenv("SECRET_OF_THE_DAEMON", "x")
	s := newSite(t, "work: {exec: [./work, a b, '$HOME', '*'], env: {TZ: Europe/Berlin, LANG: de_DE.UTF-8}, dir: place}")
	if err := os.Mkdir(s.File("place"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.script("work", `ls /proc/self/fd >found; env >>found; pwd >>found; printf '<%s>\n' "$@" >>found; cat`)
	s.start()
	s.Upload(process("one", "program: work"))
	id := s.begin("one", `{}`)
	if status, work := s.await(id); status.State != api.InstanceFinished {
		t.Fatalf("%s: %s", status.State, work.Reason)
	}
	text, err := os.ReadFile(s.File("place/found"))
	if err != nil {
		t.Fatal(err)
	}
	var env, rest []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		name, value, isVariable := strings.Cut(line, "=")
		switch {
		case name == "FMQM_IDEMPOTENCY_KEY" && len(value) == 32:
			env = append(env, name)
		case isVariable && name != "OLDPWD":
			env = append(env, line)
		default:
			rest = append(rest, line)
		}
	}
	want := map[string]bool{
		"FMQM_PROCESS=one@1": true, "FMQM_INSTANCE=" + id.String(): true, "FMQM_ACTIVITY=work": true, "FMQM_SCOPE=": true, "FMQM_ELEMENT=": true, "FMQM_DUE=": true, "FMQM_ITERATION=1": true,
		"FMQM_ATTEMPT=1": true, "FMQM_IDEMPOTENCY_KEY": true, "FMQM_NODE=A": true, "FMQM_PEOPLE=": true, "FMQM_ON=": true, "FMQM_ABOUT=": true, "FMQM_ERROR=": true,
		"PATH=/usr/local/bin:/usr/bin:/bin": true, "HOME=" + os.Getenv("HOME"): true, "LANG=de_DE.UTF-8": true,
		"TZ=Europe/Berlin": true, "PWD=" + s.File("place"): true,
	}
	got := map[string]bool{}
	for _, v := range env {
		got[v] = true
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
	// No files but its own (3 is the listing's), its directory, its arguments as they are.
	if d := cmp.Diff([]string{"0", "1", "2", "3", s.File("place"), "<a b>", "<$HOME>", "<*>"}, rest); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What a program leaves behind in its group is ended with it. What left the group is
// ended with a program that failed or overran its timeout, as fast as that.
func TestWhatProgramsLeaveBehind(t *testing.T) {
	t.Parallel()
	const leave = `sleep 3600 & child=$!
mkfifo $FMQM_ACTIVITY$1; setsid sh -c 'echo $$ >$0; exec sleep 3600' $FMQM_ACTIVITY$1 & read runaway <$FMQM_ACTIVITY$1
echo $child $runaway >told
`
	s := newSite(t, "ends: {exec: [./ends, '1']}", "fails: {exec: [./fails, '2']}", "hangs: {exec: [./hangs, '3'], timeout: 5s}")
	s.script("ends", strings.Replace(leave, "sleep 3600'", "sleep 3600 >/dev/null 2>&1 </dev/null'", 1)+"cat")
	s.script("fails", strings.Replace(leave, "sleep 3600'", "sleep 3600 >/dev/null 2>&1 </dev/null'", 1)+"exit 1")
	s.script("hangs", leave+"wait; wait")
	s.start()
	for _, tc := range []struct {
		program string
		state   api.InstanceState
		runaway bool // it is the program's own business
	}{{"ends", api.InstanceFinished, true}, {"fails", api.InstanceInError, false}, {"hangs", api.InstanceInError, false}} {
		s.Upload(process(tc.program, "program: "+tc.program))
		id := s.begin(tc.program, `{}`)
		left := s.tells()
		if status, work := s.await(id); status.State != tc.state {
			t.Errorf("%s: %s: %s", tc.program, status.State, work.Reason)
		}
		if running(left[0]) || running(left[1]) != tc.runaway {
			t.Errorf("%s: its child runs: %v; its runaway: %v", tc.program, running(left[0]), running(left[1]))
		}
		end(t, left[1])
	}
}

// end kills a process that a program was free to leave.
func end(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := os.FindProcess(n); err == nil {
		_ = p.Kill()
	}
}

// A program whose activity is ended early, by an operator, its deadline or another activity, is ended
// with all that has left its group.
func TestAProgramOfWhatIsEndedEarly(t *testing.T) {
	t.Parallel()
	const begins = "process: %s\nversion: 1\nactivities:\n"
	for _, tc := range []struct {
		by, process string
		end         func(*site, api.InstanceID)
		instance    api.InstanceState
		work        api.ActivityState
	}{
		{
			"operator", "  work: {node: A, program: work}\n",
			func(s *site, id api.InstanceID) {
				if err := s.Client.Terminate(t.Context(), id, ""); err != nil {
					t.Fatal(err)
				}
			},
			api.InstanceTerminated, "",
		},
		{
			"deadline", "  work: {node: A, program: work, deadline: {after: 5s}}\n  late: {node: A, empty: true}\ncontrol:\n  - work -> late: _TIMEOUT\n",
			func(*site, api.InstanceID) {}, api.InstanceFinished, api.ActivityTerminated,
		},
		{
			"other", "  work: {node: A, program: work}\n  other: {node: A, program: other, cancels: [work]}\n",
			func(s *site, _ api.InstanceID) { s.write("go", 0o600, "go\n") }, api.InstanceFinished, api.ActivityCancelled,
		},
	} {
		s := newSite(t, "work: {exec: [./work]}", "other: {exec: [./other]}")
		s.script("work", `setsid sh -c 'echo $$ >told; exec sleep 3600' & sleep 3600`)
		s.script("other", `read go <go`)
		if err := syscall.Mkfifo(s.File("go"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.start()
		s.Upload(fmt.Sprintf(begins, tc.by) + tc.process)
		id := s.begin(tc.by, "")
		pid := s.tells()[0]
		tc.end(s, id)
		status, work := s.await(id)
		if status.State != tc.instance || tc.work != "" && work.State != tc.work {
			t.Errorf("%s: %s, work %s", tc.by, status.State, work.State)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := fleet.Until(ctx, func() (bool, error) { return !running(pid), nil }); err != nil {
			t.Errorf("%s: its program runs: %v", tc.by, err)
		}
		cancel()
		s.Stop() // nothing is left to wait for
	}
}
