package launch_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"fmqm/internal/launch"
	"fmqm/internal/launch/stage"
	"fmqm/internal/skip"
)

// begin starts a shell script through a stage; what it writes is in out when it was
// waited for.
func begin(t *testing.T, p launch.Program, rules *os.File) (cmd *exec.Cmd, out *bytes.Buffer, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd, out = exec.CommandContext(ctx, p.Path), &bytes.Buffer{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input\n"), out, out
	cmd.Env = []string{"GREETING=hello"}
	return cmd, out, launch.Start(cmd, p, nil, 0, rules)
}

// ignored gives the line of /proc with the signals that this process ignores, which its
// programs inherit: whoever started the tests may have had some ignored.
func ignored(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "SigIgn:") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatal("no SigIgn in /proc/self/status")
	return ""
}

// The program has its arguments, environment, input, directory and process group, the
// number of the command, and no file beside its three; nothing tells that it had a stage.
func TestTheStageBecomesTheProgram(t *testing.T) {
	dir := t.TempDir()
	cmd, out, err := begin(t, launch.Program{Path: "/bin/sh", Argv: []string{"name", "-c", `
		read line; echo "$0 $1 $line $GREETING $(pwd) $(env | sort | tr '\n' ' ')"; echo $(ps -o pgid= -p $$) $$`, "$0", "a b\n\"c"}, Dir: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, out)
	}
	want := strings.ReplaceAll(strings.ReplaceAll("$0 a b\n\"c input hello DIR GREETING=hello PWD=DIR \nPID PID\n", "DIR", dir), "PID", strconv.Itoa(pid))
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	cmd, out, err = begin(t, launch.Program{Path: "/bin/grep", Argv: []string{"grep", "-e", "NoNewPrivs", "-e", "SigIgn", "-e", "SigBlk", "/proc/self/status"}}, nil)
	if want := "SigBlk:\t0000000000000000\n" + ignored(t) + "\nNoNewPrivs:\t1\n"; err != nil || cmd.Wait() != nil || out.String() != want {
		t.Errorf("%v; %q, want %q", err, out, want)
	}
	inherited, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	cmd, out, err = begin(t, launch.Program{Path: "/bin/ls", Argv: []string{"ls", "/proc/self/fd"}}, nil)
	if err != nil || cmd.Wait() != nil || out.String() != "0\n1\n2\n3\n" { // 3 is what it looks at
		t.Errorf("%v; files %q", err, out)
	}
}

// Another user has his groups, and nothing of what the daemon's user may.
func TestTheStageBecomesAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		skip.Untested(t, "programs of other users: becoming one needs root")
	}
	user := &launch.User{UID: 65534, GID: 65533, Groups: []uint32{7, 8}}
	cmd, out, err := begin(t, launch.Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "id -u; id -g; id -G; grep -e CapPrm -e CapEff -e CapAmb /proc/self/status"}, Dir: "/", User: user}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	const none = "\t0000000000000000\n"
	if got, want := out.String(), "65534\n65533\n65533 7 8\nCapPrm:"+none+"CapEff:"+none+"CapAmb:"+none; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	cmd, out, err = begin(t, launch.Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "id -G"}, User: &launch.User{UID: 65534, GID: 65533}}, nil)
	if err != nil || cmd.Wait() != nil || out.String() != "65533\n" {
		t.Errorf("%v %q", err, out)
	}
}

// What cannot be started has a step, and nothing of it is left.
func TestStepsThatFail(t *testing.T) {
	plain, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for _, tc := range []struct {
		program launch.Program
		rules   *os.File
		step    string
		err     syscall.Errno
		text    string
	}{
		{launch.Program{Path: "/no/such", Argv: []string{"x"}}, nil, stage.StepExec, syscall.ENOENT, "execute /no/such: no such file or directory"},
		{launch.Program{Path: "/etc/passwd", Argv: []string{"x"}}, nil, stage.StepExec, syscall.EACCES, "execute /etc/passwd: permission denied"},
		{launch.Program{Path: "/bin/true", Argv: []string{"x"}, Dir: "/no/dir"}, nil, stage.StepDir, syscall.ENOENT, "go to /no/dir: no such file or directory"},
		{launch.Program{Path: "/bin/true", Argv: []string{"x"}}, plain, stage.StepRules, syscall.EBADFD, "keep it from the daemon's files: file descriptor in bad state"},
	} {
		cmd, _, err := begin(t, tc.program, tc.rules)
		var at *launch.Error
		if !errors.As(err, &at) || at.Step != tc.step || !errors.Is(err, tc.err) || err.Error() != tc.text {
			t.Errorf("%+v: %v", tc.program, err)
		}
		if cmd.ProcessState == nil {
			t.Errorf("%+v: not waited for", tc.program)
		}
	}
}

// A stage that dies was no program.
func TestAStageThatDies(t *testing.T) {
	p := launch.Program{Path: "/x", Dir: "/y"}
	for report, want := range map[string]string{
		"":                     "ended early",
		">":                    "",
		">execute\x002":        "execute /x: no such file or directory",
		"go to\x0013":          "go to /y: permission denied",
		"become its user\x001": "become its user: operation not permitted",
		"runtime: out of mem":  "ended early",
	} {
		err := launch.Asked(strings.NewReader(report), p)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)), want == "ended early" && !errors.Is(err, launch.ErrDied):
			t.Errorf("%q: %v", report, err)
		}
	}
}

// A stage comes before what takes long: the tables of package unicode, and whatever is ready
// while they are waited for. Each start of a program would pay for it.
func TestTheStageComesEarly(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Env = []string{stage.Name}, []string{"GODEBUG=inittrace=1"}
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("a stage that is asked nothing: %v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("init os @")) {
		t.Fatalf("nothing tells what came before it:\n%s", out)
	}
	for _, late := range []string{"unicode", "testing", "fmqm/"} {
		if bytes.Contains(out, []byte("init "+late)) {
			t.Errorf("%s came before the stage:\n%s", late, out)
		}
	}
}

// A request means to the stage what was asked.
func TestRequests(t *testing.T) {
	for _, p := range []launch.Program{
		{Path: "/bin/x", Argv: []string{"x"}},
		{Path: "/bin/x", Argv: []string{"", "a b", "\xff\n", ""}, Dir: "/d", Free: true, Rules: true},
		{Path: "/bin/x", Argv: []string{"x"}, User: &launch.User{UID: 1, GID: 4294967295, Groups: []uint32{2, 3}}},
		{Path: "/bin/x", Argv: []string{"x"}, User: &launch.User{UID: 1, GID: 2, Groups: []uint32{}}},
	} {
		text, err := p.Encode()
		got, ok := stage.Decode(text)
		if d := cmp.Diff(p, got); err != nil || !ok || d != "" {
			t.Errorf("%v %v (-want +got):\n%s", err, ok, d)
		}
		for i := range text { // what the daemon could not write to its end
			if _, ok := stage.Decode(text[:i]); ok {
				t.Errorf("taken: %q", text[:i])
			}
		}
	}
	if _, err := (&launch.Program{Path: "/x", Argv: []string{"a\x00b"}}).Encode(); err == nil {
		t.Error("a NUL is taken")
	}
	if _, ok := stage.Decode("/x\x00\x00\x00\x001 x\x001\x00x\x00"); ok {
		t.Error("no number is taken")
	}
}
