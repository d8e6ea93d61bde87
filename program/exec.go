package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/container"
	"fmqm/internal/failpoint"
	"fmqm/internal/landlock"
	"fmqm/internal/launch"
	"fmqm/internal/launch/stage"
)

// DefaultGrace is how long a program has between SIGTERM and SIGKILL.
const DefaultGrace = 5 * time.Second

// CleanPath is the PATH of programs, unless their env says otherwise.
const CleanPath = "/usr/local/bin:/usr/bin:/bin"

// command is a program of kind exec.
type command struct {
	argv      []string
	env       []string          // of every invocation
	secrets   map[string]string // variables whose values are in files
	redacted  secrets           // of env
	path      string            // PATH in env
	dir       string
	timeout   time.Duration
	grace     time.Duration
	maxOutput int
	ledger    *Ledger

	user   string // as which it runs; empty: as the daemon's
	home   bool   // HOME is that user's
	free   bool   // nothing is taken from it beside that
	tasks  int    // processes and threads at once; 0: no limit
	groups *Groups
	fence  *landlock.Fence
	apart  *landlock.Fence
}

func newCommand(s Spec, o Options) (Program, error) {
	if len(s.Exec) == 0 || s.Exec[0] == "" {
		return nil, errors.New("exec: the program is missing: write a list of the program and its arguments, such as [/usr/local/bin/check, --json]")
	}
	env := map[string]string{"PATH": CleanPath, "HOME": o.Home, "LANG": "C.UTF-8"}
	maps.Copy(env, s.Env)
	c := &command{
		argv: s.Exec, path: env["PATH"], dir: s.Dir, secrets: s.Secrets, redacted: redacted(s.Redact, s.Env),
		timeout: s.Timeout, grace: o.Grace, maxOutput: o.MaxOutput, ledger: o.Ledger,
		user: s.User, free: s.Unconfined, tasks: s.Tasks, groups: o.Groups, fence: o.Fence, apart: o.Apart,
	}
	if c.tasks == 0 {
		c.tasks = DefaultTasks
	}
	if _, said := s.Env["HOME"]; s.User != "" && !said {
		delete(env, "HOME")
		c.home = true
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c.env = append(c.env, name+"="+env[name])
	}
	return c, nil
}

func (p *command) Run(ctx context.Context, c *Call) Result {
	r := Result{Started: time.Now()}
	r.RC, r.Output, r.Err = p.attempt(ctx, c)
	r.Err = secrets(nil).reason(short(r.Err))
	r.Final = errors.Is(r.Err, ErrSuspect)
	r.Ended = time.Now()
	return r
}

// attempt runs the program between two notes in the ledger. After a failure another
// attempt may follow: what has left the process group is ended too, so that it finds
// itself alone.
func (p *command) attempt(ctx context.Context, c *Call) (int64, *container.Struct, error) {
	if ctx.Err() != nil {
		return 0, nil, stopped(ctx, p.timeout)
	}
	if err := p.ledger.begin(c, p.argv[0]); err != nil {
		return 0, nil, err
	}
	failpoint.Hit("program.noted")
	rc, out, err := p.run(ctx, c)
	failpoint.Hit("program.over")
	if err != nil || rc != 0 && !c.RCIsData {
		if _, endErr := p.groups.end(c.Node, c.Key); endErr != nil {
			return rc, out, err // not ended: its note stays, and its key waits for it
		}
	}
	p.ledger.end(c)
	return rc, out, err
}

func (p *command) run(ctx context.Context, c *Call) (_ int64, _ *container.Struct, err error) {
	input, err := container.EncodeJSON(c.Input)
	if err != nil {
		return 0, nil, fmt.Errorf("input container: %w", err)
	}
	path, err := p.find()
	if err != nil {
		return 0, nil, err
	}
	who, err := p.account()
	if err != nil {
		return 0, nil, err
	}
	values, hide, err := readSecrets(p.secrets)
	if err != nil {
		return 0, nil, err
	}
	hide = hide.and(p.redacted)
	defer func() { err = hide.reason(err) }()
	run, cancel := withTimeout(ctx, p.timeout)
	defer cancel()

	log := newLines(c.Log, hide)
	stderr, printed := &stream{to: log}, &stream{to: log}
	stdout := &bounded{limit: p.maxOutput, over: cancel}
	cmd := exec.CommandContext(run, path)
	cmd.Env = p.environment(c, values, who)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	if c.NoOutput {
		cmd.Stdout = printed
	}
	began, ended, err := p.child(cmd, c, who)
	printed.flush()
	stderr.flush()

	var exit *exec.ExitError
	switch {
	case !began && run.Err() != nil && errors.Is(err, run.Err()): // it was over before it began
		return 0, nil, stopped(ctx, p.timeout)
	case !began && !ended:
		return 0, nil, p.notStarted(err, who)
	case stdout.full:
		return 0, nil, fmt.Errorf("wrote more than %d bytes to its standard output: pass a reference (a file, a URL) instead of the content", p.maxOutput)
	case ended:
		return 0, nil, stopped(ctx, p.timeout)
	case errors.As(err, &exit) && !exit.Exited():
		return 0, nil, killedBy(exit)
	case err != nil && exit == nil && !errors.Is(err, exec.ErrWaitDelay):
		return 0, nil, fmt.Errorf("run %s: %w", path, err)
	}
	rc := int64(cmd.ProcessState.ExitCode())
	if errors.Is(err, exec.ErrWaitDelay) {
		log.say("fmqm: a child that has left the process group holds standard output or error open: what it writes from now on is dropped")
	}
	if hint := usually[rc]; hint != "" && !c.RCIsData {
		log.say(fmt.Sprintf("fmqm: return code %d usually means that a command %s", rc, hint))
	}
	out, err := c.output(stdout.buf.Bytes(), rc, log)
	return rc, out, err
}

// killedBy names the signal that ended a program.
func killedBy(exit *exec.ExitError) error {
	core := ""
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok {
		return fmt.Errorf("killed: %s: see the program's log", exit.ProcessState)
	}
	if status.CoreDump() {
		core = " (core dumped)"
	}
	name := unix.SignalName(status.Signal())
	if name == "" {
		name = status.Signal().String()
	}
	return fmt.Errorf("killed by %s%s: see the program's log", name, core)
}

// usually is what shells and the like mean by some return codes.
var usually = map[int64]string{126: "could not be executed", 127: "was not found"}

// child starts cmd in a process group and a control group of its own, waits until it has
// ended, and ends what is left of the process group. It says whether the child began to
// run, and whether it was asked to end.
func (p *command) child(cmd *exec.Cmd, c *Call, who *account) (began, ended bool, err error) {
	var asked atomic.Bool
	kind := confined
	if p.free {
		kind = unconfined
	}
	group := p.groups.of(c, kind)
	defer p.groups.over(group)
	signal := func(s unix.Signal) error {
		err := signalGroup(cmd.Process.Pid, s)
		if errors.Is(err, unix.EPERM) { // another user's, and the daemon may not signal it
			return group.Kill()
		}
		return err
	}
	cmd.WaitDelay = p.grace
	cmd.Cancel = func() error {
		asked.Store(true)
		return signal(unix.SIGTERM)
	}
	if err := p.start(cmd, group, who); err != nil {
		return false, asked.Load(), err
	}
	failpoint.Hit("program.started")
	p.ledger.runs(c, cmd.Process.Pid)
	failpoint.Hit("program.runs")
	awaitExit(cmd.Process.Pid)
	// The leader is still a zombie, so its number names this group and no other.
	_ = signal(unix.SIGKILL)
	if asked.Load() {
		_, _ = p.groups.end(c.Node, c.Key) // now, lest they hold the output open; tried again by attempt
	}
	err = cmd.Wait()
	return true, asked.Load(), err
}

// awaitExit returns when the process has ended, and leaves it to be waited for.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func signalGroup(pid int, s unix.Signal) error {
	if err := unix.Kill(-pid, s); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	return nil
}

// find gives the file to run: a name without a slash is looked for in the PATH that
// the program will have, not in the daemon's.
func (p *command) find() (string, error) {
	name := p.argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(p.path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("cannot be started: no executable %q in %s: install it, or write its whole path in `exec`", name, p.path)
}

// notStarted says what to do about err of starting the program.
func (p *command) notStarted(err error, who *account) error {
	user := "the daemon's user"
	if who != nil {
		user = "user " + who.name
	}
	remedy := "try it by hand as " + user
	var at *launch.Error
	errors.As(err, &at)
	switch {
	case errors.Is(err, launch.ErrDied):
		return fmt.Errorf("%w: %w: the machine is short of processes or memory", ErrShort, err)
	case at != nil && at.Step == stage.StepDir:
		remedy = fmt.Sprintf("its `dir` %s is not a directory, or %s cannot enter it: make it, or correct `dir`", p.directory(who), user)
	case who.other() && errors.Is(err, unix.EPERM):
		remedy = "let the daemon start programs as other users: AmbientCapabilities=CAP_SETUID CAP_SETGID CAP_KILL in its unit, as docs/programs.md has it"
	case errors.Is(err, fs.ErrNotExist):
		remedy = "install it, or correct `exec` in the node's configuration (for a script, also the interpreter in its first line)"
	case errors.Is(err, fs.ErrPermission):
		remedy = "let " + user + " execute it (chmod +x, and x for the directories above it)"
	case errors.Is(err, unix.ENOEXEC):
		remedy = "it is not a program for this machine; a script needs a first line such as #!/bin/sh"
	case errors.Is(err, unix.E2BIG):
		remedy = "shorten its arguments and `env`: together they are too long"
	}
	return fmt.Errorf("cannot be started: %w: %s", err, remedy)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// directory is where the program works: as another user in his home, unless said.
func (p *command) directory(who *account) string {
	switch {
	case p.dir != "" || who == nil:
		return p.dir
	case isDir(who.home):
		return who.home
	}
	return "/"
}

func (p *command) environment(c *Call, secrets map[string]string, who *account) []string {
	facts := c.facts()
	env := make([]string, len(p.env), len(p.env)+len(facts)+len(secrets)+1)
	copy(env, p.env)
	if who != nil && p.home {
		env = append(env, "HOME="+who.home)
	}
	for name, value := range secrets {
		env = append(env, name+"="+value)
	}
	for _, f := range facts {
		env = append(env, f.env+"="+f.value)
	}
	return env
}
